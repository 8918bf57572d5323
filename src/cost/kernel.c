/* The time of kernels at measured rates: products, other arithmetic, memory, and which passes
 * run as one kernel. */
#include "cost/kernel.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "graph/attrs.h"
#include "graph/autocast.h"
#include "machine/machine.h"

static bool is_short(enum hypar_precision precision)
{
    return hp_precision_bytes(precision) < hp_precision_bytes(HYPAR_FP32);
}

struct kernel_place hp_kernel_place(const struct hypar_device *device,
                                    enum hypar_precision precision,
                                    const struct hypar_framework *framework)
{
    return (struct kernel_place){ .device = device,
                                  .precision = precision,
                                  .kernels = framework->kernels,
                                  .attention = framework->attention,
                                  .launches = framework->launches,
                                  .fused_norms = framework->memory.fused_norms,
                                  .fp32_loss = framework->loss == HYPAR_WIDTH_FP32,
                                  .autocast = framework->autocast && is_short(precision) };
}

bool hp_runs_kernels(const struct kernel_place *at)
{
    return at->kernels != HYPAR_KERNELS_NONE && !at->profile && !at->device->roofline &&
           (hp_kernels_known(at->device) || hp_launch_s(at) > 0);
}

/* Products ------------------------------------------------------------------------------ */

static double length_along(const struct nest *nest, axis_set axes,
                           const struct range range[MAX_AXES])
{
    double length = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (axes >> a & 1)
            length *= (double)(range[a].hi - range[a].lo);
    return length;
}

/* Add a product of this many multiply-adds, at the share of the rate that its shape reaches. */
static void add_product(const struct nest *nest, const struct matrix_product *product,
                        const struct range range[MAX_AXES], const struct hypar_device *device,
                        double macs, double rate, struct kernel_pass *out)
{
    const struct hypar_kernel_figures *k = &device->kernels;
    double size[3];
    for (int i = 0; i < 3; i++)
        size[i] = product->times[i] * length_along(nest, product->axes[i], range);
    double slower = 1 + k->reduction_length / size[PRODUCT_SUMMED] +
                    k->output_length * (1 / size[PRODUCT_ROWS] + 1 / size[PRODUCT_COLUMNS]);
    out->arithmetic_s += 2 * macs * slower / (rate * device->efficiency);
    /* axes that are never split are processed step by step: an LSTM's positions */
    double steps = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (product->each >> a & 1 && nest->axis[a].role == HYPAR_INNER)
            steps *= (double)(range[a].hi - range[a].lo);
    out->besides_s +=
        steps * (k->reduction_s + k->summed_s * fmin(size[PRODUCT_SUMMED], HP_SUMMED_AT_ONCE));
}

/* Does the operator have windows? A window of one position counts: the row decides. */
static bool has_windows(const struct nest *nest)
{
    return strpbrk(hp_op[nest->kind].operands, "~/%") != NULL;
}

/* Matrix units load 16 bytes at once. Rows of activations that are no multiple of 16 bytes cost
 * most of their rate, and more if they are no multiple of 4. A row of an image is the channels
 * of a position (channels last). Returns the largest of 16, 4 and 1 that divides all rows. */
static int row_alignment(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                         enum hypar_precision precision)
{
    const struct pass *p = &nest->pass[pass];
    operand_set touched = p->reads | p->writes | p->reads_grad | p->writes_grad;
    bool windows = has_windows(nest);
    int64_t all = 16;
    for (int o = 0; o < nest->n_operands; o++) {
        const struct operand *operand = &nest->operand[o];
        if (!(touched >> o & 1) || operand->index || operand->n_dims < 2 ||
            (operand->role != OPERAND_INPUT && operand->role != OPERAND_OUTPUT))
            continue;
        struct box box = hp_region(nest, o, range);
        struct range row = box.dim[windows ? 1 : operand->n_dims - 1];
        all |= (row.hi - row.lo) * hp_element_bytes(precision, false);
    }
    return all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1; /* by their lowest bits */
}

static bool has_matrix_units(const struct hypar_device *device, enum hypar_precision precision)
{
    return precision != HYPAR_FP64 && precision != HYPAR_FP32 &&
           hp_peak_op_per_s(device, precision) > device->fp32_op_per_s;
}

/* A compiled framework pads matrices to whole units, but not images. */
static double alignment(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                        const struct kernel_place *at)
{
    double slower = at->device->kernels.unaligned_efficiency;
    bool padded = at->kernels != HYPAR_KERNELS_EAGER && !has_windows(nest);
    if (!(slower > 0) || padded || !has_matrix_units(at->device, at->precision))
        return 1;
    int bytes = row_alignment(nest, pass, range, at->precision);
    return bytes == 16 ? 1 : bytes == 4 ? sqrt(slower) : slower;
}

/* The number of (query, key) pairs of the first `n` queries, if query i sees the first i + 1 of
 * `keys` keys. */
static double seen_by(double n, double keys)
{
    if (n <= 0)
        return 0;
    return n <= keys ? n * (n + 1) / 2 : keys * (keys + 1) / 2 + (n - keys) * keys;
}

/* The share of attention's scores that queries see: if causal, query i sees keys 0 to i. */
static double seen_share(const struct nest *nest, const struct range range[MAX_AXES])
{
    if (nest->kind != OP_ATTENTION || !hp_attr_int(nest->attrs, ATTR_CAUSAL, 0, 0))
        return 1;
    struct range q = range[hp_nest_axis(nest, 'q')], s = range[hp_nest_axis(nest, 's')];
    double keys = (double)(s.hi - s.lo), queries = (double)(q.hi - q.lo);
    double seen = seen_by((double)(q.hi - s.lo), keys) - seen_by((double)(q.lo - s.lo), keys);
    return fmax(0, seen / (queries * keys));
}

/* How many times the width of heads makes attention longer. */
static double width_waste(const struct hypar_device *device, double width)
{
    return 1 + device->kernels.attention_width / width;
}

/* FlashAttention 2 is "about 2x" as fast as the first (Dao 2023), with heads of 128. With those
 * of 64 the first loses nothing: Triton's tests of performance have 0.36 of an A100's peak
 * forward and 0.24 backward, causal, 4,096 tokens, bf16 (triton-lang/triton,
 * python/test/regression/test_performance.py, 2023). */
static double flash1_in_flash2(const struct hypar_device *device, double width)
{
    return fmin(1, 0.5 * width_waste(device, width) / width_waste(device, 128));
}

/* The rate of the kernel of attention, as a share of the best one's on the device. */
static double generation_share(const struct kernel_place *at, double width)
{
    double flash2 = at->device->kernels.flash2_share > 0 ? at->device->kernels.flash2_share : 1;
    return at->attention == HYPAR_ATTENTION_FLASH1
               ? flash1_in_flash2(at->device, width) * flash2
           : at->attention == HYPAR_ATTENTION_FLASH2 ? flash2
                                                     : 1;
}

/* Is the pass fused attention, on a device with figures for its kernel? */
static bool is_attention(const struct nest *nest, const struct hypar_device *device)
{
    return nest->kind == OP_ATTENTION && device->kernels.attention_efficiency > 0;
}

static double head_width(const struct nest *nest, const struct range range[MAX_AXES])
{
    struct range d = range[hp_nest_axis(nest, 'd')];
    return (double)(d.hi - d.lo);
}

/* How many times the multiply-adds that are seen take at the rate of dense products: the best
 * kernel, in the forward half. */
static double attention_waste(const struct nest *nest, const struct range range[MAX_AXES],
                              const struct kernel_place *at)
{
    const struct hypar_kernel_figures *k = &at->device->kernels;
    struct range s = range[hp_nest_axis(nest, 's')];
    double share = seen_share(nest, range), keys = (double)(s.hi - s.lo);
    double factor = share < 1 && k->attention_causal > 0 ? k->attention_causal : 1;
    return share > 0
               ? (factor + k->attention_keys / (share * keys)) *
                     width_waste(at->device, head_width(nest, range)) / k->attention_efficiency
               : 0;
}

/* How many times longer the kernel at hand takes for as much, in this half. */
static double attention_slower(const struct nest *nest, const struct pass *p,
                               const struct range range[MAX_AXES],
                               const struct kernel_place *at)
{
    const struct hypar_kernel_figures *k = &at->device->kernels;
    double half = p->backward && k->attention_backward > 0
                      ? k->attention_efficiency / k->attention_backward
                      : 1;
    return half / generation_share(at, head_width(nest, range));
}

/* Passes -------------------------------------------------------------------------------- */

/* The axes with more than one index along which a pass reduces its output. */
static axis_set reduced_axes(const struct nest *nest, const struct pass *p)
{
    axis_set kept = ~(axis_set)0, reduced = 0;
    for (int o = 0; o < nest->n_operands; o++)
        if ((p->writes | p->writes_grad) >> o & 1)
            kept &= nest->operand[o].axes;
    for (int a = 0; a < nest->n_axes; a++)
        if (p->axes >> a & ~kept >> a & 1 && nest->axis[a].extent > 1)
            reduced |= (axis_set)1 << a;
    return reduced;
}

/* Does a pass that reduces along some axes produce more than one number? */
static bool keeps_some(const struct nest *nest, const struct pass *p, axis_set reduced)
{
    for (int a = 0; a < nest->n_axes; a++)
        if (p->axes >> a & ~reduced >> a & 1 && nest->axis[a].extent > 1)
            return true;
    return false;
}

/* Does a pass belong to the gradient phase? */
static bool is_gradient(const struct nest *nest, int pass)
{
    for (int o = 0; o < nest->n_operands; o++)
        if (nest->pass[pass].writes_grad >> o & 1 && nest->operand[o].role == OPERAND_PARAM)
            return true;
    return false;
}

enum kernel_class hp_kernel_class(const struct nest *nest, int pass)
{
    const struct pass *p = &nest->pass[pass];
    axis_set reduced = reduced_axes(nest, p);
    if (p->macs > 0)
        return KERNEL_PRODUCT;
    if ((has_windows(nest) && !is_gradient(nest, pass)) || nest->kind == OP_TRANSPOSE)
        return KERNEL_WINDOW;
    if (nest->kind == OP_ROPE)
        return KERNEL_ROTATION;
    if (!reduced)
        return KERNEL_STREAM;
    if (hp_op[nest->kind].flags & ROW_LOOKUP)
        return p->backward ? KERNEL_SCATTER : KERNEL_STREAM;
    int samples = hp_sample_axis(nest);
    bool columns = samples >= 0 && reduced >> samples & 1 && keeps_some(nest, p, reduced);
    return columns ? KERNEL_COLUMN : KERNEL_ROW;
}

/* Does an earlier pass make the same sums over samples? */
static bool has_sums_already(const struct nest *nest, int pass)
{
    const struct pass *p = &nest->pass[pass];
    for (int i = 0; i < pass && hp_kernel_class(nest, pass) == KERNEL_COLUMN; i++) {
        const struct pass *q = &nest->pass[i];
        if (q->backward == p->backward && q->writes && !(p->reads & ~q->reads) &&
            !(p->reads_grad & ~q->reads_grad) && hp_kernel_class(nest, i) == KERNEL_COLUMN)
            return true;
    }
    return false;
}

static bool has_statistics(const struct nest *nest)
{
    for (int o = 0; o < nest->n_operands; o++)
        if (nest->operand[o].role == OPERAND_STAT)
            return true;
    return false;
}

struct kernel_role hp_kernel_role(const struct nest *nest, int pass)
{
    const struct pass *p = &nest->pass[pass];
    return (struct kernel_role){
        .class = hp_kernel_class(nest, pass),
        .has_statistics = has_statistics(nest),
        .is_free = hp_is_view(nest) || has_sums_already(nest, pass) ||
                   (nest->kind == OP_ADD && p->backward && !reduced_axes(nest, p)),
    };
}

/* The share of the device that a library's kernel keeps busy if it reduces to few sums. */
static double column_share(const struct nest *nest, const struct pass *p,
                           const struct range range[MAX_AXES],
                           const struct hypar_device *device)
{
    double most = 1;
    for (int o = 0; o < nest->n_operands; o++)
        if ((p->writes | p->writes_grad) >> o & 1) {
            struct box box = hp_region(nest, o, range);
            most = fmax(most, (double)hp_box_elements(&box));
        }
    return 1 / (1 + device->kernels.column_sums / most);
}

/* Eager frameworks write the terms of a loss (the logarithms of softmax, the squares of
 * differences) and read them again: two kernels, though neither needs the terms in memory. */
static bool writes_terms(const struct nest *nest, const struct kernel_place *at)
{
    return at->kernels == HYPAR_KERNELS_EAGER && hp_op[nest->kind].flags & ROW_LOSS;
}

/* The precision in which operand `o` of a pass lies in memory. */
static enum hypar_precision held_as(const struct nest *nest, int pass, int o,
                                    const struct kernel_place *at)
{
    bool wide = (at->autocast && hp_passes_wide(nest, pass, o)) ||
                (at->fp32_loss && hp_op[nest->kind].flags & ROW_LOSS);
    return wide && is_short(at->precision) ? HYPAR_FP32 : at->precision;
}

operand_set hp_casts(const struct nest *nest, int pass, operand_set present,
                     const struct kernel_place *at)
{
    return at->autocast && at->kernels == HYPAR_KERNELS_EAGER
               ? hp_converted(nest, pass) & present
               : 0;
}

/* Read in one precision, written in the other. */
static double cast_bytes(const struct nest *nest, int pass, int o,
                         const struct range range[MAX_AXES], const struct kernel_place *at)
{
    return hp_operand_bytes(nest, pass, o, range, at->precision) +
           hp_operand_bytes(nest, pass, o, range, HYPAR_FP32);
}

struct kernel hp_cast_kernel(const struct kernel_pass *pass, int o)
{
    return (struct kernel){ .bytes = pass->cast_bytes[o], .class = KERNEL_STREAM };
}

double hp_handed_bytes(const struct kernel_pass *pass, int o)
{
    double cast = pass->cast_bytes[o];
    return cast > 0 ? cast - pass->bytes[o] : pass->bytes[o];
}

/* The operations outside products; for causal attention, only those of keys that queries see. A
 * random number for each element counts RANDOM_OPERATIONS more (forward only: frameworks keep
 * the numbers). */
static double other_operations(const struct nest *nest, int pass, double operations,
                               const struct range range[MAX_AXES])
{
    enum { RANDOM_OPERATIONS = 8 };
    if (nest->kind != OP_DROPOUT || nest->pass[pass].backward)
        return operations * seen_share(nest, range);
    struct box box = hp_region(nest, 0, range);
    return operations + RANDOM_OPERATIONS * (double)hp_box_elements(&box);
}

/* Their seconds: element-wise kernels have their own rate. */
static double other_seconds(enum kernel_class class, double operations,
                            const struct kernel_place *at)
{
    double rate = at->device->kernels.vector_op_per_s;
    if (!(rate > 0) || class != KERNEL_STREAM)
        rate = hp_dense_op_per_s(at->device, at->precision);
    return operations / rate;
}

/* Add the multiply-adds of a pass: `seen` of them all. */
static void add_products(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                         const struct kernel_place *at, double seen, struct kernel_pass *out)
{
    const struct pass *p = &nest->pass[pass];
    double share = p->macs > 0 ? seen / p->macs : 0,
           dense = hp_dense_op_per_s(at->device, at->precision);
    double arithmetic_s = out->arithmetic_s;
    if (p->macs > 0 && !p->n_products)
        out->arithmetic_s += 2 * seen / dense;
    double rate = p->n_products ? hp_peak_op_per_s(at->device, at->precision) *
                                      alignment(nest, pass, range, at)
                                : 0;
    for (int i = 0; i < p->n_products && share > 0; i++)
        add_product(nest, &p->product[i], range, at->device, share * p->product[i].macs, rate,
                    out);
    if (is_attention(nest, at->device) && p->n_products)
        out->arithmetic_s = arithmetic_s + 2 * seen * attention_waste(nest, range, at) *
                                               attention_slower(nest, p, range, at) / dense;
}

/* Joules of the arithmetic of a pass. Attention takes those of the dense products that would
 * last as long, softmax with them; in the time that older kernels and the backward half take
 * longer, SLOWER_POWER as many. On an H200 all its kernels take 660 to 740 W, but only those
 * that are fast for it give up clocks (bench/h200/power.csv: chosen on FlashAttention 2 forward
 * and cuDNN backward; the others' seconds are within 8 %, their joules within 10). */
static double arithmetic_j(const struct nest *nest, const struct pass *p,
                           const struct range range[MAX_AXES], const struct kernel_place *at,
                           double macs, double other)
{
    static const double SLOWER_POWER = 0.65;
    struct work work = { .macs = macs, .other = other };
    if (is_attention(nest, at->device)) {
        work.macs *= attention_waste(nest, range, at) *
                     (1 + SLOWER_POWER * (attention_slower(nest, p, range, at) - 1));
        work.other = 0;
    }
    struct work_energy e = hp_work_energy(&work, at->device, at->precision);
    return e.arithmetic_j + e.sram_j;
}

void hp_kernel_pass(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                    const struct kernel_place *at, struct kernel_pass *out)
{
    const struct pass *p = &nest->pass[pass];
    struct work work = hp_pass_work(nest, pass, range, ~(operand_set)0, at->precision);
    double other = other_operations(nest, pass, work.other, range);
    double seen = work.macs * seen_share(nest, range);
    struct kernel_role role = hp_kernel_role(nest, pass);
    double told_s = 0;
    bool told = hp_told_seconds(nest, pass, range, &told_s);
    bool nothing = !(work.bytes > 0) || role.is_free || told;
    operand_set casts = hp_casts(nest, pass, ~(operand_set)0, at);
    for (int o = 0; o < nest->n_operands; o++) {
        if (out->cast_bytes)
            out->cast_bytes[o] = casts >> o & 1 ? cast_bytes(nest, pass, o, range, at) : 0;
        out->bytes[o] =
            nothing ? 0
                    : (1 + writes_terms(nest, at)) *
                          hp_operand_bytes(nest, pass, o, range, held_as(nest, pass, o, at));
    }
    out->arithmetic_s = nothing ? 0 : other_seconds(role.class, other, at);
    out->arithmetic_s += told_s;
    out->arithmetic_j = nothing ? 0 : arithmetic_j(nest, p, range, at, seen, other);
    out->besides_s = out->column_share = 0;
    if (nothing)
        return;
    if (role.class == KERNEL_ROW)
        out->besides_s = at->device->kernels.reduction_s;
    if (role.class == KERNEL_COLUMN) {
        out->besides_s = at->device->kernels.column_s;
        out->column_share = column_share(nest, p, range, at->device);
    }
    if (writes_terms(nest, at))
        out->besides_s += at->device->kernels.kernel_s;
    add_products(nest, pass, range, at, seen, out);
}

int hp_more_steps(const struct nest *nest, int pass, const struct kernel_place *at)
{
    bool backward = nest->pass[pass].backward;
    enum kernel_class class = hp_kernel_class(nest, pass);
    if (at->kernels != HYPAR_KERNELS_EAGER || (at->fused_norms && class != KERNEL_STREAM))
        return 0;
    for (int p = 0; p < pass; p++)
        if (nest->pass[p].backward == backward)
            return 0;
    enum attr_id steps = backward ? ATTR_BACKWARD_STEPS : ATTR_FORWARD_STEPS;
    return (int)hp_attr_int(nest->attrs, steps, 0, 1) - 1;
}

struct kernel hp_step_kernel(const struct nest *nest, int pass, const struct kernel_pass *of)
{
    struct kernel step = { 0 };
    if (hp_kernel_class(nest, pass) != KERNEL_ROTATION)
        step.bytes = of->bytes[0] + of->bytes[nest->n_inputs];
    return step;
}

/* The share of an operand's region that windows really touch: they may skip elements, which
 * then belong to no part. */
static double touched_share(const struct nest *nest, int o, const struct range range[MAX_AXES])
{
    double share = 1;
    for (int d = 0; d < nest->operand[o].n_dims; d++) {
        const struct dim_map *map = &nest->operand[o].dim[d];
        if (map->kind != DIM_AXIS || map->stride <= map->span)
            continue;
        struct range all = hp_region_dim(nest, o, d, range);
        double length = (double)(all.hi - all.lo);
        if (map->divide) { /* at least one element for each output, some for several */
            share *= fmin(1, (double)nest->axis[map->axis[0]].extent / length);
            continue;
        }
        double gaps =
            (double)((nest->axis[map->axis[0]].extent - 1) * (map->stride - map->span));
        share *= length > gaps ? (length - gaps) / length : 0;
    }
    return share;
}

void hp_least_kernel_pass(const struct nest *nest, int pass, const struct kernel_place *at,
                          struct kernel_pass *out)
{
    struct hypar_device device = *at->device;
    struct kernel_place aligned = *at;
    struct range range[MAX_AXES];
    device.kernels.unaligned_efficiency = 0;
    device.kernels.attention_keys = device.kernels.attention_causal = 0;
    aligned.device = &device;
    hp_whole_ranges(nest, range);
    hp_kernel_pass(nest, pass, range, &aligned, out);
    for (int o = 0; o < nest->n_operands; o++)
        out->bytes[o] *= touched_share(nest, o, range);
}

/* Kernels ------------------------------------------------------------------------------- */

/* A reduction over samples is complete only when all samples are; windows and look-ups are
 * kernels of their own. */
static bool joins(const struct kernel_walk *walk, const struct kernel_role *role,
                  enum kernel_tie tie)
{
    const struct kernel_role *before = walk->before;
    if (!before || tie == TIE_NONE ||
        (before->class == KERNEL_COLUMN && role->class != KERNEL_COLUMN) ||
        before->class >= KERNEL_WINDOW || role->class >= KERNEL_WINDOW)
        return false;
    if (tie == TIE_OP && role->has_statistics)
        return true;
    return walk->kernels != HYPAR_KERNELS_EAGER && before->class != KERNEL_PRODUCT &&
           role->class != KERNEL_PRODUCT;
}

enum kernel_step hp_kernel_step(struct kernel_walk *walk, const struct kernel_role *role,
                                enum kernel_tie tie)
{
    if (role->is_free)
        return STEP_FREE;
    enum kernel_step step = joins(walk, role, tie) ? STEP_JOINS : STEP_BEGINS;
    walk->before = role;
    return step;
}

/* Compiled windows are element-wise kernels that read what their neighbours read: about the
 * square root of a library's share (on an H200 0.3 against 0.1). Rotations that are written out
 * are about as slow as a library's windows (on an H200 they move 0.27 TB/s); as one kernel they
 * stream (3.3 to 3.7 TB/s). */
static double class_efficiency(const struct kernel_place *at, enum kernel_class class)
{
    const struct hypar_kernel_figures *k = &at->device->kernels;
    bool compiled = at->kernels != HYPAR_KERNELS_EAGER;
    const double figure[] = {
        [KERNEL_STREAM] = k->stream_efficiency,
        [KERNEL_PRODUCT] = k->product_efficiency,
        [KERNEL_ROW] = k->row_efficiency,
        [KERNEL_COLUMN] = k->stream_efficiency,
        [KERNEL_WINDOW] = compiled ? sqrt(k->window_efficiency) : k->window_efficiency,
        [KERNEL_SCATTER] = k->scatter_efficiency,
        [KERNEL_ROTATION] =
            compiled || at->fused_norms ? k->stream_efficiency : k->window_efficiency,
    };
    return figure[class] > 0 ? figure[class] : 1;
}

/* A library's kernel that reduces to many sums streams. */
static double column_efficiency(const struct kernel_place *at, double column_share)
{
    const struct hypar_kernel_figures *k = &at->device->kernels;
    bool compiled = at->kernels != HYPAR_KERNELS_EAGER;
    if (compiled && k->compiled_column_efficiency > 0)
        return k->compiled_column_efficiency;
    return k->column_efficiency > 0
               ? fmax(k->column_efficiency, class_efficiency(at, KERNEL_STREAM) * column_share)
               : 1;
}

/* The total bytes of operands; *most receives the largest operand's. */
static double bytes_of(const struct kernel_pass *pass, operand_set operands, double *most)
{
    double sum = 0;
    for (operand_set left = operands; left; left &= left - 1) {
        double bytes = pass->bytes[__builtin_ctzll(left)];
        sum += bytes;
        *most = fmax(*most, bytes);
    }
    return sum;
}

/* A kernel has the highest class of its passes, except columns, which are counted separately;
 * no pass joins windows and look-ups. */
double hp_most_efficiency(const struct kernel_place *at, enum kernel_class class)
{
    if (!hp_runs_kernels(at))
        return 1;
    int lowest = class == KERNEL_COLUMN ? KERNEL_STREAM : (int)class;
    double most = class_efficiency(at, class);
    for (int other = lowest; other <= KERNEL_ROW && class != KERNEL_PRODUCT; other++)
        most = fmax(most, class_efficiency(at, (enum kernel_class)other));
    return most;
}

void hp_kernel_add(struct kernel *kernel, const struct kernel_pass *pass,
                   enum kernel_class class, operand_set values, operand_set grads)
{
    double most = 0;
    kernel->arithmetic_s += pass->arithmetic_s;
    kernel->arithmetic_j += pass->arithmetic_j;
    kernel->column_share = fmax(kernel->column_share, pass->column_share);
    kernel->besides_s = class == KERNEL_PRODUCT ? kernel->besides_s + pass->besides_s
                                                : fmax(kernel->besides_s, pass->besides_s);
    if (class != KERNEL_COLUMN && class > kernel->class)
        kernel->class = class;
    kernel->bytes += bytes_of(pass, values, &most) + bytes_of(pass, grads, &most);
    if (class == KERNEL_COLUMN)
        kernel->column_bytes += most;
}

double hp_kernel_seconds(const struct kernel *kernel, const struct kernel_place *at)
{
    if (!(kernel->arithmetic_s > 0) && !(kernel->bytes > 0))
        return 0;
    double rate = at->device->memory_bytes_per_s;
    double memory_s = kernel->bytes / (rate * class_efficiency(at, kernel->class));
    double column_s =
        kernel->column_bytes / (rate * column_efficiency(at, kernel->column_share));
    double burst_s = at->device->kernels.kernel_s + kernel->besides_s +
                     fmax(kernel->arithmetic_s, fmax(memory_s, column_s));
    struct work_energy e = hp_kernel_energy(kernel, at->device);
    return fmax(burst_s, hp_power_seconds(e.arithmetic_j + e.dram_j, at->device));
}

struct work_energy hp_kernel_energy(const struct kernel *kernel,
                                    const struct hypar_device *device)
{
    return (struct work_energy){
        .arithmetic_j = kernel->arithmetic_j,
        .dram_j = kernel->bytes / HP_WORD_BYTES * device->dram_access_j,
    };
}

double hp_stream_seconds(const struct work *work, const struct kernel_place *at)
{
    if (!hp_runs_kernels(at))
        return hp_work_seconds(work, at->device, at->precision);
    struct work_energy e = hp_work_energy(work, at->device, at->precision);
    return fmax(hp_power_seconds(e.arithmetic_j + e.sram_j + e.dram_j, at->device),
                work->bytes /
                    (at->device->memory_bytes_per_s * class_efficiency(at, KERNEL_STREAM)));
}

double hp_launch_s(const struct kernel_place *at)
{
    const struct hypar_kernel_figures *k = &at->device->kernels;
    bool eager = at->launches == HYPAR_LAUNCHES_USUAL ? at->kernels == HYPAR_KERNELS_EAGER
                                                      : at->launches == HYPAR_LAUNCHES_EAGER;
    return eager ? k->eager_launch_s : k->compiled_launch_s;
}

/* Are consecutive passes in different tasks in any case? */
static bool are_apart(const struct nest *nest, int before, int pass)
{
    return nest->pass[before].backward != nest->pass[pass].backward ||
           is_gradient(nest, before) != is_gradient(nest, pass);
}

static double roofline_seconds(const struct nest *nest, uint32_t passes,
                               const struct range range[MAX_AXES], operand_set present,
                               const struct kernel_place *at)
{
    double sum_s = 0;
    for (int p = 0; p < nest->n_passes; p++)
        if (passes >> p & 1)
            sum_s += hp_pass_seconds(nest, p, range, present, at->device, at->precision,
                                     at->profile);
    return sum_s;
}

/* The kernels of an operator's passes, one after another. */
struct op_kernels {
    const struct kernel_place *at;
    struct kernel kernel;
    operand_set values, grads; /* touched by the kernel so far */
    double sum_s;              /* of the kernels before */
};

static void end_op_kernel(struct op_kernels *run)
{
    run->sum_s += hp_kernel_seconds(&run->kernel, run->at);
    run->kernel = (struct kernel){ 0 };
    run->values = run->grads = 0;
}

static void add_op_pass(struct op_kernels *run, const struct pass *made,
                        const struct kernel_pass *pass, enum kernel_class class,
                        operand_set present)
{
    operand_set values = (made->reads | made->writes) & present & ~run->values;
    operand_set grads = (made->reads_grad | made->writes_grad) & present & ~run->grads;
    hp_kernel_add(&run->kernel, pass, class, values, grads);
    run->values |= values;
    run->grads |= grads;
}

static void add_casts(struct op_kernels *run, const struct kernel_pass *pass, operand_set casts)
{
    for (operand_set left = casts; left; left &= left - 1) {
        struct kernel cast = hp_cast_kernel(pass, __builtin_ctzll(left));
        run->sum_s += hp_kernel_seconds(&cast, run->at);
    }
}

double hp_op_seconds(const struct nest *nest, uint32_t passes,
                     const struct range range[MAX_AXES], operand_set present,
                     const struct kernel_place *at)
{
    double bytes[MAX_OPERANDS], cast_bytes[MAX_OPERANDS];
    struct kernel_pass pass = { .bytes = bytes, .cast_bytes = cast_bytes };
    struct op_kernels run = { .at = at };
    struct kernel_walk walk = { .kernels = at->kernels };
    struct kernel_role role[MAX_PASSES];
    if (!hp_runs_kernels(at))
        return roofline_seconds(nest, passes, range, present, at);
    for (int p = 0, before = 0; p < nest->n_passes; p++) {
        if (!(passes >> p & 1))
            continue;
        role[p] = hp_kernel_role(nest, p);
        enum kernel_step step =
            hp_kernel_step(&walk, &role[p], are_apart(nest, before, p) ? TIE_NONE : TIE_OP);
        operand_set casts = hp_casts(nest, p, present, at);
        if (step == STEP_BEGINS)
            end_op_kernel(&run);
        if (step != STEP_FREE || casts)
            hp_kernel_pass(nest, p, range, at, &pass);
        add_casts(&run, &pass, casts);
        if (step == STEP_FREE)
            continue;
        struct kernel more = hp_step_kernel(nest, p, &pass);
        run.sum_s += hp_more_steps(nest, p, at) * hp_kernel_seconds(&more, at);
        add_op_pass(&run, &nest->pass[p], &pass, role[p].class, present);
        before = p;
    }
    end_op_kernel(&run);
    return run.sum_s;
}
