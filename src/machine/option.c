/* The options of machine words and files (option_list.h), and their defaults. */
#include "machine/machine.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"

#define OPTION(name, word, example, summary, key, figure, unit, scope, low, high, whole)     \
    [OPTION_##name] = {                                                                      \
        { word, example, summary }, #key, HYPAR_UNIT_##unit, SCOPE_##scope, low, high, whole \
    },
const struct option_row hp_machine_options[OPTION_COUNT] = {
#include "machine/option_list.h"
};
#undef OPTION

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
#define FIGURE_NO(member)      0
#define FIGURE_DEVICE(member)  (offsetof(struct hypar_device, member) + 1)
#define FIGURE_KERNELS(member) (offsetof(struct hypar_device, kernels.member) + 1)
#define OPTION(name, word, example, summary, key, figure, ...) \
    [OPTION_##name] = FIGURE_##figure(key),
static const size_t figures[OPTION_COUNT] = {
#include "machine/option_list.h"
};
#undef OPTION

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
