/* run/optimizer/optimizer.h - updating a parameter from its gradient. Internal.
 *
 * One function serves every optimizer, element by element, so a device can update its piece of
 * a parameter alone. The formulas are those of PyTorch's optimizers of the same names, with
 * their defaults. */
#ifndef RUN_OPTIMIZER_OPTIMIZER_H
#define RUN_OPTIMIZER_OPTIMIZER_H

#include <hypar/plan.h>

#include "cost/work.h"
#include "kernel/kernel.h"

struct optimizer {
    enum hypar_optimizer kind;
    double learning_rate;
    double momentum;              /* of momentum */
    double beta1, beta2, epsilon; /* of adam and adamw */
    /* adamw: w shrinks by this share times the rate (decoupled); else this times w is added to
     * the gradient (L2) */
    double weight_decay;
};

/* An optimizer with its default figures. */
struct optimizer hp_optimizer(enum hypar_optimizer kind);

/* Arrays beside the parameter that the optimizer keeps between steps: moments, zero at first;
 * and, of a parameter in bf16, its fp32 master copy. */
enum { HP_MAX_STATE = 2, HP_MASTER = HP_MAX_STATE, HP_STATE_ARRAYS };
struct optimizer_state {
    void *array[HP_STATE_ARRAYS];
};

/* The values that change from step to step. */
struct update_step {
    int64_t step;          /* 1 at the first */
    double learning_rate;  /* replaces the optimizer's own: hp_learning_rate() */
    double gradient_scale; /* factor of the gradient: 1, or hp_clip_scale() */
};

/* Update n elements of w by their gradient, which is not changed. The arrays do not overlap. */
void hp_update_at(const struct optimizer *optimizer, const struct update_step *at, int64_t n,
                  enum real real, void *w, const void *gradient,
                  const struct optimizer_state *state);

/* Clipping by the global norm: the sum of squares of a piece of a gradient; and the factor that
 * limits the norm to `max_norm` (0: no limit), from the sum over all gradients with each
 * element counted once. */
double hp_sum_of_squares(int64_t n, enum real real, const void *gradient);
double hp_clip_scale(double sum_of_squares, double max_norm);

/* The course of the learning rate over steps. */
enum rate_kind {
    RATE_CONSTANT,
    RATE_COSINE, /* half a cosine, down to `last` times the rate at step `steps`, then constant
                  */
    RATE_STEP,   /* times `factor` after every `every` steps */
    RATE_KIND_COUNT,
};

struct rate_schedule {
    enum rate_kind kind;
    int64_t warm_up; /* steps in which the rate rises linearly; the kinds begin after these */
    int64_t steps;   /* cosine: of the whole training, warm-up included */
    double last;     /* cosine: share of the rate */
    int64_t every;   /* step: at least 1 */
    double factor;   /* step */
};

/* The rate of a step (1 is the first), a function of the step alone. */
double hp_learning_rate(const struct rate_schedule *schedule, double rate, int64_t step);

/* The schedule called "constant", "cosine" or "step"; RATE_KIND_COUNT for another name. */
enum rate_kind hp_rate_find(const char *name);

#endif /* RUN_OPTIMIZER_OPTIMIZER_H */
