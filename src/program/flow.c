/* The gradients that training computes: those on the paths from the loss to each trained
 * parameter. */
#include "program/lowering.h"

/* Micro-batches divide the samples, so an operator that mixes samples cannot run in
 * micro-batches. */
static enum hypar_status refuse_mixing(const struct lowering *s, const struct op *op)
{
    if (s->iteration.delayed || s->iteration.n_micro <= 1 || !hp_op_mixes_samples(s->graph, op))
        return HYPAR_OK;
    return hp_fail(s->err, HYPAR_UNSUPPORTED,
                   "%s '%s' mixes the samples of a batch, expected one micro-batch",
                   hp_op[op->kind].name, op->name);
}

/* A part's own statistics are over whole positions: such an operator may be split along samples
 * and channels only. */
enum hypar_status hp_check_local_bn(const struct lowering *s, int op)
{
    const struct nest *nest = s->graph->ops[op].nest;
    for (int a = 0; s->options.local_bn && nest->kind == OP_BATCH_NORM && a < nest->n_axes; a++)
        if (nest->axis[a].role == HYPAR_ATTRIBUTE && s->plan->ops[op].split.degree[a] > 1)
            return hp_fail(
                s->err, HYPAR_UNSUPPORTED,
                "batch_norm '%s' is split along %s, expected samples and channels only "
                "with local statistics",
                s->graph->ops[op].name, nest->axis[a].name);
    return HYPAR_OK;
}

enum hypar_status hypar_graph_lowerable(const struct hypar_graph *g, struct hypar_error *err)
{
    if (hp_has_choices(g))
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "what %s does is not known, only how long it was measured to take",
                       g->name);
    if (g->loss < 0)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "%s has no loss, expected a cross_entropy or mse_loss at its end",
                       g->name);
    for (int i = 0; i < g->n_ops; i++)
        if (hp_attr(g->ops[i].nest->attrs, ATTR_PARAMETER_BYTES, 0, 0) > 0)
            return hp_fail(err, HYPAR_UNSUPPORTED,
                           "opaque '%s' has parameters of its own, expected them among its "
                           "inputs",
                           g->ops[i].name);
    return HYPAR_OK;
}

enum hypar_status hp_find_flow(struct lowering *s)
{
    const struct hypar_graph *g = s->graph;
    s->training.passes = NEW(&s->arena, uint32_t, g->n_ops);
    TRY(hypar_graph_lowerable(g, s->err));
    for (int i = g->n_ops - 1; i >= 0; i--) {
        const struct op *op = &g->ops[i];
        TRY(hp_check_local_bn(s, i));
        TRY(refuse_mixing(s, op));
        s->training.passes[i] =
            s->options.forward ? hp_inference_passes(g, op) : hp_done_passes(g, op);
    }
    return HYPAR_OK;
}
