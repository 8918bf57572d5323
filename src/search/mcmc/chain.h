/* search/mcmc/chain.h - a Markov chain through the space of plans (FlexFlow, MLSys 2019,
 * section 6). Internal.
 *
 * Metropolis-Hastings: a random change is accepted with probability min(1, exp(beta (cost(S) -
 * cost(S*)))), where the cost is the simulated step. The random number is drawn before the
 * simulation, so the longest step that is accepted is known in advance. (Like the paper, we do
 * not correct for changes that are proposed more often than their reverse.) */
#ifndef SEARCH_MCMC_CHAIN_H
#define SEARCH_MCMC_CHAIN_H

#include "search/evaluate/judge.h"
#include "search/evaluate/room.h"
#include "search/mcmc/propose.h"

struct chain {
    const struct problem *problem;
    struct hypar_plan *plan; /* the current plan */
    struct hypar_plan *best; /* the best plan so far that fits in memory */
    struct hypar_plan *next; /* the best plan since then; whether it fits is not known */
    struct delta *delta;
    struct sim_cache *sim_cache; /* shared with chains that run after this one */
    ticks length, best_length;
    ticks next_length;  /* equal to best_length: there is no next */
    double temperature; /* ticks: the step divided by beta */
    bool tight;         /* memory is scarce: every accepted plan is checked */
    struct random random;
    struct proposer proposer;
    struct proposal now, was;
    int64_t proposals, accepted;
    enum hypar_status status; /* an unexpected failure */
    struct hypar_error err;
};

/* The first plan of a chain, how full its memory is, and its timeline, simulated with
 * `sim_cache` (NULL: the chain makes the timeline). The chain takes ownership of plan and
 * timeline. */
struct chain_start {
    struct hypar_plan *plan;
    struct delta *delta;
    struct sim_cache *sim_cache;
    const struct fullest *full;
};

/* `fixed`: operators that may not change; NULL: none. */
enum hypar_status hp_chain_begin(struct chain *chain, const struct problem *problem,
                                 const struct chain_start *start, const bool *fixed,
                                 double beta, uint64_t seed, struct hypar_error *err);
void hp_chain_end(struct chain *chain);

/* Make `n` proposals. */
void hp_chain_run(struct chain *chain, int64_t n);

/* Release the sim_cache; continue with another sim_cache. */
void hp_chain_leave(struct chain *chain);
void hp_chain_enter(struct chain *chain, struct sim_cache *sim_cache);

/* Check whether `next` fits in memory. If it does, it becomes the best plan. If not, the chain
 * returns to the best plan and checks every accepted plan from now on. (Computing the memory
 * takes longer than simulating a step.) */
void hp_chain_confirm(struct chain *chain);

/* Continue from another plan, which fits in memory. */
void hp_chain_jump(struct chain *chain, const struct hypar_plan *plan);

/* Give every group a random configuration. */
void hp_chain_scatter(struct chain *chain);

#endif /* SEARCH_MCMC_CHAIN_H */
