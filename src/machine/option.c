/* The options of machine words and files: one table of names, units and bounds, and their
 * defaults. */
#include "machine/machine.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"

/* clang-format off */
const struct option_row hp_machine_options[OPTION_COUNT] = {
    /* { { name, example, summary }, JSON key, unit, scope, low, high, whole } */
    [OPTION_FP32] = { { "fp32", "15.7TFLOP/s", "peak of 32-bit arithmetic" },
        "fp32_op_per_s", HYPAR_UNIT_RATE, SCOPE_DEVICE, 1, 1e24, false },
    [OPTION_FP64] = { { "fp64", "7.8TFLOP/s", "peak of 64-bit arithmetic" },
        "fp64_op_per_s", HYPAR_UNIT_RATE, SCOPE_DEVICE, 1, 1e24, false },
    [OPTION_BF16] = { { "bf16", "312TFLOP/s", "peak in bfloat16" },
        "bf16_op_per_s", HYPAR_UNIT_RATE, SCOPE_DEVICE, 1, 1e24, false },
    [OPTION_FP16] = { { "fp16", "125TFLOP/s", "peak of 16-bit arithmetic" },
        "fp16_op_per_s", HYPAR_UNIT_RATE, SCOPE_DEVICE, 1, 1e24, false },
    [OPTION_TF32] = { { "tf32", "156TFLOP/s", "peak of 32-bit arithmetic by matrix units" },
        "tf32_op_per_s", HYPAR_UNIT_RATE, SCOPE_DEVICE, 1, 1e24, false },
    [OPTION_FP8] = { { "fp8", "1979TFLOP/s", "peak of 8-bit arithmetic by matrix units (0: none)" },
        "fp8_op_per_s", HYPAR_UNIT_RATE, SCOPE_DEVICE, 0, 1e24, false },
    [OPTION_EFFICIENCY] = { { "efficiency", "0.5", "share of the peak that large products reach" },
        "efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 1e-6, 1, false },
    [OPTION_MEMORY] = { { "memory", "80GB", "memory of a device" },
        "memory_bytes", HYPAR_UNIT_BYTES, SCOPE_DEVICE, 1, 1e15, true },
    [OPTION_USABLE] = { { "usable-memory", "84.9GB", "of this, as the driver tells programs (0: all)" },
        "usable_bytes", HYPAR_UNIT_BYTES, SCOPE_DEVICE, 0, 1e15, false },
    [OPTION_CONTEXT] = { { "context-memory", "500MB", "that the driver's context and loaded kernels take (0: no framework runs here)" },
        "context_bytes", HYPAR_UNIT_BYTES, SCOPE_DEVICE, 0, 1e15, false },
    [OPTION_WORKSPACE] = { { "workspace-memory", "32MiB", "that products work in, for each handle and stream" },
        "workspace_bytes", HYPAR_UNIT_BYTES, SCOPE_DEVICE, 0, 1e15, false },
    [OPTION_MEMORY_BANDWIDTH] = { { "memory-bandwidth", "900GB/s", "between a device and its memory" },
        "memory_bytes_per_s", HYPAR_UNIT_BANDWIDTH, SCOPE_DEVICE, 1, 1e18, false },
    [OPTION_ADD] = { { "add-energy", "0.9pJ", "energy of a 32-bit addition" },
        "add_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_MULTIPLY] = { { "multiply-energy", "3.7pJ", "energy of a 32-bit multiplication" },
        "multiply_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_SRAM] = { { "sram-energy", "5pJ", "energy of a 32-bit access to memory on the chip" },
        "sram_access_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_DRAM] = { { "dram-energy", "640pJ", "energy of a 32-bit access to the device's memory" },
        "dram_access_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_IDLE] = { { "idle-power", "75W", "that a device takes all the time, computing or waiting, besides (0: not counted)" },
        "idle_w", HYPAR_UNIT_WATTS, SCOPE_DEVICE, 0, 1e9, false },
    [OPTION_POWER_LIMIT] = { { "power-limit", "700W", "that kernels which need more power must keep to (0: none)" },
        "power_limit_w", HYPAR_UNIT_WATTS, SCOPE_DEVICE, 0, 1e9, false },
    [OPTION_BUSY] = { { "busy-power", "280W", "that running kernels take, whatever they do (0: idle-power)" },
        "busy_w", HYPAR_UNIT_WATTS, SCOPE_DEVICE, 0, 1e9, false },
    [OPTION_FP64_ENERGY] = { { "fp64-energy", "8pJ", "of an operation of products, all told (0: such that large ones reach the limit)" },
        "fp64_op_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_FP32_ENERGY] = { { "fp32-energy", "8pJ", "the same in 32 bits" },
        "fp32_op_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_TF32_ENERGY] = { { "tf32-energy", "2pJ", "the same in tf32" },
        "tf32_op_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_BF16_ENERGY] = { { "bf16-energy", "0.8pJ", "the same in 16 bits" },
        "bf16_op_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_FP8_ENERGY] = { { "fp8-energy", "0.4pJ", "the same in 8 bits" },
        "fp8_op_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_VECTOR_ENERGY] = { { "vector-energy", "50pJ", "of an operation outside products (0: as in 32 bits)" },
        "vector_op_j", HYPAR_UNIT_JOULES, SCOPE_DEVICE, 0, 1, false },
    [OPTION_REDUCTION_LENGTH] = { { "reduction-length", "100", "of products: summed over so many, they run at half that share" },
        "reduction_length", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1e9, false },
    [OPTION_OUTPUT_LENGTH] = { { "output-length", "50", "likewise for results of so many rows or columns" },
        "output_length", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1e9, false },
    [OPTION_UNALIGNED] = { { "unaligned-efficiency", "0.2", "of products with rows that are no multiples of 4 bytes (0: 1)" },
        "unaligned_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1, false },
    [OPTION_STREAM] = { { "stream-efficiency", "0.85", "share of memory-bandwidth of element-wise kernels (0: 1)" },
        "stream_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_PRODUCT] = { { "product-efficiency", "0.7", "of kernels that do products (0: 1)" },
        "product_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_ROW] = { { "row-efficiency", "0.4", "of kernels that reduce, but not along samples (0: 1)" },
        "row_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_COLUMN] = { { "column-efficiency", "0.3", "of kernels that reduce along samples (0: 1)" },
        "column_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_COMPILED_COLUMN] = { { "compiled-column-efficiency", "0.5", "of these as a framework compiles them (0: the same)" },
        "compiled_column_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_WINDOW] = { { "window-efficiency", "0.15", "of kernels that slide a window or exchange dimensions (0: 1)" },
        "window_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_SCATTER] = { { "scatter-efficiency", "0.02", "of kernels that add into rows which are looked up (0: 1)" },
        "scatter_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_COLUMN_SUMS] = { { "column-sums", "1450", "of reductions along samples: with so many sums they stream at half the rate (0: at all of it)" },
        "column_sums", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1e9, false },
    [OPTION_ATTENTION] = { { "attention-efficiency", "1", "share of dense products' rate of fused attention, forward (0: as products)" },
        "attention_efficiency", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_ATTENTION_BACKWARD] = { { "attention-backward", "0.8", "the same of the backward half" },
        "attention_backward", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 4, false },
    [OPTION_ATTENTION_WIDTH] = { { "attention-width", "64", "heads of this width reach half that share" },
        "attention_width", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1e9, false },
    [OPTION_ATTENTION_KEYS] = { { "attention-keys", "200", "fixed cost of a query, as a number of additional keys" },
        "attention_keys", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1e9, false },
    [OPTION_ATTENTION_CAUSAL] = { { "attention-causal", "1.2", "under causal attention: multiply the keys that a query reads by this (0: 1)" },
        "attention_causal", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 16, false },
    [OPTION_FLASH2] = { { "flash2-share", "0.6", "share of FlashAttention 2 in the best kernel's rate (0: 1)" },
        "flash2_share", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1, false },
    [OPTION_KERNEL] = { { "kernel-time", "2us", "that every kernel takes besides" },
        "kernel_s", HYPAR_UNIT_SECONDS, SCOPE_DEVICE, 0, 1e6, false },
    [OPTION_COLUMN_TIME] = { { "column-time", "5us", "that kernels which reduce along samples take besides" },
        "column_s", HYPAR_UNIT_SECONDS, SCOPE_DEVICE, 0, 1e6, false },
    [OPTION_REDUCTION_TIME] = { { "reduction-time", "2us", "that kernels which multiply or reduce take besides" },
        "reduction_s", HYPAR_UNIT_SECONDS, SCOPE_DEVICE, 0, 1e6, false },
    [OPTION_SUMMED_TIME] = { { "summed-time", "2ns", "of products, for each of up to 2,048 that they sum over" },
        "summed_s", HYPAR_UNIT_SECONDS, SCOPE_DEVICE, 0, 1e6, false },
    [OPTION_VECTOR] = { { "vector-rate", "6TFLOP/s", "of arithmetic element by element (0: efficiency times the peak)" },
        "vector_op_per_s", HYPAR_UNIT_RATE, SCOPE_DEVICE, 0, 1e24, false },
    [OPTION_EAGER_LAUNCH] = { { "eager-launch", "7us", "that the host takes to launch a kernel, one by one" },
        "eager_launch_s", HYPAR_UNIT_SECONDS, SCOPE_DEVICE, 0, 1e6, false },
    [OPTION_COMPILED_LAUNCH] = { { "compiled-launch", "4us", "likewise, captured by a framework that compiles" },
        "compiled_launch_s", HYPAR_UNIT_SECONDS, SCOPE_DEVICE, 0, 1e6, false },
    [OPTION_COMM_LATENCY] = { { "comm-latency", "30us", "of every comm, besides its messages" },
        "comm_latency_s", HYPAR_UNIT_SECONDS, SCOPE_DEVICE, 0, 1e6, false },
    [OPTION_COPY] = { { "copy-bandwidth", "2TB/s", "of a device's own copies of what a comm moves (0: not counted)" },
        "copy_bytes_per_s", HYPAR_UNIT_BANDWIDTH, SCOPE_DEVICE, 0, 1e18, false },
    [OPTION_COMM_SHARE] = { { "comm-share", "0.17", "of a collective's time: what kernels beside it lose" },
        "comm_share", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1, false },
    [OPTION_JITTER] = { { "jitter", "3%", "devices differ by so much in speed; the slowest of all decides" },
        "jitter", HYPAR_UNIT_COUNT, SCOPE_DEVICE, 0, 1, false },
    [OPTION_BANDWIDTH] = { { "bandwidth", "25GB/s", "of each link and direction (htree: at the leaves)" },
        "bytes_per_s", HYPAR_UNIT_BANDWIDTH, SCOPE_SIMPLE, 1, 1e18, false },
    [OPTION_INTRA] = { { "intra", "450GB/s", "cluster: of each device into its node's switch" },
        "intra_bytes_per_s", HYPAR_UNIT_BANDWIDTH, SCOPE_CLUSTER, 1, 1e18, false },
    [OPTION_INTER] = { { "inter", "50GB/s", "cluster: of each network card of a node" },
        "inter_bytes_per_s", HYPAR_UNIT_BANDWIDTH, SCOPE_CLUSTER, 1, 1e18, false },
    [OPTION_NICS] = { { "nics", "8", "cluster: network cards of a node" },
        "nics", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 1, MACHINE_MAX_DEVICES, true },
    [OPTION_LINK_EFFICIENCY] = { { "link-efficiency", "0.8", "share of the bandwidth that messages reach" },
        "link_efficiency", HYPAR_UNIT_COUNT, SCOPE_SIMPLE, 1e-6, 1, false },
    [OPTION_INTRA_EFFICIENCY] = { { "intra-efficiency", "0.8", "cluster: the same of links inside a node" },
        "intra_efficiency", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 1e-6, 1, false },
    [OPTION_INTER_EFFICIENCY] = { { "inter-efficiency", "0.9", "cluster: the same of network cards" },
        "inter_efficiency", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 1e-6, 1, false },
    [OPTION_LATENCY] = { { "latency", "2us", "of each link" },
        "latency_s", HYPAR_UNIT_SECONDS, SCOPE_LINK, 0, 1e6, false },
    [OPTION_INTER_LATENCY] = { { "inter-latency", "5us", "cluster: of each link between nodes" },
        "inter_latency_s", HYPAR_UNIT_SECONDS, SCOPE_CLUSTER, 0, 1e6, false },
    [OPTION_NVLS] = { { "nvls", "on", "cluster: switches inside a node sum for all-reduces" },
        "nvls", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 0, 1, true },
    [OPTION_SHARP] = { { "sharp", "on", "cluster: switches between nodes sum for all-reduces" },
        "sharp", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 0, 1, true },
    [OPTION_NCCL] = { { "nccl", "on", "cluster: collectives by NCCL's algorithms alone" },
        "nccl", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 0, 1, true },
    [OPTION_RAILS] = { { "rails", "on", "cluster: card i of every node is at its device i, on switch i" },
        "rails", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 0, 1, true },
    [OPTION_LEAF] = { { "leaf", "16", "cluster: nodes of a leaf switch (0: one switch for all nodes)" },
        "leaf", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 0, MACHINE_MAX_DEVICES, true },
    [OPTION_OVERSUBSCRIPTION] = { { "oversubscription", "2", "cluster: the bandwidth into a leaf switch over that above it" },
        "oversubscription", HYPAR_UNIT_COUNT, SCOPE_CLUSTER, 1, 1e6, false },
    [OPTION_ENERGY] = { { "energy", "8pJ", "of each bit on each link" },
        "energy_j_per_bit", HYPAR_UNIT_JOULES, SCOPE_LINK, 0, 1, false },
};
/* clang-format on */

static const struct hypar_machine_option device_option = {
    "device", "h100", "kind of device ('hypar machines' lists them)"
};

const struct hypar_machine_option *hypar_machine_option(int i)
{
    if (i == 0)
        return &device_option;
    return i > 0 && i <= OPTION_COUNT ? &hp_machine_options[i - 1].text : NULL;
}

void hp_part_begin(struct part *part, const struct topology *topology, struct arena *arena)
{
    *part = (struct part){ .topology = topology, .arena = arena };
    for (int o = 0; o < OPTION_COUNT; o++)
        part->value[o] = NAN;
}

bool hp_option_applies(const struct part *part, enum option option)
{
    unsigned scope = SCOPE_DEVICE | SCOPE_LINK | part->topology->scope;
    return (hp_machine_options[option].scope & scope) != 0;
}

/* A figure of the type. If the type lacks it: a share of the fp32 peak, but at least what can
 * be read back. */
static double or_from_fp32(const struct part *part, double figure, double share)
{
    double value = isnan(figure) ? share * part->value[OPTION_FP32] : figure;
    double low = hp_machine_options[OPTION_FP64].low; /* of every peak */
    return value < low ? low : value;
}

/* The figures of a device that options set, memory excepted: offset + 1; 0: none. */
/* clang-format off */
#define FIGURE(member) (offsetof(struct hypar_device, member) + 1)
static const size_t figures[OPTION_COUNT] = {
    [OPTION_FP64] = FIGURE(fp64_op_per_s),
    [OPTION_FP32] = FIGURE(fp32_op_per_s),
    [OPTION_TF32] = FIGURE(tf32_op_per_s),
    [OPTION_FP8] = FIGURE(fp8_op_per_s),
    [OPTION_FP16] = FIGURE(fp16_op_per_s),
    [OPTION_BF16] = FIGURE(bf16_op_per_s),
    [OPTION_EFFICIENCY] = FIGURE(efficiency),
    [OPTION_USABLE] = FIGURE(usable_bytes),
    [OPTION_CONTEXT] = FIGURE(context_bytes),
    [OPTION_WORKSPACE] = FIGURE(workspace_bytes),
    [OPTION_MEMORY_BANDWIDTH] = FIGURE(memory_bytes_per_s),
    [OPTION_ADD] = FIGURE(add_j),
    [OPTION_MULTIPLY] = FIGURE(multiply_j),
    [OPTION_SRAM] = FIGURE(sram_access_j),
    [OPTION_DRAM] = FIGURE(dram_access_j),
    [OPTION_IDLE] = FIGURE(idle_w),
    [OPTION_POWER_LIMIT] = FIGURE(power_limit_w),
    [OPTION_BUSY] = FIGURE(busy_w),
    [OPTION_FP64_ENERGY] = FIGURE(fp64_op_j),
    [OPTION_FP32_ENERGY] = FIGURE(fp32_op_j),
    [OPTION_TF32_ENERGY] = FIGURE(tf32_op_j),
    [OPTION_BF16_ENERGY] = FIGURE(bf16_op_j),
    [OPTION_FP8_ENERGY] = FIGURE(fp8_op_j),
    [OPTION_VECTOR_ENERGY] = FIGURE(vector_op_j),
    [OPTION_REDUCTION_LENGTH] = FIGURE(kernels.reduction_length),
    [OPTION_OUTPUT_LENGTH] = FIGURE(kernels.output_length),
    [OPTION_UNALIGNED] = FIGURE(kernels.unaligned_efficiency),
    [OPTION_STREAM] = FIGURE(kernels.stream_efficiency),
    [OPTION_PRODUCT] = FIGURE(kernels.product_efficiency),
    [OPTION_ROW] = FIGURE(kernels.row_efficiency),
    [OPTION_COLUMN] = FIGURE(kernels.column_efficiency),
    [OPTION_COMPILED_COLUMN] = FIGURE(kernels.compiled_column_efficiency),
    [OPTION_WINDOW] = FIGURE(kernels.window_efficiency),
    [OPTION_SCATTER] = FIGURE(kernels.scatter_efficiency),
    [OPTION_COLUMN_SUMS] = FIGURE(kernels.column_sums),
    [OPTION_ATTENTION] = FIGURE(kernels.attention_efficiency),
    [OPTION_ATTENTION_BACKWARD] = FIGURE(kernels.attention_backward),
    [OPTION_ATTENTION_WIDTH] = FIGURE(kernels.attention_width),
    [OPTION_ATTENTION_KEYS] = FIGURE(kernels.attention_keys),
    [OPTION_ATTENTION_CAUSAL] = FIGURE(kernels.attention_causal),
    [OPTION_FLASH2] = FIGURE(kernels.flash2_share),
    [OPTION_KERNEL] = FIGURE(kernels.kernel_s),
    [OPTION_COLUMN_TIME] = FIGURE(kernels.column_s),
    [OPTION_REDUCTION_TIME] = FIGURE(kernels.reduction_s),
    [OPTION_SUMMED_TIME] = FIGURE(kernels.summed_s),
    [OPTION_VECTOR] = FIGURE(kernels.vector_op_per_s),
    [OPTION_EAGER_LAUNCH] = FIGURE(kernels.eager_launch_s),
    [OPTION_COMPILED_LAUNCH] = FIGURE(kernels.compiled_launch_s),
    [OPTION_COMM_LATENCY] = FIGURE(kernels.comm_latency_s),
    [OPTION_COPY] = FIGURE(kernels.copy_bytes_per_s),
    [OPTION_COMM_SHARE] = FIGURE(kernels.comm_share),
    [OPTION_JITTER] = FIGURE(kernels.jitter),
};
#undef FIGURE
/* clang-format on */

/* The figure of a device that an option sets; NULL: the option sets none. */
static double *device_figure(struct hypar_device *device, enum option option)
{
    size_t at = figures[option];
    return at ? (void *)((char *)device + at - 1) : NULL;
}

/* Rails need a card for each device. Else as vendors do: one card for `devices_per_card`
 * devices; if that is unknown, one for a whole node. */
static double default_nics(const struct part *part)
{
    int per_node = part->n_dims == 2 ? part->dim[1] : 1, share = part->type.devices_per_card;
    if (part->value[OPTION_RAILS] > 0)
        return per_node;
    return share > 0 ? (per_node + share - 1) / share : 1;
}

/* A peak that a device file left out, from the peaks that it gives. */
static double derived_peak(const struct part *part, enum option option)
{
    struct part said = *part;
    said.row = NULL;
    for (int o = 0; o < OPTION_COUNT; o++)
        if (isnan(said.value[o]) && !(part->left_out >> o & 1))
            said.value[o] = part->row[o];
    return hp_option_default(&said, option);
}

static bool is_peak(enum option option)
{
    return option == OPTION_FP64 || option == OPTION_TF32 || option == OPTION_FP16 ||
           option == OPTION_BF16;
}

/* A figure of a device file. */
static double row_default(const struct part *part, enum option option)
{
    if (is_peak(option) && part->left_out >> option & 1)
        return derived_peak(part, option);
    if (option == OPTION_INTER_LATENCY && !isnan(part->value[OPTION_LATENCY]))
        return part->value[OPTION_LATENCY];
    double value = part->row[option];
    if (option != OPTION_NICS || part->n_dims != 2)
        return value;
    return isnan(value) ? default_nics(part) : fmin(value, part->dim[1]);
}

double hp_option_default(const struct part *part, enum option option)
{
    if (part->row)
        return row_default(part, option);
    const struct hypar_device_type *type = &part->type;
    struct hypar_device device = type->device;
    const double *figure = device_figure(&device, option);
    switch (option) {
    case OPTION_FP64:
        return or_from_fp32(part, *figure, 0.5);
    case OPTION_BF16:
    case OPTION_TF32:
        return or_from_fp32(part, *figure, 1);
    case OPTION_FP16: /* a figure of one 16-bit type counts for both */
        return isnan(*figure) && !isnan(part->value[OPTION_BF16])
                   ? part->value[OPTION_BF16]
                   : or_from_fp32(part, *figure, 1);
    case OPTION_MEMORY:
        return device.memory_bytes > 0 ? (double)device.memory_bytes : NAN;
    case OPTION_BANDWIDTH:
        return type->link_bytes_per_s;
    case OPTION_INTRA:
        return type->ports * type->link_bytes_per_s;
    case OPTION_INTER:
        return type->nic_bytes_per_s;
    case OPTION_NICS:
        return default_nics(part);
    case OPTION_LINK_EFFICIENCY:
    case OPTION_INTRA_EFFICIENCY:
        return type->link_efficiency > 0 ? type->link_efficiency : 1;
    case OPTION_INTER_EFFICIENCY:
        return type->nic_efficiency > 0 ? type->nic_efficiency : 1;
    case OPTION_LATENCY:
        return type->latency_s;
    case OPTION_INTER_LATENCY: /* `latency` alone sets both */
        return isnan(part->value[OPTION_LATENCY]) ? 2 * type->latency_s
                                                  : part->value[OPTION_LATENCY];
    case OPTION_NVLS:
    case OPTION_SHARP:
    case OPTION_NCCL:
    case OPTION_RAILS:
    case OPTION_LEAF:
        return 0;
    case OPTION_OVERSUBSCRIPTION:
        return 1;
    case OPTION_ENERGY:
        return type->energy_j_per_bit;
    default:
        return figure ? *figure : NAN;
    }
}

bool hp_factor_read(const char *text, double *value)
{
    size_t n = hp_number_read(text, value);
    return n > 0 && text[n] == 'x' && !text[n + 1] && *value > 0;
}

bool hp_option_read(enum option option, const char *text, double *value)
{
    enum hypar_unit unit = hp_machine_options[option].unit;
    bool on = strcmp(text, "on") == 0;
    if (hp_is_switch(&hp_machine_options[option]) && (on || strcmp(text, "off") == 0)) {
        *value = on;
        return true;
    }
    size_t n = hp_number_read(text, value);
    if (n > 0 && strcmp(text + n, "%") == 0 && unit == HYPAR_UNIT_COUNT) {
        *value /= 100;
        return true;
    }
    return !hypar_lacks_unit(text, unit) && hypar_parse_quantity(text, unit, value);
}

enum hypar_status hp_option_check(const struct part *part, enum option option, double value,
                                  struct hypar_error *err)
{
    const struct option_row *row = &hp_machine_options[option];
    double high = row->high;
    if (option == OPTION_NICS && part->n_dims == 2)
        high = part->dim[1];
    if (value >= row->low && value <= high && !(row->whole && value != floor(value)))
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID, "%s is %g, expected %s%g..%g", row->text.name, value,
                   row->whole ? "a whole number in " : "", row->low, high);
}

enum hypar_status hp_part_finish(struct part *part, struct hypar_error *err)
{
    double defaults[OPTION_COUNT]; /* computed before any is filled in: some depend on what was
                                      given */
    for (int o = 0; o < OPTION_COUNT; o++)
        defaults[o] = hp_option_default(part, (enum option)o);
    for (int o = 0; o < OPTION_COUNT; o++) {
        if (!hp_option_applies(part, (enum option)o) || !isnan(part->value[o]))
            continue;
        if (isnan(defaults[o]))
            return hp_fail(err, HYPAR_INVALID,
                           "%s (%s) is missing: device '%.40s' has no known one",
                           hp_machine_options[o].key, hp_machine_options[o].text.summary,
                           part->type.device.name);
        part->value[o] = defaults[o];
        if (part->row ? part->left_out >> o & 1 : !part->known)
            part->assumed |= (option_set)1 << o;
    }
    double limit_w = part->value[OPTION_POWER_LIMIT],
           least_w = fmax(part->value[OPTION_IDLE], part->value[OPTION_BUSY]);
    if (limit_w > 0 && limit_w <= least_w)
        return hp_fail(err, HYPAR_INVALID,
                       "power-limit is %g, expected more than %g, idle-power and busy-power",
                       limit_w, least_w);
    return HYPAR_OK;
}

double hp_device_get(const struct hypar_device *device, enum option option)
{
    struct hypar_device copy = *device;
    return option == OPTION_MEMORY ? (double)device->memory_bytes
                                   : *device_figure(&copy, option);
}

void hp_device_set(struct hypar_device *device, enum option option, double value)
{
    if (option == OPTION_MEMORY) {
        device->usable_bytes = value == (double)device->memory_bytes ? device->usable_bytes : 0;
        device->memory_bytes = (int64_t)value;
    } else
        *device_figure(device, option) = value;
}

struct hypar_device hp_part_device(const struct part *part)
{
    struct hypar_device device = { .name = part->type.device.name,
                                   .memory_bytes = (int64_t)part->value[OPTION_MEMORY],
                                   .roofline = part->type.device.roofline };
    for (int o = 0; o < OPTION_COUNT; o++)
        if (device_figure(&device, (enum option)o))
            *device_figure(&device, (enum option)o) = part->value[o];
    const struct hypar_device *type = &part->type.device;
    if (device.memory_bytes != type->memory_bytes && device.usable_bytes == type->usable_bytes)
        device.usable_bytes = 0; /* all of another memory */
    return device;
}

const char *hypar_device_figure(const struct hypar_device *device, int i, double *value)
{
    for (int o = 0; o < OPTION_COUNT; o++)
        if (hp_machine_options[o].scope == SCOPE_DEVICE && i-- == 0) {
            *value = hp_device_get(device, (enum option)o);
            return hp_machine_options[o].key;
        }
    return NULL;
}

double hp_part_link_bytes_per_s(const struct part *part)
{
    bool cluster = part->topology->scope == SCOPE_CLUSTER;
    const double *value = part->value;
    return cluster ? value[OPTION_INTRA] * value[OPTION_INTRA_EFFICIENCY]
                   : value[OPTION_BANDWIDTH] * value[OPTION_LINK_EFFICIENCY];
}

double hp_part_card_bytes_per_s(const struct part *part)
{
    return part->value[OPTION_INTER] * part->value[OPTION_INTER_EFFICIENCY];
}
