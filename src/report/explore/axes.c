/* Describes the differences between machines, as text and as figures. */
#include "report/explore/axes.h"

#include <string.h>

#include "cost/collective_rounds.h"

const struct column *hp_axes_columns(const struct axes *axes, struct arena *arena,
                                     const struct column *base, int at, size_t shape,
                                     size_t value)
{
    int n = 0, n_base = 0, n_figures = 0;
    while (base[n_base].form)
        n_base++;
    struct column *all = NEW(arena, struct column, n_base + axes->n + 3);
    struct column *figure = NEW(arena, struct column, axes->n + 1);
    memcpy(all, base, sizeof *all * (size_t)at);
    n = at;
    if (axes->shape)
        all[n++] = (struct column){ "machine", NULL, AS_TEXT, .offset = shape };
    for (int i = 0; i < axes->n; i++) {
        size_t inner = (size_t)i * sizeof(struct hypar_explore_value);
        const char *name = axes->axis[i].name;
        if (axes->axis[i].shapes)
            continue;
        all[n++] =
            (struct column){ name,
                             NULL,
                             AS_TEXT,
                             value,
                             TO_THE_RIGHT | BEHIND,
                             .inner = inner + offsetof(struct hypar_explore_value, text) };
        figure[n_figures++] =
            (struct column){ NULL, name, AS_NUMBER,
                             .offset = inner + offsetof(struct hypar_explore_value, number) };
    }
    if (n_figures)
        all[n++] = (struct column){ NULL, "varied", AS_RECORD, .offset = value, .of = figure };
    memcpy(all + n, base + at, sizeof *all * (size_t)(n_base - at));
    return all;
}

enum hypar_unit hp_objective_unit(enum hypar_objective objective)
{
    static const enum hypar_unit units[] = { HYPAR_UNIT_COUNT, HYPAR_UNIT_BYTES,
                                             HYPAR_UNIT_JOULES };
    return units[objective];
}

const char *hp_axes_keys(const struct axes *axes, struct arena *arena, const char *keys)
{
    for (int i = 0; i < axes->n; i++)
        if (!axes->axis[i].shapes)
            keys = hp_arena_printf(arena, "%s %s", keys, axes->axis[i].name);
    return keys;
}

static const char *figure_text(const struct axes *axes, int i, const struct axes_place *at,
                               struct arena *arena)
{
    return hp_arena_printf(arena, "%s %s", axes->axis[i].name, at->value[i].text);
}

const char *hp_axes_text(const struct axes *axes, const struct axes_place *at,
                         struct arena *arena)
{
    const char *text = axes->shape ? at->shape : "";
    for (int i = 0; i < axes->n; i++)
        if (!axes->axis[i].shapes)
            text = hp_joined(arena, text, ", ", figure_text(axes, i, at, arena));
    return text;
}

int hp_axes_x(const struct axes *axes)
{
    int x = -1;
    for (int i = axes->n - 1; i >= 0; i--) {
        const struct hypar_explore_axis *axis = &axes->axis[i];
        bool sizes = axis->shapes && !axis->words;
        if (axis->n_values > 1 && sizes)
            return i;
        if (axis->n_values > 1 && !axis->words)
            x = i;
    }
    return x;
}

const char *hp_axes_line(const struct axes *axes, int x, const struct axes_place *at,
                         const char *name, struct arena *arena)
{
    const char *text = name ? name : "";
    for (int i = 0; i < axes->n; i++)
        if (i != x && axes->axis[i].n_values > 1)
            text = hp_joined(arena, text, ", ",
                             axes->axis[i].words ? at->value[i].text
                                                 : figure_text(axes, i, at, arena));
    return text;
}

/* Does any value of the axis change a result? Machines i and i - stride differ only in this
 * axis, whose values change every `stride` machines. */
static bool has_effect(const struct axes *axes, int axis,
                       bool (*same)(const void *who, int i, int j), const void *who)
{
    int stride = 1, n = 1;
    for (int i = 0; i < axes->n; i++) {
        n *= axes->axis[i].n_values;
        stride *= i > axis ? axes->axis[i].n_values : 1;
    }
    for (int i = stride; i < n; i++)
        if (i / stride % axes->axis[axis].n_values > 0 && !same(who, i, i - stride))
            return true;
    return false;
}

const char *hp_axes_without_effect(const struct axes *axes,
                                   bool (*same)(const void *who, int i, int j), const void *who,
                                   struct arena *arena)
{
    const char *text = "";
    for (int i = 0; i < axes->n; i++)
        if (!axes->axis[i].shapes && axes->axis[i].n_values > 1 &&
            !has_effect(axes, i, same, who))
            text = hp_joined(arena, text, ", ", axes->axis[i].name);
    return text;
}

bool hp_axes_of_energy(const struct axes *axes)
{
    for (int i = 0; i < axes->n; i++)
        if (axes->axis[i].n_values > 1 &&
            (axes->axis[i].unit == HYPAR_UNIT_JOULES || axes->axis[i].unit == HYPAR_UNIT_WATTS))
            return true;
    return false;
}

void hp_axes_add_machine(struct axes *axes, const char *shape)
{
    bool torus = shape && strncmp(shape, "torus:", 6) == 0;
    axes->many_links |= torus || (shape && strncmp(shape, "full:", 5) == 0);
    axes->no_torus |= !torus;
}

const char *hp_axes_topology_note(const struct axes *axes, const struct hypar_sim_options *how)
{
    const struct comm_algorithm *row =
        how && how->all_reduce ? hp_find_comm_algorithm(COMM_ALL_REDUCE, how->all_reduce)
                               : NULL;
    if (row && row->on_tori && axes->no_torus)
        return "Topologies: several rings at a time are known of tori by word alone "
               "(torus:4x4); "
               "other machines sum by one ring.";
    if (row && row->to_many)
        return NULL;
    for (int i = 0; i < axes->n; i++)
        if (axes->axis[i].words && axes->axis[i].n_values > 1 && axes->many_links)
            return "Topologies: in a collective a device sends to at most two others at a "
                   "time. Over all their links at once large all-reduces would be up to "
                   "(n-1)/2 times as fast on full:n (--all-reduce direct), and k times on a "
                   "torus of k dimensions (--all-reduce multi-ring).";
    return NULL;
}

const char *hp_machines_text(struct arena *arena, const char *name, int n)
{
    return n == 1  ? name
           : *name ? hp_arena_printf(arena, "%d machines like %s", n, name)
                   : hp_arena_printf(arena, "%d machines", n);
}
