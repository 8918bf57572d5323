/* Views: operators that pass every element on, in the same order. */
#include "split/split.h"

/* The axes above 1 of an operand's dimensions, outermost first; -1 if these axes do not
 * determine where each element lies. */
static int axes_in_order(const struct nest *nest, int o, int8_t axis[MAX_DIMS * MAX_FACTORS])
{
    const struct operand *operand = &nest->operand[o];
    int n = 0;
    for (int d = 0; d < operand->n_dims; d++) {
        const struct dim_map *map = &operand->dim[d];
        int64_t size = 1;
        if (map->kind == DIM_AXIS && (map->stride != 1 || map->pad != 0 || map->span != 1))
            return -1;
        for (int f = 0; f < map->n_axes; f++) {
            size *= nest->axis[map->axis[f]].extent;
            if (nest->axis[map->axis[f]].extent > 1)
                axis[n++] = map->axis[f];
        }
        if (size != operand->size[d])
            return -1; /* the dimension is read as a whole, or repeated */
    }
    return n;
}

bool hp_is_view(const struct nest *nest)
{
    int8_t x[MAX_DIMS * MAX_FACTORS], y[MAX_DIMS * MAX_FACTORS];
    const struct pass *forward = &nest->pass[0];
    if (nest->n_operands != 2 || nest->n_inputs != 1 || forward->macs > 0 || forward->other > 0)
        return false;
    int n = axes_in_order(nest, 0, x);
    if (n < 0 || axes_in_order(nest, 1, y) != n)
        return false;
    for (int i = 0; i < n; i++)
        if (x[i] != y[i])
            return false;
    return true;
}
