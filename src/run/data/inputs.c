/* The inputs of a model and their roles: numbers, ids, labels, targets. */
#include "run/data/inputs.h"

#include <string.h>

bool hp_is_data_input(const struct hypar_graph *graph, int t)
{
    return graph->tensors[t].kind == TENSOR_INPUT && graph->tensors[t].sample_dim >= 0 &&
           graph->use_start[t] < graph->use_start[t + 1];
}

/* Losses call the operand that they compare with l. */
enum input_role hp_input_role(const struct hypar_graph *graph, int t)
{
    bool compared = false;
    for (int u = graph->use_start[t]; u < graph->use_start[t + 1]; u++) {
        const struct op *op = &graph->ops[graph->use[u].op];
        compared |= hp_op[op->kind].flags & ROW_LOSS &&
                    op->nest->operand[graph->use[u].operand].name[0] == 'l';
    }
    if (graph->tensors[t].index)
        return compared ? ROLE_LABELS : ROLE_IDS;
    return compared ? ROLE_TARGET : ROLE_NUMBERS;
}

struct hypar_shape hp_sample_shape(const struct hypar_graph *graph, int t)
{
    const struct tensor *tensor = &graph->tensors[t];
    struct hypar_shape shape = { 0 };
    for (int d = 0; d < tensor->shape.n_dims; d++)
        if (d != tensor->sample_dim)
            shape.dim[shape.n_dims++] = tensor->shape.dim[d];
    return shape;
}

int hp_find_input(const struct hypar_graph *graph, const char *name, size_t length)
{
    for (int t = 0; t < graph->n_tensors; t++)
        if (hp_is_data_input(graph, t) && strlen(graph->tensors[t].name) == length &&
            strncmp(graph->tensors[t].name, name, length) == 0)
            return t;
    return -1;
}

int hp_next_input(const struct hypar_graph *graph, enum input_role role, int from)
{
    for (int t = from; t < graph->n_tensors; t++)
        if (hp_is_data_input(graph, t) && hp_input_role(graph, t) == role)
            return t;
    return -1;
}
