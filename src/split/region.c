/* The box of an operand that a part touches: the one function from which all data movement is
 * derived. */
#include "split/split.h"

/* Clip to [0, size). A range that lies in the padding alone becomes empty. */
static struct range clip(int64_t lo, int64_t hi, int64_t size)
{
    lo = lo < 0 ? 0 : lo > size ? size : lo;
    hi = hi > size ? size : hi;
    return (struct range){ lo, hi < lo ? lo : hi };
}

static struct range window(const struct dim_map *map, struct range outputs, int64_t size)
{
    int64_t lo = outputs.lo * map->stride - map->pad;
    int64_t hi = (outputs.hi - 1) * map->stride - map->pad + map->span;
    if (map->divide) {
        lo = hp_divide_down(lo, map->divide);
        hi = hp_divide_down(hi - 1, map->divide) + 1;
    }
    return clip(lo, hi, size);
}

/* Row-major: the range from the first combination of factors to the last. It contains no
 * others, because only the outermost factor above 1 is ever split. */
static struct range product(const struct nest *nest, const struct dim_map *map,
                            const struct range range[MAX_AXES])
{
    int64_t first = 0, last = 0;
    for (int f = 0; f < map->n_axes; f++) {
        int a = map->axis[f];
        first = first * nest->axis[a].extent + range[a].lo;
        last = last * nest->axis[a].extent + range[a].hi - 1;
    }
    return (struct range){ first, last + 1 };
}

struct range hp_region_dim(const struct nest *nest, int o, int d,
                           const struct range range[MAX_AXES])
{
    const struct operand *operand = &nest->operand[o];
    const struct dim_map *map = &operand->dim[d];
    for (int f = 0; f < map->n_axes; f++)
        if (hp_range_empty(range[map->axis[f]]))
            return (struct range){ 0, 0 };
    switch (map->kind) {
    case DIM_AXIS:
        return window(map, range[map->axis[0]], operand->size[d]);
    case DIM_PRODUCT:
        return product(nest, map, range);
    case DIM_WHOLE:
    case DIM_BROADCAST:
        break;
    }
    return (struct range){ 0, operand->size[d] };
}

struct box hp_region(const struct nest *nest, int o, const struct range range[MAX_AXES])
{
    const struct operand *operand = &nest->operand[o];
    struct box box = { .n_dims = operand->n_dims };
    for (int d = 0; d < operand->n_dims; d++)
        box.dim[d] = hp_region_dim(nest, o, d, range);
    return box;
}

struct box hp_operand_box(const struct nest *nest, int o)
{
    const struct operand *operand = &nest->operand[o];
    struct box box = { .n_dims = operand->n_dims };
    for (int d = 0; d < operand->n_dims; d++)
        box.dim[d] = (struct range){ 0, operand->size[d] };
    return box;
}
