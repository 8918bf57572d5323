/* split/split.h - how a split divides an operator into parts, and the box of each tensor that a
 * part touches. Internal.
 *
 * A split gives every axis of an operator a degree; a part is one cell of this grid. The region
 * of an operand that a part reads or writes is always a box. It follows from the index map of
 * the operand alone, so one function (hp_region()) serves every operator, tensor and phase; a
 * gradient has the index map of its tensor. */
#ifndef SPLIT_SPLIT_H
#define SPLIT_SPLIT_H

#include "graph/nest.h"

struct range {
    int64_t lo, hi; /* [lo, hi); empty if hi <= lo */
};

struct box {
    int n_dims;
    struct range dim[MAX_DIMS];
};

static inline bool hp_range_empty(struct range r)
{
    return r.hi <= r.lo;
}

/* a / b, rounded down; b > 0. */
static inline int64_t hp_divide_down(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

bool hp_box_empty(const struct box *box);
int64_t hp_box_elements(const struct box *box); /* 0 if empty; a scalar's box has 1 */
struct box hp_box_intersect(const struct box *a, const struct box *b);
bool hp_box_equal(const struct box *a, const struct box *b);
bool hp_box_contains(const struct box *outer, const struct box *inner);

/* How each axis of an operator is divided, in the order of its nest's axes. */
struct split {
    int degree[MAX_AXES];            /* 0 counts as 1 */
    const int64_t *sizes[MAX_AXES];  /* extents of the parts of an axis; NULL: even parts */
    const int64_t *begins[MAX_AXES]; /* where each part begins; NULL: computed from `sizes` */
};

static inline int hp_degree(const struct split *split, int axis)
{
    return split->degree[axis] > 1 ? split->degree[axis] : 1;
}

/* The axes with a degree above 1. */
axis_set hp_divided_axes(const struct nest *nest, const struct split *split);

/* Part i of an axis that is divided evenly. Sizes differ by at most one, the larger parts come
 * first; parts are empty where the degree exceeds the extent. */
struct range hp_even_part(int64_t extent, int degree, int i);

/* Elements lo .. hi - 1 of a box, in row-major order, as consecutive boxes. Returns the number
 * of boxes, at most MAX_FLAT_BOXES. */
enum { MAX_FLAT_BOXES = 2 * MAX_DIMS };
int hp_flat_boxes(const struct box *box, int64_t lo, int64_t hi,
                  struct box out[MAX_FLAT_BOXES]);

/* Divide `extent` level by level, ways[0] first: the next level cuts every piece evenly. This
 * is HyPar's nested halving: 10 by 2, 2 gives 5,5, then 3,2,3,2; an even cut would give
 * 3,3,2,2. `sizes` receives one size for each part: the product of all ways. */
void hp_nested_sizes(int64_t extent, const int *ways, int n_levels, int64_t *sizes);

/* Divide `extent` in proportion to weight[]. Each border is rounded to the nearest integer. */
void hp_weighted_sizes(int64_t extent, int degree, const double *weight, int64_t *sizes);

/* Whether `sizes` are those of hp_even_part(). */
bool hp_sizes_even(int64_t extent, int degree, const int64_t *sizes);

/* Do two splits divide this axis alike? Even sizes must be NULL, as in a plan. */
bool hp_same_parts(const struct split *a, const struct split *b, int axis);

/* Part i of axis `axis` under `split`. Each part of the copy axis is the whole axis. */
struct range hp_axis_part(const struct nest *nest, const struct split *split, int axis, int i);

/* Number of parts: the product of the degrees, which must fit an int. */
int hp_part_count(const struct nest *nest, const struct split *split);

/* The coordinate of part number `part` on each axis: row-major, the first axis outermost. */
void hp_part_coordinates(const struct nest *nest, const struct split *split, int part,
                         int coordinate[MAX_AXES]);

/* The loops of one part: a range for each axis. False if a range is empty. */
bool hp_part_ranges(const struct nest *nest, const struct split *split, int part,
                    struct range range[MAX_AXES]);

/* The loops of the unsplit operator. */
void hp_whole_ranges(const struct nest *nest, struct range range[MAX_AXES]);

/* The region of operand `o`, and of its gradient, that the loops `range` touch. */
struct box hp_region(const struct nest *nest, int o, const struct range range[MAX_AXES]);

/* Dimension d of this region. */
struct range hp_region_dim(const struct nest *nest, int o, int d,
                           const struct range range[MAX_AXES]);

/* The whole of operand `o`. */
struct box hp_operand_box(const struct nest *nest, int o);

/* Does the operator only change the shape of its input (reshape, identity, ...)? Its output may
 * then share the memory of the input. */
bool hp_is_view(const struct nest *nest);

#endif /* SPLIT_SPLIT_H */
