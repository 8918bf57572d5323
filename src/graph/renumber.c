/* Rebuilding a graph with tensors numbered in the order of files. */
#include "graph/graph.h"

struct renumbering {
    const struct hypar_graph *from;
    struct graph_builder *b;
    struct arena arena;
    int *tensor; /* by tensor of the old graph, -1: not made yet */
};

static int source(struct renumbering *r, int t)
{
    const struct tensor *was = &r->from->tensors[t];
    if (r->tensor[t] >= 0)
        return r->tensor[t];
    r->tensor[t] = was->kind == TENSOR_PARAM ? hp_build_param(r->b, was->name, &was->shape)
                                             : hp_build_input(r->b, was->name, &was->shape,
                                                              was->index, was->sample_dim);
    if (was->untrained)
        hp_build_untrained(r->b, r->tensor[t]);
    return r->tensor[t];
}

static enum hypar_status append(struct renumbering *r, const struct op *op,
                                struct hypar_error *err)
{
    int inputs[MAX_OPERANDS], outputs[MAX_OPERANDS], n = 0;
    for (int i = 0; i < op->nest->n_inputs; i++)
        inputs[i] = op->tensor[i] < 0 ? HP_ABSENT : source(r, op->tensor[i]);
    TRY(hp_build_op(
        r->b,
        &(struct op_request){ op->kind, op->name, op->nest->n_inputs, inputs, op->nest->attrs },
        outputs, err));
    if (op->fp32)
        hp_build_fp32(r->b);
    if (op->choices)
        TRY(hp_build_choices(r->b, op->choices, err));
    for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++) {
        if (op->nest->operand[o].role != OPERAND_OUTPUT)
            continue;
        r->tensor[op->tensor[o]] = outputs[n];
        if (r->from->tensors[op->tensor[o]].is_output)
            hp_build_mark_output(r->b, outputs[n]);
        n++;
    }
    return HYPAR_OK;
}

enum hypar_status hp_graph_renumber(const struct hypar_graph *graph, struct hypar_graph **out,
                                    struct hypar_error *err)
{
    struct renumbering r = { .from = graph, .b = hp_build(graph->name, graph->batch) };
    enum hypar_status status = HYPAR_OK;
    *out = NULL;
    r.tensor = NEW(&r.arena, int, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++)
        r.tensor[t] = -1;
    for (int op = 0; op < graph->n_ops && status == HYPAR_OK; op++)
        status = append(&r, &graph->ops[op], err);
    for (int t = 0; t < graph->n_tensors && status == HYPAR_OK; t++)
        if (graph->tensors[t].kind == TENSOR_INPUT)
            source(&r, t); /* including tensors without readers */
    hp_arena_free(&r.arena);
    if (status == HYPAR_OK)
        return hp_build_finish(r.b, out, err);
    hp_build_abandon(r.b);
    return status;
}
