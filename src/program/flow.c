/* What of a graph has to be computed: gradients that reach from the loss to a parameter. */
#include "program/sketch.h"

/* The dimension of an operand that the samples lead, -1: none. */
static int sample_dim(const struct nest *nest, const struct operand *operand)
{
    for (int d = 0; d < operand->n_dims; d++)
        if (operand->dim[d].n_axes && nest->axis[operand->dim[d].axis[0]].role == HYPAR_SAMPLE)
            return d;
    return -1;
}

/* Does the operator take the samples of a tensor for something else, or the other way round?
 * A model input without samples may be read by them: it is there as a whole. */
static bool mistakes(const struct sketch *s, const struct op *op, int o)
{
    const struct tensor *t = &s->graph->tensors[op->tensor[o]];
    int dim = sample_dim(op->nest, &op->nest->operand[o]);
    return dim != t->sample_dim && !(t->kind == TENSOR_INPUT && t->sample_dim < 0);
}

/* Micro-batches divide the samples: an operator that mixes them cannot be cut there. Statistics
 * (batch norm's) are those of the micro-batch, and a loss is summed. */
static enum hypar_status refuse_mixing(const struct sketch *s, const struct op *op)
{
    bool samples = false, loss = hp_op[op->kind].flags & ROW_LOSS;
    for (int a = 0; a < op->nest->n_axes; a++)
        samples |= op->nest->axis[a].role == HYPAR_SAMPLE;
    for (int o = 0; !s->rhythm.delayed && s->rhythm.n_micro > 1 && o < op->nest->n_operands;
         o++) {
        bool in = o < op->nest->n_inputs && op->tensor[o] >= 0 && mistakes(s, op, o);
        bool out = op->nest->operand[o].role == OPERAND_OUTPUT && samples && !loss &&
                   sample_dim(op->nest, &op->nest->operand[o]) < 0;
        if (in || out)
            return hp_fail(s->err, HYPAR_UNSUPPORTED,
                           "%s '%s' mixes the samples of a batch, expected one micro-batch",
                           hp_op[op->kind].name, op->name);
    }
    return HYPAR_OK;
}

/* A part's own statistics are over whole positions: it may be a part of the samples (and of the
 * channels) only. */
enum hypar_status hp_check_local_bn(const struct sketch *s, int op)
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

enum hypar_status hp_find_flow(struct sketch *s)
{
    const struct hypar_graph *g = s->graph;
    s->skeleton.passes = NEW(&s->arena, uint32_t, g->n_ops);
    if (g->loss < 0)
        return hp_fail(s->err, HYPAR_UNSUPPORTED,
                       "%s has no loss, expected a cross_entropy or mse_loss at its end",
                       g->name);
    for (int i = g->n_ops - 1; i >= 0; i--) {
        const struct op *op = &g->ops[i];
        if (hp_op[op->kind].flags & ROW_OPAQUE)
            return hp_fail(s->err, HYPAR_UNSUPPORTED, "opaque '%s' cannot be lowered",
                           op->name);
        TRY(hp_check_local_bn(s, i));
        TRY(refuse_mixing(s, op));
        s->skeleton.passes[i] = hp_done_passes(g, op);
    }
    return HYPAR_OK;
}
