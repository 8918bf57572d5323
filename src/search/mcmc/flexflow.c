/* FlexFlow (Jia, Zaharia, Aiken, MLSys 2019): Markov chains over the splits and devices of
 * every operator; the cost of a plan is its simulated step.
 *
 * Four chains run in sweeps with a fixed number of proposals each. Between sweeps the search
 * decides whether to continue, and a chain that is far behind continues from the best plan.
 * Without a time limit, these decisions depend only on counts, so the same seed gives the same
 * plan on any number of cores. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "plan/schedules.h"
#include "search/evaluate/size.h"
#include "search/fix.h"
#include "search/limits.h"
#include "search/mcmc/chain.h"

enum {
    CHAINS = 4,
    LEAST_SWEEPS = 32, /* of a search without a budget */
    MOST_SWEEPS = 6 * LEAST_SWEEPS,
    JUMP_SWEEPS = LEAST_SWEEPS / 4, /* sweeps between two jumps of a chain */
    PATIENCE = 200,                 /* limit of repairs in a row that do not help */
    REPAIRS = 3 * PATIENCE,
};

/* A step that is longer by a fraction x of the first step is accepted with probability
 * exp(-BETA x). Published code uses exp(-5 x difference in ms), which is hot for steps of
 * microseconds and cold for steps of seconds. Every group can be a little worse than at its
 * best, so more groups need a larger beta. */
static const double BETA_PER_GROUP = 40;

/* Time between two checks for the end of the search. */
static const double MOMENT_S = 0.1;

struct start {
    const char *name;
    struct hypar_plan *plan; /* plan and timeline, until a chain takes ownership */
    struct delta *delta;
    ticks length;
    double step_s; /* under pipedream, the step in steady state; chains compare whole minibatch
                    * windows */
    struct fullest full;
};

struct search {
    const struct problem *problem;
    struct fixes fixes;
    int n_starts;
    struct start start[HP_FEW];
    double beta;
    int64_t sweep_size; /* proposals of a chain in one sweep */
    struct chain chain[CHAINS];
    /* Chains of one lane run one after another and share a sim_cache; lanes run in parallel.
     * The result does not depend on the number of lanes. */
    int n_lanes;
    struct sim_cache *sim_cache[CHAINS];
    size_t most_bytes[CHAINS]; /* by lane: size at which the sim_cache, which keeps all
                                * layouts that were tried, is replaced, if above its share of
                                * HP_MOST_BYTES */
    void (*job)(struct search *s, struct chain *chain); /* current job of the chains */
    int n_chains;                                       /* chains begun */
    int64_t run;    /* proposals of each chain in the current call ... */
    int64_t moment; /* ... and their limit: about as many as take MOMENT_S */
    double began_s;
};

/* Is the time budget, if there is one, used up, or has the caller asked to stop? */
static bool is_over(const struct search *s)
{
    double budget_s = s->problem->options->budget_s;
    return hp_stopped(s->problem->options->stop) ||
           (budget_s > 0 && hp_now_s() - s->began_s >= budget_s);
}

/* Start plans ------------------------------------------------------------------------------ */

static enum hypar_status find_step(const struct search *s, struct start *start,
                                   struct hypar_error *err)
{
    struct hypar_sim *sim;
    start->step_s = hp_seconds(start->length);
    if (!hp_is_delayed(start->plan))
        return HYPAR_OK;
    TRY(hypar_simulate(&sim, start->plan, s->problem->options->simulation, err));
    start->step_s = hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    return HYPAR_OK;
}

static enum hypar_status measure(const struct search *s, struct hypar_plan *plan,
                                 struct start *out, struct hypar_error *err)
{
    hp_delta_free(out->delta);
    TRY(hp_delta_new(&out->delta, plan, hp_simulation(s->problem), s->sim_cache[0], err));
    out->plan = plan;
    out->length = hp_delta_step(out->delta);
    TRY(find_step(s, out, err));
    return hp_exact_need(s->problem, plan, &s->sim_cache[0]->cache, &out->full, err);
}

/* Insert a start in order: plans that fit in memory by their step, then the others by the
 * memory they lack. Chains take the first ones; the timelines of others are not kept. */
static void add_start(struct search *s, const struct start *start)
{
    int i = s->n_starts++;
    for (; i > 0; i--) {
        const struct start *other = &s->start[i - 1];
        bool fits = hp_fits(&start->full), other_fits = hp_fits(&other->full);
        bool before = fits != other_fits ? fits
                      : fits             ? start->length < other->length
                                         : start->full.excess < other->full.excess;
        if (!before)
            break;
        s->start[i] = *other;
    }
    s->start[i] = *start;
    if (s->n_starts > CHAINS) {
        hp_delta_free(s->start[CHAINS].delta);
        s->start[CHAINS].delta = NULL;
    }
}

static enum hypar_status start_from(struct search *s, const char *name,
                                    const struct hypar_plan *plan, struct hypar_error *err)
{
    struct start start = { .name = name };
    struct hypar_plan *copy = hp_plan_copy(plan);
    enum hypar_status status = hp_apply_fixes(copy, &s->fixes, err);
    if (status == HYPAR_OK)
        status = hypar_plan_check(copy, err);
    if (status == HYPAR_OK)
        status = measure(s, copy, &start, err);
    if (status == HYPAR_OK) {
        add_start(s, &start);
        return HYPAR_OK;
    }
    hp_delta_free(start.delta);
    hypar_plan_free(copy);
    return status;
}

/* Add the plans of other planners, even plans that do not fit in memory. A planner without a
 * plan is skipped. */
static void start_from_planners(struct search *s, struct hypar_error *err)
{
    struct hypar_search_options plain = *s->problem->options;
    struct problem problem = *s->problem;
    plain.joint = false;
    problem.options = &plain;
    for (int i = 0; hp_planner_at(i); i++) {
        const struct planner *planner = hp_planner_at(i);
        if (!planner->seeds)
            continue;
        if (s->n_starts && hp_stopped(s->problem->options->stop))
            break;
        struct hypar_found *found;
        plain.memory_bytes = s->problem->options->memory_bytes;
        bool has = hp_run_planner(planner, &problem, &found, err) == HYPAR_OK;
        plain.memory_bytes = INFINITY;
        if (!has && hp_run_planner(planner, &problem, &found, err) != HYPAR_OK)
            continue;
        start_from(s, planner->info.name, found->plan, err);
        hypar_found_free(found);
    }
}

static enum hypar_status find_starts(struct search *s, struct hypar_error *err)
{
    const struct hypar_plan *given = s->problem->options->start;
    if (given) {
        if (given->graph != s->problem->graph || given->machine != s->problem->machine)
            return hp_fail(err, HYPAR_INVALID,
                           "the plan to begin with is for another model or "
                           "machine");
        return start_from(s, "start", given, err);
    }
    start_from_planners(s, err);
    if (s->problem->known)
        start_from(s, "best", s->problem->known, err);
    if (s->n_starts)
        return HYPAR_OK;
    /* the whole graph on one device is always a plan */
    struct hypar_plan *plan =
        hp_plan_new(s->problem->graph, s->problem->machine, &s->problem->settings);
    enum hypar_status status = start_from(s, "whole", plan, err);
    hypar_plan_free(plan);
    return status;
}

/* If no start fits in memory: accept changes that reduce the missing memory until the plan
 * fits. */
static enum hypar_status repair(struct search *s, struct hypar_error *err)
{
    struct start *start = &s->start[0];
    struct proposer proposer;
    struct proposal now, was;
    struct random random = { (uint64_t)s->problem->options->seed };
    struct lowering_cache *cache = &s->sim_cache[0]->cache;
    struct fullest full;
    hp_proposer_begin(&proposer, start->plan, s->fixes.fixed);
    hp_proposal_begin(&now, start->plan->graph);
    hp_proposal_begin(&was, start->plan->graph);
    int last = 0; /* that helped */
    for (int i = 0; i < REPAIRS && i - last < PATIENCE && !hp_fits(&start->full); i++) {
        enum move move = i % 3 == 0 ? MOVE_RUN : i % 3 == 1 ? MOVE_GROUP : MOVE_BRANCH;
        if (is_over(s))
            break;
        if (!hp_propose(&proposer, &random, move, &now))
            continue;
        hp_proposal_save(start->plan, &now, &was);
        hp_proposal_apply(start->plan, &now);
        if (hp_exact_need(s->problem, start->plan, cache, &full, NULL) == HYPAR_OK &&
            full.excess < start->full.excess) {
            start->full = full;
            last = i;
        } else {
            hp_proposal_apply(start->plan, &was);
        }
    }
    hp_proposal_end(&now);
    hp_proposal_end(&was);
    hp_proposer_end(&proposer);
    if (!hp_fits(&start->full))
        return hp_fail_memory(&start->full, s->problem, NULL, err);
    return measure(s, start->plan, start, err);
}

/* Chains ---------------------------------------------------------------------------------- */

/* The number of independent choices: families, and leaders without a family. */
static int count_choices(const struct groups *g)
{
    int n = g->n_families;
    for (int i = 0; i < g->n_leaders; i++)
        n += g->family[g->leaders[i]] < 0;
    return n;
}

/* Set the length of a sweep. A search without a budget proposes a minimum number of changes,
 * and more if there are more choices. */
static void set_lengths(struct search *s)
{
    int choices = count_choices(s->chain[0].proposer.groups);
    s->sweep_size = (2400 + 40 * (int64_t)choices) / (CHAINS * LEAST_SWEEPS);
}

static enum hypar_status begin_chains(struct search *s, struct hypar_error *err)
{
    struct random seeds = { (uint64_t)s->problem->options->seed };
    struct arena scratch = { 0 };
    int n_fit = 0;
    while (n_fit < s->n_starts && hp_fits(&s->start[n_fit].full))
        n_fit++;
    const struct groups *g = hp_groups(&scratch, s->problem->graph, s->fixes.fixed);
    s->beta = BETA_PER_GROUP * count_choices(g);
    hp_arena_free(&scratch);
    for (int i = 0; i < CHAINS; i++) {
        int lane = i % s->n_lanes;
        struct start *start = &s->start[i % n_fit];
        struct chain_start from = { .sim_cache = s->sim_cache[lane], .full = &start->full };
        from.plan = i < n_fit ? start->plan : hp_plan_copy(s->chain[i % n_fit].best);
        if (i < n_fit && lane == 0) { /* the starts use this lane's sim_cache */
            from.delta = start->delta;
            start->delta = NULL;
        }
        start->plan = NULL;
        s->n_chains++;
        TRY(hp_chain_begin(&s->chain[i], s->problem, &from, s->fixes.fixed, s->beta,
                           hp_random_u64(&seeds), err));
    }
    for (int i = 0; i < s->n_starts; i++) { /* starts that no chain uses */
        hp_delta_free(s->start[i].delta);
        s->start[i].delta = NULL;
    }
    if (!s->problem->options->start)
        hp_chain_scatter(&s->chain[CHAINS - 1]);
    set_lengths(s);
    return HYPAR_OK;
}

static void run_chain(struct search *s, struct chain *chain)
{
    hp_chain_run(chain, s->run);
}

static void confirm_chain(struct search *s, struct chain *chain)
{
    (void)s;
    hp_chain_confirm(chain);
}

static int best_chain(const struct search *s)
{
    int best = 0;
    for (int i = 1; i < CHAINS; i++)
        if (s->chain[i].best_length < s->chain[best].best_length)
            best = i;
    return best;
}

/* The shortest step so far, whether or not its plan is known to fit. */
static ticks best_length(const struct search *s)
{
    ticks best = s->chain[0].next_length;
    for (int i = 1; i < CHAINS; i++)
        best = s->chain[i].next_length < best ? s->chain[i].next_length : best;
    return best;
}

/* The chain with the worst result continues from the best plan if it is far behind (by more
 * than 1/200 of the step). */
static void jump(struct search *s)
{
    const struct chain *best = &s->chain[best_chain(s)];
    struct chain *last = &s->chain[0];
    for (int i = 1; i < CHAINS; i++)
        if (s->chain[i].best_length > last->best_length)
            last = &s->chain[i];
    if (last->best_length > best->best_length + best->best_length / 200)
        hp_chain_jump(last, best->best);
}

static struct hypar_search_progress progress_of(const struct search *s)
{
    int steps = hp_delta_timing(s->chain[0].delta)->lowering->iteration.n_batches;
    struct hypar_search_progress p = {
        .best_s = hp_seconds(best_length(s)) / steps,
        .seconds = hp_now_s() - s->began_s,
    };
    for (int i = 0; i < CHAINS; i++) {
        p.proposals += s->chain[i].proposals;
        p.accepted += s->chain[i].accepted;
    }
    return p;
}

/* The time of the last improvement. */
struct improvement {
    int sweep;
    double seconds;
};

/* Decide whether there is another sweep. The first sweep always begins. With a count of
 * proposals, the search continues up to this count. With a time budget, as in the paper, it
 * continues until the budget is used up, or until half of the budget brings no improvement
 * after the minimum number of sweeps. */
static bool goes_on(const struct search *s, int sweep, struct improvement last)
{
    const struct hypar_search_options *o = s->problem->options;
    struct hypar_search_progress p = progress_of(s);
    if (o->progress)
        o->progress(o->who, &p);
    if (sweep > 0 && is_over(s))
        return false;
    if (o->proposals)
        return p.proposals < o->proposals;
    if (o->budget_s > 0)
        return sweep < LEAST_SWEEPS || p.seconds - last.seconds < o->budget_s / 2;
    return sweep < LEAST_SWEEPS || (sweep < 2 * last.sweep && sweep < MOST_SWEEPS);
}

/* Replace a lane's sim_cache that has become too large. The new one may grow to twice the size
 * that the current plans need. */
static void renew_lane(struct search *s, int lane)
{
    for (int i = lane; i < CHAINS; i += s->n_lanes)
        hp_chain_leave(&s->chain[i]);
    hp_sim_cache_free(s->sim_cache[lane]);
    s->sim_cache[lane] = hp_sim_cache_new(s->chain[lane].plan, hp_simulation(s->problem));
    for (int i = lane; i < CHAINS; i += s->n_lanes)
        hp_chain_enter(&s->chain[i], s->sim_cache[lane]);
    s->most_bytes[lane] = 2 * hp_sim_cache_bytes(s->sim_cache[lane]);
}

static void run_lane(void *arg, int lane)
{
    struct search *s = arg;
    for (int i = lane; i < CHAINS; i += s->n_lanes)
        s->job(s, &s->chain[i]);
    size_t bytes = hp_sim_cache_bytes(s->sim_cache[lane]);
    if ((double)bytes > HP_MOST_BYTES / s->n_lanes && bytes > s->most_bytes[lane])
        renew_lane(s, lane);
}

static enum hypar_status on_all_chains(struct search *s,
                                       void (*job)(struct search *, struct chain *),
                                       struct hypar_error *err)
{
    s->job = job;
    hp_parallel(s->n_lanes, s->n_lanes, run_lane, s);
    for (int i = 0; i < CHAINS; i++)
        if (s->chain[i].status != HYPAR_OK) {
            *err = s->chain[i].err;
            return s->chain[i].status;
        }
    return HYPAR_OK;
}

/* Make `n` proposals of each chain, or fewer if the search is over, but equally many of each
 * chain. The proposals do not depend on how they are divided into calls. */
static enum hypar_status run_sweep(struct search *s, int64_t n, struct hypar_error *err)
{
    for (int64_t done = 0; done < n && (done == 0 || !is_over(s)); done += s->run) {
        double began_s = hp_now_s();
        s->run = s->moment < n - done ? s->moment : n - done;
        TRY(on_all_chains(s, run_chain, err));
        double took_s = hp_now_s() - began_s;
        if (took_s < MOMENT_S / 2)
            s->moment = 2 * s->run > s->moment ? 2 * s->run : s->moment;
        else if (took_s > MOMENT_S && s->moment > 1)
            s->moment = (s->run + 1) / 2;
    }
    return HYPAR_OK;
}

static enum hypar_status run_sweeps(struct search *s, struct hypar_error *err)
{
    const struct hypar_search_options *o = s->problem->options;
    ticks best = best_length(s);
    struct improvement last = { 0 };
    s->moment = 1;
    for (int sweep = 0; goes_on(s, sweep, last); sweep++) {
        int64_t n = s->sweep_size;
        if (o->proposals) { /* the last sweep may be shorter */
            int64_t left = (o->proposals - progress_of(s).proposals + CHAINS - 1) / CHAINS;
            n = left < n ? left : n;
        }
        TRY(run_sweep(s, n, err));
        ticks now = best_length(s);
        if (now < best - best / 2000) {
            best = now;
            last = (struct improvement){ sweep + 1, hp_now_s() - s->began_s };
        }
        if (sweep % JUMP_SWEEPS < JUMP_SWEEPS - 1)
            continue;
        TRY(on_all_chains(s, confirm_chain, err));
        now = best_length(s);
        best = now > best ? now : best; /* a plan that does not fit is no longer the best */
        jump(s);
    }
    return on_all_chains(s, confirm_chain, err);
}

static void make_lanes(struct search *s)
{
    const struct hypar_search_options *o = s->problem->options;
    struct hypar_plan *like =
        hp_plan_new(s->problem->graph, s->problem->machine, &s->problem->settings);
    int threads = o->threads > 0 ? o->threads : hp_core_count();
    s->n_lanes = threads < CHAINS ? threads : CHAINS;
    for (int i = 0; i < s->n_lanes; i++)
        s->sim_cache[i] = hp_sim_cache_new(like, hp_simulation(s->problem));
    hypar_plan_free(like);
}

static enum hypar_status search(struct search *s, struct hypar_error *err)
{
    TRY(hp_check_simulable(s->problem, err));
    make_lanes(s);
    TRY(find_starts(s, err));
    if (!hp_fits(&s->start[0].full))
        TRY(repair(s, err));
    if (hp_stopped(s->problem->options->stop))
        return HYPAR_OK; /* the result is then the best start */
    TRY(begin_chains(s, err));
    return run_sweeps(s, err);
}

/* Report the statistics of the chains. */
static void report(const struct search *s, struct hypar_search_info *info)
{
    struct hypar_search_progress p = progress_of(s);
    info->evaluated = info->proposals = p.proposals;
    info->accepted = p.accepted;
    info->chooses = true;
    info->chains = CHAINS;
    info->seed = s->problem->options->seed;
    info->beta = s->beta;
    info->start = s->start[0].name;
    info->start_s = s->start[0].step_s;
}

static enum hypar_status plan_flexflow(const struct planner *self,
                                       const struct problem *problem, struct hypar_found *found,
                                       struct hypar_error *err)
{
    struct search s = { .problem = problem, .began_s = hp_now_s() };
    TRY(hp_read_fixes(&s.fixes, problem->graph, hypar_machine_device_count(problem->machine),
                      problem->options->fix, problem->options->n_fix, &found->arena, err));
    enum hypar_status status = hp_in(err, search(&s, err), "%s", self->info.name);
    if (status == HYPAR_OK) {
        struct hypar_plan **best =
            s.n_chains ? &s.chain[best_chain(&s)].best : &s.start[0].plan;
        found->plan = *best;
        *best = NULL;
        if (s.n_chains)
            report(&s, &found->info);
        status = hp_judge(problem, found, err);
    }
    for (int i = 0; i < s.n_chains; i++)
        hp_chain_end(&s.chain[i]);
    for (int i = 0; i < s.n_starts; i++) {
        hp_delta_free(s.start[i].delta);
        hypar_plan_free(s.start[i].plan);
    }
    for (int i = 0; i < s.n_lanes; i++)
        hp_sim_cache_free(s.sim_cache[i]);
    return status;
}

const struct planner hp_planner_flexflow = {
    .info = { "flexflow", "random changes of splits and devices, judged by simulated steps",
              "Jia et al., MLSys 2019", .proposes = true },
    .plan = plan_flexflow,
    .not_in_auto = true,
    .slow = true,
    .checks_memory = true,
    .takes = TAKES_FIX | TAKES_START | TAKES_BUDGET | TAKES_PROPOSALS,
};
