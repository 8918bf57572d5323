/* search/mcmc/chain.h - a Markov chain through the space of plans (FlexFlow, MLSys 2019,
 * section 6). Internal.
 *
 * Metropolis-Hastings: a random change is accepted with probability min(1, exp(beta (cost(S) -
 * cost(S*)))), the cost being the simulated step. The random number is drawn first, so that the
 * longest step that would be accepted is known before anything is simulated. (The paper
 * corrects for proposals that are likelier one way than the other no more than we do.) */
#ifndef SEARCH_MCMC_CHAIN_H
#define SEARCH_MCMC_CHAIN_H

#include "search/evaluate/fit.h"
#include "search/evaluate/judge.h"
#include "search/mcmc/propose.h"

struct chain {
    const struct problem *problem;
    struct hypar_plan *plan; /* where it is */
    struct hypar_plan *best; /* the best that it has seen and that fits into memory */
    struct hypar_plan *next; /* the best that it has seen since, not known to fit */
    struct delta *delta;
    struct sim_cache *sim_cache; /* which it shares with chains that run after it */
    ticks length, best_length;
    ticks next_length;  /* as long as the best: there is no next */
    double temperature; /* ticks: the step over beta */
    bool tight;         /* memory may run out: every accepted plan is checked */
    struct random random;
    struct proposer proposer;
    struct proposal now, was;
    int64_t proposals, accepted;
    enum hypar_status status; /* if something failed that cannot fail */
    struct hypar_error err;
};

/* Where to begin: a plan, which is so full, and its timeline, of that sim_cache (NULL: it is
 * made). Plan and timeline are taken over. */
struct chain_start {
    struct hypar_plan *plan;
    struct delta *delta;
    struct sim_cache *sim_cache;
    const struct fullest *full;
};

/* `fixed`: operators that stay, NULL: none. */
enum hypar_status hp_chain_begin(struct chain *chain, const struct problem *problem,
                                 const struct chain_start *start, const bool *fixed,
                                 double beta, uint64_t seed, struct hypar_error *err);
void hp_chain_end(struct chain *chain);

/* Make `n` proposals. */
void hp_chain_run(struct chain *chain, int64_t n);

/* Let go of the sim_cache, and go on with another one. */
void hp_chain_leave(struct chain *chain);
void hp_chain_enter(struct chain *chain, struct sim_cache *sim_cache);

/* Look whether `next` fits into memory: it is the best then. Else the chain goes back to the
 * best, and is tight from there on. (Memory takes longer to find than a step.) */
void hp_chain_confirm(struct chain *chain);

/* Go on from another plan, which fits. */
void hp_chain_jump(struct chain *chain, const struct hypar_plan *plan);

/* Every group anew, at random. */
void hp_chain_scatter(struct chain *chain);

#endif /* SEARCH_MCMC_CHAIN_H */
