/* Finds plans for similar machines and simulates them on the given machine. */
#include "search/nearby.h"

#include <math.h>

#include "base/stop.h"
#include "base/table.h"
#include "machine/machine.h"
#include "search/bound.h"
#include "search/evaluate/judge.h"
#include "search/limits.h"
#include "search/runs.h"

struct hunt {
    const struct planner *self;
    const struct problem *problem;
    unsigned given;
    struct arena scratch;
    struct table seen; /* hashes of plans */
    struct hypar_found *best;
    struct verdict verdict; /* of the best plan; before there is one, of the step to beat */
    int rows;               /* rows of the best plan */
};

bool hp_nearby_begin(struct nearby *out, const struct problem *problem, int rows, double links)
{
    if (hp_machine_like(&out->machine, problem->machine, rows, links, NULL) != HYPAR_OK)
        return false;
    out->links = links;
    out->problem = *problem;
    out->problem.machine = out->machine;
    out->problem.settings.machine_word = NULL;
    out->problem.n_levels = hypar_machine_levels(out->machine, out->problem.level);
    return true;
}

void hp_nearby_end(struct nearby *nearby)
{
    hypar_machine_free(nearby->machine);
}

/* "the first 16 of 32 devices, with links 0.5 times as fast" */
static const char *machine_text(struct arena *arena, const struct problem *problem,
                                const struct nearby *nearby)
{
    int all = hypar_machine_device_count(problem->machine);
    int n = hypar_machine_device_count(nearby->machine);
    const char *devices =
        n == all ? "" : hp_arena_printf(arena, "the first %d of %d devices", n, all);
    if (nearby->links == 1)
        return devices;
    return hp_arena_printf(arena, "%s%slinks %g times as fast", devices,
                           n == all ? "" : ", with ", nearby->links);
}

/* Drops the closed forms and views of the plan, which belong to the other machine. */
struct verdict hp_carry_found(const struct problem *problem, const struct nearby *nearby,
                              struct hypar_found *found)
{
    struct hypar_plan *there = found->plan;
    found->plan = hp_plan_carry(there, problem->machine, &problem->settings);
    hypar_plan_free(there);
    found->has_view = found->has_pipeline = found->has_simulated = false;
    found->layerwise = NULL;
    found->info.made_for = machine_text(&found->arena, problem, nearby);
    found->info.exact = false;
    found->info.lower_bound_s = found->info.lower_bound_elements = 0;
    found->info.not_simulated = NULL;
    found->info.part = (struct hypar_part){ 0 };
    if (hp_is_large(found->plan) || hp_check_runs(problem, found->plan, NULL) != HYPAR_OK ||
        hp_judge(problem, found, NULL) != HYPAR_OK)
        return (struct verdict){ .step_s = INFINITY, .memory = { .part = INFINITY } };
    return hp_simulated_verdict(problem, found);
}

/* Was this plan evaluated before? */
static bool is_known(struct hunt *h, const struct hypar_plan *plan)
{
    uint64_t hash = hp_plan_hash(plan);
    int n = h->seen.used;
    return hp_table_number(&h->seen, &h->scratch, &hash, sizeof hash) < n;
}

static void try_planner(struct hunt *h, const struct planner *planner,
                        const struct nearby *there, int rows)
{
    struct hypar_found *found;
    struct hypar_error why;
    if (hp_stopped(h->problem->options->stop) ||
        hp_try_divided(planner, &there->problem, &found, &why) != HYPAR_OK)
        return;
    if (!is_known(h, found->plan) &&
        hp_check_state(planner, &there->problem, found, &why) == HYPAR_OK) {
        struct verdict v = hp_carry_found(h->problem, there, found);
        if (hp_fits(&v.memory) && v.step_s < h->verdict.step_s) {
            hypar_found_free(h->best);
            h->best = found;
            h->verdict = v;
            h->rows = rows;
            return;
        }
    }
    hypar_found_free(found);
}

/* Run all planners, or only those whose choice depends on the links' bandwidth. */
static void try_planners(struct hunt *h, const struct nearby *there, int rows, bool all)
{
    for (int i = 0; hp_planner_at(i); i++)
        if (hp_planner_at(i) != h->self->random_search &&
            hp_may_try(h->self, hp_planner_at(i), h->given) &&
            (all || hp_planner_at(i)->asks_links))
            try_planner(h, hp_planner_at(i), there, rows);
}

static void try_links(struct hunt *h, int rows)
{
    static const double factor[] = { 0.5, 2, 0.25, 4 };
    for (int i = 0; i < 4; i++) {
        struct nearby n;
        if (!hp_nearby_begin(&n, h->problem, rows, factor[i]))
            return;
        try_planners(h, &n, rows, false);
        hp_nearby_end(&n);
    }
}

/* Try plans with this number of rows. Returns false if neither these nor fewer rows can be
 * faster. */
static bool try_rows(struct hunt *h, int rows)
{
    double before_s = h->verdict.step_s;
    struct nearby n;
    if (!hp_nearby_begin(&n, h->problem, rows, 1))
        return false;
    bool may_be = hp_step_bound(&n.problem).step_s < before_s;
    if (may_be)
        try_planners(h, &n, rows, true);
    hp_nearby_end(&n);
    if (h->verdict.step_s < before_s)
        try_links(h, rows);
    return may_be;
}

struct hypar_found *hp_plan_nearby(const struct planner *self, const struct problem *problem,
                                   unsigned given, const struct nearby_start *start,
                                   struct verdict *verdict, int *rows)
{
    struct hunt h = { self, problem, given, .verdict = { .step_s = start->best_s } };
    int all = hp_machine_rows(problem->machine), n = all;
    int64_t parts =
        (int64_t)problem->graph->n_ops * hypar_machine_device_count(problem->machine);
    *rows = all;
    if (parts > 2 * HP_MOMENT_PARTS || problem->options->objective != HYPAR_TIME)
        return NULL;
    for (int i = 0; i < start->n; i++)
        is_known(&h, start->found[i]->plan);
    try_links(&h, all);
    do
        n = hp_machine_fewer_rows(problem->machine, n);
    while (n > 0 && try_rows(&h, n));
    hp_arena_free(&h.scratch);
    if (h.best) {
        *verdict = h.verdict;
        *rows = h.rows;
    }
    return h.best;
}
