/* auto: every planner's plan simulated, and the best plan that fits; where that takes a
 * moment only, or a budget is given, a random search (flexflow) has a try too.
 *
 * Figures are compared with figures of the same kind: where one plan cannot be simulated, or
 * simulating would take long, all are judged by their closed forms. */
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "search/fit.h"

enum {
    MAX_TRIED = 32,
    MOST_WORK = 1 << 15, /* tasks times devices, to be searched at random unasked: seconds */
};

/* What a random search finds has less order than the others' plans: it has to be worth it. */
static const double WORTH = 0.98;

struct tried {
    const struct planner *random_search;
    const struct problem *problem;
    struct hypar_found *found[MAX_TRIED + 1];
    int n;
    bool simulated; /* all of them */
    struct hypar_refusals refusals;
    int64_t evaluated;
    unsigned given; /* options that not every planner takes */
    /* Of those whose weights, gradients and optimizer state alone do not fit: */
    const char *nearest; /* NULL: none */
    struct fullest lacks;
};

static void refuse(struct tried *t, const char *planner, const char *why)
{
    size_t skip = strlen(planner);
    if (t->refusals.n == HYPAR_MAX_REFUSALS)
        return;
    if (strncmp(why, planner, skip) == 0 && why[skip] == ':')
        why += skip + 2; /* the reason names the planner already */
    t->refusals.by[t->refusals.n].planner = planner;
    snprintf(t->refusals.by[t->refusals.n].why.text, sizeof t->refusals.by[0].why.text, "%s",
             why);
    t->refusals.n++;
}

/* "dp: weights, gradients and sgd state need ...; owt: ..." */
static const char *refused_text(struct arena *arena, const struct hypar_refusals *r)
{
    const char *text = "";
    for (int i = 0; i < r->n; i++)
        text = hp_arena_printf(arena, "%s%s%s: %s", text, i ? "; " : "", r->by[i].planner,
                               r->by[i].why.text);
    return text;
}

/* Is this the nearest to fitting so far? */
static void look_nearer(struct tried *t, const struct hypar_found *found)
{
    struct fullest full = hp_plan_fullest(found->plan, t->problem->options->memory_bytes);
    if (t->nearest && full.part >= t->lacks.part)
        return;
    t->nearest = found->info.planner;
    t->lacks = full;
}

static void try_planner(struct tried *t, const struct planner *planner)
{
    struct hypar_error why;
    struct hypar_found *found;
    if (hp_try_planner(planner, t->problem, &found, &why) != HYPAR_OK) {
        refuse(t, planner->info.name, why.text);
        return;
    }
    if (hp_check_state(planner, t->problem, found, &why) != HYPAR_OK) {
        refuse(t, planner->info.name, why.text);
        look_nearer(t, found);
        hypar_found_free(found);
        return;
    }
    t->evaluated += found->info.evaluated;
    t->found[t->n++] = found;
}

/* Somebody asked to stop, and there is something to give. */
static bool is_enough(const struct tried *t)
{
    return t->n > 0 && hp_stopped(t->problem->options->stop);
}

/* When told to stop: those from `first` on were not looked at. */
static void leave_out(struct tried *t, int first)
{
    for (int i = first; i < t->n; i++) {
        refuse(t, t->found[i]->info.planner, "interrupted before its plan was simulated");
        hypar_found_free(t->found[i]);
    }
    t->n = first;
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
        if (i > 0 && is_enough(t))
            leave_out(t, i);
        if (i == t->n)
            break;
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

/* Is it a moment's work to simulate many plans like this one (NULL: like one that divides
 * everything)? What a changed operator exchanges grows with the devices, as the tasks do. */
static bool is_small(const struct problem *problem, const struct hypar_plan *plan)
{
    const struct hypar_graph *g = problem->graph;
    int64_t tasks = 0, devices = hypar_machine_device_count(problem->machine);
    int64_t micro = plan ? plan->schedule.micro_batches : 1;
    for (int op = 0; op < g->n_ops; op++)
        tasks += (int64_t)g->ops[op].nest->n_passes * (plan ? plan->ops[op].n_parts : devices);
    return tasks * (micro > 1 ? micro : 1) * devices <= MOST_WORK;
}

/* Let flexflow have a try, beside the best of the others (NULL: there is none). Among plans
 * that fit it looks for a fast one; where none does, any that fits will do. */
static bool may_search(const struct tried *t, const struct hypar_found *best)
{
    double need, has;
    if (best && fits(best))
        return t->simulated && t->problem->options->objective == HYPAR_TIME;
    hp_room_together(t->problem, &need, &has);
    return need <= has;
}

/* What flexflow finds, which is the best if it is much better than the others, or the only plan
 * that fits. */
static void search_at_random(struct tried *t, int *best)
{
    const struct hypar_search_options *options = t->problem->options;
    const char *name = t->random_search->info.name;
    const struct hypar_found *other = *best < 0 ? NULL : t->found[*best];
    bool asked = options->budget_s > 0 || options->proposals > 0;
    struct hypar_found *found;
    struct hypar_error why;
    if (is_enough(t) || !may_search(t, other))
        return;
    if (!asked && !is_small(t->problem, other ? other->plan : NULL)) {
        refuse(t, name, "not tried, it takes long here; --budget 60s lets it");
        return;
    }
    if (hp_run_planner(t->random_search, t->problem, &found, &why) != HYPAR_OK) {
        refuse(t, name, why.text);
        return;
    }
    t->evaluated += found->info.evaluated;
    if (fits(found) && (!other || !fits(other) || merit(t, found) < WORTH * merit(t, other)))
        *best = t->n;
    t->found[t->n++] = found;
}

/* Nothing to choose from: what is needed, and what there is. */
static enum hypar_status fail(const struct tried *t, struct hypar_error *err)
{
    char sum[128] = "";
    double all, has;
    hp_room_together(t->problem, &all, &has);
    struct memory_text together = hp_memory_text(all, has);
    struct memory_text nearest = hp_memory_text(t->lacks.need, t->lacks.has);
    if (!t->nearest)
        return hp_fail(err, HYPAR_INFEASIBLE, "no planner has a plan: %s: %s",
                       t->refusals.by[0].planner, t->refusals.by[0].why.text);
    if (all > has)
        snprintf(sum, sizeof sum, "are %s, all devices together have %s; they ", together.need,
                 together.has);
    return hp_fail(
        err, HYPAR_INFEASIBLE,
        "no plan fits: weights, gradients and %s state %sneed %s on device %d, which "
        "has %s, in the nearest plan (%s)",
        hypar_optimizer_text(t->problem->options->optimizer), sum, nearest.need,
        t->lacks.device, nearest.has, t->nearest);
}

/* Release all but the best, and say why a plan does not fit. */
static void drop_others(struct tried *t, int best)
{
    struct hypar_error why;
    for (int i = 0; i < t->n; i++) {
        const struct hypar_simulated *s = &t->found[i]->simulated;
        if (i == best)
            continue;
        if (!fits(t->found[i]) &&
            hypar_check_fullest(&s->fullest, s->step.fullest_device, &why) != HYPAR_OK)
            refuse(t, t->found[i]->info.planner, why.text);
        hypar_found_free(t->found[i]);
    }
}

/* Plans that fit too, by what they are judged by. */
static void list_others(const struct tried *t, int best, struct hypar_found *out)
{
    struct hypar_other *other = NEW(&out->arena, struct hypar_other, t->n);
    double *worth = NEW(&out->arena, double, t->n);
    int n = 0;
    for (int i = 0; i < t->n && t->simulated; i++) {
        const struct hypar_sim_summary *s = &t->found[i]->simulated.step;
        int at = n;
        if (i == best || !fits(t->found[i]))
            continue;
        for (; at > 0 && merit(t, t->found[i]) < worth[at - 1]; at--) {
            other[at] = other[at - 1];
            worth[at] = worth[at - 1];
        }
        worth[at] = merit(t, t->found[i]);
        other[at] = (struct hypar_other){ t->found[i]->info.planner, s->step_s, s->comm_bytes,
                                          hypar_energy_total_j(&s->energy) };
        n++;
    }
    out->info.other = other;
    out->info.n_others = n;
    out->info.objective = t->problem->options->objective;
}

/* The options that only some planners take. */
static const char *restricted_text(const struct planner *self, unsigned given,
                                   struct arena *arena)
{
    unsigned not_all = 0;
    char text[256];
    for (int i = 0; hp_planners[i]; i++)
        if (hp_may_try(self, hp_planners[i], 0))
            not_all |= given & ~hp_planners[i]->takes & ~self->takes;
    return not_all ? hp_arena_strdup(arena, hp_options_text(text, sizeof text, not_all)) : NULL;
}

enum hypar_status hp_run_auto(const struct planner *self, const struct problem *problem,
                              struct hypar_found **out, struct hypar_error *err)
{
    struct tried t = { .random_search = self->random_search,
                       .problem = problem,
                       .given = hp_options_given(problem->options) };
    struct hypar_refusals *told = problem->options->refusals;
    double began_s = hp_now_s();
    for (int i = 0; hp_planners[i] && t.n < MAX_TRIED && !is_enough(&t); i++)
        if (hp_planners[i] != t.random_search && hp_may_try(self, hp_planners[i], t.given))
            try_planner(&t, hp_planners[i]);
    simulate(&t);
    int best = choose(&t);
    if (hp_may_try(self, t.random_search, t.given))
        search_at_random(&t, &best);
    if (best >= 0)
        list_others(&t, best, t.found[best]);
    drop_others(&t, best);
    if (told)
        *told = t.refusals;
    *out = best < 0 ? NULL : t.found[best];
    if (!*out)
        return fail(&t, err);
    (*out)->info.seconds = hp_now_s() - began_s;
    (*out)->info.evaluated = t.evaluated;
    (*out)->info.restricted = restricted_text(self, t.given, &(*out)->arena);
    (*out)->info.refused = refused_text(&(*out)->arena, &t.refusals);
    return HYPAR_OK;
}

const struct planner hp_planner_auto = {
    .info = { "auto", "the best of the others by simulated time, within memory", "",
              .tries_others = true, .proposes = true },
    .random_search = &hp_planner_flexflow,
    .takes = TAKES_OBJECTIVE | TAKES_BUDGET | TAKES_PROPOSALS,
};
