/* search/mcmc/propose.h - random changes of a plan: steps through the SOAP space. Internal.
 *
 *     hp_proposer_begin(&proposer, plan, NULL);
 *     hp_proposal_begin(&now, plan->graph);          and `was`
 *     if (hp_propose(&proposer, &random, MOVE_ONE, &now)) {
 *         hp_proposal_save(plan, &now, &was);
 *         hp_proposal_apply(plan, &now);        hp_proposal_apply(plan, &was) changes it back
 *     }
 *
 * What is proposed fits the graph and the machine, if the plan did. */
#ifndef SEARCH_MCMC_PROPOSE_H
#define SEARCH_MCMC_PROPOSE_H

#include "base/random.h"
#include "plan/config.h"
#include "search/mcmc/groups.h"

enum move {
    MOVE_ONE,     /* one operator: any degrees, any axes, any devices */
    MOVE_GROUP,   /* the same with its followers */
    MOVE_DEVICES, /* the same parts on other devices; of a group or a branch */
    MOVE_BRANCH,  /* operators in a row of a branch: one way of splitting, one set of devices */
    MOVE_RUN,     /* neighbours in the graph's order, likewise */
    MOVE_SWAP,    /* two groups exchange their devices */
    MOVE_COPY,    /* a group is laid out as one that it exchanges data with */
    MOVE_COUNT,
};

struct proposer {
    struct arena arena;
    const struct hypar_plan *plan;
    const struct groups *groups;
    const bool *fixed;   /* by op: not to be changed; NULL: none */
    const double *speed; /* by device; NULL: all alike */
};

void hp_proposer_begin(struct proposer *proposer, const struct hypar_plan *plan,
                       const bool *fixed);
void hp_proposer_end(struct proposer *proposer);

/* Operators and how they shall be, each once. */
struct proposal {
    struct arena arena;
    struct arena_mark empty;
    int n;
    int *op;
    struct op_config *config;
    int *at; /* by op: its place in the list, -1 */
};

void hp_proposal_begin(struct proposal *p, const struct hypar_graph *graph);
void hp_proposal_end(struct proposal *p);

/* Draw one; what is so already is left out. False if nothing is left. */
bool hp_propose(const struct proposer *proposer, struct random *random, enum move move,
                struct proposal *out);

/* How the operators of `p` are now. */
void hp_proposal_save(const struct hypar_plan *plan, const struct proposal *p,
                      struct proposal *out);
void hp_proposal_apply(struct hypar_plan *plan, const struct proposal *p);

/* Putting one together (moves.c draws, propose.c keeps the list). */

void hp_proposal_clear(struct proposal *p);
void hp_proposal_add(struct proposal *p, const struct op_config *config);

/* Leave out what is so already, and what the plan does not admit: replicas of a stage that
 * share a batch divide the samples. */
void hp_proposal_tidy(const struct hypar_plan *plan, struct proposal *p);

/* A leader with its followers; with `whole_family`, all of its family alike. */
void hp_proposal_add_group(const struct proposer *proposer, const struct op_config *leader,
                           bool whole_family, struct proposal *out);

/* The devices that an operator may use: in `groups` of `each`, one for each replica. */
struct device_pool {
    const int *device;
    int groups, each;
};
struct device_pool hp_device_pool(const struct hypar_plan *plan, int op);
int hp_pool_place(const struct device_pool *pool, int group, int device); /* in its group */

/* A random tensor that `op` shares with another operator, and that operator; -1: chance found
 * none. */
int hp_draw_neighbour(struct random *random, const struct hypar_graph *graph, int op,
                      int *tensor);

/* Draw how `op` is split and placed. */
struct op_config hp_draw_config(const struct proposer *proposer, struct random *random, int op,
                                struct arena *arena);

/* A set of devices, as places in a pool, and a way to divide by them. */
struct drawn_set {
    int n, *place;
};
struct drawn_set hp_draw_set(struct random *random, int n_devices, struct arena *arena);

/* `op` divided along `axis` (-1: not at all) over such a set. */
struct op_config hp_config_on(const struct proposer *proposer, int op, int axis,
                              const struct drawn_set *set, struct arena *arena);

#endif /* SEARCH_MCMC_PROPOSE_H */
