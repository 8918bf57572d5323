/* Finds plans for similar machines and simulates them on the given machine. */
#include "search/nearby.h"

#include <limits.h>
#include <math.h>

#include "base/stop.h"
#include "base/table.h"
#include "machine/machine.h"
#include "search/bound.h"
#include "search/evaluate/judge.h"
#include "search/limits.h"
#include "search/runnable.h"

struct hunt {
    const struct planner *self;
    const struct problem *problem;
    unsigned given;
    bool alone; /* no planner but `self` is run; else those that it may try */
    struct arena scratch;
    struct table seen; /* hashes of plans */
    struct hypar_found *best;
    struct verdict verdict; /* of the best plan; before there is one, of the step to beat */
    int rows;               /* rows of the best plan */
    int all_rows;           /* of the machine */
};

enum which { ALL, ASK_LINKS, UNLIKE };

bool hp_may_look_nearby(const struct problem *problem)
{
    int64_t n = hypar_machine_device_count(problem->machine);
    return n * problem->graph->n_ops <= 2 * HP_MOMENT_PARTS;
}

static struct problem problem_on(const struct problem *problem,
                                 const struct hypar_machine *machine)
{
    struct problem there = *problem;
    there.machine = machine;
    there.settings.machine_word = NULL;
    there.whole = true;
    there.n_levels = hypar_machine_levels(machine, there.level);
    return there;
}

bool hp_nearby_begin(struct nearby *out, const struct problem *problem, int rows, double links)
{
    if (hp_machine_like(&out->machine, problem->machine, rows, links, NULL) != HYPAR_OK)
        return false;
    out->links = links;
    out->subset = NULL;
    out->problem = problem_on(problem, out->machine);
    return true;
}

bool hp_nearby_subset(struct nearby *out, const struct problem *problem,
                      const struct subset *subset, double beat_s)
{
    if (hp_machine_subset(&out->machine, problem->machine, subset->device, subset->n, NULL) !=
        HYPAR_OK)
        return false;
    out->links = 1;
    out->subset = subset;
    out->problem = problem_on(problem, out->machine);
    out->problem.beat_s = beat_s < INFINITY ? beat_s : 0;
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
    if (nearby->subset)
        return hp_arena_printf(arena, "%d of %d devices, without %s", n, all,
                               nearby->subset->without);
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
    found->plan =
        hp_plan_carry(there, problem->machine, nearby->subset ? nearby->subset->device : NULL,
                      &problem->settings);
    hypar_plan_free(there);
    hp_drop_views(found);
    found->info.made_for = machine_text(&found->arena, problem, nearby);
    if (hp_check_runs(problem, found->plan, NULL) != HYPAR_OK ||
        hp_judge(problem, found, NULL) != HYPAR_OK)
        return (struct verdict){ .step_s = INFINITY, .memory = { .part = INFINITY } };
    return hp_verdict(problem, found);
}

/* Was this plan evaluated before, on the same devices? Plans of two subsets number their
 * devices alike. */
static bool is_known(struct hunt *h, const struct hypar_plan *plan, const struct subset *subset)
{
    uint64_t key[2] = { hypar_plan_hash(plan), subset ? (uint64_t)subset->number + 1 : 0 };
    int n = h->seen.used;
    return hp_table_number(&h->seen, &h->scratch, key, sizeof key) < n;
}

/* Returns whether the planner found a plan that was not known. */
static bool try_planner(struct hunt *h, const struct planner *planner,
                        const struct nearby *there, int rows)
{
    struct hypar_found *found;
    struct hypar_error why;
    if (hp_stopped(h->problem->options->stop) ||
        hp_try_divided(planner, &there->problem, &found, &why) != HYPAR_OK)
        return false;
    bool is_new = !is_known(h, found->plan, there->subset);
    if (is_new && hp_check_state(planner, &there->problem, found, &why) == HYPAR_OK) {
        struct verdict v = hp_carry_found(h->problem, there, found);
        if (hp_fits(&v.memory) && v.step_s < h->verdict.step_s) {
            hypar_found_free(h->best);
            h->best = found;
            h->verdict = v;
            h->rows = rows;
            return true;
        }
    }
    hypar_found_free(found);
    return is_new;
}

static bool is_one_of(const struct hunt *h, const struct planner *planner, enum which which)
{
    if (h->alone)
        return planner == h->self;
    return planner != h->self->random_search && hp_may_try(h->self, planner, h->given) &&
           (which == ALL ||
            (which == ASK_LINKS ? planner->asks_links : planner->unequal_shares));
}

/* Run all planners, those whose choice depends on the links' bandwidth, or those for unlike
 * devices. Returns whether any found a plan that was not known. */
static bool try_planners(struct hunt *h, const struct nearby *there, int rows, enum which which)
{
    bool is_new = false;
    for (int i = 0; hp_planner_at(i); i++)
        if (is_one_of(h, hp_planner_at(i), which))
            is_new |= try_planner(h, hp_planner_at(i), there, rows);
    return is_new;
}

/* Try plans for slower and faster links; for four times as slow or fast ones only where two
 * times gave a plan that was not known. */
static void try_links(struct hunt *h, int rows)
{
    static const double factor[2][2] = { { 0.5, 0.25 }, { 2, 4 } };
    for (int faster = 0; faster < 2; faster++) {
        bool is_new = true;
        for (int i = 0; i < 2 && is_new; i++) {
            struct nearby n;
            if (!hp_nearby_begin(&n, h->problem, rows, factor[faster][i]))
                return;
            is_new = try_planners(h, &n, rows, ASK_LINKS);
            hp_nearby_end(&n);
        }
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
        try_planners(h, &n, rows, ALL);
    hp_nearby_end(&n);
    if (h->verdict.step_s < before_s)
        try_links(h, rows);
    return may_be;
}

/* Try plans for subsets of unlike devices: with all planners, or, if plans are large, on a few
 * subsets with the planners that know unlike devices. */
static void try_subsets(struct hunt *h, bool all)
{
    struct subsets s = { 0 };
    int tried = 0, most = hp_may_look_nearby(h->problem) ? INT_MAX : HP_FEW_ALIKE;
    if (!h->problem->whole)
        s = hp_subsets(&h->scratch, h->problem);
    for (int i = 0; i < s.n; i++) {
        struct nearby n;
        double before_s = h->verdict.step_s;
        if (!(s.subset[i].least_s < before_s) || hp_stopped(h->problem->options->stop))
            return;
        if (tried++ == most)
            return;
        if (!hp_nearby_subset(&n, h->problem, &s.subset[i], before_s))
            continue;
        try_planners(h, &n, h->all_rows, all ? ALL : UNLIKE);
        hp_nearby_end(&n);
    }
}

bool hp_plan_on_subsets(const struct planner *self, const struct problem *problem,
                        double whole_s, struct hypar_found *found)
{
    struct hunt h = { .self = self,
                      .problem = problem,
                      .alone = true,
                      .verdict = { .step_s = whole_s },
                      .all_rows = hp_machine_rows(problem->machine) };
    if (problem->options->objective == HYPAR_TIME)
        try_subsets(&h, true);
    hp_arena_free(&h.scratch);
    if (!h.best)
        return false;
    hypar_plan_free(found->plan);
    found->plan = h.best->plan;
    found->prediction = h.best->prediction;
    found->info.made_for = hp_arena_strdup(&found->arena, h.best->info.made_for);
    found->info.idle =
        hp_idle_reason(&found->arena, problem, found->plan, h.verdict.step_s, whole_s);
    found->info.part = h.best->info.part;
    found->info.evaluated += h.best->info.evaluated;
    found->info.chooses = true;
    found->info.exact = false;
    h.best->plan = NULL;
    hypar_found_free(h.best);
    return true;
}

struct hypar_found *hp_plan_nearby(const struct planner *self, const struct problem *problem,
                                   unsigned given, const struct nearby_start *start,
                                   struct verdict *verdict, int *rows)
{
    struct hunt h = { self, problem, given, .verdict = { .step_s = start->best_s } };
    int all = h.all_rows = hp_machine_rows(problem->machine), n = all;
    bool small = hp_may_look_nearby(problem) && start->simulated;
    *rows = all;
    if (problem->options->objective != HYPAR_TIME)
        return NULL;
    for (int i = 0; i < start->n; i++)
        is_known(&h, start->found[i]->plan, NULL);
    if (small && start->best_s < INFINITY) {
        try_links(&h, all);
        do
            n = hp_machine_fewer_rows(problem->machine, n);
        while (n > 0 && try_rows(&h, n));
    }
    try_subsets(&h, small);
    hp_arena_free(&h.scratch);
    if (h.best) {
        *verdict = h.verdict;
        *rows = h.rows;
    }
    return h.best;
}
