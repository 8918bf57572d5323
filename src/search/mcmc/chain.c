/* One Markov chain: proposes a change, simulates it, and accepts or undoes it. */
#include "search/mcmc/chain.h"

#include "search/runnable.h"

/* How often each kind of change is proposed. */
static const int weights[MOVE_COUNT] = {
    [MOVE_ONE] = 2, [MOVE_GROUP] = 7, [MOVE_DEVICES] = 2, [MOVE_BRANCH] = 3,
    [MOVE_RUN] = 1, [MOVE_SWAP] = 1,  [MOVE_COPY] = 3,
};

static enum move draw_move(struct random *random)
{
    int total = 0, m = 0;
    for (int i = 0; i < MOVE_COUNT; i++)
        total += weights[i];
    int at = (int)hp_random_below(random, total);
    while (at >= weights[m])
        at -= weights[m++];
    return (enum move)m;
}

static void copy_plan(struct hypar_plan *to, const struct hypar_plan *from)
{
    for (int op = 0; op < from->graph->n_ops; op++)
        hp_plan_set(to, op, &from->ops[op].split, from->ops[op].device);
}

static enum hypar_status renew_delta(struct chain *c, struct hypar_error *err)
{
    hp_delta_free(c->delta);
    TRY(hp_delta_new(&c->delta, c->plan, hp_simulation(c->problem), c->sim_cache, err));
    c->length = hp_delta_step(c->delta);
    return HYPAR_OK;
}

enum hypar_status hp_chain_begin(struct chain *c, const struct problem *problem,
                                 const struct chain_start *start, const bool *fixed,
                                 double beta, uint64_t seed, struct hypar_error *err)
{
    *c = (struct chain){ .problem = problem,
                         .plan = start->plan,
                         .delta = start->delta,
                         .sim_cache = start->sim_cache,
                         .random = { seed } };
    c->tight = start->full->part > 0.75;
    c->best = hp_plan_copy(c->plan);
    c->next = hp_plan_copy(c->plan);
    hp_proposer_begin(&c->proposer, c->plan, fixed);
    hp_proposal_begin(&c->now, c->plan->graph);
    hp_proposal_begin(&c->was, c->plan->graph);
    if (!c->delta)
        TRY(renew_delta(c, err));
    c->length = hp_delta_step(c->delta);
    c->best_length = c->next_length = c->length;
    c->temperature = (double)c->length / beta;
    return HYPAR_OK;
}

void hp_chain_end(struct chain *c)
{
    hp_delta_free(c->delta);
    hp_proposal_end(&c->now);
    hp_proposal_end(&c->was);
    hp_proposer_end(&c->proposer);
    hypar_plan_free(c->plan);
    hypar_plan_free(c->best);
    hypar_plan_free(c->next);
}

static bool fits(const struct chain *c, const struct hypar_plan *plan)
{
    struct fullest full;
    return hp_exact_need(c->problem, plan, &c->sim_cache->cache, &full, NULL) == HYPAR_OK &&
           hp_fits(&full);
}

static void take_back(struct chain *c)
{
    hp_proposal_apply(c->plan, &c->was);
    hp_delta_undo(c->delta);
}

/* The longest step at which this proposal is accepted. With a uniform random number u, u <
 * exp(-(l - length) / temperature) is equivalent to l < length + temperature times an
 * exponential random number. */
static ticks draw_limit(struct chain *c)
{
    return c->length + (ticks)(hp_random_exponential(&c->random) * c->temperature);
}

static void propose(struct chain *c)
{
    enum move move = draw_move(&c->random);
    ticks limit = draw_limit(c);
    c->proposals++;
    if (!hp_propose(&c->proposer, &c->random, move, &c->now))
        return;
    hp_proposal_save(c->plan, &c->now, &c->was);
    hp_proposal_apply(c->plan, &c->now);
    if (!hp_may_run(c->problem, c->plan)) {
        hp_proposal_apply(c->plan, &c->was);
        return;
    }
    enum hypar_status status = hp_delta_change(c->delta, c->now.op, c->now.n, limit, NULL);
    ticks length = hp_delta_step(c->delta);
    if (status != HYPAR_OK || length > limit || (c->tight && !fits(c, c->plan))) {
        take_back(c);
        return;
    }
    hp_delta_keep(c->delta);
    c->accepted++;
    c->length = length;
    if (length < c->next_length) {
        c->next_length = length;
        copy_plan(c->next, c->plan);
    }
}

void hp_chain_run(struct chain *c, int64_t n)
{
    for (int64_t i = 0; i < n && c->status == HYPAR_OK; i++)
        propose(c);
}

void hp_chain_leave(struct chain *c)
{
    hp_delta_free(c->delta);
    c->delta = NULL;
}

void hp_chain_enter(struct chain *c, struct sim_cache *sim_cache)
{
    c->sim_cache = sim_cache;
    if (c->status == HYPAR_OK)
        c->status = renew_delta(c, &c->err);
}

/* Apply all of c->now, whatever the step. */
static void go(struct chain *c)
{
    hp_proposal_tidy(c->plan, &c->now);
    hp_proposal_apply(c->plan, &c->now);
    c->status = hp_delta_change(c->delta, c->now.op, c->now.n, HP_MAX_TICKS, &c->err);
    if (c->status != HYPAR_OK)
        return; /* does not happen if the plan is known to be lowered */
    hp_delta_keep(c->delta);
    c->length = hp_delta_step(c->delta);
}

static void go_to(struct chain *c, const struct hypar_plan *plan)
{
    hp_proposal_clear(&c->now);
    for (int op = 0; op < plan->graph->n_ops; op++) {
        struct op_config config = hp_config_of(plan, op, &c->now.arena);
        hp_proposal_add(&c->now, &config);
    }
    go(c);
}

void hp_chain_confirm(struct chain *c)
{
    if (c->status != HYPAR_OK || c->next_length == c->best_length)
        return;
    if (fits(c, c->next)) {
        copy_plan(c->best, c->next);
        c->best_length = c->next_length;
        return;
    }
    c->tight = true;
    c->next_length = c->best_length;
    go_to(c, c->best);
}

void hp_chain_jump(struct chain *c, const struct hypar_plan *plan)
{
    copy_plan(c->best, plan);
    go_to(c, plan);
    c->best_length = c->next_length = c->length;
}

void hp_chain_scatter(struct chain *c)
{
    const struct groups *g = c->proposer.groups;
    hp_proposal_clear(&c->now);
    for (int i = 0; i < g->n_leaders; i++) {
        struct op_config config =
            hp_draw_config(&c->proposer, &c->random, g->leaders[i], &c->now.arena);
        hp_proposal_add_group(&c->proposer, &config, true, &c->now);
    }
    hp_proposal_save(c->plan, &c->now, &c->was);
    hp_proposal_apply(c->plan, &c->now);
    if (!hp_may_run(c->problem, c->plan) || !fits(c, c->plan) ||
        renew_delta(c, NULL) != HYPAR_OK) {
        hp_proposal_apply(c->plan, &c->was);
        c->status = renew_delta(c, &c->err);
    }
    copy_plan(c->best, c->plan);
    c->best_length = c->next_length = c->length;
}
