/* auto: every planner's plan simulated, and the best of those that fit; where that takes a
 * moment only, or a budget is given, a random search (flexflow) has a try too.
 *
 * Figures are compared with figures of the same kind: where one plan cannot be simulated, or
 * simulating would take long, all are judged by their closed forms. */
#include <string.h>

#include "search/planner.h"
#include "sim/memory.h"

enum {
    MAX_TRIED = 32,
    MOST_WORK = 1 << 15, /* tasks times devices, to be searched at random unasked: seconds */
};

/* What a random search finds has less order than the others' plans: it has to be worth it. */
static const double WORTH = 0.98;

struct tried {
    const struct problem *problem;
    struct hypar_found *found[MAX_TRIED + 1];
    int n;
    bool simulated; /* all of them */
    char refused[2048];
    int64_t evaluated;
};

/* "dp: weights, gradients and sgd state need ...; owt: ..." */
static void refuse(struct tried *t, const char *planner, const char *why)
{
    size_t n = strlen(t->refused), skip = strlen(planner);
    if (strncmp(why, planner, skip) == 0 && why[skip] == ':')
        why += skip + 2; /* the reason names the planner already */
    snprintf(t->refused + n, sizeof t->refused - n, "%s%s: %s", n ? "; " : "", planner, why);
}

static void try_planner(struct tried *t, const struct planner *planner)
{
    struct hypar_error why;
    struct hypar_found *found;
    if (hp_run_planner(planner, t->problem, &found, &why) != HYPAR_OK) {
        refuse(t, planner->info.name, why.text);
        return;
    }
    t->evaluated += found->info.evaluated;
    t->found[t->n++] = found;
}

/* All of them, or none if one has too many parts. */
static void simulate(struct tried *t)
{
    int64_t most = 0;
    for (int i = 0; i < t->n; i++) {
        int64_t parts = hp_plan_parts(t->found[i]->plan);
        most = parts > most ? parts : most;
    }
    t->simulated = true;
    for (int i = 0; i < t->n; i++) {
        hp_simulate_found(t->problem, t->problem->options->simulation, most, t->found[i]);
        t->simulated &= t->found[i]->has_simulated;
    }
}

static bool fits(const struct hypar_found *found)
{
    return !found->has_simulated || found->simulated.step.fits;
}

static double merit(const struct tried *t, const struct hypar_found *found)
{
    const struct hypar_sim_summary *s = &found->simulated.step;
    const struct hypar_prediction *p = &found->prediction;
    switch (t->problem->options->objective) {
    case HYPAR_COMM:
        return t->simulated ? s->comm_bytes : p->comm_bytes;
    case HYPAR_ENERGY:
        return t->simulated ? hypar_energy_total_j(&s->energy) : p->energy_j;
    default:
        return t->simulated ? s->step_s : p->step_s;
    }
}

/* The share of its memory that the fullest device needs. */
static double need(const struct hypar_found *found)
{
    return found->simulated.fullest.peak / found->simulated.fullest.limit;
}

/* The best that fits; if none does, the one that needs least; the first among equals. */
static int choose(const struct tried *t)
{
    int best = -1;
    for (int i = 0; i < t->n; i++)
        if (fits(t->found[i]) && (best < 0 || merit(t, t->found[i]) < merit(t, t->found[best])))
            best = i;
    for (int i = 0, least = best < 0; i < t->n && least; i++)
        if (best < 0 || need(t->found[i]) < need(t->found[best]))
            best = i;
    return best;
}

/* Is it a moment's work to simulate many plans like this one? What a changed operator
 * exchanges grows with the devices, as the tasks do. */
static bool is_small(const struct hypar_plan *plan)
{
    int64_t tasks = 0, micro = plan->schedule.micro_batches;
    for (int op = 0; op < plan->graph->n_ops; op++)
        tasks += (int64_t)plan->graph->ops[op].nest->n_passes * plan->ops[op].n_parts;
    return tasks * (micro > 1 ? micro : 1) * plan->n_all_devices <= MOST_WORK;
}

/* What flexflow finds, if that is much better than the best of the others, or the only plan
 * that fits; NULL. */
static struct hypar_found *search_at_random(struct tried *t, const struct hypar_found *best)
{
    const struct hypar_search_options *options = t->problem->options;
    const struct planner *flexflow = hp_find_planner("flexflow");
    bool asked = options->budget_s > 0 || options->proposals > 0;
    struct hypar_found *found;
    struct hypar_error why;
    if (!flexflow || !t->simulated || options->objective != HYPAR_TIME)
        return NULL;
    if (!asked && !is_small(best->plan)) {
        refuse(t, "flexflow", "not tried, it takes long here; --budget 60s lets it");
        return NULL;
    }
    if (hp_run_planner(flexflow, t->problem, &found, &why) != HYPAR_OK) {
        refuse(t, "flexflow", why.text);
        return NULL;
    }
    t->evaluated += found->info.evaluated;
    if (fits(found) && (!fits(best) || merit(t, found) < WORTH * merit(t, best)))
        return found;
    hypar_found_free(found);
    return NULL;
}

enum hypar_status hp_run_auto(const struct problem *problem, struct hypar_found **out,
                              struct hypar_error *err)
{
    struct tried t = { .problem = problem };
    struct hypar_error why;
    double began_s = hp_now_s();
    for (int i = 0; hp_planners[i] && t.n < MAX_TRIED; i++)
        if (hp_planners[i]->plan && !hp_planners[i]->apart) /* not auto itself */
            try_planner(&t, hp_planners[i]);
    *out = NULL;
    if (!t.n)
        return hp_fail(err, HYPAR_INFEASIBLE, "no planner has a plan: %s", t.refused);
    simulate(&t);
    int best = choose(&t);
    struct hypar_found *random = search_at_random(&t, t.found[best]);
    if (random) {
        best = t.n;
        t.found[t.n++] = random;
    }
    for (int i = 0; i < t.n; i++) {
        const struct hypar_simulated *s = &t.found[i]->simulated;
        if (i == best)
            continue;
        if (!fits(t.found[i]) &&
            hp_check_fullest(&s->fullest, s->step.fullest_device, &why) != HYPAR_OK)
            refuse(&t, t.found[i]->info.planner, why.text);
        hypar_found_free(t.found[i]);
    }
    *out = t.found[best];
    (*out)->info.seconds = hp_now_s() - began_s;
    (*out)->info.evaluated = t.evaluated;
    (*out)->info.refused = hp_arena_strdup(&(*out)->arena, t.refused);
    return HYPAR_OK;
}

const struct planner hp_planner_auto = {
    .info = { "auto", "the best of the others by simulated time, within memory", "" },
};
