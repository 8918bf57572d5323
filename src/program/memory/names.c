/* Tensors that are others by another name: the same elements in the same order. */
#include "program/memory/buffers.h"
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

struct box hp_memory_named_box(const struct memory_maker *m, int tensor, struct box box)
{
    while (m->seen_as[tensor] != tensor && !hp_box_empty(&box)) {
        const struct op *op = &m->graph->ops[m->graph->tensors[tensor].producer];
        struct range range[MAX_AXES];
        hp_view_loops(op->nest, &box, range);
        box = hp_region(op->nest, 0, range);
        tensor = op->tensor[0];
    }
    return box;
}
