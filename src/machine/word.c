/* Machines as one shell word, read and written: topology:AxB,option=value,...[+topology:...] */
#include "machine/machine.h"

#include "base/number.h"
#include "base/word.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The unread rest. The word is copied, so that fields can be cut out of it in place. */
struct reader {
    char *at;
    struct arena *arena;
};

/* "4x8": sizes until something else follows. */
static enum hypar_status read_shape(struct part *part, struct reader *reader,
                                    struct hypar_error *err)
{
    int64_t dim[MACHINE_MAX_DIMS];
    int n = 0;
    do {
        if (n > 0)
            reader->at++; /* the x */
        if (n == MACHINE_MAX_DIMS)
            return hp_fail(err, HYPAR_SYNTAX, "more than %d sizes", MACHINE_MAX_DIMS);
        if (!isdigit((unsigned char)*reader->at))
            return hp_fail(err, HYPAR_SYNTAX, "no size at '%.20s', expected %s", reader->at,
                           part->topology->text.syntax);
        const char *first = reader->at;
        dim[n] = 0;
        for (; isdigit((unsigned char)*reader->at); reader->at++)
            if (dim[n] <= MACHINE_MAX_DEVICES)
                dim[n] = dim[n] * 10 + (*reader->at - '0');
        if (dim[n] > MACHINE_MAX_DEVICES) /* the message shows the number as it was typed */
            return hp_fail(err, HYPAR_INVALID, "size %.*s, expected 1..%d",
                           (int)(reader->at - first < 40 ? reader->at - first : 40), first,
                           MACHINE_MAX_DEVICES);
        n++;
    } while (*reader->at == 'x');
    return hp_part_set_shape(part, dim, n, err);
}

static enum hypar_status set_option(struct part *part, enum option option, const char *text,
                                    struct hypar_error *err)
{
    const struct option_row *row = &hp_machine_options[option];
    double value;
    if (!isnan(part->value[option]))
        return hp_fail(err, HYPAR_INVALID, "%s is given twice", row->text.name);
    if (!hp_option_read(option, text, &value))
        return hp_fail(err, HYPAR_SYNTAX, "%s is '%.40s', expected %s", row->text.name, text,
                       hypar_unit_text(row->unit));
    TRY(hp_option_check(part, option, value, err));
    part->value[option] = value;
    return HYPAR_OK;
}

static enum hypar_status set_device(struct part *part, const char *name,
                                    struct hypar_error *err)
{
    if (!part->topology->default_device)
        return hp_fail(err, HYPAR_INVALID, "%s takes no device: it is this computer's own",
                       part->topology->text.name);
    if (part->type.device.name)
        return hp_fail(err, HYPAR_INVALID, "device is given twice");
    if (hp_device_is_file(name))
        return hp_part_read_device_file(part, name, err);
    const struct hypar_device_type *type;
    char path[HYPAR_PLACE_BYTES];
    if (hp_device_type_get(&type, name, NULL) != HYPAR_OK &&
        hp_site_find(HYPAR_SITE_DEVICES, name, path))
        return hp_part_read_device_file(part, path, err);
    TRY(hp_device_type_get(&type, name, err));
    part->type = *type;
    part->known = true;
    return HYPAR_OK;
}

static enum hypar_status unknown_option(const char *name, struct hypar_error *err)
{
    const char *known[OPTION_COUNT + 1];
    char near[128];
    for (int o = 0; o <= OPTION_COUNT; o++)
        known[o] = hypar_machine_option(o)->name;
    return hp_nearest_text(name, known, OPTION_COUNT + 1, near, sizeof near)
               ? hp_fail(err, HYPAR_SYNTAX, "unknown option '%.40s', did you mean %s?", name,
                         near)
               : hp_fail(err, HYPAR_SYNTAX,
                         "unknown option '%.40s', expected one that 'hypar machines' lists",
                         name);
}

/* The options of a part that `name` sets: one, or those of both kinds of link of a cluster. */
static enum hypar_status find_options(const struct part *part, const char *name,
                                      enum option option[2], int *n, struct hypar_error *err)
{
    int o = 0;
    while (o < OPTION_COUNT && strcmp(name, hp_machine_options[o].text.name) != 0)
        o++;
    if (o == OPTION_COUNT)
        return unknown_option(name, err);
    bool applies = hp_option_applies(part, (enum option)o), share = o == OPTION_LINK_EFFICIENCY;
    if (!applies && hp_machine_options[o].scope != SCOPE_SIMPLE)
        return hp_fail(err, HYPAR_INVALID, "%s is no option of %s", name,
                       part->topology->text.name);
    option[0] = applies ? (enum option)o : share ? OPTION_INTRA_EFFICIENCY : OPTION_INTRA;
    option[1] = share ? OPTION_INTER_EFFICIENCY : OPTION_INTER;
    *n = applies ? 1 : 2;
    return HYPAR_OK;
}

/* An option of nodes: "fp32=50TFLOP/s", "fp32=0.8x", or "peak=0.8x". */
static enum hypar_status set_node_option(const struct part *part, struct node_figures *figures,
                                         const char *name, const char *text,
                                         struct hypar_error *err)
{
    enum option list[2];
    const enum option *option = list;
    double value;
    int n;
    bool times = hp_factor_read(text, &value), peak = strcmp(name, "peak") == 0;
    if (strcmp(name, "device") == 0)
        return hp_fail(err, HYPAR_INVALID,
                       "device: nodes of another device are a cluster of their own, joined "
                       "with '+'");
    if (peak && !times)
        return hp_fail(err, HYPAR_SYNTAX, "peak is '%.40s', expected a factor such as 0.8x",
                       text);
    if (peak) {
        option = hp_peak_options;
        n = N_PEAK_OPTIONS;
    } else {
        TRY(find_options(part, name, list, &n, err));
    }
    enum hypar_unit unit = hp_machine_options[option[0]].unit;
    if (!times && !hp_option_read(option[0], text, &value))
        return hp_fail(err, HYPAR_SYNTAX,
                       "%s is '%.40s', expected %s, or a factor such as 0.8x", name, text,
                       hypar_unit_text(unit));
    for (int i = 0; i < n; i++)
        TRY(hp_node_set(part, figures, option[i], times, value, err));
    return HYPAR_OK;
}

static int64_t read_node(const char **at)
{
    int64_t n = 0;
    for (; isdigit((unsigned char)**at); ++*at)
        n = n <= MACHINE_MAX_DEVICES ? 10 * n + (**at - '0') : n;
    return n;
}

/* "node17.fp32" or "node16-31.fp32". */
static enum hypar_status set_nodes(struct part *part, const char *name, const char *text,
                                   struct hypar_error *err)
{
    const char *at = name + strlen("node");
    struct node_figures *figures;
    int64_t first = read_node(&at), last = first;
    if (at[0] == '-' && isdigit((unsigned char)at[1])) {
        at++;
        last = read_node(&at);
    }
    if (*at != '.')
        return hp_fail(err, HYPAR_SYNTAX,
                       "unknown option '%.40s', expected one such as node17.fp32 or "
                       "node16-31.fp32",
                       name);
    TRY(hp_part_node_figures(part, first, last, &figures, err));
    return hp_in(err, set_node_option(part, figures, at + 1, text, err), "%.*s",
                 (int)(at - name), name);
}

static enum hypar_status set_named(struct part *part, const char *name, const char *value,
                                   struct hypar_error *err)
{
    enum option option[2];
    int n;
    if (strcmp(name, "device") == 0)
        return set_device(part, value, err);
    if (strncmp(name, "node", 4) == 0 && isdigit((unsigned char)name[4]))
        return set_nodes(part, name, value, err);
    TRY(find_options(part, name, option, &n, err));
    for (int i = 0; i < n; i++)
        TRY(set_option(part, option[i], value, err));
    return HYPAR_OK;
}

/* Does the word's next part begin at `at`? The '+' of "1e+9" is followed by no letter. */
static bool at_join(const char *at)
{
    return at[0] == '+' && isalpha((unsigned char)at[1]);
}

/* ",name=value": cut both out of the word. */
static enum hypar_status read_option(struct part *part, struct reader *reader,
                                     struct hypar_error *err)
{
    char *name = reader->at + 1, *end = name;
    while (*end && *end != ',' && !at_join(end))
        end++;
    char after = *end;
    *end = '\0';
    char *equals = strchr(name, '=');
    const struct hypar_device_type *type;
    if (!equals && hp_device_type_get(&type, name, NULL) == HYPAR_OK)
        return hp_fail(err, HYPAR_SYNTAX, "'%.40s' is a device, expected device=%.40s", name,
                       name);
    if (!equals || equals == name || !equals[1])
        return hp_fail(err, HYPAR_SYNTAX, "'%.40s' is no option, expected name=value", name);
    *equals = '\0';
    TRY(set_named(part, name, equals + 1, err));
    *end = after;
    reader->at = end;
    return HYPAR_OK;
}

static enum hypar_status read_part(struct part *part, struct reader *reader,
                                   struct hypar_error *err)
{
    size_t length = strcspn(reader->at, ":,+");
    const struct topology *topology;
    TRY(hp_topology_get(&topology, reader->at, length, err));
    if (reader->at[length] != ':')
        return hp_fail(err, HYPAR_SYNTAX, "%s has no size, expected %s", topology->text.name,
                       topology->text.syntax);
    hp_part_begin(part, topology, reader->arena);
    reader->at += length + 1;
    TRY(read_shape(part, reader, err));
    while (*reader->at == ',')
        TRY(read_option(part, reader, err));
    if (!part->type.device.name) {
        part->type = topology->default_device ? *hp_device_type_find(topology->default_device)
                                              : hp_local_device(part->n_devices);
        part->known = true;
    }
    if (*reader->at && !at_join(reader->at))
        return hp_fail(err, HYPAR_SYNTAX, "'%.20s' follows, expected ',' or the end",
                       reader->at);
    return HYPAR_OK;
}

static enum hypar_status read_parts(struct hypar_machine **out, char *word, struct arena *arena,
                                    struct hypar_error *err)
{
    struct part *parts = NEW(arena, struct part, MACHINE_MAX_PARTS);
    struct reader reader = { word, arena };
    int n = 0;
    do {
        if (n > 0)
            reader.at++; /* the + */
        if (n == MACHINE_MAX_PARTS)
            return hp_fail(err, HYPAR_UNSUPPORTED, "more than %d parts", MACHINE_MAX_PARTS);
        TRY(read_part(&parts[n++], &reader, err));
    } while (*reader.at);
    return hp_machine_from_parts(out, parts, n, err);
}

enum hypar_status hp_machine_read_word(struct hypar_machine **out, const char *word,
                                       struct hypar_error *err)
{
    *out = NULL;
    if (!*word)
        return hp_fail(err, HYPAR_SYNTAX, "empty, expected a word such as cluster:4x8");
    if (strlen(word) > MACHINE_MAX_WORD)
        return hp_fail(err, HYPAR_UNSUPPORTED, "longer than %d characters", MACHINE_MAX_WORD);
    struct arena arena = { 0 };
    enum hypar_status status = read_parts(out, hp_arena_strdup(&arena, word), &arena, err);
    hp_arena_free(&arena);
    return status;
}

/* The shortest of "0.2GB/s", "200MB/s", ... that reads back as exactly `value`. */
static const char *value_text(struct arena *arena, double value, const struct option_row *row)
{
    static const struct {
        double times, over;
        const char *text;
    } prefixes[] = { { 1, 1, "" },    { 1e3, 1, "k" },  { 1e6, 1, "M" },
                     { 1e9, 1, "G" }, { 1e12, 1, "T" }, { 1, 1e3, "m" },
                     { 1, 1e6, "u" }, { 1, 1e9, "n" },  { 1, 1e12, "p" } };
    static const char *const bases[] = {
        [HYPAR_UNIT_COUNT] = "",      [HYPAR_UNIT_BYTES] = "B",
        [HYPAR_UNIT_SECONDS] = "s",   [HYPAR_UNIT_BANDWIDTH] = "B/s",
        [HYPAR_UNIT_RATE] = "FLOP/s", [HYPAR_UNIT_JOULES] = "J",
        [HYPAR_UNIT_WATTS] = "W",
    };
    enum hypar_unit unit = row->unit;
    char number[NUMBER_TEXT_BYTES];
    if (hp_is_switch(row))
        return value > 0 ? "on" : "off";
    const char *best = hp_arena_strdup(arena, hp_number_text(number, value));
    size_t shortest = SIZE_MAX;
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
        hp_number_text(number, value / prefixes[p].times * prefixes[p].over);
        const char *text =
            hp_arena_printf(arena, "%s%s%s", number, prefixes[p].text, bases[unit]);
        double back;
        if (strlen(text) < shortest && hypar_parse_quantity(text, unit, &back) &&
            back == value) {
            best = text;
            shortest = strlen(text);
        }
    }
    return best;
}

/* Can a word contain this path? A value ends at a comma, or at a '+' before a part. */
static bool can_be_said(const char *path)
{
    return !strpbrk(path, ",+");
}

/* The figures of a part whose word names its device alone; returns the device's name. */
static const char *name_device(const struct part *part, struct part *said)
{
    hp_part_begin(said, part->topology, NULL);
    said->type = part->type;
    if (part->known)
        return part->type.device.name;
    if (part->path && can_be_said(part->path)) {
        said->row = part->row;
        said->left_out = part->left_out;
        said->value[OPTION_FP32] = part->value[OPTION_FP32]; /* other peaks follow from ... */
        said->value[OPTION_BF16] = part->value[OPTION_BF16]; /* ... these two */
        return part->path;
    }
    said->type = *hp_device_type_find(MACHINE_ASSUMED_DEVICE);
    return MACHINE_ASSUMED_DEVICE;
}

/* The part's word: the options that differ from what the word so far implies. */
static const char *part_text(struct arena *arena, const struct part *part)
{
    const struct topology *topology = part->topology;
    struct part said;
    const char *device = name_device(part, &said);
    said.n_dims = part->n_dims;
    memcpy(said.dim, part->dim, sizeof said.dim);

    const char *text = hp_arena_printf(arena, "%s:%d", topology->text.name, part->dim[0]);
    for (int d = 1; d < part->n_dims; d++)
        text = hp_arena_printf(arena, "%sx%d", text, part->dim[d]);
    if (topology->default_device && strcmp(topology->default_device, device) != 0)
        text = hp_arena_printf(arena, "%s,device=%s", text, device);
    for (int o = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        if (!hp_option_applies(part, (enum option)o) ||
            part->value[o] == hp_option_default(&said, (enum option)o))
            continue;
        said.value[o] = part->value[o];
        text = hp_arena_printf(arena, "%s,%s=%s", text, row->text.name,
                               value_text(arena, part->value[o], row));
    }
    return text;
}

/* A factor that gives exactly `value`, as text; NULL: no short one does. */
static const char *factor_text(struct arena *arena, double value, double whole)
{
    char text[NUMBER_TEXT_BYTES];
    double factor;
    if (whole == 0)
        return NULL;
    snprintf(text, sizeof text, "%.6g", value / whole);
    size_t n = hp_number_read(text, &factor);
    if (n == 0 || !(factor > 0) || factor * whole != value)
        return NULL;
    return hp_arena_printf(arena, "%sx", hp_number_text(text, factor));
}

/* The factor by which all peaks of a run differ; NULL: there is none. */
static const char *peak_factor_text(struct arena *arena, const struct part *run,
                                    const struct part *whole)
{
    const char *text = NULL;
    for (int i = 0; i < N_PEAK_OPTIONS; i++) {
        enum option o = hp_peak_options[i];
        double factor;
        if (run->value[o] == 0 && whole->value[o] == 0)
            continue;
        if (!text)
            text = factor_text(arena, run->value[o], whole->value[o]);
        if (!text || hp_number_read(text, &factor) == 0 ||
            factor * whole->value[o] != run->value[o])
            return NULL;
    }
    return !text || strcmp(text, "1x") == 0 ? NULL : text;
}

static bool is_peak(int option)
{
    for (int i = 0; i < N_PEAK_OPTIONS; i++)
        if ((int)hp_peak_options[i] == option)
            return true;
    return false;
}

/* ",node17.peak=0.8x,node17.inter=25GB/s": the figures in which a run of nodes differs from its
 * cluster. */
static const char *nodes_text(struct arena *arena, const struct part *run,
                              const struct part *whole, int node)
{
    const char *name = run->dim[0] == 1
                           ? hp_arena_printf(arena, "node%d", node)
                           : hp_arena_printf(arena, "node%d-%d", node, node + run->dim[0] - 1);
    const char *peak = peak_factor_text(arena, run, whole);
    const char *text = peak ? hp_arena_printf(arena, ",%s.peak=%s", name, peak) : "";
    for (int o = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        double value = run->value[o];
        if (!hp_option_applies(run, (enum option)o) || value == whole->value[o] ||
            (peak && is_peak(o)))
            continue;
        const char *factor = factor_text(arena, value, whole->value[o]);
        const char *absolute = value_text(arena, value, row);
        text = hp_arena_printf(arena, "%s,%s.%s=%s", text, name, row->text.name,
                               factor && strlen(factor) < strlen(absolute) ? factor : absolute);
    }
    return text;
}

/* The cluster as written that begins with part `p`, and the figures of its nodes. */
static const char *whole_text(struct arena *arena, const struct hypar_machine *machine, int p,
                              int *end)
{
    struct part whole;
    *end = hp_part_whole(machine, p, &whole);
    const char *text = part_text(arena, &whole);
    for (int node = 0; p < *end; node += machine->parts[p++].dim[0])
        text = hp_arena_printf(arena, "%s%s", text,
                               nodes_text(arena, &machine->parts[p], &whole, node));
    return text;
}

const char *hp_machine_make_word(struct arena *arena, const struct hypar_machine *machine)
{
    for (int p = 0; p < machine->n_parts; p++)
        if (!machine->parts[p].known)
            return NULL;
    return hp_machine_full_word(arena, machine);
}

const char *hp_machine_full_word(struct arena *arena, const struct hypar_machine *machine)
{
    struct arena scratch = { 0 };
    const char *text = NULL;
    for (int p = 0; p < machine->n_parts;) {
        const char *part = whole_text(&scratch, machine, p, &p);
        text = text ? hp_arena_printf(&scratch, "%s+%s", text, part) : part;
    }
    if (text && strlen(text) <= MACHINE_MAX_WORD)
        text = hp_arena_strdup(arena, text);
    else
        text = NULL;
    hp_arena_free(&scratch);
    return text;
}
