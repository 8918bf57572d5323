/* The functions of the public header that describe a graph. */
#include "graph/graph.h"

#include <string.h>

const char *hypar_graph_values(const struct hypar_graph *graph)
{
    return graph->values_path;
}

const char *hypar_graph_name(const struct hypar_graph *graph)
{
    return graph->name;
}

int64_t hypar_graph_batch(const struct hypar_graph *graph)
{
    return graph->batch;
}

int hypar_graph_op_count(const struct hypar_graph *graph)
{
    return graph->n_ops;
}

int hypar_graph_tensor_count(const struct hypar_graph *graph)
{
    return graph->n_tensors;
}

uint64_t hypar_graph_hash(const struct hypar_graph *graph)
{
    return graph->hash;
}

int hypar_graph_note_count(const struct hypar_graph *graph)
{
    return graph->n_notes;
}

const char *hypar_graph_note(const struct hypar_graph *graph, int note)
{
    return note >= 0 && note < graph->n_notes ? graph->notes[note] : NULL;
}

static bool is_op(const struct hypar_graph *graph, int op)
{
    return op >= 0 && op < graph->n_ops;
}

const char *hypar_graph_op_name(const struct hypar_graph *graph, int op)
{
    return is_op(graph, op) ? graph->ops[op].name : NULL;
}

const char *hypar_graph_op_kind(const struct hypar_graph *graph, int op)
{
    return is_op(graph, op) ? hp_op[graph->ops[op].kind].name : NULL;
}

int hypar_graph_find_op(const struct hypar_graph *graph, const char *name)
{
    return hp_table_get(&graph->op_names, name, strlen(name));
}

int hypar_graph_axis_count(const struct hypar_graph *graph, int op)
{
    return is_op(graph, op) ? graph->ops[op].nest->n_axes : 0;
}

struct hypar_axis hypar_graph_axis(const struct hypar_graph *graph, int op, int axis)
{
    return axis >= 0 && axis < hypar_graph_axis_count(graph, op)
               ? graph->ops[op].nest->axis[axis]
               : (struct hypar_axis){ 0 };
}

double hypar_graph_op_flops(const struct hypar_graph *graph, int op, bool backward)
{
    return is_op(graph, op) ? 2 * hp_nest_macs(graph->ops[op].nest, backward) : 0;
}

int hypar_graph_operand_count(const struct hypar_graph *graph, int op)
{
    return is_op(graph, op) ? graph->ops[op].nest->n_operands : 0;
}

struct hypar_operand hypar_graph_operand(const struct hypar_graph *graph, int op, int operand)
{
    if (operand < 0 || operand >= hypar_graph_operand_count(graph, op))
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

int hypar_graph_loss(const struct hypar_graph *graph)
{
    return graph->loss;
}
