/* Tensors that are others by another name: the same elements in the same order. */
#include "program/memory/parts.h"

/* A parameter stays by itself: a view of it that is sent elsewhere is not in its place. */
void hp_memory_find_names(struct memory_maker *m)
{
    const struct hypar_graph *g = m->graph;
    m->seen_as = NEW(&m->scratch, int, g->n_tensors);
    m->next_name = NEW(&m->scratch, int, g->n_tensors);
    int *last = NEW(&m->scratch, int, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++) {
        m->seen_as[t] = last[t] = t;
        m->next_name[t] = -1;
    }
    for (int i = 0; i < g->n_ops; i++) {
        const struct op *op = &g->ops[i];
        if (!hp_is_view(op->nest) || g->tensors[op->tensor[0]].kind == TENSOR_PARAM)
            continue;
        int first = m->seen_as[op->tensor[0]], name = op->tensor[1];
        m->seen_as[name] = first;
        m->next_name[last[first]] = name;
        last[first] = name;
    }
}

/* The loops that an output's range covers; of a product, from its first to its last. */
static void unfold(const struct nest *nest, const struct dim_map *map, struct range r,
                   struct range range[MAX_AXES])
{
    int64_t inner = 1;
    for (int f = 1; f < map->n_axes; f++)
        inner *= nest->axis[map->axis[f]].extent;
    for (int f = 0; f < map->n_axes; f++) {
        int64_t first = r.lo / inner, last = (r.hi - 1) / inner;
        range[map->axis[f]] = (struct range){ first, last + 1 };
        if (first != last)
            return; /* all of the factors inside */
        r = (struct range){ r.lo - first * inner, r.hi - first * inner };
        if (f + 1 < map->n_axes)
            inner /= nest->axis[map->axis[f + 1]].extent;
    }
}

struct box hp_memory_named_box(const struct memory_maker *m, int tensor, struct box box)
{
    while (m->seen_as[tensor] != tensor && !hp_box_empty(&box)) {
        const struct op *op = &m->graph->ops[m->graph->tensors[tensor].producer];
        struct range range[MAX_AXES];
        hp_whole_ranges(op->nest, range);
        for (int d = 0; d < box.n_dims; d++)
            unfold(op->nest, &op->nest->operand[1].dim[d], box.dim[d], range);
        box = hp_region(op->nest, 0, range);
        tensor = op->tensor[0];
    }
    return box;
}
