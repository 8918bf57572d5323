/* Operators whose split an option fixes: reads the option, and applies it to a plan. */
#include "search/fix.h"

#include <string.h>

#include "plan/check.h"
#include "plan/read.h"

/* Read one degree such as "n=2"; returns the text after it, NULL if it is malformed. */
static const char *read_degree(const char *text, char *axis, int *degree)
{
    int64_t value = 0;
    *axis = *text;
    if (!*text || text[1] != '=' || !strchr("123456789", text[2]) || !text[2])
        return NULL;
    for (text += 2; *text >= '0' && *text <= '9'; text++) {
        value = 10 * value + (*text - '0');
        if (value > HP_MAX_PARTS)
            return NULL;
    }
    *degree = (int)value;
    return *text == ',' && text[1] ? text + 1 : *text ? NULL : text;
}

static enum hypar_status read_split(const struct nest *nest, const char *text,
                                    struct split *split, struct hypar_error *err)
{
    char list[AXIS_LIST_BYTES], name;
    for (int a = 0; a < nest->n_axes; a++)
        split->degree[a] = 1;
    if (strcmp(text, "unsplit") == 0)
        return HYPAR_OK;
    if (!*text)
        return hp_fail(err, HYPAR_USAGE, "expected degrees such as n=2,k=2, or unsplit");
    while (*text) {
        int degree, axis = -1;
        const char *after = read_degree(text, &name, &degree);
        if (!after)
            return hp_fail(err, HYPAR_USAGE,
                           "'%.40s', expected degrees such as n=2,k=2, at most %d", text,
                           HP_MAX_PARTS);
        axis = hp_nest_axis(nest, name);
        if (axis < 0)
            return hp_fail(err, HYPAR_INFEASIBLE, "it has no axis '%c', expected one of %s",
                           name, hp_axis_list(nest, list));
        if (split->degree[axis] > 1)
            return hp_fail(err, HYPAR_USAGE, "axis '%c' is named twice", name);
        split->degree[axis] = degree;
        text = after;
    }
    return hp_check_split(nest, split, err);
}

static enum hypar_status read_fix(struct fixes *out, const struct hypar_graph *graph,
                                  int n_devices, const char *word, struct arena *arena,
                                  struct hypar_error *err)
{
    const char *colon = strrchr(word, ':');
    struct fix *fix = &out->fix[out->n];
    if (!colon || colon == word)
        return hp_fail(err, HYPAR_USAGE, "expected an operator and its degrees, as conv1:n=2");
    const char *name = hp_arena_strndup(arena, word, (size_t)(colon - word));
    TRY(hp_read_op_name(graph, name, &fix->op, err));
    if (out->fixed[fix->op])
        return hp_fail(err, HYPAR_USAGE, "operator '%.80s' is named twice", name);
    out->fixed[fix->op] = true;
    out->n++;
    const struct nest *nest = graph->ops[fix->op].nest;
    TRY(read_split(nest, colon + 1, &fix->split, err));
    fix->word = word;
    fix->n_parts = hp_part_count(nest, &fix->split);
    if (fix->n_parts > n_devices)
        return hp_fail(err, HYPAR_INFEASIBLE, "%d parts on a machine of %d devices",
                       fix->n_parts, n_devices);
    return HYPAR_OK;
}

enum hypar_status hp_read_fixes(struct fixes *out, const struct hypar_graph *graph,
                                int n_devices, const char *const *words, int n,
                                struct arena *arena, struct hypar_error *err)
{
    *out = (struct fixes){ 0 };
    if (n == 0)
        return HYPAR_OK;
    out->fix = NEW(arena, struct fix, n);
    out->fixed = NEW(arena, bool, graph->n_ops);
    for (int i = 0; i < n; i++)
        TRY(hp_in(err, read_fix(out, graph, n_devices, words[i], arena, err), "fix '%.80s'",
                  words[i]));
    return HYPAR_OK;
}

enum hypar_status hp_apply_fixes(struct hypar_plan *plan, const struct fixes *fixes,
                                 struct hypar_error *err)
{
    for (int i = 0; i < fixes->n; i++) {
        const struct fix *fix = &fixes->fix[i];
        int available;
        if (!hp_plan_has_default(plan, fix->op, fix->n_parts, &available))
            return hp_fail(
                err, HYPAR_INFEASIBLE, "fix '%.80s': %d parts, but %s has %d device%s",
                fix->word, fix->n_parts,
                hp_plan_devices_needed(plan, fix->op, 1) > 1 ? "a replica of its stage"
                                                             : "its stage",
                available, available == 1 ? "" : "s");
        hp_plan_set(plan, fix->op, &fix->split, NULL);
    }
    return HYPAR_OK;
}
