/* Computes a lower bound for the step of any plan. */
#include "search/bound.h"

#include <math.h>

#include "cost/kernel.h"
#include "sim/timing.h"

/* Equal devices. */
struct kind {
    struct kernel_place at;
    bool kernels;
    double weight; /* of one device; the weights of all devices add up to 1 */
};

struct bounding {
    const struct problem *problem;
    const struct hypar_graph *graph;
    struct arena arena;
    struct kind *kind;
    int n_kinds;
    double *least_bytes;    /* by value or gradient of a tensor and by half: least bytes; 0: not
                             * touched */
    double *most_efficient; /* by the same index and kind: the highest memory efficiency */
    double *forward_s;      /* by op: earliest end of the forward passes of any part */
    double *error_s;        /* by tensor: earliest time at which any part of its gradient
                             * exists */
    struct hypar_bound out;
};

/* Kinds of devices ---------------------------------------------------------------------- */

/* Let t(d) be the time of some work on device d alone. However the work is divided, the slowest
 * device takes at least the minimum of weight(d) t(d), for any weights that add up to 1. Here
 * the weights are proportional to the devices' rates. */
static void find_kinds(struct bounding *b)
{
    const struct hypar_machine *m = b->problem->machine;
    int n = hypar_machine_device_count(m), capacity = 0;
    double all = 0;
    for (int d = 0; d < n; d++) {
        const struct hypar_device *device = hypar_machine_device(m, d);
        int k = 0;
        while (k < b->n_kinds && b->kind[k].at.device != device)
            k++;
        if (k == b->n_kinds) {
            struct kind kind = { .at = hp_problem_place(b->problem, d) };
            kind.kernels = hp_runs_kernels(&kind.at);
            kind.weight = hp_dense_op_per_s(kind.at.device, kind.at.precision);
            b->kind = GROW(&b->arena, struct kind, b->kind, b->n_kinds, &capacity);
            b->kind[b->n_kinds++] = kind;
        }
        all += b->kind[k].weight;
    }
    for (int k = 0; k < b->n_kinds; k++)
        b->kind[k].weight /= all;
}

/* Work ---------------------------------------------------------------------------------- */

/* The bytes of a pass, each tensor counted once. */
static double bytes_of(const struct op *op, int pass, const double *bytes)
{
    const struct pass *p = &op->nest->pass[pass];
    operand_set value = (p->reads | p->writes) & hp_present(op);
    operand_set grad = (p->reads_grad | p->writes_grad) & hp_present(op);
    double sum = 0;
    for (int o = 0; o < op->nest->n_operands; o++) {
        for (int i = 0; i < o; i++)
            if (op->tensor[i] == op->tensor[o]) { /* the first of equal operands counts */
                value &= ~((value >> i & 1) << o);
                grad &= ~((grad >> i & 1) << o);
            }
        sum += (double)((value >> o & 1) + (grad >> o & 1)) * bytes[o];
    }
    return sum;
}

/* Add a pass with products: it is a kernel of its own (hp_kernel_step()). */
static void add_product(struct bounding *b, const struct op *op, int pass)
{
    double bytes[MAX_OPERANDS], told_s;
    struct range range[MAX_AXES];
    hp_whole_ranges(op->nest, range);
    bool told = hp_told_seconds(op->nest, pass, range, &told_s);
    double least_s = INFINITY, arithmetic_s = INFINITY, traffic_s = INFINITY;
    for (int k = 0; k < b->n_kinds; k++) {
        const struct kind *kind = &b->kind[k];
        struct kernel_pass at_best = { .bytes = bytes };
        hp_least_kernel_pass(op->nest, pass, &kind->at, &at_best);
        double compute_s = at_best.arithmetic_s, besides_s = at_best.besides_s;
        if (!kind->kernels && !told) {
            const struct pass *p = &op->nest->pass[pass];
            compute_s = (2 * p->macs + p->other) /
                        hp_dense_op_per_s(kind->at.device, kind->at.precision);
            besides_s = 0;
        }
        double memory_s =
            bytes_of(op, pass, bytes) / (kind->at.device->memory_bytes_per_s *
                                         hp_most_efficiency(&kind->at, KERNEL_PRODUCT));
        double kernel_s = kind->kernels ? kind->at.device->kernels.kernel_s : 0;
        double all_s = kernel_s + besides_s + fmax(compute_s, memory_s);
        least_s = fmin(least_s, kind->weight * all_s);
        arithmetic_s = fmin(arithmetic_s, kind->weight * compute_s);
        traffic_s = fmin(traffic_s, kind->weight * memory_s);
    }
    b->out.work_s += least_s;
    b->out.arithmetic_s += arithmetic_s;
    b->out.traffic_s += traffic_s;
}

/* Record the bytes that a pass touches. Several passes of a half may be one kernel, so each
 * tensor counts once in a half, with the least bytes of any of its passes. */
static void touch(struct bounding *b, const struct op *op, int pass, int o, bool grad,
                  const double *bytes)
{
    const struct nest *nest = op->nest;
    int half = nest->pass[pass].backward;
    int place = (op->tensor[o] * 2 + grad) * 2 + half;
    double *most = &b->most_efficient[place * b->n_kinds];
    bool first = !(b->least_bytes[place] > 0);
    if (!(bytes[o] > 0))
        return;
    b->least_bytes[place] = first ? bytes[o] : fmin(b->least_bytes[place], bytes[o]);
    for (int k = 0; k < b->n_kinds; k++)
        most[k] =
            fmax(most[k], hp_most_efficiency(&b->kind[k].at, hp_kernel_class(nest, pass)));
}

static void touch_operands(struct bounding *b, const struct op *op, int pass)
{
    const struct pass *p = &op->nest->pass[pass];
    operand_set values = (p->reads | p->writes) & hp_present(op);
    operand_set grads = (p->reads_grad | p->writes_grad) & hp_present(op);
    double bytes[MAX_OPERANDS];
    struct kernel_pass at_best = { .bytes = bytes };
    struct kernel_place at = b->kind[0].at;
    bool compiled = at.kernels != HYPAR_KERNELS_EAGER;
    at.kernels = HYPAR_KERNELS_COMPILED; /* the framework that touches the fewest bytes */
    hp_least_kernel_pass(op->nest, pass, &at, &at_best);
    for (int o = 0; o < op->nest->n_operands; o++) {
        if (values >> o & 1 && !(compiled && hp_is_passed_on(b->graph, op->tensor[o])))
            touch(b, op, pass, o, false, bytes);
        if (grads >> o & 1)
            touch(b, op, pass, o, true, bytes);
    }
}

static void add_touched(struct bounding *b)
{
    for (int place = 0; place < 4 * b->graph->n_tensors; place++) {
        double least_s = INFINITY;
        for (int k = 0; k < b->n_kinds; k++)
            least_s = fmin(least_s, b->kind[k].weight * b->least_bytes[place] /
                                        (b->kind[k].at.device->memory_bytes_per_s *
                                         b->most_efficient[place * b->n_kinds + k]));
        if (b->least_bytes[place] > 0) {
            b->out.work_s += least_s;
            b->out.traffic_s += least_s;
        }
    }
}

/* Parameters ---------------------------------------------------------------------------- */

/* Do the parts of an operator touch all of operand `o`? */
static bool reaches_all(const struct nest *nest, int o)
{
    struct range range[MAX_AXES];
    hp_whole_ranges(nest, range);
    for (int d = 0; d < nest->operand[o].n_dims; d++) {
        const struct dim_map *map = &nest->operand[o].dim[d];
        struct range all = hp_region_dim(nest, o, d, range);
        if (all.hi - all.lo < nest->operand[o].size[d] ||
            (map->kind == DIM_AXIS && (map->stride > map->span || map->divide)))
            return false;
    }
    return true;
}

static bool is_all_used(const struct hypar_graph *g, int tensor)
{
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++)
        if (reaches_all(g->ops[g->use[u].op].nest, g->use[u].operand))
            return true;
    return false;
}

static void add_updates(struct bounding *b)
{
    const struct hypar_plan_settings *s = &b->problem->settings;
    const struct hypar_graph *g = b->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *tensor = &g->tensors[t];
        double least_s = INFINITY;
        if (tensor->kind != TENSOR_PARAM || !tensor->needs_grad || !is_all_used(g, t))
            continue;
        struct work work = hp_update_work(
            (double)hp_shape_elements(&tensor->shape), s->precision,
            hp_gradient_precision(s->precision, s->fp32_gradients), s->optimizer);
        for (int k = 0; k < b->n_kinds; k++) {
            struct kernel_place at = b->kind[k].at;
            at.precision = hp_master_precision(s->precision);
            least_s = fmin(least_s, b->kind[k].weight * hp_stream_seconds(&work, &at));
        }
        b->out.work_s += least_s;
        b->out.traffic_s += least_s;
    }
}

/* The path of a sample --------------------------------------------------------------------- */

/* The time of a kernel on the smallest part. A part of attention may see no key. */
static double least_kernel_s(const struct bounding *b, const struct op *op, int pass)
{
    double least_s = INFINITY;
    if (!(op->nest->pass[pass].macs > 0))
        return 0; /* other passes may be one kernel with the pass before */
    for (int k = 0; k < b->n_kinds; k++) {
        const struct hypar_kernel_figures *figures = &b->kind[k].at.device->kernels;
        double product_s = op->kind == OP_ATTENTION ? 0 : figures->reduction_s;
        least_s = fmin(least_s, b->kind[k].kernels ? figures->kernel_s + product_s : 0);
    }
    return least_s;
}

/* Does every part read some of operand `o`? A part of a concat may read only one of the inputs,
 * and a part at the edge of an image may read only padding. */
static bool always_reads(const struct nest *nest, int o)
{
    for (int d = 0; d < nest->operand[o].n_dims; d++) {
        const struct dim_map *map = &nest->operand[o].dim[d];
        if (map->kind != DIM_AXIS || (map->divide && !map->taps))
            continue;
        if (map->divide) /* the taps of a transposed convolution leave indices out */
            return false;
        int64_t last = nest->axis[map->axis[0]].extent - 1;
        if (map->span <= map->pad || last * map->stride - map->pad >= nest->operand[o].size[d])
            return false;
    }
    return true;
}

static void go_forward(struct bounding *b, int i)
{
    const struct op *op = &b->graph->ops[i];
    double after_s = 0, kernel_s = 0;
    for (int o = 0; o < op->nest->n_inputs; o++) {
        int t = op->tensor[o], from = t < 0 ? -1 : b->graph->tensors[t].producer;
        bool read = false;
        for (int p = 0; p < op->nest->n_passes; p++)
            read |= !op->nest->pass[p].backward && op->nest->pass[p].reads >> o & 1;
        if (from >= 0 && read && always_reads(op->nest, o))
            after_s = fmax(after_s, b->forward_s[from]);
    }
    for (int p = 0; p < op->nest->n_passes; p++)
        if (!op->nest->pass[p].backward)
            kernel_s = fmax(kernel_s, least_kernel_s(b, op, p));
    b->forward_s[i] = after_s + kernel_s;
}

/* The earliest end of an operator's backward pass: after its forward passes, and after the
 * gradients that it reads. */
static double backward_s(const struct bounding *b, int i, int pass)
{
    const struct op *op = &b->graph->ops[i];
    double after_s = b->forward_s[i];
    for (int o = 0; o < op->nest->n_operands; o++)
        if (op->nest->pass[pass].reads_grad >> o & 1 && op->tensor[o] >= 0 &&
            always_reads(op->nest, o))
            after_s = fmax(after_s, b->error_s[op->tensor[o]]);
    return after_s + least_kernel_s(b, op, pass);
}

/* Record the earliest end of the gradients that operator `i` writes. If several operators write
 * all of a gradient, the last to finish counts. A gradient that no operator writes completely
 * may be empty. */
static void go_backward(struct bounding *b, int i)
{
    const struct op *op = &b->graph->ops[i];
    uint32_t passes = hp_backward_passes(b->graph, op);
    for (int p = 0; p < op->nest->n_passes; p++) {
        if (!(passes >> p & 1))
            continue;
        double end_s = backward_s(b, i, p);
        b->out.way_s = fmax(b->out.way_s, end_s);
        for (int o = 0; o < op->nest->n_operands; o++) {
            int t = op->tensor[o];
            if (!(op->nest->pass[p].writes_grad >> o & 1) || t < 0)
                continue;
            if (reaches_all(op->nest, o))
                b->error_s[t] = fmax(b->error_s[t], end_s);
        }
    }
}

static void find_way(struct bounding *b)
{
    const struct hypar_graph *g = b->graph;
    b->forward_s = NEW(&b->arena, double, g->n_ops);
    b->error_s = NEW(&b->arena, double, g->n_tensors);
    for (int i = 0; i < g->n_ops; i++) {
        go_forward(b, i);
        b->out.way_s = fmax(b->out.way_s, b->forward_s[i]);
    }
    for (int i = g->n_ops - 1; i >= 0; i--)
        go_backward(b, i);
}

/* Subtract a margin for rounding: times are whole picoseconds, so each may be half a picosecond
 * shorter. */
static double rounded_down(double seconds)
{
    return fmax(0, seconds * (1 - 1e-6) - 1e-9);
}

struct hypar_bound hp_step_bound(const struct problem *problem)
{
    const struct hypar_sim_options *how = problem->options->simulation;
    struct bounding b = { .problem = problem, .graph = problem->graph };
    const struct hypar_graph *g = b.graph;
    if ((how && how->profile) || hypar_graph_lowerable(g, NULL) != HYPAR_OK)
        return b.out;
    find_kinds(&b);
    b.least_bytes = NEW(&b.arena, double, 4 * g->n_tensors);
    b.most_efficient = NEW(&b.arena, double, 4 * g->n_tensors * b.n_kinds);
    for (int i = 0; i < g->n_ops; i++) {
        uint32_t passes = hp_done_passes(g, &g->ops[i]);
        for (int p = 0; p < g->ops[i].nest->n_passes; p++) {
            if (!(passes >> p & 1) || hp_kernel_role(g->ops[i].nest, p).is_free)
                continue;
            if (g->ops[i].nest->pass[p].macs > 0)
                add_product(&b, &g->ops[i], p);
            else
                touch_operands(&b, &g->ops[i], p);
        }
    }
    add_touched(&b);
    add_updates(&b);
    find_way(&b);
    struct hypar_bound *out = &b.out;
    out->step_s = rounded_down(fmax(out->work_s, out->way_s));
    out->by = out->way_s > out->work_s             ? "a sample's way to the loss and back"
              : out->arithmetic_s > out->traffic_s ? "mostly arithmetic"
                                                   : "mostly memory traffic";
    hp_arena_free(&b.arena);
    return b.out;
}
