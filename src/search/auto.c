/* auto: simulates the plan of every planner and chooses the best that fits. It also tries plans
 * that planners make for similar machines (nearby.h). If it takes little time, or if a budget
 * is given, it also runs a random search (flexflow).
 *
 * auto never returns a plan whose memory was not checked (evaluate/judge.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "cost/calibration.h"
#include "machine/machine.h"
#include "search/estimate/needs.h"
#include "search/evaluate/simpler.h"
#include "search/limits.h"
#include "search/nearby.h"
#include "search/pipeline/solve.h"
#include "search/record.h"
#include "search/runnable.h"

enum { MAX_TRIED = HYPAR_MAX_REFUSALS };

static const char NO_TIME[] = "not tried, there was no time left";

/* Large plans are simulated in the order of their closed-form estimates. Closed forms add up
 * times that may overlap, level after level: the largest ratio to the simulated step seen is
 * 5.5 (nmt on 1,024 devices). */
static const double OVERLAP = 8;

struct tried {
    const struct planner *self, *random_search;
    const struct problem *problem;
    struct hypar_found *found[MAX_TRIED + 4]; /* of planners, one from a similar machine, of
                                               * random searches */
    struct verdict verdict[MAX_TRIED + 4];
    int n;
    int rows;       /* rows of the machine that the best plan is on */
    bool simulated; /* all plans were simulated as a whole */
    double best_s;  /* shortest step so far of a plan that fits */
    double began_s, began_process_s;
    struct hypar_refusals refusals;
    int64_t evaluated;
    unsigned given; /* given options that not every planner takes */
    /* The nearest of the plans that do not fit and whose simulation cannot be shown: */
    const char *nearest; /* NULL: none */
    struct fullest lacks;
    bool by_state; /* counts only weights, gradients and optimizer state */
};

/* The position of a planner in the table. */
static int rank(const char *planner)
{
    int i = 0;
    while (hp_planner_at(i) != hp_find_planner(planner))
        i++;
    return i;
}

/* Note why a planner has no plan, in the order of the table, whenever the planner ran. */
static void refuse(struct tried *t, const char *planner, const struct hypar_error *reason)
{
    struct hypar_refusals *r = &t->refusals;
    const char *why = reason->text;
    size_t skip = strlen(planner);
    int i = r->n;
    if (r->n == HYPAR_MAX_REFUSALS)
        return;
    if (strncmp(why, planner, skip) == 0 && why[skip] == ':')
        why += skip + 2; /* the reason already names the planner */
    for (r->n++; i > 0 && rank(r->by[i - 1].planner) > rank(planner); i--)
        r->by[i] = r->by[i - 1];
    r->by[i].planner = planner;
    hp_fail(&r->by[i].why, HYPAR_INFEASIBLE, "%s", why);
    hp_about(&r->by[i].why, reason->cause, HYPAR_INFEASIBLE);
}

static void leave_out(struct tried *t, const char *planner, const char *why)
{
    struct hypar_error reason;
    hp_fail(&reason, HYPAR_INFEASIBLE, "%s", why);
    refuse(t, planner, &reason);
}

/* Remember this plan if it is the nearest to fitting so far. */
static void note_nearest(struct tried *t, const struct hypar_found *found,
                         const struct fullest *full, bool by_state)
{
    if (t->nearest && full->part >= t->lacks.part)
        return;
    t->nearest = found->info.planner;
    t->lacks = *full;
    t->by_state = by_state;
}

/* The problem for this planner: with its share of the budget. */
static struct problem share_out(const struct tried *t, const struct planner *planner,
                                struct hypar_search_options *with)
{
    struct problem mine = *t->problem;
    int rest = 0;
    *with = *mine.options;
    mine.options = with;
    mine.whole = true;
    if (!(with->budget_s > 0))
        return mine;
    for (int i = 0, from = 0; hp_planner_at(i); i++) {
        from |= hp_planner_at(i) == planner;
        rest += from && hp_planner_at(i)->takes & TAKES_BUDGET &&
                hp_may_try(t->self, hp_planner_at(i), t->given);
    }
    double left_s = with->budget_s - (hp_now_s() - t->began_s);
    with->budget_s = fmax(left_s / (rest ? rest : 1), 1e-3);
    return mine;
}

static bool fits(const struct tried *t, int i)
{
    return hp_fits(&t->verdict[i].memory);
}

/* Simulate plan `i`, as a whole or in part. */
static void simulate(struct tried *t, int i)
{
    t->verdict[i] = hp_verdict(t->problem, t->found[i]);
    if (fits(t, i))
        t->best_s = fmin(t->best_s, t->verdict[i].step_s);
}

/* Insert a plan in the order of the table, whenever its planner ran: the first of equals is
 * chosen. */
static int add(struct tried *t, struct hypar_found *found)
{
    int i = t->n++;
    for (; i > 0 && rank(t->found[i - 1]->info.planner) > rank(found->info.planner); i--) {
        t->found[i] = t->found[i - 1];
        t->verdict[i] = t->verdict[i - 1];
    }
    t->found[i] = found;
    t->verdict[i] = (struct verdict){ .by = BY_NOTHING };
    return i;
}

/* Run a planner. Small plans are evaluated at once, so that a stopped search has the best of
 * them; large plans when all are known (simulate_all()). */
static void try_planner(struct tried *t, const struct planner *planner)
{
    struct hypar_error why;
    struct hypar_found *found;
    struct hypar_search_options with;
    struct problem mine = share_out(t, planner, &with);
    if (hp_try_divided(planner, &mine, &found, &why) != HYPAR_OK) {
        refuse(t, planner->info.name, &why);
        return;
    }
    if (hp_check_state(planner, t->problem, found, &why) != HYPAR_OK) {
        struct fullest full = hp_plan_fullest(found->plan, t->problem->options->memory_bytes);
        refuse(t, planner->info.name, &why);
        note_nearest(t, found, &full, true);
        hypar_found_free(found);
        return;
    }
    t->evaluated += found->info.evaluated > 0 ? found->info.evaluated : 0; /* -1: not known */
    int i = add(t, found);
    bool in_time = hp_is_judged(found) || !hp_stopped(t->problem->options->stop);
    if (in_time && !hp_is_large(found->plan))
        simulate(t, i);
}

/* Report registered planners that auto does not try. */
static void refuse_own(struct tried *t)
{
    for (int i = 0; hp_own_planner(i); i++)
        if (hp_own_planner(i)->not_in_auto)
            leave_out(t, hp_own_planner(i)->info.name, "not tried, as it does not say in_auto");
}

/* Has the caller asked to stop, or is the time over, while there is a plan to return? */
static bool is_enough(const struct tried *t)
{
    const struct hypar_search_options *o = t->problem->options;
    bool over = o->budget_s > 0 && hp_now_s() - t->began_s >= o->budget_s;
    return t->n > 0 && (over || hp_stopped(o->stop));
}

/* Run all planners but the random search while there is time. Those with long searches run
 * last, so that a stopped search has the plans of the others. */
static void try_planners(struct tried *t, bool slow_ones)
{
    for (int i = 0; hp_planner_at(i) && t->n < MAX_TRIED; i++) {
        const struct planner *planner = hp_planner_at(i);
        if (planner == t->random_search || planner->slow != slow_ones ||
            !hp_may_try(t->self, planner, t->given))
            continue;
        if (is_enough(t))
            leave_out(t, planner->info.name, NO_TIME);
        else
            try_planner(t, planner);
    }
}

/* Remove plan `i`: it is not evaluated, or does not fit. */
static void drop(struct tried *t, int i, const struct hypar_error *why)
{
    refuse(t, t->found[i]->info.planner, why);
    hypar_found_free(t->found[i]);
    t->n--;
    for (; i < t->n; i++) {
        t->found[i] = t->found[i + 1];
        t->verdict[i] = t->verdict[i + 1];
    }
}

static enum hypar_status check_bound(struct tried *t, int i, const struct op_needs *needs,
                                     struct hypar_error *why)
{
    const struct planner *planner = hp_find_planner(t->found[i]->info.planner);
    if (planner->checks_memory) /* it may recompute activations that the bound counts as kept */
        return HYPAR_OK;
    struct fullest least = hp_plan_need(NEED_LEAST, t->problem, needs, t->found[i]->plan);
    if (least.part <= HP_OFF_MUCH * HP_OFF_MUCH)
        return HYPAR_OK;
    note_nearest(t, t->found[i], &least, false);
    return hp_fail_device(&least, hp_problem_room_words(t->problem), why);
}

/* Refuse a large plan whose simulation would take too long, or whose estimate is far above the
 * best step. */
static enum hypar_status check_worth(const struct tried *t, int i, double parts,
                                     struct hypar_error *why)
{
    double closed_s = t->found[i]->prediction.step_s, budget_s = t->problem->options->budget_s;
    bool known = hp_in_part(t->found[i]); /* its planner simulated it */
    double now = parts + (double)hp_plan_parts(t->found[i]->plan);
    bool over =
        !known && (budget_s > 0 ? hp_now_s() - t->began_s > budget_s : hp_are_many_parts(now));
    char step[32];
    if (t->problem->options->objective == HYPAR_TIME && closed_s > OVERLAP * t->best_s)
        return hp_fail(
            why, HYPAR_INFEASIBLE,
            "not simulated: %s in closed form is more than eight times the best step",
            hypar_format_quantity(step, closed_s, HYPAR_UNIT_SECONDS));
    if (over && isfinite(t->best_s))
        return hp_fail(why, HYPAR_INFEASIBLE, "not simulated, a plan of %lld parts takes long",
                       (long long)hp_plan_parts(t->found[i]->plan));
    return HYPAR_OK;
}

/* The next plan to evaluate: plans that are simulated as a whole first, then in the order of
 * their closed forms; -1: none left. */
static int next_to_simulate(const struct tried *t)
{
    int next = -1;
    for (int i = 0; i < t->n; i++) {
        if (t->verdict[i].by != BY_NOTHING)
            continue;
        if (!hp_is_large(t->found[i]->plan))
            return i;
        if (next < 0 || t->found[i]->prediction.step_s < t->found[next]->prediction.step_s)
            next = i;
    }
    return next;
}

/* Does any plan have a verdict? */
static bool is_any_simulated(const struct tried *t)
{
    for (int i = 0; i < t->n; i++)
        if (t->verdict[i].by != BY_NOTHING)
            return true;
    return false;
}

/* Evaluate the plans that may be the best, and remove the others; then all plans have a
 * verdict. */
static void simulate_all(struct tried *t)
{
    struct arena scratch = { 0 };
    const struct op_needs *needs = NULL;
    double parts = 0;
    struct hypar_error why;
    for (int i; (i = next_to_simulate(t)) >= 0;) {
        bool large = hp_is_large(t->found[i]->plan);
        if (large && !needs)
            needs = hp_op_needs(t->problem, &scratch);
        if (is_any_simulated(t) && hp_stopped(t->problem->options->stop)) {
            hp_fail(&why, HYPAR_INFEASIBLE, "interrupted before its plan was simulated");
            drop(t, i, &why);
        } else if (large && (check_bound(t, i, needs, &why) != HYPAR_OK ||
                             check_worth(t, i, parts, &why) != HYPAR_OK)) {
            drop(t, i, &why);
        } else {
            parts += large && !hp_in_part(t->found[i])
                         ? (double)hp_plan_parts(t->found[i]->plan)
                         : 0;
            simulate(t, i);
        }
    }
    t->simulated = true;
    for (int i = 0; i < t->n; i++)
        t->simulated &= t->verdict[i].by == BY_SIMULATION;
    hp_arena_free(&scratch);
}

/* The value that plans are compared by. All steps are verdicts; bytes and energy are simulated
 * values only if all plans were simulated as a whole. */
static double merit(const struct tried *t, int i)
{
    const struct hypar_sim_summary *s = &t->found[i]->simulated.step;
    const struct hypar_prediction *p = &t->found[i]->prediction;
    switch (t->problem->options->objective) {
    case HYPAR_COMM:
        return t->simulated ? s->comm_bytes : p->comm_bytes;
    case HYPAR_ENERGY:
        return t->simulated ? hypar_energy_total_j(&s->energy) : p->energy_j;
    default:
        return t->verdict[i].step_s;
    }
}

/* The best plan that fits; if none fits, the one with the least need; the first among
 * equals. */
static int best_of(const struct tried *t)
{
    int best = -1;
    for (int i = 0; i < t->n; i++)
        if (fits(t, i) && (best < 0 || merit(t, i) < merit(t, best)))
            best = i;
    for (int i = 0, least = best < 0; i < t->n && least; i++)
        if (best < 0 || t->verdict[i].memory.part < t->verdict[best].memory.part)
            best = i;
    return best;
}

/* Try plans for similar machines: one that is faster here becomes the best. */
static void try_nearby(struct tried *t, int *best)
{
    bool has = *best >= 0 && fits(t, *best);
    if (is_enough(t))
        return;
    struct nearby_start start = { t->found, t->n, has ? merit(t, *best) : INFINITY,
                                  has && t->simulated };
    struct hypar_found *found =
        hp_plan_nearby(t->self, t->problem, t->given, &start, &t->verdict[t->n], &t->rows);
    if (!found)
        return;
    t->simulated &= t->verdict[t->n].by == BY_SIMULATION;
    t->found[t->n] = found;
    *best = t->n++;
}

/* May flexflow run, after planner `best` (-1: none) found the best plan so far? If a plan fits,
 * flexflow searches for a faster one; if none fits, for any that fits. */
static bool may_search(const struct tried *t, int best)
{
    double need, has;
    if (best >= 0 && fits(t, best))
        return t->simulated && t->problem->options->objective == HYPAR_TIME;
    hp_room_together(t->problem, &need, &has);
    return need <= has;
}

/* Run flexflow. Its plan becomes the best if it is better than the others by more than
 * rounding, as it is less regular than theirs, or the only plan that fits. */
static void search_at_random(struct tried *t, int *best)
{
    struct hypar_search_options with;
    struct problem mine = share_out(t, t->random_search, &with);
    struct random_start start = { .rows = t->rows };
    struct hypar_error why = { 0 };
    int i = t->n;
    if (is_enough(t)) {
        leave_out(t, t->random_search->info.name, NO_TIME);
        return;
    }
    if (!may_search(t, *best))
        return;
    if (*best >= 0)
        start.like = t->found[*best]->plan;
    if (*best >= 0 && fits(t, *best)) {
        start.known = t->found[*best]->plan;
        start.step_s = merit(t, *best);
    }
    if (hp_search_at_random(t->random_search, &mine, &start, &t->found[i], &t->verdict[i],
                            &why) != HYPAR_OK) {
        refuse(t, t->random_search->info.name, &why);
        return;
    }
    if (*why.text)
        refuse(t, t->random_search->info.name, &why);
    t->evaluated += t->found[t->n++]->info.evaluated;
    if (fits(t, i) &&
        (*best < 0 || !fits(t, *best) || merit(t, i) < HP_ROUNDING * merit(t, *best)))
        *best = i;
}

/* Run auto for `rows` rows of the machine with links `links` times as fast. Its plan becomes
 * the best if it is better here. */
static void ask_lesser(struct tried *t, int rows, double links, int *best)
{
    struct hypar_search_options with = *t->problem->options;
    struct nearby n;
    int i = t->n;
    with.refusals = NULL;
    if (is_enough(t) || !hp_nearby_begin(&n, t->problem, rows, links))
        return;
    n.problem.options = &with;
    n.problem.within_auto = true;
    if (hp_run_auto(t->self, &n.problem, &t->found[i], NULL) == HYPAR_OK) {
        t->verdict[i] = hp_carry_found(t->problem, &n, t->found[i]);
        t->n++;
        if (fits(t, i) && merit(t, i) < HP_ROUNDING * merit(t, *best))
            *best = i;
    }
    hp_nearby_end(&n);
}

/* If a random search found the best plan, random searches with fewer rows or slower links may
 * find a better one, because they start from other plans. */
static void ask_lessers(struct tried *t, int best_of_others, int *best)
{
    const struct hypar_machine *machine = t->problem->machine;
    int all = hp_machine_rows(machine), fewer = hp_machine_fewer_rows(machine, all);
    if (*best == best_of_others || *best < 0 || !fits(t, *best) || t->problem->within_auto ||
        t->problem->options->budget_s > 0 || t->problem->options->proposals > 0)
        return;
    if (fewer > 0)
        ask_lesser(t, fewer, 1, best);
    ask_lesser(t, all, 0.5, best);
}

/* The width of the interval of a simulated step, as a factor; 1 if no such step was measured:
 * then the interval does not tell two plans apart. */
static double width(const struct tried *t, int i)
{
    struct hypar_interval interval = t->found[i]->simulated.step.interval;
    return interval.from.rows ? interval.high_s / interval.low_s : 1;
}

static struct equal_plan equal_plan(const struct tried *t, int i)
{
    return (struct equal_plan){ .step_s = merit(t, i),
                                .part = t->verdict[i].memory.part,
                                .width = width(t, i),
                                .figures = hp_plan_figures(t->found[i]->plan) };
}

/* The plan to choose among those that are as fast as `best`: a safer or simpler one, if any. */
static int choose_equal(const struct tried *t, int best)
{
    int chosen = best;
    if (best < 0 || !fits(t, best) || !t->simulated || t->problem->within_auto ||
        t->problem->options->objective != HYPAR_TIME)
        return best;
    struct equal_plan fastest = equal_plan(t, best), now = fastest;
    for (int i = 0; i < t->n; i++) {
        if (i == best || !fits(t, i) || !hp_are_equal(merit(t, i), fastest.step_s))
            continue;
        struct equal_plan other = equal_plan(t, i);
        if (hp_is_preferred(&other, &now)) {
            chosen = i;
            now = other;
        }
    }
    struct hypar_found *found = t->found[chosen];
    if (chosen != best)
        found->info.safer = hp_preferred_text(
            &found->arena, &now, &fastest,
            hp_arena_printf(&found->arena, "the plan of %s", t->found[best]->info.planner));
    return chosen;
}

/* Name the simplest plan that predictions do not tell from the chosen one, where steps are
 * shorter than any that was measured: stages and splits may gain nothing there. */
static void note_simpler(struct tried *t, int chosen)
{
    static const double SHORT_S = 1e-3;
    struct hypar_found *found = t->found[chosen];
    struct hypar_calibration off = found->simulated.step.interval.from;
    struct equal_plan mine = equal_plan(t, chosen), simplest = mine;
    char step[32];
    int at = chosen;
    if (!fits(t, chosen) || !t->simulated || mine.step_s >= SHORT_S ||
        t->problem->options->objective != HYPAR_TIME)
        return;
    for (int i = 0; i < t->n; i++) {
        struct equal_plan other = equal_plan(t, i);
        if (!fits(t, i) || !hp_are_alike(&off, other.step_s, mine.step_s) ||
            hp_compare_simpler(&other.figures, &simplest.figures) >= 0)
            continue;
        simplest = other;
        at = i;
    }
    if (at != chosen)
        found->info.simpler = hp_arena_printf(
            &found->arena,
            "the plan of %s, %s, takes %s; predictions of such short steps are off "
            "by more than the difference",
            t->found[at]->info.planner,
            hp_simpler_text(&found->arena, &simplest.figures, &mine.figures),
            hypar_format_quantity(step, simplest.step_s, HYPAR_UNIT_SECONDS));
}

/* Say why the best plan leaves nodes idle that differ from the others. */
static void explain_idle(struct tried *t, int best)
{
    struct hypar_found *found = t->found[best];
    double all_s = INFINITY;
    if (t->problem->whole || t->problem->options->objective != HYPAR_TIME || !fits(t, best))
        return;
    for (int i = 0; i < t->n; i++)
        if (fits(t, i) && hp_uses_all_units(t->problem, t->found[i]->plan))
            all_s = fmin(all_s, t->verdict[i].step_s);
    found->info.idle =
        hp_idle_reason(&found->arena, t->problem, found->plan, t->verdict[best].step_s, all_s);
}

/* There is no plan: report the memory that is needed, and the memory that there is. */
static enum hypar_status fail(const struct tried *t, struct hypar_error *err)
{
    char sum[128] = "";
    double all, has;
    hp_room_together(t->problem, &all, &has);
    struct memory_text together = hp_memory_text(all, has);
    struct memory_text nearest = hp_memory_text(t->lacks.need, t->lacks.has);
    const char *of_what = hp_problem_room_words(t->problem);
    if (!t->nearest) {
        const struct hypar_error *first = &t->refusals.by[0].why;
        hp_fail(err, HYPAR_INFEASIBLE, "no planner has a plan: %s: %s",
                t->refusals.by[0].planner, first->text);
        return hp_about(err, first->cause, HYPAR_INFEASIBLE);
    }
    if (!t->by_state)
        return hp_fail_memory(&t->lacks, t->problem, t->nearest, err);
    if (all > has)
        snprintf(sum, sizeof sum, "are %s, all devices together have %s; they ", together.need,
                 together.has);
    hp_fail(err, HYPAR_INFEASIBLE,
            "no plan fits: weights, gradients and %s state %sneed %s on device %d, which has "
            "%s%s, in the nearest plan (%s)",
            hypar_optimizer_text(t->problem->options->optimizer), sum, nearest.need,
            t->lacks.device, nearest.has, of_what, t->nearest);
    return hp_about(err, HYPAR_CAUSE_MEMORY, HYPAR_INFEASIBLE);
}

/* A plan that does not fit is shown only if it was simulated as a whole: its figures say how
 * much is missing. Of any other plan, only the verdict is reported. */
static int show_or_drop(struct tried *t, int best)
{
    if (best < 0 || fits(t, best) || t->verdict[best].by == BY_SIMULATION)
        return best;
    note_nearest(t, t->found[best], &t->verdict[best].memory, false);
    return -1;
}

/* Free all plans but the best, and report why plans do not fit. */
static void drop_others(struct tried *t, int best)
{
    struct hypar_error why;
    for (int i = 0; i < t->n; i++) {
        if (i == best)
            continue;
        hp_fail_device(&t->verdict[i].memory, hp_problem_room_words(t->problem), &why);
        if (!fits(t, i))
            refuse(t, t->found[i]->info.planner, &why);
        hypar_found_free(t->found[i]);
    }
}

/* Keep the first plan of each planner but `self`. A planner that is asked again, as for slower
 * links, would be listed twice under one name. Returns how many plans are kept. */
static int keep_first_of_each(struct hypar_other *other, int n, const char *self)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool listed = strcmp(other[i].planner, self) == 0;
        for (int k = 0; k < kept; k++)
            listed |= strcmp(other[i].planner, other[k].planner) == 0;
        if (!listed)
            other[kept++] = other[i];
    }
    return kept;
}

/* Note the plans that an earlier planner of the list, or the winner, found too. */
static void note_same(struct hypar_other *other, const uint64_t *hash, int n,
                      const struct hypar_found *best)
{
    uint64_t chosen = hypar_plan_hash(best->plan);
    for (int i = 0; i < n; i++) {
        other[i].same_as = hash[i] == chosen ? best->info.planner : NULL;
        for (int k = 0; k < i && !other[i].same_as; k++)
            if (hash[k] == hash[i])
                other[i].same_as = other[k].planner;
    }
}

/* List the best plans of the other planners that fit, best first. */
static void list_others(const struct tried *t, int best, struct hypar_found *out)
{
    struct hypar_other *other = NEW(&out->arena, struct hypar_other, t->n);
    uint64_t *hash = NEW(&out->arena, uint64_t, t->n);
    double *worth = NEW(&out->arena, double, t->n);
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        int at = n;
        if (i == best || !fits(t, i))
            continue;
        for (; at > 0 && merit(t, i) < worth[at - 1]; at--) {
            other[at] = other[at - 1];
            worth[at] = worth[at - 1];
            hash[at] = hash[at - 1];
        }
        worth[at] = merit(t, i);
        hash[at] = hypar_plan_hash(t->found[i]->plan);
        other[at] = hp_figures(t->found[i], t->verdict[i].step_s);
        other[at].how = hp_plan_summary(&out->arena, t->found[i]->plan);
        n++;
    }
    note_same(other, hash, n, out);
    out->info.other = other;
    out->info.n_others = keep_first_of_each(other, n, out->info.planner);
    out->info.objective = t->problem->options->objective;
}

static void list_left_out(const struct hypar_refusals *r, struct hypar_found *out)
{
    struct hypar_left_out *list = NEW(&out->arena, struct hypar_left_out, r->n);
    for (int i = 0; i < r->n; i++)
        list[i] = (struct hypar_left_out){ r->by[i].planner,
                                           hp_arena_strdup(&out->arena, r->by[i].why.text) };
    out->info.left_out = list;
    out->info.n_left_out = r->n;
}

/* The given options that only some planners take. */
static const char *restricted_text(const struct planner *self, unsigned given,
                                   struct arena *arena)
{
    unsigned not_all = 0;
    char text[256];
    for (int i = 0; hp_planner_at(i); i++)
        if (hp_may_try(self, hp_planner_at(i), 0))
            not_all |= given & ~hp_planner_at(i)->takes & ~self->takes;
    return not_all ? hp_arena_strdup(arena, hp_options_text(text, sizeof text, not_all)) : NULL;
}

enum hypar_status hp_run_auto(const struct planner *self, const struct problem *problem,
                              struct hypar_found **out, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct straight_cuts cuts = { .arena = &scratch };
    struct problem mine = *problem;
    mine.cuts = problem->cuts ? problem->cuts : &cuts;
    struct tried t = { .self = self,
                       .random_search = self->random_search,
                       .problem = &mine,
                       .best_s = INFINITY,
                       .began_s = hp_now_s(),
                       .began_process_s = hp_process_s(),
                       .given = hp_options_given(problem->options) };
    struct hypar_refusals *told = problem->options->refusals;
    try_planners(&t, false);
    try_planners(&t, true);
    refuse_own(&t);
    simulate_all(&t);
    int best = best_of(&t);
    try_nearby(&t, &best);
    bool random = hp_may_try(self, t.random_search, t.given);
    int best_of_others = best;
    if (random && hp_tells_quickly(problem))
        search_at_random(&t, &best);
    else if (random)
        leave_out(&t, t.random_search->info.name, "cannot be kept to what can be run");
    ask_lessers(&t, best_of_others, &best);
    best = show_or_drop(&t, choose_equal(&t, best));
    if (best >= 0) {
        explain_idle(&t, best);
        note_simpler(&t, best);
        list_others(&t, best, t.found[best]);
    }
    drop_others(&t, best);
    hp_arena_free(&scratch);
    if (told)
        *told = t.refusals;
    *out = best < 0 ? NULL : t.found[best];
    if (!*out)
        return fail(&t, err);
    (*out)->info.seconds = hp_now_s() - t.began_s;
    (*out)->info.processor_s = hp_process_s() - t.began_process_s;
    (*out)->info.evaluated = t.evaluated;
    (*out)->info.restricted = restricted_text(self, t.given, &(*out)->arena);
    list_left_out(&t.refusals, *out);
    return HYPAR_OK;
}

const struct planner hp_planner_auto = {
    .info = { "auto", "the best of the others by simulated time, within memory", "",
              .tries_others = true, .proposes = true },
    .random_search = &hp_planner_flexflow,
    .takes = TAKES_OBJECTIVE | TAKES_BUDGET | TAKES_PROPOSALS | TAKES_PLANNER_OPTION,
};
