/* Operations, bytes, seconds and joules of one pass of one part on a device. */
#include "cost/work.h"

#include <math.h>

#include "graph/attrs.h"
#include "profile/profile.h"

double hp_peak_op_per_s(const struct hypar_device *device, enum hypar_precision precision)
{
    switch (precision) {
    case HYPAR_FP64:
        return device->fp64_op_per_s;
    case HYPAR_BF16:
        return device->bf16_op_per_s;
    case HYPAR_FP16:
        return device->fp16_op_per_s;
    case HYPAR_TF32:
        return device->tf32_op_per_s;
    default:
        return device->fp32_op_per_s;
    }
}

double hp_dense_op_per_s(const struct hypar_device *device, enum hypar_precision precision)
{
    return hp_peak_op_per_s(device, precision) * device->efficiency;
}

/* Work ---------------------------------------------------------------------------------- */

static double length(struct range range)
{
    return hp_range_empty(range) ? 0 : (double)(range.hi - range.lo);
}

/* The share of the loops `range` in all loops of a pass. */
static double share_of(const struct nest *nest, const struct pass *pass,
                       const struct range range[MAX_AXES])
{
    double share = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (pass->axes >> a & 1)
            share *= length(range[a]) / (double)nest->axis[a].extent;
    return share;
}

/* How often a pass that only moves data touches operand `o`: once in each of its loops. The
 * looked-up axis (a table's rows) is no loop: each look-up finds one row, which lies in the
 * part's range with the probability of the range's share. */
static double lookups(const struct nest *nest, const struct pass *pass, int o,
                      const struct range range[MAX_AXES])
{
    double n = 1;
    for (int a = 0; a < nest->n_axes; a++) {
        if (!(pass->axes >> a & 1))
            continue;
        if (nest->axis[a].role != HYPAR_REDUCTION)
            n *= length(range[a]);
        else if (nest->operand[o].axes >> a & 1)
            n *= length(range[a]) / (double)nest->axis[a].extent;
    }
    return n;
}

/* Elements of operand `o`, or of its gradient, that the loops touch. */
static double touched(const struct nest *nest, const struct pass *pass, int o,
                      const struct range range[MAX_AXES])
{
    struct box box = hp_region(nest, o, range);
    double region = (double)hp_box_elements(&box);
    if (!(hp_op[nest->kind].flags & ROW_LOOKUP))
        return region;
    double once = lookups(nest, pass, o, range);
    return once < region ? once : region;
}

/* An opaque operator has one pass forward and one backward. */
bool hp_told_seconds(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                     double *seconds)
{
    const struct pass *p = &nest->pass[pass];
    if (!hp_attr_get(nest->attrs, ATTR_FORWARD_S) || !hp_attr_get(nest->attrs, ATTR_BACKWARD_S))
        return false;
    *seconds = share_of(nest, p, range) *
               hp_attr(nest->attrs, p->backward ? ATTR_BACKWARD_S : ATTR_FORWARD_S, 0, 0);
    return true;
}

double hp_operand_bytes(const struct nest *nest, int pass, int o,
                        const struct range range[MAX_AXES], enum hypar_precision precision)
{
    return touched(nest, &nest->pass[pass], o, range) *
           hp_element_bytes(precision, nest->operand[o].index);
}

struct work hp_pass_work(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                         operand_set present, enum hypar_precision precision)
{
    const struct pass *p = &nest->pass[pass];
    struct work work = { 0 };
    double share = share_of(nest, p, range);
    if (hp_is_view(nest) || !(share > 0))
        return work;
    work.macs = share * p->macs;
    work.other = share * p->other;
    operand_set values = (p->reads | p->writes) & present;
    operand_set grads = (p->reads_grad | p->writes_grad) & present;
    for (int o = 0; o < nest->n_operands; o++) {
        int tensors = (int)(values >> o & 1) + (int)(grads >> o & 1);
        if (tensors)
            work.bytes += tensors * hp_operand_bytes(nest, pass, o, range, precision);
    }
    return work;
}

int hp_optimizer_moments(enum hypar_optimizer optimizer)
{
    static const int moments[HYPAR_OPTIMIZER_COUNT] = {
        [HYPAR_MOMENTUM] = 1, [HYPAR_ADAM] = 2, [HYPAR_ADAMW] = 2
    };
    return moments[optimizer];
}

struct work hp_update_work(double elements, enum hypar_precision precision,
                           enum hypar_precision gradients, enum hypar_optimizer optimizer)
{
    /* w -= r g; v = m v + g, w -= r v; Adam: two moments, both corrected, a root, a quotient;
     * AdamW: w is decayed besides */
    static const struct {
        double macs, other;
    } row[HYPAR_OPTIMIZER_COUNT] = {
        [HYPAR_SGD] = { 1, 0 },
        [HYPAR_MOMENTUM] = { 2, 0 },
        [HYPAR_ADAM] = { 3, 8 },
        [HYPAR_ADAMW] = { 3, 9 },
    };
    int stored = hp_element_bytes(precision, false);
    int master = hp_element_bytes(hp_master_precision(precision), false);
    double bytes =
        hp_element_bytes(gradients, false) + 2 * master * (1 + hp_optimizer_moments(optimizer));
    if (stored != master)
        bytes += stored;
    return (struct work){ .macs = elements * row[optimizer].macs,
                          .other = elements * row[optimizer].other,
                          .bytes = elements * bytes };
}

struct work hp_squares_work(double elements, enum hypar_precision gradients)
{
    return (struct work){ .macs = elements,
                          .bytes = elements * hp_element_bytes(gradients, false) };
}

/* Parts alike --------------------------------------------------------------------------- */

axis_set hp_positional_axes(const struct nest *nest)
{
    axis_set axes = 0;
    for (int o = 0; o < nest->n_operands; o++)
        for (int d = 0; d < nest->operand[o].n_dims; d++) {
            const struct dim_map *map = &nest->operand[o].dim[d];
            if (map->kind == DIM_AXIS &&
                (map->stride != 1 || map->span != 1 || map->pad != 0 ||
                 nest->operand[o].size[d] != nest->axis[map->axis[0]].extent))
                axes |= (axis_set)1 << map->axis[0];
        }
    if (nest->kind == OP_ATTENTION && hp_attr_int(nest->attrs, ATTR_CAUSAL, 0, 0))
        axes |= (axis_set)1 << hp_nest_axis(nest, 'q') | (axis_set)1 << hp_nest_axis(nest, 's');
    return axes;
}

bool hp_same_work(const struct range *a, const struct range *b, int n, axis_set positional)
{
    for (int i = 0; i < n; i++)
        if (a[i].hi - a[i].lo != b[i].hi - b[i].lo ||
            (positional >> i & 1 && a[i].lo != b[i].lo))
            return false;
    return true;
}

/* Seconds ------------------------------------------------------------------------------- */

/* The roofline of Williams, Waterman and Patterson (CACM 2009). */
double hp_work_seconds(const struct work *work, const struct hypar_device *device,
                       enum hypar_precision precision)
{
    double arithmetic_s = (2 * work->macs + work->other) / hp_dense_op_per_s(device, precision);
    double memory_s = work->bytes / device->memory_bytes_per_s;
    struct work_energy e = hp_work_energy(work, device, precision);
    double power_s = hp_power_seconds(e.arithmetic_j + e.sram_j + e.dram_j, device);
    return fmax(power_s, fmax(arithmetic_s, memory_s));
}

static enum time_source measured_seconds(const struct nest *nest, int pass,
                                         const struct range range[MAX_AXES],
                                         const struct hypar_device *device,
                                         enum hypar_precision precision,
                                         const struct hypar_profile *profile, double *seconds)
{
    int64_t extent[MAX_AXES];
    for (int a = 0; a < nest->n_axes; a++)
        extent[a] = range[a].hi - range[a].lo;
    struct measured_pass at = { .device = device->name,
                                .precision = precision,
                                .nest = nest,
                                .pass = pass,
                                .extent = extent };
    return hp_profile_time(profile, &at, seconds);
}

enum time_source hp_pass_source(const struct nest *nest, int pass,
                                const struct range range[MAX_AXES],
                                const struct hypar_device *device,
                                enum hypar_precision precision,
                                const struct hypar_profile *profile)
{
    double seconds;
    return measured_seconds(nest, pass, range, device, precision, profile, &seconds);
}

double hp_pass_seconds(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                       operand_set present, const struct hypar_device *device,
                       enum hypar_precision precision, const struct hypar_profile *profile)
{
    struct hypar_device calibrated = *device;
    double seconds;
    if (hp_told_seconds(nest, pass, range, &seconds))
        return seconds;
    if (profile) {
        enum time_source source =
            measured_seconds(nest, pass, range, device, precision, profile, &seconds);
        /* most views cost nothing; the time of a copied view is not that of other views */
        if (source == TIME_MEASURED || (source == TIME_INTERPOLATED && !hp_is_view(nest)))
            return seconds;
        double efficiency = hp_profile_efficiency(profile, device->name);
        if (efficiency > 0)
            calibrated.efficiency = efficiency;
    }
    struct work work = hp_pass_work(nest, pass, range, present, precision);
    return hp_work_seconds(&work, &calibrated, precision);
}

/* Joules -------------------------------------------------------------------------------- */

/* The power that is left for operations and bytes. */
static double work_w(const struct hypar_device *device)
{
    return device->power_limit_w - fmax(device->busy_w, device->idle_w);
}

double hp_power_seconds(double joules, const struct hypar_device *device)
{
    return device->power_limit_w > 0 ? joules / work_w(device) : 0;
}

double hp_running_w(const struct hypar_device *device)
{
    return device->power_limit_w > 0 ? fmax(0, device->busy_w - device->idle_w) : 0;
}

/* The energy of an operation of products: the device's figure, or as much as brings products at
 * the rate of large ones to the power limit. */
static double op_j(const struct hypar_device *device, enum hypar_precision precision)
{
    const double figure[] = {
        [HYPAR_FP64] = device->fp64_op_j, [HYPAR_FP32] = device->fp32_op_j,
        [HYPAR_TF32] = device->tf32_op_j, [HYPAR_FP16] = device->bf16_op_j,
        [HYPAR_BF16] = device->bf16_op_j,
    };
    return figure[precision] > 0 ? figure[precision]
                                 : work_w(device) / hp_dense_op_per_s(device, precision);
}

struct work_energy hp_work_energy(const struct work *work, const struct hypar_device *device,
                                  enum hypar_precision precision)
{
    double dram_j = work->bytes / HP_WORD_BYTES * device->dram_access_j;
    if (device->power_limit_w > 0) {
        double other_j =
            device->vector_op_j > 0 ? device->vector_op_j : op_j(device, HYPAR_FP32);
        return (struct work_energy){
            .arithmetic_j = 2 * work->macs * op_j(device, precision) + work->other * other_j,
            .dram_j = dram_j,
        };
    }
    double words = (double)hp_element_bytes(precision, false) / HP_WORD_BYTES;
    return (struct work_energy){
        .arithmetic_j = words * (work->macs * (device->add_j + device->multiply_j) +
                                 work->other * device->add_j),
        .sram_j = words * work->macs * HP_SRAM_WORDS_PER_MAC * device->sram_access_j,
        .dram_j = dram_j,
    };
}

double hp_message_dram_j(double bytes, const struct hypar_device *from,
                         const struct hypar_device *to)
{
    return bytes / HP_WORD_BYTES * (from->dram_access_j + to->dram_access_j);
}
