/* The tensors that operators keep for their backward halves in addition to the tensors of the
 * graph: masks of dropouts, and tensors that a framework saves, above all one that runs
 * operator by operator. */
#include <math.h>

#include "plan/memory_terms.h"
#include "program/memory/buffers.h"

/* A tensor that the backward half of an operator needs beside the tensors of the graph. */
struct op_extra {
    int operand;        /* each part's is as large as the part's box of this operand ... */
    int64_t per_sample; /* ... or if this is above 0, has so many elements for each sample */
    int each_bytes;     /* of each element */
    bool kept;          /* from the forward half; else during the last backward pass alone */
    bool mask; /* of a dropout; all other extra tensors are the framework's, the executor
                  has none of them */
    enum tensor_term term;
};

enum { MOST_EXTRAS = 3 }; /* of an operator */

/* How long extra tensors last that are kept: numbers of passes of the training graph. */
struct extra_span {
    int first;
    int last;   /* the operator's last backward pass; -1: it has none, and no extra tensors */
    bool again; /* `first` is a pass that computes the output again */
};

static struct extra_span find_span(const struct lowering *lowering, int op)
{
    const struct training_graph *k = &lowering->training;
    struct extra_span span = { .last = -1 };
    for (int p = 0; p < lowering->graph->ops[op].nest->n_passes; p++) {
        int at = hp_op_pass(k, op, p, false);
        span.last = at >= 0 && k->op_pass[at].backward ? at : span.last;
    }
    span.again = lowering->plan->ops[op].recompute && k->again_of[op][0] >= 0;
    span.first = hp_op_pass(k, op, 0, span.again);
    return span;
}

/* The elements of an extra tensor of one part. */
static struct box box_of(const struct op_parts *parts, int part, const struct op_extra *extra)
{
    const struct range *range = parts->range + part * parts->nest->n_axes;
    int sample = hp_sample_axis(parts->nest);
    if (!extra->per_sample)
        return hp_region(parts->nest, extra->operand, range);
    int64_t n = sample < 0 ? 1 : range[sample].hi - range[sample].lo;
    return (struct box){ 1, { { 0, n * extra->per_sample } } };
}

/* A buffer that only one part of an operator uses, for an extra tensor. The buffer begins
 * with the last forward pass of the part and ends with the part's backward pass `number`. */
static struct buffer own_of(const struct buffer_finder *f, const struct body_passes *p,
                            int number, const struct op_extra *extra)
{
    int op = hp_pass_at(p, number)->op, part = p->order.at[number].part;
    const struct op_parts *l = hp_parts_at(p, number);
    struct extra_span span = find_span(f->program->lowering, op);
    number = hp_node_number(f, p, hp_pass_at(p, number), part);
    return (struct buffer){
        .place = { .tensor = f->graph->ops[op].tensor[extra->operand] },
        .box = box_of(l, part, extra),
        .device = l->device[part],
        .backward = span.again,
        .kept = !span.again,
        .term = span.again ? TERM_buffers : TERM_activations,
        .action = hp_pass_action(f->program->lowering, span.first),
        .last = hp_action_at(p, number),
        .begin = p->first[hp_pass_number(&p->order, l, span.first, part)],
        .end = p->last[number],
        .copied = -1,
        .part = part,
    };
}

static void add_own(struct buffer_finder *f, struct buffer buffer)
{
    f->buffer = GROW(&f->arena, struct buffer, f->buffer, f->n, &f->capacity);
    f->buffer[f->n++] = buffer;
}

/* The tensors that a framework which runs operator by operator saves for an operator's backward
 * half, beside the tensors that the passes here read. */
struct eager_row {
    int tensors;     /* as large as the first input, in the plan's precision */
    int wide_bytes;  /* ... of each of its elements, where that precision has 2 bytes */
    int mask_bytes;  /* ... in any precision */
    int wide_errors; /* tensors of fp32 while the backward half computes the error */
    int errors;      /* tensors of the plan's precision then, beside those of the plan */
};

static const struct eager_row eager_rows[OP_KIND_COUNT] = {
    /* the formula step by step: the factor of the weight; x in fp32 */
    [OP_RMS_NORM] = { .tensors = 1, .wide_bytes = 2 },
    /* ... tanh(), 1 + tanh() and x / 2; errors of the last two, of which one is summed up */
    [OP_GELU_TANH] = { .tensors = 3, .errors = 1 },
    [OP_DROPOUT] = { .mask_bytes = 1 },
    /* what is normalised, and its product with the error */
    [OP_BATCH_NORM] = { .wide_errors = 2 },
};
static const struct eager_row nothing_saved;

/* Tensors of the loss, as large as the logits. By default a framework that runs operator by
 * operator has three: the logarithms of probabilities, their errors, and the errors of the
 * logits. A single kernel for all of the loss needs none. */
static double loss_tensors(const struct hypar_plan *plan)
{
    enum { EAGER = 3 };
    double tensors = hp_framework_memory(&plan->simulation)->logits_fp32;
    bool eager = plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER;
    return tensors > 0 ? tensors : eager ? EAGER : 0;
}

/* Bytes of each element of these tensors: of fp32, but where the model computes the loss from
 * logits as they are. */
static int loss_bytes(const struct hypar_plan *plan, int op)
{
    const struct hypar_framework *framework = &plan->simulation.framework;
    bool as_written = framework->kernels == HYPAR_KERNELS_EAGER && !framework->autocast &&
                      hp_framework_memory(&plan->simulation)->logits_fp32 == 0;
    bool upcast =
        !as_written || hp_attr_int(plan->graph->ops[op].nest->attrs, ATTR_UPCAST, 0, 1) != 0;
    return hp_precision_bytes(upcast ? HYPAR_FP32 : plan->precision);
}

/* The precision that an operator computes in. */
static enum hypar_precision precision_of(const struct hypar_plan *plan, int op)
{
    return plan->graph->ops[op].fp32 ? hp_fp32_precision(plan) : plan->precision;
}

/* The row of an operator. If norms are kernels of their own, a norm keeps its input alone. */
static const struct eager_row *row_of(const struct hypar_plan *plan, enum op_kind kind)
{
    bool norm = kind == OP_RMS_NORM || kind == OP_LAYER_NORM || kind == OP_BATCH_NORM;
    return norm && hp_framework_memory(&plan->simulation)->fused_norms ? &nothing_saved
                                                                       : &eager_rows[kind];
}

/* Bytes that the graph says are saved, as the model writes the operator; -1: it does not say,
 * the row does. */
static int told_bytes(const struct hypar_plan *plan, int op)
{
    const struct op *at = &plan->graph->ops[op];
    bool is_short = hp_precision_bytes(precision_of(plan, op)) < hp_precision_bytes(HYPAR_FP32);
    int told =
        (int)hp_attr_int(at->nest->attrs, is_short ? ATTR_SAVED_SHORT : ATTR_SAVED_FP32, 0, -1);
    return told > 0 && row_of(plan, at->kind) == &nothing_saved ? 0 : told;
}

/* Bytes that the framework saves for each element of the first input. A mask of a processor has
 * the type of what it is multiplied with. */
static int saved_bytes(const struct hypar_plan *plan, int op, bool host)
{
    enum op_kind kind = plan->graph->ops[op].kind;
    const struct eager_row *row = row_of(plan, kind);
    int each = hp_precision_bytes(precision_of(plan, op));
    if (kind == OP_CROSS_ENTROPY)
        return loss_tensors(plan) > 0 ? loss_bytes(plan, op) - each : 0;
    if (plan->simulation.framework.kernels != HYPAR_KERNELS_EAGER)
        return 0;
    if (told_bytes(plan, op) >= 0)
        return told_bytes(plan, op);
    return row->tensors * each + (each < 4 ? row->wide_bytes : 0) +
           (plan->masks == HYPAR_MASKS_KEPT ? 0 : row->mask_bytes * (host ? each : 1));
}

/* Tensors of fp32, or of the loss, that the backward pass of an operator needs while it runs.
 * A cross entropy of classes that are divided has one more; a batch norm is written out where
 * its statistics are those of several replicas' samples. */
static double wide_errors(const struct hypar_plan *plan, int op)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct split *split = &plan->ops[op].split;
    int sample = hp_sample_axis(nest), classes = hp_nest_axis(nest, 'c');
    int n = row_of(plan, nest->kind)->wide_errors;
    bool eager = plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER;
    if (nest->kind == OP_CROSS_ENTROPY)
        return fmax(loss_tensors(plan) - 1, 0) + (eager && hp_degree(split, classes) > 1);
    if (!eager)
        return 0;
    if (nest->kind == OP_BATCH_NORM &&
        (plan->simulation.local_bn || sample < 0 || hp_degree(split, sample) == 1))
        return 0;
    return n;
}

/* Bytes of each element that the backward pass needs in addition to the plan's error. */
static int error_bytes(const struct hypar_plan *plan, int op)
{
    enum op_kind kind = plan->graph->ops[op].kind;
    int tensor =
            kind == OP_CROSS_ENTROPY ? loss_bytes(plan, op) : hp_precision_bytes(HYPAR_FP32),
        wide = (int)(wide_errors(plan, op) * tensor),
        each = hp_precision_bytes(precision_of(plan, op));
    bool eager = plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER;
    int errors = eager && told_bytes(plan, op) != 0 ? row_of(plan, kind)->errors : 0;
    return errors * each + (wide > 0 ? wide - each : 0);
}

/* Is the mask of a dropout kept? A dropout that is computed again draws its mask again. */
static bool keeps_mask(const struct hypar_plan *plan, int op)
{
    return plan->graph->ops[op].kind == OP_DROPOUT && plan->masks == HYPAR_MASKS_KEPT &&
           !plan->ops[op].recompute;
}

/* What a framework that runs operator by operator saves of each sample inside of an operator,
 * as the graph says: of an opaque one, and of bags of words. */
static int told_extras(const struct hypar_plan *plan, int op, bool host, struct op_extra *out)
{
    const struct attrs *attrs = plan->graph->ops[op].nest->attrs;
    double numbers = hp_attr(attrs, ATTR_SAVED, 0, 0),
           bytes = hp_attr(attrs, ATTR_SAVED_BYTES, 0, 0);
    if (host)
        bytes = hp_attr(attrs, ATTR_HOST_SAVED_BYTES, 0, bytes);
    int n = 0;
    if (plan->simulation.framework.kernels != HYPAR_KERNELS_EAGER)
        return 0;
    struct op_extra saved = { .kept = true, .term = TERM_activations };
    if (numbers > 0) {
        saved.per_sample = (int64_t)numbers;
        saved.each_bytes = hp_precision_bytes(precision_of(plan, op));
        out[n++] = saved;
    }
    if (bytes > 0) {
        saved.per_sample = (int64_t)bytes;
        saved.each_bytes = 1;
        out[n++] = saved;
    }
    return n;
}

/* What oneDNN's LSTM works in and keeps, of one sample, beside the gates and cell states that
 * are tensors of the operator: of each step, and of the state before the first one, inputs and
 * states of this layer and the next, and their errors in fp32. Measured with PyTorch 2.13 for
 * widths that are multiples of 32. */
static int64_t lstm_workspace(const struct hypar_plan *plan, int op)
{
    const struct op *at = &plan->graph->ops[op];
    const struct hypar_shape *x = &plan->graph->tensors[at->tensor[0]].shape,
                             *y = &plan->graph->tensors[at->tensor[at->nest->n_inputs]].shape;
    enum { WIDTHS_APART = 256, APART = 64 }; /* rows of such widths are so many bytes apart */
    int each = hp_precision_bytes(precision_of(plan, op)),
        wide_each = hp_precision_bytes(HYPAR_FP32);
    int64_t steps = y->dim[1], k = y->dim[2], wide = x->dim[2] > k ? x->dim[2] : k;
    int64_t state = (2 * each + 4 * wide_each) * wide + (2 * each + 2 * wide_each) * k;
    int64_t gates = 5 * each * k + (4 * k % WIDTHS_APART == 0 ? APART : 0);
    return (steps + 1) * state + steps * (gates - 5 * each * k);
}

/* Does a reader keep the tensor for its own backward half? */
static bool is_kept_by_reader(const struct hypar_graph *graph, int tensor)
{
    bool kept = false;
    for (int i = graph->use_start[tensor]; i < graph->use_start[tensor + 1]; i++) {
        const struct nest *nest = graph->ops[graph->use[i].op].nest;
        for (int p = 0; p < nest->n_passes; p++)
            kept |= nest->pass[p].backward && nest->pass[p].reads >> graph->use[i].operand & 1;
    }
    return kept;
}

/* What the framework's kernels for processors save in addition: a GRU is written out step by
 * step, and keeps the output of each step but not that of all; a norm is written out. */
static int host_extras(const struct hypar_plan *plan, int op, struct op_extra *out)
{
    enum { GRU_TENSORS = 3 }; /* as large as the output */
    const struct op *at = &plan->graph->ops[op];
    const struct nest *nest = at->nest;
    int each = hp_precision_bytes(precision_of(plan, op)),
        wide = hp_precision_bytes(HYPAR_FP32);
    struct op_extra saved = { .kept = true, .term = TERM_activations };
    if (plan->simulation.framework.kernels != HYPAR_KERNELS_EAGER)
        return 0;
    if (nest->kind == OP_GRU) {
        bool kept = is_kept_by_reader(plan->graph, at->tensor[nest->n_inputs]);
        saved.operand = nest->n_inputs;
        saved.each_bytes = (kept ? GRU_TENSORS : GRU_TENSORS - 1) * each;
    } else if (nest->kind == OP_RMS_NORM && told_bytes(plan, op) == 0) {
        saved.each_bytes = wide - each + (at->tensor[1] >= 0 ? wide : 0);
    } else if (nest->kind == OP_LSTM) {
        saved.per_sample = lstm_workspace(plan, op);
        saved.each_bytes = 1;
    } else {
        return 0;
    }
    *out = saved;
    return 1;
}

/* The extra tensors of an operator; returns their number. `host`: of the framework's kernels
 * for processors, not for the plan's devices. */
static int list_extras(const struct hypar_plan *plan, int op, bool host, struct op_extra *out)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    bool loss = nest->kind == OP_CROSS_ENTROPY;
    if (nest->kind == OP_OPAQUE || nest->kind == OP_EMBEDDING)
        return told_extras(plan, op, host, out);
    int errors = error_bytes(plan, op), saved = saved_bytes(plan, op, host), n = 0;
    if (keeps_mask(plan, op))
        out[n++] = (struct op_extra){ .operand = nest->n_inputs,
                                      .each_bytes = 1,
                                      .kept = true,
                                      .mask = true,
                                      .term = TERM_activations };
    if (errors > 0)
        out[n++] = (struct op_extra){ .each_bytes = errors,
                                      .term = loss ? TERM_losses : TERM_buffers };
    if (saved > 0)
        out[n++] = (struct op_extra){ .each_bytes = saved,
                                      .kept = true,
                                      .term = loss ? TERM_losses : TERM_activations };
    if (host)
        n += host_extras(plan, op, out + n);
    return n;
}

/* The buffer of an extra tensor of the operator whose last backward pass is `number`. */
static struct buffer buffer_of(const struct buffer_finder *f, const struct body_passes *p,
                               int number, const struct op_extra *extra)
{
    struct buffer b = own_of(f, p, number, extra);
    b.each_bytes = extra->each_bytes;
    b.mask = extra->mask;
    if (!extra->kept) {
        b.kept = false;
        b.backward = true;
        b.action = b.last;
        b.begin = p->first[b.end];
    }
    if (!b.backward || extra->term != TERM_activations)
        b.term = extra->term;
    return b;
}

void hp_find_extras(struct buffer_finder *f, int body, bool masks_only)
{
    const struct body_passes *p = &f->body[body];
    const struct lowering *s = f->program->lowering;
    struct op_extra extra[MOST_EXTRAS];
    hp_begin_place(f);
    for (int i = 0; i < p->order.n; i++) {
        int op_pass = p->order.at[i].op_pass, op = s->training.op_pass[op_pass].op;
        if (op_pass != find_span(s, op).last || !hp_is_looked_at(f, hp_device_at(p, i)))
            continue;
        int n = list_extras(f->program->plan, op, f->host, extra);
        for (int e = 0; e < n; e++)
            if (extra[e].mask || !masks_only)
                add_own(f, buffer_of(f, p, i, &extra[e]));
    }
}
