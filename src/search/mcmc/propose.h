/* search/mcmc/propose.h - random changes of a plan: steps through the SOAP space. Internal.
 *
 *     hp_proposer_begin(&proposer, plan, NULL);
 *     hp_proposal_begin(&now, plan->graph);          and `was`
 *     if (hp_propose(&proposer, &random, MOVE_ONE, &now)) {
 *         hp_proposal_save(plan, &now, &was);
 *         hp_proposal_apply(plan, &now);        hp_proposal_apply(plan, &was) undoes the change
 *     }
 *
 * If the plan is valid for its graph and machine, the changed plan is valid too. */
#ifndef SEARCH_MCMC_PROPOSE_H
#define SEARCH_MCMC_PROPOSE_H

#include "base/random.h"
#include "plan/config.h"
#include "search/mcmc/groups.h"

enum move {
    MOVE_ONE,     /* one operator: any degrees, any axes, any devices */
    MOVE_GROUP,   /* one operator and its followers, likewise */
    MOVE_DEVICES, /* a group or a branch: the same parts on other devices */
    MOVE_BRANCH,  /* consecutive operators of a branch: one split, one set of devices */
    MOVE_RUN,     /* consecutive operators in the graph's order: one split, one set of
                   * devices */
    MOVE_SWAP,    /* two groups exchange their devices */
    MOVE_COPY,    /* a group takes the configuration of an operator that it exchanges data
                   * with */
    MOVE_COUNT,
};

struct proposer {
    struct arena arena;
    const struct hypar_plan *plan;
    const struct groups *groups;
    const bool *fixed;   /* by op: may not change; NULL: none */
    const double *speed; /* by device; NULL: all devices are equal */
};

void hp_proposer_begin(struct proposer *proposer, const struct hypar_plan *plan,
                       const bool *fixed);
void hp_proposer_end(struct proposer *proposer);

/* Operators and their new configurations, each operator once. */
struct proposal {
    struct arena arena;
    struct arena_mark empty;
    int n;
    int *op;
    struct op_config *config;
    int *at; /* by op: its index in the list, -1: not in the list */
};

void hp_proposal_begin(struct proposal *p, const struct hypar_graph *graph);
void hp_proposal_end(struct proposal *p);

/* Draw a change; leaves out operators that would not change. Returns false if none is left. */
bool hp_propose(const struct proposer *proposer, struct random *random, enum move move,
                struct proposal *out);

/* Save the current configurations of the operators in `p`. */
void hp_proposal_save(const struct hypar_plan *plan, const struct proposal *p,
                      struct proposal *out);
void hp_proposal_apply(struct hypar_plan *plan, const struct proposal *p);

/* Functions to build a proposal (moves.c draws, propose.c keeps the list). */

void hp_proposal_clear(struct proposal *p);
void hp_proposal_add(struct proposal *p, const struct op_config *config);

/* Remove configurations that equal the current one, and those that the plan does not admit:
 * replicas of a stage that share a batch must divide the samples. */
void hp_proposal_tidy(const struct hypar_plan *plan, struct proposal *p);

/* Add a leader with its followers; with `whole_family`, all leaders of its family with the same
 * configuration. */
void hp_proposal_add_group(const struct proposer *proposer, const struct op_config *leader,
                           bool whole_family, struct proposal *out);

/* The place of a device in its group of a pool (plan.h). */
int hp_pool_place(const struct device_pool *pool, int group, int device);

/* A random tensor that `op` shares with another operator, and this operator; -1: none was
 * drawn. */
int hp_draw_neighbour(struct random *random, const struct hypar_graph *graph, int op,
                      int *tensor);

/* Draw a split and devices for `op`. */
struct op_config hp_draw_config(const struct proposer *proposer, struct random *random, int op,
                                struct arena *arena);

/* A set of devices, as indices of a pool. */
struct drawn_set {
    int n, *place;
};
struct drawn_set hp_draw_set(struct random *random, int n_devices, struct arena *arena);

/* The configuration of `op` when `axis` (-1: none) is divided over such a set. */
struct op_config hp_config_on(const struct proposer *proposer, int op, int axis,
                              const struct drawn_set *set, struct arena *arena);

#endif /* SEARCH_MCMC_PROPOSE_H */
