/* plan/config.h - how one operator is split and placed, apart from any plan. Internal.
 */
#ifndef PLAN_CONFIG_H
#define PLAN_CONFIG_H

#include "plan/plan.h"

struct op_config {
    int op;
    struct split split; /* sizes and devices belong to the caller */
    int n_parts;
    int replicas;      /* of its stage, where they share minibatches; else 1 */
    const int *device; /* of each part; those of replica 0, then of 1, ...; NULL: as
                          hp_plan_set() chooses */
};

/* Read the split that a caller of the library gives. *out shares the caller's lists; `scratch`
 * is used during the call alone. HYPAR_INFEASIBLE, with the operator: the split does not fit
 * the operator, its stage or the machine. */
enum hypar_status hp_config_read(struct op_config *out, const struct hypar_plan *plan,
                                 const struct hypar_split *split, struct arena *scratch,
                                 struct hypar_error *err);

/* How `op` is in the plan now; copied into the arena. */
struct op_config hp_config_of(const struct hypar_plan *plan, int op, struct arena *arena);

/* Split and place the operator so. */
void hp_config_apply(struct hypar_plan *plan, const struct op_config *config);

/* Does the operator already have this configuration in the plan? */
bool hp_config_is_so(const struct hypar_plan *plan, const struct op_config *config);

/* The configuration of `to` that follows `from`, so that as much as possible of `tensor`, which
 * both touch, stays on its devices: axes that index the same dimensions are divided equally,
 * part by part on the same devices. If `to` cannot divide a dimension that `from` divides, `to`
 * divides the samples further; if there are too few samples, only the first devices of those
 * parts are used. */
struct op_config hp_config_follow(const struct hypar_graph *graph, int tensor,
                                  const struct op_config *from, int to, struct arena *arena);

#endif /* PLAN_CONFIG_H */
