/* run/backend/cuda/affine.h - where the elements lie that a target reads and writes. Internal
 * to run/backend/cuda. */
#ifndef RUN_BACKEND_CUDA_AFFINE_H
#define RUN_BACKEND_CUDA_AFFINE_H

#include "run/backend/cuda/generate.h"

/* How the position along a dimension follows from axes of the pass. */
enum follows {
    FOLLOWS_AXIS,       /* stride * axis - pad */
    FOLLOWS_TAPS,       /* stride * axis - pad + dilation * tap */
    FOLLOWS_TRANSPOSED, /* (axis + pad - dilation * tap) / stride, where that is a whole number
                         */
    FOLLOWS_WINDOW,     /* the formula goes over a window of positions */
};
enum follows hp_cuda_follows(const struct nest *nest, const struct target *target,
                             const struct dim_map *dim);

/* Of the window along dimension `d` of the first operand. */
int64_t hp_cuda_dilation(const struct nest *nest, int d);

/* Has the dimension several elements that no axis indexes? */
bool hp_cuda_is_whole(const struct operand *o, int d);

/* May some index be a position outside of the tensor? */
bool hp_cuda_may_leave(const struct nest *nest, const struct target *target,
                       const struct operand *o, int d);

/* Where the elements of an operand lie: at base + the sum of step * index over its axes, and
 * whole * index over a dimension without an axis. */
struct affine {
    axis_set axes;
    int64_t base, step[MAX_AXES], whole, whole_extent; /* extent 0: there is none */
    bool has_position[MAX_DIMS]; /* dimensions that positions along windows are for */
    int64_t position[MAX_DIMS];
};

/* Of a view of operand `o`. The target is addressed by positions where its dimensions are
 * windows. */
struct affine hp_cuda_affine_of(const struct kernel_call *call, const struct target *target,
                                int o, const struct view *view);

/* False: not every index has an element, or not one that follows from axes alone. */
bool hp_cuda_affine(const struct kernel_call *call, const struct target *target, int o,
                    bool grad, struct affine *out);

#endif /* RUN_BACKEND_CUDA_AFFINE_H */
