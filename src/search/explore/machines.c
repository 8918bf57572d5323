/* Makes the machines of an exploration: the given machine with other sizes, topologies and
 * figures. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/word.h"
#include "machine/machine.h"
#include "search/explore/explore.h"

enum { NAMED = 3 }; /* limit of machines to name */

/* A property that varies, and its values. */
enum kind {
    VARIES_MACHINE,
    VARIES_TOPOLOGY,
    VARIES_DEVICES,
    VARIES_LINKS,
    VARIES_CLASS, /* an option of one class of listed links */
    VARIES_OPTION
};

struct list {
    enum kind kind;
    enum option option; /* VARIES_OPTION, VARIES_CLASS */
    const char *class;  /* VARIES_CLASS */
    bool times;         /* VARIES_CLASS: values are factors of the links' figures */
    const char *name;   /* of the property */
    int n, capacity;
    struct hypar_explore_value *value;
    const struct topology **topology; /* VARIES_TOPOLOGY */
};

/* All properties that vary; the last one varies fastest. */
struct variation {
    struct arena *arena;
    const struct hypar_machine **machine; /* one machine, or one for each value of
                                           * VARIES_MACHINE */
    const char **name;                    /* of the machines */
    int n_machines;
    int n_lists, capacity;
    struct list *list;
};

/* Lists ------------------------------------------------------------------------------- */

static enum hypar_status read_count(const char *what, const char *text, int64_t most,
                                    int64_t *out, struct hypar_error *err)
{
    double n;
    if (!hypar_parse_quantity(text, HYPAR_UNIT_COUNT, &n) || n != floor(n) || n < 1 ||
        n > (double)most)
        return hp_fail(err, HYPAR_USAGE, "%s: '%.20s' is not a whole number from 1 to %lld",
                       what, text, (long long)most);
    *out = (int64_t)n;
    return HYPAR_OK;
}

enum hypar_status hp_explore_counts(struct arena *arena, const char *what, const char *text,
                                    int64_t most, int64_t **counts, int *n,
                                    struct hypar_error *err)
{
    char **item;
    int n_items, capacity = 0;
    *counts = NULL;
    *n = 0;
    TRY(hp_explore_list(arena, what, text, &item, &n_items, err));
    for (int i = 0; i < n_items; i++) {
        char *dots = strstr(item[i], "..");
        int64_t first, last;
        if (dots)
            *dots = '\0';
        TRY(read_count(what, item[i], most, &first, err));
        last = first;
        if (dots)
            TRY(read_count(what, dots + 2, most, &last, err));
        if (last < first)
            return hp_fail(err, HYPAR_USAGE, "%s: %lld..%lld goes down, expected %lld..%lld",
                           what, (long long)first, (long long)last, (long long)last,
                           (long long)first);
        for (int64_t count = first; count <= last; count *= 2) {
            *counts = GROW(arena, int64_t, *counts, *n, &capacity);
            (*counts)[(*n)++] = count;
        }
    }
    return HYPAR_OK;
}

static struct list *add_list(struct variation *v, const struct list *like, int n)
{
    v->list = GROW(v->arena, struct list, v->list, v->n_lists, &v->capacity);
    struct list *list = &v->list[v->n_lists++];
    *list = *like;
    list->n = list->capacity = n;
    list->value = NEW(v->arena, struct hypar_explore_value, n);
    return list;
}

/* List the machines if there are several. They have their own sizes and topologies, which
 * cannot vary then. */
static enum hypar_status list_machines(struct variation *v, const struct machine_lists *lists,
                                       struct hypar_error *err)
{
    if (v->n_machines == 1)
        return HYPAR_OK;
    if (lists->devices || lists->topologies)
        return hp_fail(err, HYPAR_USAGE,
                       "%s: %d machines have their own, expected one machine, or figures of "
                       "all (--bandwidth, --sweep)",
                       lists->devices ? "devices" : "topologies", v->n_machines);
    struct list *list =
        add_list(v, &(struct list){ .kind = VARIES_MACHINE, .name = "machine" }, v->n_machines);
    for (int i = 0; i < v->n_machines; i++)
        list->value[i] = (struct hypar_explore_value){ v->name[i], i };
    return HYPAR_OK;
}

static enum hypar_status read_topologies(struct variation *v, const char *text,
                                         struct hypar_error *err)
{
    char **name;
    int n;
    TRY(hp_explore_list(v->arena, "topologies", text, &name, &n, err));
    if (!n)
        return HYPAR_OK;
    struct list *list =
        add_list(v, &(struct list){ .kind = VARIES_TOPOLOGY, .name = "topology" }, n);
    list->topology = NEW(v->arena, const struct topology *, n);
    for (int i = 0; i < n; i++) {
        TRY(hp_in(err, hp_topology_get(&list->topology[i], name[i], strlen(name[i]), err),
                  "topologies"));
        if (!list->topology[i]->default_device)
            return hp_fail(err, HYPAR_INVALID, "topologies: %s is this computer's own",
                           name[i]);
        list->value[i] = (struct hypar_explore_value){ list->topology[i]->text.name, i };
    }
    return HYPAR_OK;
}

static enum hypar_status read_value(const char *what, const char *text, enum option option,
                                    double *out, struct hypar_error *err)
{
    if (!hp_option_read(option, text, out))
        return hp_fail(err, HYPAR_INVALID, "%s: '%.40s' is not %s", what, text,
                       hypar_unit_text(hp_machine_options[option].unit));
    return HYPAR_OK;
}

static void add_value(struct variation *v, struct list *list, const char *text, double number)
{
    list->value =
        GROW(v->arena, struct hypar_explore_value, list->value, list->n, &list->capacity);
    list->value[list->n++] = (struct hypar_explore_value){ text, number };
}

/* A list of a class has only figures or only factors, because a chart shows them on one
 * axis. */
static enum hypar_status read_factor(const char *what, const char *text, double *out,
                                     struct hypar_error *err)
{
    if (!hp_factor_read(text, out))
        return hp_fail(err, HYPAR_INVALID,
                       "%s: '%.40s' stands in a list with factors, expected one such as 0.5x",
                       what, text);
    return HYPAR_OK;
}

/* Read an item of a list: a figure of the option or a factor of it; for links, a speed
 * factor. */
static enum hypar_status read_item(const char *what, const char *text, const struct list *list,
                                   double *out, struct hypar_error *err)
{
    if (list->times)
        return read_factor(what, text, out, err);
    if (list->kind == VARIES_OPTION || list->kind == VARIES_CLASS)
        return read_value(what, text, list->option, out, err);
    if (!hypar_parse_quantity(text, HYPAR_UNIT_COUNT, out) || !(*out >= 1e-6 && *out <= 1e6))
        return hp_fail(err, HYPAR_INVALID,
                       "%s: '%.40s', expected how many times as fast, such as 0.5", what, text);
    return HYPAR_OK;
}

/* Read "2GB/s..8GB/s" as 2GB/s, 4GB/s, 8GB/s, in the unit of the first value. */
static enum hypar_status read_range(struct variation *v, const char *what, const char *low,
                                    const char *high, struct list *list,
                                    struct hypar_error *err)
{
    char text[NUMBER_TEXT_BYTES];
    double first, last, number;
    TRY(read_item(what, low, list, &first, err));
    TRY(read_item(what, high, list, &last, err));
    if (!(first > 0) || last < first)
        return hp_fail(err, HYPAR_USAGE,
                       "%s: %.20s..%.20s, expected a value above 0 and a higher one", what, low,
                       high);
    const char *suffix = low + hp_number_read(low, &number);
    for (double times = 1; first * times <= last; times *= 2)
        add_value(
            v, list,
            hp_arena_printf(v->arena, "%s%s", hp_number_text(text, number * times), suffix),
            first * times);
    return HYPAR_OK;
}

static enum hypar_status read_values(struct variation *v, const char *what,
                                     const struct list *like, const char *text,
                                     struct hypar_error *err)
{
    char **item;
    int n;
    double number;
    TRY(hp_explore_list(v->arena, what, text, &item, &n, err));
    if (!n)
        return HYPAR_OK;
    struct list *list = add_list(v, like, 0);
    list->times = like->kind == VARIES_CLASS && text[strlen(text) - 1] == 'x';
    for (int i = 0; i < n; i++) {
        char *dots = strstr(item[i], "..");
        if (dots) {
            *dots = '\0';
            TRY(read_range(v, what, item[i], dots + 2, list, err));
            continue;
        }
        TRY(read_item(what, item[i], list, &number, err));
        add_value(v, list, item[i], number);
    }
    return HYPAR_OK;
}

/* Find the property to sweep: an option of a machine's word, an option of a class of links such
 * as "nvlink.latency", or "links". Returns false if there is no such option. */
static bool find_named(struct arena *arena, const char *name, struct list *out)
{
    const char *dot = strrchr(name, '.'), *option = dot ? dot + 1 : name;
    *out = (struct list){
        .kind = dot ? VARIES_CLASS : VARIES_LINKS,
        .option = OPTION_COUNT,
        .class = dot ? hp_arena_strndup(arena, name, (size_t)(dot - name)) : NULL,
        .name = name,
    };
    for (int o = 0; o < OPTION_COUNT; o++)
        if (strcmp(hp_machine_options[o].text.name, option) == 0) {
            out->kind = dot ? VARIES_CLASS : VARIES_OPTION;
            out->option = (enum option)o;
            return true;
        }
    return strcmp(name, "links") == 0;
}

/* Read the values of a property; each property may vary only once. */
static enum hypar_status read_named(struct variation *v, const struct list *like,
                                    const char *text, struct hypar_error *err)
{
    for (int l = 0; l < v->n_lists; l++)
        if (strcmp(v->list[l].name, like->name) == 0)
            return hp_fail(err, HYPAR_USAGE, "sweep: %s is given twice", like->name);
    return read_values(v, hp_arena_printf(v->arena, "sweep: %s", like->name), like, text, err);
}

/* Read "latency=1us,2us", "nvlink.latency=0.5x,2x" or "links=0.5,2". */
static enum hypar_status read_sweep(struct variation *v, const char *text,
                                    struct hypar_error *err)
{
    size_t length = strcspn(text, "=");
    if (!text[length] || !text[length + 1])
        return hp_fail(err, HYPAR_USAGE,
                       "sweep: '%.40s', expected an option of a machine and its values such as "
                       "latency=1us,2us",
                       text);
    const char *name = hp_arena_strndup(v->arena, text, length);
    struct list like;
    if (find_named(v->arena, name, &like))
        return read_named(v, &like, text + length + 1, err);
    const char *names[OPTION_COUNT + 1] = { [OPTION_COUNT] = "links" };
    name += like.class ? strlen(like.class) + 1 : 0;
    char near[120];
    for (int o = 0; o < OPTION_COUNT; o++)
        names[o] = hp_machine_options[o].text.name;
    if (hp_nearest_text(name, names, OPTION_COUNT + 1, near, sizeof near))
        return hp_fail(err, HYPAR_USAGE, "sweep: unknown option '%.40s', did you mean %s?",
                       name, near);
    return hp_fail(err, HYPAR_USAGE,
                   "sweep: unknown option '%.40s', expected one with a number that 'hypar "
                   "machines' lists, such as memory-bandwidth, or links",
                   name);
}

static enum hypar_status read_sizes(struct variation *v, const char *text,
                                    struct hypar_error *err)
{
    int64_t *size;
    int n;
    TRY(hp_explore_counts(v->arena, "devices", text, MACHINE_MAX_DEVICES, &size, &n, err));
    if (!n)
        return HYPAR_OK;
    struct list *list =
        add_list(v, &(struct list){ .kind = VARIES_DEVICES, .name = "devices" }, n);
    for (int i = 0; i < n; i++)
        list->value[i] =
            (struct hypar_explore_value){ hp_arena_printf(v->arena, "%lld", (long long)size[i]),
                                          (double)size[i] };
    return HYPAR_OK;
}

static enum hypar_status read_lists(struct variation *v, const struct machine_lists *lists,
                                    struct hypar_error *err)
{
    const struct list bandwidth = { .kind = VARIES_OPTION,
                                    .option = OPTION_BANDWIDTH,
                                    .name = hp_machine_options[OPTION_BANDWIDTH].text.name };
    TRY(list_machines(v, lists, err));
    TRY(read_topologies(v, lists->topologies, err));
    TRY(read_values(v, "bandwidths", &bandwidth, lists->bandwidths, err));
    for (int i = 0; i < lists->n_sweeps; i++)
        TRY(read_sweep(v, lists->sweeps[i], err));
    return read_sizes(v, lists->devices, err);
}

/* Check that the machine can vary as asked. */
static enum hypar_status check_machine(const struct variation *v,
                                       const struct hypar_machine *machine,
                                       struct hypar_error *err)
{
    if (machine->n_parts > 0 && !machine->topology->default_device)
        return hp_fail(err, HYPAR_INVALID,
                       "%s is this computer's own, expected a topology such as torus:4x4",
                       machine->topology->text.name);
    for (int l = 0; l < v->n_lists; l++)
        if (machine->n_parts && v->list[l].kind == VARIES_CLASS)
            return hp_fail(err, HYPAR_INVALID,
                           "sweep: %s: classes are of links one by one, expected a machine "
                           "file with links of class '%.40s', or %s",
                           v->list[l].name, v->list[l].class,
                           hp_machine_options[v->list[l].option].text.name);
    for (int l = 0; l < v->n_lists; l++)
        if (machine->n_parts != 1 &&
            (v->list[l].kind == VARIES_TOPOLOGY || v->list[l].kind == VARIES_DEVICES))
            return machine->n_parts
                       ? hp_fail(err, HYPAR_INVALID,
                                 "other sizes and topologies need a machine of one part, this "
                                 "one has %d; its bandwidths and other figures can be varied",
                                 machine->n_parts)
                       : hp_fail(err, HYPAR_INVALID,
                                 "a machine of devices and links one by one has one size and "
                                 "topology, expected one such as torus:4x4, or figures "
                                 "(--sweep)");
    return HYPAR_OK;
}

/* One machine ------------------------------------------------------------------------- */

/* Does the topology accept any number of dimensions? */
static bool is_grid(const struct topology *topology)
{
    return topology->max_dims > topology->min_dims;
}

/* The shape of n devices on a grid that is as near to square as possible. */
static void grid_shape(int n, int n_dims, int64_t *dim)
{
    int factor[HYPAR_MAX_LEVELS], n_factors = hp_prime_factors(n, factor);
    for (int d = 0; d < n_dims; d++)
        dim[d] = 1;
    for (int i = n_factors - 1; i >= 0; i--) {
        int least = 0;
        for (int d = 1; d < n_dims; d++)
            least = dim[d] < dim[least] ? d : least;
        dim[least] *= factor[i];
    }
}

/* Give the part's topology `n` devices; `from` is the part before the change. */
static enum hypar_status set_size(struct part *part, const struct part *from, int n,
                                  struct hypar_error *err)
{
    const struct topology *topology = part->topology;
    int64_t dim[MACHINE_MAX_DIMS] = { n };
    int n_dims = 1;
    if (topology == from->topology && n == from->n_devices)
        return HYPAR_OK; /* unchanged */
    if (is_grid(topology)) {
        n_dims = is_grid(from->topology) ? from->n_dims : 2;
        grid_shape(n, n_dims, dim);
    } else if (topology->min_dims == 2) { /* nodes, and devices per node */
        int node = topology == from->topology ? from->dim[1] : 8;
        node = n < node ? n : node;
        if (n % node)
            return hp_fail(err, HYPAR_INVALID, "devices: %d do not fill nodes of %d", n, node);
        n_dims = 2;
        dim[0] = n / node;
        dim[1] = node;
    }
    TRY(hp_part_set_shape(part, dim, n_dims, err));
    return isnan(part->value[OPTION_NICS])
               ? HYPAR_OK
               : hp_option_check(part, OPTION_NICS, part->value[OPTION_NICS], err);
}

/* Does an option of a part differ from its default? */
static bool is_said(const struct part *part, enum option option)
{
    struct part unset = *part;
    unset.value[option] = unset.value[OPTION_LATENCY] = NAN; /* the other latency's default */
    double usual = hp_option_default(&unset, option);
    return part->value[option] != usual &&
           !(option == OPTION_INTER_LATENCY &&
             part->value[option] == part->value[OPTION_LATENCY]);
}

/* Set an option that has no default for this device to the value of the previous links. */
static void default_to(struct part *part, enum option option, double value)
{
    if (isnan(part->value[option]) && isnan(hp_option_default(part, option)))
        part->value[option] = value;
}

/* Change the topology. Options that no user set get the new defaults; options that do not apply
 * are removed. Exception: the single kind of link of a simple topology becomes both kinds of a
 * cluster's links. */
static void set_topology(struct part *part, const struct topology *topology)
{
    struct part from = *part;
    part->topology = topology;
    for (int o = OPTION_BANDWIDTH; o < OPTION_COUNT; o++)
        if (!hp_option_applies(part, (enum option)o) || !is_said(&from, (enum option)o))
            part->value[o] = NAN;
    if (from.topology->scope == topology->scope)
        return;
    if (topology->scope == SCOPE_SIMPLE) {
        default_to(part, OPTION_BANDWIDTH, from.value[OPTION_INTRA]);
        return;
    }
    default_to(part, OPTION_INTRA, from.value[OPTION_BANDWIDTH]);
    default_to(part, OPTION_INTER, from.value[OPTION_BANDWIDTH]);
    if (is_said(&from, OPTION_BANDWIDTH))
        part->value[OPTION_INTRA] = part->value[OPTION_INTER] = from.value[OPTION_BANDWIDTH];
    if (is_said(&from, OPTION_LINK_EFFICIENCY))
        part->value[OPTION_INTRA_EFFICIENCY] = part->value[OPTION_INTER_EFFICIENCY] =
            from.value[OPTION_LINK_EFFICIENCY];
}

static enum hypar_status set_option(struct part *part, enum option option, double value,
                                    struct hypar_error *err)
{
    if (hp_option_applies(part, option)) {
        TRY(hp_option_check(part, option, value, err));
        if (option == OPTION_LATENCY && !is_said(part, OPTION_INTER_LATENCY))
            part->value[OPTION_INTER_LATENCY] = NAN;
        part->value[option] = value;
        return HYPAR_OK;
    }
    if (hp_machine_options[option].scope != SCOPE_SIMPLE)
        return hp_fail(err, HYPAR_INVALID, "sweep: %s is no option of %s",
                       hp_machine_options[option].text.name, part->topology->text.name);
    bool share = option == OPTION_LINK_EFFICIENCY; /* in a cluster: both kinds of links */
    TRY(set_option(part, share ? OPTION_INTRA_EFFICIENCY : OPTION_INTRA, value, err));
    return set_option(part, share ? OPTION_INTER_EFFICIENCY : OPTION_INTER, value, err);
}

/* The index of machine `i`'s value in each list. */
static void find_values(const struct variation *v, int i, int *at)
{
    for (int l = v->n_lists - 1; l >= 0; l--) {
        at[l] = i % v->list[l].n;
        i /= v->list[l].n;
    }
}

/* The speed factor of the links. */
static double links_of(const struct variation *v, const int *at)
{
    double times = 1;
    for (int l = 0; l < v->n_lists; l++)
        if (v->list[l].kind == VARIES_LINKS)
            times = v->list[l].value[at[l]].number;
    return times;
}

/* The index of the machine that varies. */
static int machine_of(const struct variation *v, const int *at)
{
    return v->n_machines > 1 ? at[0] : 0;
}

/* Change the figures of a machine whose devices and links are listed one by one. */
static enum hypar_status change_network(const struct variation *v,
                                        const struct hypar_machine *machine, const int *at,
                                        struct hypar_machine **out, struct hypar_error *err)
{
    struct class_figure *class = NEW(v->arena, struct class_figure, v->n_lists);
    struct network_changes changes = { .class = class, .links = links_of(v, at) };
    for (int o = 0; o < OPTION_COUNT; o++)
        changes.value[o] = NAN;
    for (int l = 0; l < v->n_lists; l++) {
        const struct list *list = &v->list[l];
        double value = list->value[at[l]].number;
        if (list->kind == VARIES_OPTION)
            changes.value[list->option] = value;
        if (list->kind == VARIES_CLASS)
            class[changes.n_classes++] =
                (struct class_figure){ list->class, list->option, list->times, value };
    }
    return hp_in(err, hp_network_with(out, machine, &changes, err), "sweep");
}

/* Change topology and size first: the default figures depend on them. */
static enum hypar_status change(const struct variation *v, const int *at, struct part *part,
                                struct hypar_error *err)
{
    struct part from = *part;
    int n = part->n_devices;
    for (int l = 0; l < v->n_lists; l++) {
        const struct list *list = &v->list[l];
        if (list->kind == VARIES_TOPOLOGY && list->topology[at[l]] != part->topology)
            set_topology(part, list->topology[at[l]]);
        if (list->kind == VARIES_DEVICES)
            n = (int)list->value[at[l]].number;
    }
    if (!is_said(&from, OPTION_NICS))
        part->value[OPTION_NICS] = NAN;
    TRY(set_size(part, &from, n, err));
    for (int l = 0; l < v->n_lists; l++)
        if (v->list[l].kind == VARIES_OPTION)
            TRY(set_option(part, v->list[l].option, v->list[l].value[at[l]].number, err));
    return hp_in(err, hp_part_scale_links(part, links_of(v, at), err), "sweep");
}

/* Names ------------------------------------------------------------------------------- */

/* "torus:4x4"; for several parts, "cluster:1x8+cluster:2x4"; NULL: explicit nodes. */
static const char *shape_text(struct arena *arena, const struct hypar_machine *machine)
{
    const char *text = NULL;
    struct part whole;
    for (int p = 0; p < machine->n_parts;) {
        p = hp_part_whole(machine, p, &whole);
        text = text ? hp_arena_printf(arena, "%s+", text) : "";
        text = hp_arena_printf(arena, "%s%s:%d", text, whole.topology->text.name, whole.dim[0]);
        for (int d = 1; d < whole.n_dims; d++)
            text = hp_arena_printf(arena, "%sx%d", text, whole.dim[d]);
    }
    return text;
}

static void add_axes(const struct variation *v, struct explored_machines *all)
{
    all->n_axes = v->n_lists;
    all->axis = NEW(v->arena, struct hypar_explore_axis, v->n_lists);
    for (int l = 0; l < v->n_lists; l++) {
        const struct list *list = &v->list[l];
        bool figures =
            list->kind == VARIES_OPTION || (list->kind == VARIES_CLASS && !list->times);
        all->axis[l] = (struct hypar_explore_axis){ .name = list->name, .n_values = list->n };
        if (figures) {
            all->axis[l].unit = hp_machine_options[list->option].unit;
        } else if (list->kind == VARIES_LINKS || list->kind == VARIES_CLASS) {
            all->axis[l].unit = HYPAR_UNIT_COUNT;
        } else {
            all->axis[l].shapes = true;
            all->axis[l].words = list->kind != VARIES_DEVICES;
        }
    }
}

static enum hypar_status make_machine(const struct variation *v, int i,
                                      struct explored_machine *out, struct hypar_error *err)
{
    int *at = NEW(v->arena, int, v->n_lists);
    struct hypar_explore_value *value = NEW(v->arena, struct hypar_explore_value, v->n_lists);
    find_values(v, i, at);
    const struct hypar_machine *machine = v->machine[machine_of(v, at)];
    const char *name = v->name[machine_of(v, at)];
    struct part *parts = NEW(v->arena, struct part, machine->n_parts);
    for (int p = 0; p < machine->n_parts; p++) {
        parts[p] = machine->parts[p];
        TRY(change(v, at, &parts[p], err));
    }
    for (int l = 0; l < v->n_lists; l++)
        value[l] = v->list[l].value[at[l]];
    TRY(machine->n_parts ? hp_machine_from_parts(&out->own, parts, machine->n_parts, err)
                         : change_network(v, machine, at, &out->own, err));
    out->machine = out->own;
    out->shape = shape_text(v->arena, out->own);
    out->word = out->shape ? hp_machine_full_word(v->arena, out->own) : name;
    if (!out->word) /* the word would be too long */
        out->word = out->shape;
    if (v->n_machines > 1)
        out->shape = name; /* shapes may be equal */
    out->value = value;
    return HYPAR_OK;
}

static enum hypar_status vary(const struct variation *v, struct explored_machines *all,
                              struct hypar_error *err)
{
    double n = 1;
    for (int l = 0; l < v->n_lists; l++)
        n *= v->list[l].n;
    if (n > MAX_SITES)
        return hp_fail(err, HYPAR_UNSUPPORTED, "more than %d machines to explore", MAX_SITES);
    all->at = NEW(v->arena, struct explored_machine, (int)n);
    while (all->n < (int)n) {
        TRY(make_machine(v, all->n, &all->at[all->n], err));
        all->n++;
    }
    return HYPAR_OK;
}

/* Add a machine. All machines together are named "ring:16 or torus:4x4"; many machines get no
 * name. */
static void add_machine(struct variation *v, struct explored_machines *all, int others,
                        const struct hypar_machine *machine, const char *name)
{
    if (!v->n_machines) {
        v->machine = NEW(v->arena, const struct hypar_machine *, others + 1);
        v->name = NEW(v->arena, const char *, others + 1);
    }
    name = name ? name : hypar_machine_word(machine);
    name = hp_arena_strdup(v->arena, name ? name : "the machine");
    all->name = others >= NAMED ? ""
                : *all->name    ? hp_arena_printf(v->arena, "%s or %s", all->name, name)
                                : name;
    v->machine[v->n_machines] = machine;
    v->name[v->n_machines++] = name;
}

enum hypar_status hp_explore_machines(struct arena *arena, const struct hypar_machine *machine,
                                      const struct machine_lists *lists,
                                      struct explored_machines *all, struct hypar_error *err)
{
    struct variation v = { .arena = arena };
    *all = (struct explored_machines){ .name = "" };
    add_machine(&v, all, lists->n_others, machine, lists->machine);
    for (int i = 0; i < lists->n_others; i++)
        add_machine(&v, all, lists->n_others, lists->others[i],
                    lists->other_names ? lists->other_names[i] : NULL);
    TRY(read_lists(&v, lists, err));
    add_axes(&v, all);
    if (v.n_lists) {
        for (int i = 0; i < v.n_machines; i++)
            TRY(check_machine(&v, v.machine[i], err));
        return vary(&v, all, err);
    }
    all->at = NEW(arena, struct explored_machine, 1);
    all->at[all->n++] = (struct explored_machine){ .machine = machine,
                                                   .word = all->name,
                                                   .shape = shape_text(arena, machine) };
    return HYPAR_OK;
}

void hp_explore_machines_free(struct explored_machines *all, int first)
{
    for (int i = first; i < all->n; i++)
        hypar_machine_free(all->at[i].own);
    all->n = first < all->n ? first : all->n;
}
