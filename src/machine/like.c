/* Variants of a machine: with its first nodes only, with other figures, or with faster
 * links. */
#include "machine/machine.h"

#include <math.h>
#include <string.h>

#include "base/word.h"
#include "machine/network.h"

/* The rows of a part, whose number can shrink while devices keep their numbers: nodes, rows of
 * a grid, leaves. */
static int rows_of(const struct part *part)
{
    return part->topology->scope == SCOPE_CLUSTER && part->n_dims < 2 ? 1 : part->dim[0];
}

int hp_machine_node(const struct hypar_machine *machine, int device)
{
    bool is_here = !machine->topology->default_device; /* all devices are this computer's */
    if (machine->topology->shape != NETWORK_NODES || is_here)
        return 0;
    const struct part *part = hp_part_of(machine, device);
    return part->first_node + (device - part->first_device) / (part->n_devices / rows_of(part));
}

bool hp_nodes_alike(const struct part *a, const struct part *b)
{
    return a->dim[1] == b->dim[1] && strcmp(a->type.device.name, b->type.device.name) == 0 &&
           hp_parts_alike(a, b);
}

int hp_machine_like_place(const struct hypar_machine *machine, int first, int n)
{
    if (machine->n_parts == 0 || machine->topology->scope != SCOPE_CLUSTER ||
        hp_machine_has(machine, OPTION_LEAF))
        return first;
    const struct part *part = hp_part_of(machine, first), *like = machine->parts;
    if (part->n_dims < 2 || first + n > part->first_device + part->n_devices)
        return first;
    int in_node = (first - part->first_device) % part->dim[1];
    while (like < part &&
           !(like->n_dims == 2 && in_node + n <= like->n_devices && hp_nodes_alike(like, part)))
        like++;
    return like->first_device + in_node;
}

int hp_machine_node_size(const struct hypar_machine *machine)
{
    if (hp_machine_node(machine, machine->n_devices - 1) == 0)
        return 0;
    int size = machine->parts[0].n_devices / rows_of(&machine->parts[0]);
    for (int p = 1; p < machine->n_parts; p++)
        if (machine->parts[p].n_devices / rows_of(&machine->parts[p]) != size)
            return 0;
    return size;
}

bool hp_machine_has(const struct hypar_machine *machine, enum option option)
{
    bool all = machine->n_parts > 0;
    for (int p = 0; p < machine->n_parts; p++)
        all &= machine->parts[p].value[option] > 0; /* NAN: it has no such option */
    return all;
}

int hp_machine_rows(const struct hypar_machine *machine)
{
    int n = 0;
    for (int p = 0; p < machine->n_parts; p++)
        n += rows_of(&machine->parts[p]);
    return n;
}

int hp_machine_fewer_rows(const struct hypar_machine *machine, int rows)
{
    int before = 0, p = 0;
    struct part whole; /* nodes with their own figures count as nodes of their cluster */
    while ((p = hp_part_whole(machine, p, &whole)) < machine->n_parts &&
           before + rows_of(&whole) < rows)
        before += rows_of(&whole);
    int power = rows - before > 1;
    while (2 * power < rows - before && power > 0)
        power *= 2;
    return before + power;
}

static void keep_rows(struct part *part, int rows)
{
    int each = part->n_devices / rows_of(part);
    if (rows < rows_of(part))
        part->dim[0] = rows;
    part->n_devices = each * rows_of(part);
}

enum hypar_status hp_part_scale_links(struct part *part, double factor, struct hypar_error *err)
{
    static const enum option links[] = { OPTION_BANDWIDTH, OPTION_INTRA, OPTION_INTER };
    for (int i = 0; i < 3; i++)
        if (factor != 1 && hp_option_applies(part, links[i])) {
            double now = part->value[links[i]]; /* NAN: the default */
            part->value[links[i]] =
                factor * (isnan(now) ? hp_option_default(part, links[i]) : now);
            TRY(hp_in(err, hp_option_check(part, links[i], part->value[links[i]], err),
                      "links"));
        }
    return HYPAR_OK;
}

static enum hypar_status check_parts(const struct hypar_machine *machine,
                                     struct hypar_error *err)
{
    if (machine->n_parts == 0)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a machine of explicit links");
    if (!machine->topology->default_device)
        return hp_fail(err, HYPAR_UNSUPPORTED, "this computer is as it is");
    return HYPAR_OK;
}

enum hypar_status hp_machine_like(struct hypar_machine **out,
                                  const struct hypar_machine *machine, int rows, double links,
                                  struct hypar_error *err)
{
    struct arena arena = { 0 };
    int n = 0;
    *out = NULL;
    TRY(check_parts(machine, err));
    struct part *parts = NEW(&arena, struct part, machine->n_parts);
    enum hypar_status status = HYPAR_OK;
    for (int p = 0; p < machine->n_parts && rows > 0 && status == HYPAR_OK; p++) {
        parts[n] = machine->parts[p];
        keep_rows(&parts[n], rows);
        status = hp_part_scale_links(&parts[n], links, err);
        rows -= rows_of(&machine->parts[p]);
        n++;
    }
    if (status == HYPAR_OK)
        status = hp_machine_from_parts(out, parts, n, err);
    hp_arena_free(&arena);
    return status;
}

/* The runs and links of a machine of explicit links, to be changed. */
struct listed_machine {
    int n_runs, n_links;
    struct device_run *runs;
    struct listed_link *link;
};

static enum hypar_status check_link_figure(enum option option, struct hypar_error *err)
{
    struct listed_link any; /* there may be none */
    if (hp_link_figure(&any, option))
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID,
                   "%s is no figure of links one by one, expected bandwidth, link-efficiency, "
                   "latency or energy",
                   hp_machine_options[option].text.name);
}

/* Figures in which listed links may differ by what they join; a word sets one value for all. */
static bool may_differ(enum option option)
{
    return option == OPTION_LINK_EFFICIENCY || option == OPTION_LATENCY;
}

static enum hypar_status set_links(struct listed_machine *l, enum option option, double value,
                                   struct hypar_error *err)
{
    TRY(check_link_figure(option, err));
    for (int i = 1; i < l->n_links && !may_differ(option); i++)
        if (*hp_link_figure(&l->link[i], option) != *hp_link_figure(&l->link[0], option))
            return hp_fail(err, HYPAR_INVALID,
                           "%s: links 0 and %d differ in it, expected links that are alike, or "
                           "links=0.5,2: all so many times as fast",
                           hp_machine_options[option].text.name, i);
    for (int i = 0; i < l->n_links; i++)
        *hp_link_figure(&l->link[i], option) = value;
    return HYPAR_OK;
}

static enum hypar_status set_network(struct listed_machine *l, const double value[OPTION_COUNT],
                                     struct hypar_error *err)
{
    struct part any = { .topology = &hp_explicit };
    for (int o = 0; o < OPTION_COUNT; o++) {
        if (isnan(value[o]))
            continue;
        TRY(hp_option_check(&any, (enum option)o, value[o], err));
        if (hp_machine_options[o].scope != SCOPE_DEVICE) {
            TRY(set_links(l, (enum option)o, value[o], err));
            continue;
        }
        for (int r = 0; r < l->n_runs; r++) {
            hp_device_set(&l->runs[r].device, (enum option)o, value[o]);
            l->runs[r].assumed &= ~((option_set)1 << o);
        }
    }
    return HYPAR_OK;
}

static struct listed_machine list_machine(struct arena *arena,
                                          const struct hypar_machine *machine)
{
    int n_links = machine->network->n_listed;
    struct listed_machine l = { machine->n_runs, n_links,
                                NEW(arena, struct device_run, machine->n_runs),
                                NEW(arena, struct listed_link, n_links) };
    memcpy(l.runs, machine->runs, (size_t)l.n_runs * sizeof *l.runs);
    for (int i = 0; i < n_links; i++)
        l.link[i] = machine->network->listed[i];
    return l;
}

static enum hypar_status speed_up_links(struct listed_machine *l, double times,
                                        struct hypar_error *err)
{
    const struct part any = { .topology = &hp_explicit };
    for (int i = 0; i < l->n_links; i++) {
        double *bytes_per_s = &l->link[i].link.bytes_per_s;
        *bytes_per_s *= times;
        TRY(hp_in(err, hp_option_check(&any, OPTION_BANDWIDTH, *bytes_per_s, err), "links"));
    }
    return HYPAR_OK;
}

static enum hypar_status find_class(const struct network *network, const char *name, int *class,
                                    struct hypar_error *err)
{
    char names[200];
    *class = hp_network_class(network, name);
    if (*class >= 0)
        return HYPAR_OK;
    if (!network->n_classes)
        return hp_fail(err, HYPAR_INVALID,
                       "unknown class '%.40s': links of the machine have no classes, expected "
                       "links with \"class\": \"%.40s\"",
                       name, name);
    return hp_fail(err, HYPAR_INVALID, "unknown class '%.40s', expected one of %s", name,
                   hp_word_list(names, sizeof names, network->class, network->n_classes));
}

static enum hypar_status set_class(struct listed_machine *l, const struct network *network,
                                   const struct class_figure *figure, struct hypar_error *err)
{
    const struct part any = { .topology = &hp_explicit };
    int class;
    TRY(find_class(network, figure->class, &class, err));
    TRY(hp_in(err, check_link_figure(figure->option, err), "%s", figure->class));
    for (int i = 0; i < l->n_links; i++) {
        double *value = hp_link_figure(&l->link[i], figure->option);
        if (l->link[i].class != class)
            continue;
        *value = figure->times ? *value * figure->value : figure->value;
        TRY(hp_in(err, hp_option_check(&any, figure->option, *value, err), "%s",
                  figure->class));
    }
    return HYPAR_OK;
}

/* Make a machine of changed devices and links, on the nodes of `machine`. */
static enum hypar_status make_listed(struct hypar_machine **out,
                                     const struct hypar_machine *machine,
                                     const struct listed_machine *l, struct hypar_error *err)
{
    struct listed_link *to;
    *out = hp_network_new(l->runs, l->n_runs, machine->n_devices, machine->n_switches,
                          l->n_links, &to);
    for (int i = 0; i < l->n_links; i++)
        to[i] = l->link[i];
    for (int c = 0; c < machine->network->n_classes; c++) /* classes keep their numbers */
        hp_network_add_class(*out, machine->network->class[c]);
    enum hypar_status status = hp_network_finish(*out, err);
    if (status != HYPAR_OK) {
        hypar_machine_free(*out);
        *out = NULL;
    }
    return status;
}

enum hypar_status hp_network_with(struct hypar_machine **out,
                                  const struct hypar_machine *machine,
                                  const struct network_changes *changes,
                                  struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct listed_machine l = list_machine(&arena, machine);
    *out = NULL;
    enum hypar_status status = set_network(&l, changes->value, err);
    for (int c = 0; c < changes->n_classes && status == HYPAR_OK; c++)
        status = set_class(&l, machine->network, &changes->class[c], err);
    if (status == HYPAR_OK)
        status = speed_up_links(&l, changes->links, err);
    if (status == HYPAR_OK)
        status = make_listed(out, machine, &l, err);
    hp_arena_free(&arena);
    return status;
}

static enum hypar_status scale_runs(struct listed_machine *l, const char *device,
                                    const double factor[OPTION_COUNT], struct hypar_error *err)
{
    const struct part any = { .topology = &hp_explicit };
    for (int r = 0; r < l->n_runs; r++) {
        if (device && strcmp(l->runs[r].device.name, device) != 0)
            continue;
        for (int o = 0; o < OPTION_COUNT; o++) {
            if (factor[o] == 1 || hp_machine_options[o].scope != SCOPE_DEVICE)
                continue;
            double value = factor[o] * hp_device_get(&l->runs[r].device, (enum option)o);
            TRY(hp_option_check(&any, (enum option)o, value, err));
            hp_device_set(&l->runs[r].device, (enum option)o, value);
        }
    }
    return HYPAR_OK;
}

static enum hypar_status scale_listed(struct hypar_machine **out,
                                      const struct hypar_machine *machine, const char *device,
                                      const double factor[OPTION_COUNT],
                                      struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct listed_machine l = list_machine(&arena, machine);
    enum hypar_status status = scale_runs(&l, device, factor, err);
    if (status == HYPAR_OK)
        status = speed_up_links(&l, factor[OPTION_BANDWIDTH], err);
    if (status == HYPAR_OK)
        status = make_listed(out, machine, &l, err);
    hp_arena_free(&arena);
    return status;
}

enum hypar_status hp_machine_scaled(struct hypar_machine **out,
                                    const struct hypar_machine *machine, const char *device,
                                    const double factor[OPTION_COUNT], struct hypar_error *err)
{
    struct arena arena = { 0 };
    *out = NULL;
    if (machine->n_parts == 0)
        return scale_listed(out, machine, device, factor, err);
    TRY(check_parts(machine, err));
    enum hypar_status status = HYPAR_OK;
    struct part *parts = NEW(&arena, struct part, machine->n_parts);
    for (int p = 0; p < machine->n_parts; p++) {
        parts[p] = machine->parts[p];
        if (device && strcmp(parts[p].type.device.name, device) != 0)
            continue;
        for (int o = 0; o < OPTION_COUNT && status == HYPAR_OK; o++) {
            if (factor[o] == 1 || !hp_option_applies(&parts[p], (enum option)o))
                continue;
            parts[p].value[o] *= factor[o];
            status = hp_option_check(&parts[p], (enum option)o, parts[p].value[o], err);
        }
    }
    if (status == HYPAR_OK)
        status = hp_machine_from_parts(out, parts, machine->n_parts, err);
    hp_arena_free(&arena);
    return status;
}
