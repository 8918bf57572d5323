/* How a split divides the axes of an operator into parts: even, nested and weighted sizes, and
 * the ranges of one part. */
#include <string.h>

#include "split/split.h"

#include <math.h>

axis_set hp_divided_axes(const struct nest *nest, const struct split *split)
{
    axis_set axes = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (split->degree[a] > 1)
            axes |= (axis_set)1 << a;
    return axes;
}

struct range hp_even_part(int64_t extent, int degree, int i)
{
    int64_t each = extent / degree, larger = extent % degree;
    int64_t lo = i * each + (i < larger ? i : larger);
    return (struct range){ lo, lo + each + (i < larger) };
}

/* Works in place from the back: piece i moves to i * ways, which is never below i. */
void hp_nested_sizes(int64_t extent, const int *ways, int n_levels, int64_t *sizes)
{
    int n = 1;
    sizes[0] = extent;
    for (int level = 0; level < n_levels; level++) {
        for (int i = n - 1; i >= 0; i--) {
            int64_t piece = sizes[i];
            for (int j = 0; j < ways[level]; j++) {
                struct range part = hp_even_part(piece, ways[level], j);
                sizes[i * ways[level] + j] = part.hi - part.lo;
            }
        }
        n *= ways[level];
    }
}

void hp_weighted_sizes(int64_t extent, int degree, const double *weight, int64_t *sizes)
{
    double total = 0, sum = 0;
    int64_t border = 0;
    for (int i = 0; i < degree; i++)
        total += weight[i];
    for (int i = 0; i < degree; i++) {
        sum += weight[i];
        int64_t next =
            i == degree - 1 ? extent : (int64_t)llround(sum / total * (double)extent);
        sizes[i] = next - border;
        border = next;
    }
}

bool hp_sizes_even(int64_t extent, int degree, const int64_t *sizes)
{
    for (int i = 0; i < degree; i++) {
        struct range part = hp_even_part(extent, degree, i);
        if (sizes[i] != part.hi - part.lo)
            return false;
    }
    return true;
}

bool hp_same_parts(const struct split *a, const struct split *b, int axis)
{
    int degree = hp_degree(a, axis);
    const int64_t *p = a->sizes[axis], *q = b->sizes[axis];
    return degree == hp_degree(b, axis) && !p == !q &&
           (!p || memcmp(p, q, (size_t)degree * sizeof *p) == 0);
}

struct range hp_axis_part(const struct nest *nest, const struct split *split, int axis, int i)
{
    const struct hypar_axis *a = &nest->axis[axis];
    if (a->role == HYPAR_COPY || hp_degree(split, axis) == 1)
        return (struct range){ 0, a->extent };
    if (!split->sizes[axis])
        return hp_even_part(a->extent, hp_degree(split, axis), i);
    int64_t lo = split->begins[axis] ? split->begins[axis][i] : 0;
    for (int before = 0; !split->begins[axis] && before < i; before++)
        lo += split->sizes[axis][before];
    return (struct range){ lo, lo + split->sizes[axis][i] };
}

int hp_part_count(const struct nest *nest, const struct split *split)
{
    int parts = 1;
    for (int a = 0; a < nest->n_axes; a++)
        parts *= hp_degree(split, a);
    return parts;
}

void hp_part_coordinates(const struct nest *nest, const struct split *split, int part,
                         int coordinate[MAX_AXES])
{
    for (int a = nest->n_axes - 1; a >= 0; a--) {
        int degree = hp_degree(split, a);
        coordinate[a] = 0;
        if (degree > 1) { /* most axes are not divided, and this runs for every part */
            coordinate[a] = part % degree;
            part /= degree;
        }
    }
}

bool hp_part_ranges(const struct nest *nest, const struct split *split, int part,
                    struct range range[MAX_AXES])
{
    int coordinate[MAX_AXES];
    bool any = true;
    hp_part_coordinates(nest, split, part, coordinate);
    for (int a = 0; a < nest->n_axes; a++) {
        range[a] = hp_axis_part(nest, split, a, coordinate[a]);
        any = any && !hp_range_empty(range[a]);
    }
    return any;
}

void hp_whole_ranges(const struct nest *nest, struct range range[MAX_AXES])
{
    for (int a = 0; a < nest->n_axes; a++)
        range[a] = (struct range){ 0, nest->axis[a].extent };
}
