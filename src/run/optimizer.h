/* run/optimizer.h - updating a parameter from its gradient. Internal.
 *
 * One function for every optimizer, element by element, so that any piece of a parameter can be
 * updated on its own: what a device holds is updated as the whole would be. */
#ifndef RUN_OPTIMIZER_H
#define RUN_OPTIMIZER_H

#include <hypar/plan.h>

#include "kernel/kernel.h"

struct optimizer {
    enum hypar_optimizer kind;
    double learning_rate;
    double momentum;              /* of momentum */
    double beta1, beta2, epsilon; /* of adam */
};

/* The usual figures. */
struct optimizer hp_optimizer(enum hypar_optimizer kind);

/* Arrays beside the parameter that the optimizer keeps from step to step; zero at first. */
enum { HP_MAX_STATE = 2 };
struct optimizer_state {
    void *array[HP_MAX_STATE];
};
int hp_optimizer_states(enum hypar_optimizer kind);

/* Update n elements of w by their gradient; `step` is 1 at the first step. */
void hp_update(const struct optimizer *optimizer, int step, int64_t n, enum real real, void *w,
               const void *gradient, const struct optimizer_state *state);

#endif /* RUN_OPTIMIZER_H */
