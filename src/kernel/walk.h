/* kernel/walk.h - going over the elements that one pass of a part touches. Internal.
 *
 * The position of an operand's element is affine in the indices of the axes. So a pass is a
 * walk over the part's indices, with one step per axis for each operand. Most kernels are a
 * formula for one element inside this loop:
 *
 *     struct walk w;
 *     hp_walk(&w, call, "x s dy dx");     as in the row: dx is the gradient of x
 *     while (hp_walk_next(&w))
 *         ... w.count points, map[0] being x: elements map[0].at, + map[0].run, ...
 *
 * Each round is a run along one axis. Points at which an operand has no element (a tap in the
 * padding, an input of a concatenation that does not reach here) are left out. A window whose
 * taps are not axes of the pass, or whose positions lie between elements, is not followed: that
 * dimension stands at position 0, and the kernel goes over the window itself. */
#ifndef KERNEL_WALK_H
#define KERNEL_WALK_H

#include "kernel/kernel.h"

enum {
    WALK_MAPS = 8,
    WALK_WHOLE = MAX_AXES, /* walks every dimension that is whole: the gates of an LSTM */
    WALK_AXES,
};

/* A dimension whose position may lie outside the tensor. */
struct walk_edge {
    int axis, taps; /* position: axis * stride - pad + taps * dilation; taps -1: none */
    int64_t stride, pad, dilation, size;
};

struct walk_map {
    void *data;                     /* NULL: absent, or not used by the pass */
    int64_t stride[MAX_DIMS];       /* elements from one position to the next, in the view */
    int64_t start, step[WALK_AXES]; /* element: start + the sum of step * index */
    int64_t at, run;                /* at the first point of a run, and between points */
    bool has_windows;               /* some dimension stands at position 0 (above) */
    int n_edges;
    struct walk_edge edge[MAX_DIMS];
};

/* May be changed before the first hp_walk_next(): `axes`, `points`. */
struct walk {
    const struct kernel_call *call;
    axis_set axes; /* the others stay at index 0 */
    bool points;   /* every run is one point */
    int n_maps;
    struct walk_map map[WALK_MAPS];
    struct range range[WALK_AXES];

    bool started;
    int n_loops, loop[WALK_AXES]; /* axes, outermost first */
    int inner;                    /* axis of the runs, -1: none */
    int64_t index[WALK_AXES];     /* of the run's first point */
    int64_t count;                /* points of the run */
};

/* A walk over the axes of the pass, with a map for each name. */
void hp_walk(struct walk *w, const struct kernel_call *call, const char *names);

/* The same step by step: begin without maps; add the map of a view of operand `o`. */
void hp_walk_begin(struct walk *w, const struct kernel_call *call, axis_set axes);
void hp_walk_add(struct walk *w, int o, const struct view *view);

/* The next run; false when there is none. */
bool hp_walk_next(struct walk *w);

/* The product of the extents of `axes`. */
double hp_extents(const struct nest *nest, axis_set axes);

/* The operand called `name`, -1 if the nest has none. */
int hp_operand(const struct nest *nest, char name);

/* The view called "x", or "dx", if the pass reads or writes it and it is present; else NULL. */
const struct view *hp_call_view(const struct kernel_call *call, const char *name);

/* Does the pass write the operand called "y", or "dy"? */
bool hp_call_writes(const struct kernel_call *call, const char *name);

#endif /* KERNEL_WALK_H */
