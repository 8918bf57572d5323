/* The table of calibrations, and how those of a device and of a framework combine. */
#include "cost/calibration.h"

#include <math.h>
#include <string.h>

#include "cost/work.h"
#include "graph/graph.h"
#include "machine/machine.h"

/* Standard deviations within which eight of ten values of a normal distribution lie. */
static const double EIGHT_OF_TEN = 1.2816;

/* Without rows: published steps of 32 images on a P100 (OptCNN) take 1.56 (AlexNet), 0.86
 * (Inception-v3) and 0.30 (VGG-16) times the prediction. cuDNN computes VGG-16's convolutions
 * by fast algorithms, which multiply less often. */
static const double UNKNOWN = 1.6, FAST_CONVOLUTIONS = 3.5;

/* By how much exposed messages, and steps that wait for their launches, scatter more than what
 * devices compute: the tenths at which measured rows are likeliest, each judged by the rows of
 * other networks (docs/accuracy.md). Then 87 % of the rows kept out lie inside their
 * intervals. */
static const double MESSAGES = 1.1, LAUNCHES = 0.3;

static const char PROFILE[] = "profile";

/* clang-format off */
/* What `build/bench_truth` prints: the residuals log(measured / predicted) by device and
 * framework. Figures of devices and words of frameworks were chosen with some of these rows in
 * view (docs/accuracy.md says which). `spread` is that of a network which is not among the
 * rows, so it is wider where networks are few; `pair` is that of the ratio of two steps of one
 * network. `pair` of h200 compiled is that of compiled kernels launched one by one: the four
 * captured steps are of four networks. The rows of h200 fsdp are in docs/formats-torch.md:
 * scripts that `hypar export --to torch` wrote (bench/h200/exported.py). */
static const struct calibrated table[] = {
    /* device, framework, { rows, bias, spread, pair, on } */
    { "h100", "llm-foundry", { 33, 0.057, 0.038, 0.038, "MPT, 125M to 13B, on 8 to 512" } },
    { "a100", "llm-foundry", { 31, 0.002, 0.090, 0.004, "MPT, 125M to 13B, on 8 to 64" } },
    { "a100-40gb", "llm-foundry", { 42, 0.069, 0.087, 0.053, "MPT, 125M to 13B, on 8 to 128" } },
    { "h100", "nemo", { 10, -0.042, 0.153, 0.014, "llama3.1-8b, nemotron4-340b on 8 to 2,048" } },
    { "gb200", "nemo", { 6, -0.023, 0.130, 0.007, "nemotron4-340b on 128 to 512" } },
    { "a100", "megatron-2022", { 6, 0.051, 0.136, 0.053, "GPT of 5B on 8 to 256" } },
    { "h100", "nanotron", { 14, 0.031, 0.354, 0.064, "llama shapes, 1B to 9B, on 8 to 512" } },
    { "a100", "megatron-ci", { 150, 0.100, 0.284, 0.089, "small GPTs that wait for launches, on 8" } },
    { "a100", "megatron-2021", { 18, 0.000, 0.055, 0.050, "GPT, 1.7B to 1T, on 8 to 3,072" } },
    { "h200", "eager", { 12, -0.055, 0.102, 0.095, "PyTorch on one device" } },
    { "h200", "fsdp", { 11, 0.380, 0.394, 0.180, "exported scripts: gpt2, llama, vit" } },
    { "h200", "compiled", { 4, -0.103, 0.073, 0.042, "captured steps on one device" } },
    { "", PROFILE, { 83, 0.048, 0.132, 0.05, "training on CPUs, docs/accuracy.md" } },
};
/* clang-format on */

enum { ROWS = sizeof table / sizeof table[0] };

const struct calibrated *hp_calibrated(int i)
{
    return i < ROWS ? &table[i] : NULL;
}

/* All pairs of a device, or (device NULL) of a framework, pooled. Each pair has the same
 * weight, whatever its number of rows, because the result describes differences between
 * frameworks, not between jobs. */
static struct hypar_calibration pooled(const char *device, const char *framework)
{
    struct hypar_calibration all = { .on = device ? device : framework };
    double squares = 0;
    int n = 0;
    for (int i = 0; i < ROWS; i++) {
        const struct hypar_calibration *c = &table[i].is;
        if (strcmp(device ? table[i].device : table[i].framework,
                   device ? device : framework) != 0)
            continue;
        n++;
        all.rows += c->rows;
        all.bias += c->bias;
        squares += c->bias * c->bias + c->spread * c->spread;
        all.pair = fmax(all.pair, c->pair);
    }
    if (n) {
        all.bias /= n;
        all.spread = sqrt(squares / n - all.bias * all.bias);
    }
    return all;
}

/* The rows of this pair; else, if both occur in other pairs, their two calibrations combined.
 */
static struct hypar_calibration of_pair(const char *device, const char *framework)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(table[i].framework, framework) == 0 &&
            (!*table[i].device || strcmp(table[i].device, device) == 0))
            return table[i].is;
    struct hypar_calibration a = pooled(device, NULL), b = pooled(NULL, framework);
    if (!a.rows || !b.rows)
        return (struct hypar_calibration){ .rows = 0 };
    return (struct hypar_calibration){ .rows = a.rows + b.rows,
                                       .bias = (a.bias + b.bias) / 2,
                                       .spread = hypot(a.spread, b.spread),
                                       .pair = fmax(a.pair, b.pair),
                                       .on = a.on };
}

/* The calibration of steps on devices of both: the one with the larger spread, which has no
 * rows if either has none. */
static struct hypar_calibration worse(struct hypar_calibration a, struct hypar_calibration b)
{
    const struct hypar_calibration *unknown = !a.rows ? &a : !b.rows ? &b : NULL;
    struct hypar_calibration c = a.spread >= b.spread ? a : b;
    if (unknown) {
        c.rows = 0;
        c.pair = 0;
        c.on = unknown->on;
    }
    return c;
}

/* Has the device, which has the name of a row of the table, other figures than the row? Sizes
 * of memory do not count: no step takes longer for them. */
static bool has_changed_figures(const struct hypar_device *device)
{
    const struct hypar_device_type *type = hp_device_type_find(device->name);
    double value, usual;
    for (int o = 0, i = 0; type && o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        if (row->scope != SCOPE_DEVICE)
            continue;
        hypar_device_figure(device, i, &value);
        hypar_device_figure(&type->device, i++, &usual);
        if (row->unit != HYPAR_UNIT_BYTES && !isnan(usual) && usual != value)
            return true;
    }
    return false;
}

struct hypar_calibration hp_calibration(const struct hypar_machine *machine,
                                        const struct hypar_framework *framework, bool profiled)
{
    struct hypar_calibration worst = framework->calibration;
    const char *name = framework->name ? framework->name : "compiled";
    if (profiled)
        return of_pair("", PROFILE);
    if (worst.rows)
        return worst;
    for (int i = 0; i < machine->n_runs; i++) {
        const struct hypar_device *device = &machine->runs[i].device;
        struct hypar_calibration c = of_pair(device->name, name);
        if (c.rows && has_changed_figures(device))
            c = (struct hypar_calibration){ .bias = c.bias,
                                            .spread = c.spread,
                                            .on = device->name };
        worst = i ? worse(worst, c) : c;
    }
    return worst;
}

double hp_less_known(const struct less_known *p)
{
    double messages = MESSAGES * p->messages;
    double launches = LAUNCHES * fmin(1, p->launches * p->launches); /* few: they are hidden */
    return messages * messages + launches * launches;
}

struct hypar_interval hp_interval(const struct hypar_calibration *c, double step_s,
                                  const struct less_known *parts)
{
    double spread = sqrt(c->spread * c->spread + hp_less_known(parts));
    double half = EIGHT_OF_TEN * spread, fast = parts->convolutions;
    double low_s = step_s * exp(c->bias - half), high_s = step_s * exp(c->bias + half);
    if (!c->rows) {
        double low = step_s * (fast / FAST_CONVOLUTIONS + (1 - fast) / UNKNOWN),
               high = step_s * UNKNOWN;
        low_s = c->spread > 0 ? fmin(low, low_s) : low;
        high_s = c->spread > 0 ? fmax(high, high_s) : high;
    }
    return (struct hypar_interval){ .low_s = low_s, .high_s = high_s, .from = *c };
}

double hp_added_spread(const struct hypar_interval *i)
{
    double spread = log(i->high_s / i->low_s) / (2 * EIGHT_OF_TEN);
    return sqrt(fmax(0, spread * spread - i->from.spread * i->from.spread));
}

bool hp_measured_apart(const struct hypar_calibration *c)
{
    bool device = false;
    for (int i = 0; i < ROWS && c->on; i++)
        device |= strcmp(c->on, table[i].device) == 0;
    return device;
}

static bool is_sliding(const struct nest *nest, const struct dim_map *map)
{
    return map->kind == DIM_AXIS && map->taps && nest->axis[map->taps].extent > 1 &&
           map->stride == 1 && !map->divide;
}

/* Does it multiply windows that overlap, which fast algorithms (Winograd, FFT) do with fewer
 * multiplications? */
static bool multiplies_windows(const struct nest *nest)
{
    for (int o = 0; o < nest->n_inputs && hp_multiplies(nest); o++)
        for (int d = 0; d < nest->operand[o].n_dims; d++)
            if (is_sliding(nest, &nest->operand[o].dim[d]))
                return true;
    return false;
}

static double whole_seconds(const struct op *op, const struct hypar_device *device,
                            enum hypar_precision precision)
{
    struct range range[MAX_AXES];
    double seconds = 0;
    hp_whole_ranges(op->nest, range);
    for (int pass = 0; pass < op->nest->n_passes; pass++)
        seconds +=
            hp_pass_seconds(op->nest, pass, range, hp_present(op), device, precision, NULL);
    return seconds;
}

double hp_convolution_share(const struct hypar_graph *graph,
                            const struct hypar_machine *machine, enum hypar_precision precision)
{
    const struct hypar_device *device = hypar_machine_device(machine, 0);
    double all_s = 0, convolutions_s = 0;
    for (int i = 0; i < graph->n_ops; i++) {
        double seconds = whole_seconds(&graph->ops[i], device, precision);
        all_s += seconds;
        if (multiplies_windows(graph->ops[i].nest))
            convolutions_s += seconds;
    }
    return all_s > 0 ? convolutions_s / all_s : 0;
}

/* The largest of all: of a device without rows. */
static double largest_pair(void)
{
    double most = 0;
    for (int i = 0; i < ROWS; i++)
        most = fmax(most, table[i].is.pair);
    return most;
}

double hp_pair_factor(const struct hypar_calibration *c)
{
    return exp(EIGHT_OF_TEN * (c->rows ? c->pair : largest_pair()));
}

bool hp_are_alike(const struct hypar_calibration *c, double a_s, double b_s)
{
    return fmax(a_s, b_s) <= fmin(a_s, b_s) * hp_pair_factor(c);
}

bool hp_are_equal(double a_s, double b_s)
{
    return HP_ROUNDING * fmax(a_s, b_s) <= fmin(a_s, b_s);
}
