/* The functions of the public header that describe a graph. */
#include "graph/graph.h"

#include <string.h>

struct hypar_graph_info hypar_graph_info(const struct hypar_graph *graph)
{
    return (struct hypar_graph_info){ .name = graph->name,
                                      .values = graph->values_path,
                                      .batch = graph->batch,
                                      .n_ops = graph->n_ops,
                                      .n_tensors = graph->n_tensors,
                                      .loss = graph->loss,
                                      .hash = graph->hash,
                                      .n_notes = graph->n_notes,
                                      .note = graph->notes };
}

static bool is_op(const struct hypar_graph *graph, int op)
{
    return op >= 0 && op < graph->n_ops;
}

struct hypar_op hypar_graph_op(const struct hypar_graph *graph, int op)
{
    if (!is_op(graph, op))
        return (struct hypar_op){ 0 };
    const struct nest *nest = graph->ops[op].nest;
    return (struct hypar_op){ .name = graph->ops[op].name,
                              .kind = hp_op_kind(graph, op),
                              .n_axes = nest->n_axes,
                              .n_operands = nest->n_operands,
                              .forward_flops = 2 * hp_nest_macs(nest, false),
                              .backward_flops = 2 * hp_nest_macs(nest, true) };
}

int hypar_graph_find_op(const struct hypar_graph *graph, const char *name)
{
    return hp_table_get(&graph->op_names, name, strlen(name));
}

struct hypar_axis hypar_graph_axis(const struct hypar_graph *graph, int op, int axis)
{
    return is_op(graph, op) && axis >= 0 && axis < graph->ops[op].nest->n_axes
               ? graph->ops[op].nest->axis[axis]
               : (struct hypar_axis){ 0 };
}

struct hypar_operand hypar_graph_operand(const struct hypar_graph *graph, int op, int operand)
{
    if (!is_op(graph, op) || operand < 0 || operand >= graph->ops[op].nest->n_operands)
        return (struct hypar_operand){ .tensor = -1 };
    const struct nest *nest = graph->ops[op].nest;
    const struct operand *o = &nest->operand[operand];
    struct hypar_operand out = { .name = o->name,
                                 .tensor = graph->ops[op].tensor[operand],
                                 .written = operand >= nest->n_inputs };
    for (int d = 0; d < HYPAR_MAX_DIMS; d++)
        out.axis[d] = d < o->n_dims ? hp_dividing_axis(nest, operand, d) : -1;
    return out;
}

struct hypar_tensor hypar_graph_tensor(const struct hypar_graph *graph, int tensor)
{
    static const enum hypar_tensor_kind kinds[] = {
        [TENSOR_INPUT] = HYPAR_TENSOR_INPUT,
        [TENSOR_PARAM] = HYPAR_TENSOR_PARAMETER,
        [TENSOR_ACTIVATION] = HYPAR_TENSOR_ACTIVATION,
        [TENSOR_STAT] = HYPAR_TENSOR_STATISTIC,
    };
    if (tensor < 0 || tensor >= graph->n_tensors)
        return (struct hypar_tensor){ .sample_dim = -1, .writer = -1 };
    const struct tensor *t = &graph->tensors[tensor];
    return (struct hypar_tensor){
        .name = t->name,
        .kind = kinds[t->kind],
        .shape = t->shape,
        .index = t->index,
        .trained = t->needs_grad,
        .sample_dim = t->sample_dim,
        .writer = t->producer,
        .n_readers = graph->use_start[tensor + 1] - graph->use_start[tensor],
    };
}

int hypar_graph_reader(const struct hypar_graph *graph, int tensor, int i)
{
    return i >= 0 && i < hypar_graph_tensor(graph, tensor).n_readers
               ? graph->use[graph->use_start[tensor] + i].op
               : -1;
}
