/* run/optimizer.h - updating a parameter from its gradient. Internal.
 *
 * One function for every optimizer, element by element, so that any piece of a parameter can be
 * updated on its own: what a device holds is updated as the whole would be. The formulas are
 * those of PyTorch's optimizers of the same names, with their defaults. */
#ifndef RUN_OPTIMIZER_H
#define RUN_OPTIMIZER_H

#include <hypar/plan.h>

#include "kernel/kernel.h"

struct optimizer {
    enum hypar_optimizer kind;
    double learning_rate;
    double momentum;              /* of momentum */
    double beta1, beta2, epsilon; /* of adam and adamw */
    /* adamw: w loses this share times the rate (decoupled); else this times w is added to the
     * gradient (L2) */
    double weight_decay;
};

/* The usual figures. */
struct optimizer hp_optimizer(enum hypar_optimizer kind);

/* Arrays beside the parameter that the optimizer keeps from step to step; zero at first. */
enum { HP_MAX_STATE = 2 };
struct optimizer_state {
    void *array[HP_MAX_STATE];
};
int hp_optimizer_states(enum hypar_optimizer kind);

/* What changes from step to step. */
struct update_step {
    int64_t step;          /* 1 at the first */
    double learning_rate;  /* instead of the optimizer's: hp_learning_rate() */
    double gradient_scale; /* the gradient counts this much: 1, or hp_clip_scale() */
};

/* Update n elements of w by their gradient, which stays as it is. No array overlaps another. */
void hp_update_at(const struct optimizer *optimizer, const struct update_step *at, int64_t n,
                  enum real real, void *w, const void *gradient,
                  const struct optimizer_state *state);

/* The same at the optimizer's own rate, the gradient unscaled; `step` is 1 at the first step.
 */
void hp_update(const struct optimizer *optimizer, int step, int64_t n, enum real real, void *w,
               const void *gradient, const struct optimizer_state *state);

/* Clipping by the global norm: the sum of the squares of a piece of a gradient; and, from the
 * sum over all gradients, each element once, by how much they are scaled so that the norm is at
 * most `max_norm` (0: no limit). */
double hp_sum_of_squares(int64_t n, enum real real, const void *gradient);
double hp_clip_scale(double sum_of_squares, double max_norm);

/* How the learning rate goes from step to step. */
enum rate_kind {
    RATE_CONSTANT,
    RATE_COSINE, /* half a cosine, down to `last` of the rate at step `steps` and after */
    RATE_STEP,   /* times `factor` after every `every` steps */
    RATE_KIND_COUNT,
};

struct rate_schedule {
    enum rate_kind kind;
    int64_t warm_up; /* steps in which the rate rises linearly; the others follow it */
    int64_t steps;   /* cosine: of the whole training, warm-up included */
    double last;     /* cosine: share of the rate */
    int64_t every;   /* step: at least 1 */
    double factor;   /* step */
};

/* The rate of a step (1 is the first), a function of the step alone. */
double hp_learning_rate(const struct rate_schedule *schedule, double rate, int64_t step);

/* "constant", "cosine", "step"; and back, RATE_KIND_COUNT if there is none of that name. */
const char *hp_rate_name(enum rate_kind kind);
enum rate_kind hp_rate_find(const char *name);

#endif /* RUN_OPTIMIZER_H */
