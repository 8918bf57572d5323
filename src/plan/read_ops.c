/* Reading a plan: its operators. */
#include "plan/check.h"
#include "plan/read.h"

#include <string.h>

/* The operators that are not listed by name. */
#define REST "*"

/* The operator whose name is nearest and near enough to be meant, or -1. */
static int nearest(const struct hypar_graph *graph, const char *name)
{
    struct arena arena = { 0 };
    const char **names = NEW(&arena, const char *, graph->n_ops);
    int near;
    for (int op = 0; op < graph->n_ops; op++)
        names[op] = graph->ops[op].name;
    int found = hypar_nearest(name, names, graph->n_ops, &near, 1);
    hp_arena_free(&arena);
    return found ? near : -1;
}

enum hypar_status hp_read_op_name(const struct hypar_graph *graph, const char *name, int *out,
                                  struct hypar_error *err)
{
    *out = hypar_graph_find_op(graph, name);
    if (*out >= 0)
        return HYPAR_OK;
    int near = nearest(graph, name);
    if (near < 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "op '%.80s' is not in the model", name);
    return hp_fail(err, HYPAR_INFEASIBLE, "op '%.80s' is not in the model; perhaps '%s'", name,
                   graph->ops[near].name);
}

static enum hypar_status read_axis(const struct nest *nest, const char *key, int *axis,
                                   struct hypar_error *err)
{
    char list[AXIS_LIST_BYTES];
    *axis = key[0] && !key[1] ? hp_nest_axis(nest, key[0]) : -1;
    if (*axis < 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "axis '%.40s' is unknown, expected one of %s",
                       key, hp_axis_list(nest, list));
    return HYPAR_OK;
}

/* With `lenient` (the rest of the operators) axes that this one cannot split are passed over.
 */
static enum hypar_status read_split(const struct nest *nest, const struct json *at,
                                    bool lenient, struct split *split, struct hypar_error *err)
{
    struct json member;
    if (!at->value)
        return HYPAR_OK;
    TRY(hp_json_object(at, err));
    for (void *iter = NULL; hp_json_next(at, &iter, &member);) {
        int axis;
        int64_t degree;
        TRY(hp_json_int(&member, 1, HP_MAX_PARTS, &degree, err));
        enum hypar_status status = read_axis(nest, member.key, &axis, err);
        if (lenient && (status != HYPAR_OK || !nest->axis[axis].splittable))
            continue;
        TRY(status);
        split->degree[axis] = (int)degree;
    }
    return HYPAR_OK;
}

static enum hypar_status read_sizes(const struct nest *nest, const struct json *at,
                                    struct arena *scratch, struct split *split,
                                    struct hypar_error *err)
{
    struct json member;
    if (!at->value)
        return HYPAR_OK;
    TRY(hp_json_object(at, err));
    for (void *iter = NULL; hp_json_next(at, &iter, &member);) {
        int axis;
        TRY(read_axis(nest, member.key, &axis, err));
        TRY(hp_json_array(&member, HP_MAX_PARTS, err));
        int n = hp_json_length(&member), degree = split->degree[axis];
        degree = degree > 1 ? degree : 1;
        if (n != degree)
            return hp_fail(err, HYPAR_INFEASIBLE, "axis '%s': %d sizes, expected its degree %d",
                           member.key, n, degree);
        int64_t *sizes = NEW(scratch, int64_t, n);
        for (struct json element = { 0 }; hp_json_each(&member, &element);)
            TRY(hp_json_int(&element, 0, INT64_MAX, &sizes[element.index], err));
        split->sizes[axis] = sizes;
    }
    return HYPAR_OK;
}

/* Split and place `op`; `devices` is what the file lists, n of them, or NULL. */
static enum hypar_status place(struct hypar_plan *plan, int op, const struct split *split,
                               const int *devices, int n, struct hypar_error *err)
{
    int parts = hp_part_count(plan->graph->ops[op].nest, split), available;
    int64_t needed = hp_plan_devices_needed(plan, op, parts);
    if (devices && n != needed && needed == parts)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%d devices, expected one for each of its %d parts", n, parts);
    if (devices && n != needed)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%d devices, expected %lld: its %d parts on each of %lld replicas", n,
                       (long long)needed, parts, (long long)(needed / parts));
    if (!devices && !hp_plan_has_default(plan, op, parts, &available))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "its %d parts need devices to be listed: there are %d", parts,
                       available);
    hp_plan_set(plan, op, split, devices);
    return HYPAR_OK;
}

/* How the operator's state is kept. With `lenient` operators without parameters are passed
 * over. "shard_state": true is what "shard": "optimizer" was called. */
static enum hypar_status read_state(struct hypar_plan *plan, int op, const struct json *at,
                                    bool lenient, struct hypar_error *err)
{
    struct op_plan *mine = &plan->ops[op];
    int shard = -1, over = 0;
    bool state = false;
    TRY(HP_JSON_READ(at, err, JSON_BOOL("?recompute", &mine->recompute),
                     JSON_BOOL("?resend", &mine->resend), JSON_BOOL("?shard_state", &state),
                     JSON_CHOICE("?shard", &shard, hp_shard_names, HYPAR_SHARD_COUNT),
                     JSON_WHOLE("?shard_over", &over, 1, HP_MAX_PARTS), JSON_OTHERS));
    if (lenient && !hp_op_has_params(plan->graph, op))
        return HYPAR_OK;
    mine->shard = shard >= 0 ? (enum hypar_shard)shard
                  : state    ? HYPAR_SHARD_OPTIMIZER
                             : HYPAR_SHARD_NONE;
    mine->shard_over = over;
    return HYPAR_OK;
}

static enum hypar_status check_kind(const struct hypar_graph *graph, int op,
                                    const struct json *at, struct hypar_error *err)
{
    const char *kind;
    if (!at->value)
        return HYPAR_OK;
    TRY(hp_json_string(at, &kind, err));
    if (strcmp(kind, hp_op_kind(graph, op)) != 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "kind '%.40s', expected '%s' as in the model",
                       kind, hp_op_kind(graph, op));
    return HYPAR_OK;
}

static enum hypar_status read_op(struct hypar_plan *plan, int op, const struct json *at,
                                 bool lenient, struct arena *scratch, struct hypar_error *err)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    struct split split = { .degree = { 0 } };
    int *devices = NULL, n = 0;
    struct json member = hp_json_member(at, "kind");
    TRY(check_kind(plan->graph, op, &member, err));
    member = hp_json_member(at, "split");
    TRY(read_split(nest, &member, lenient, &split, err));
    member = hp_json_member(at, "sizes");
    TRY(read_sizes(nest, &member, scratch, &split, err));
    TRY(hp_check_split(nest, &split, err));
    member = hp_json_member(at, "devices");
    if (member.value)
        TRY(hp_read_devices(scratch, &member, &devices, &n, err));
    if (plan->has_layout) /* the row replaces the layout's recomputation, too */
        plan->ops[op].recompute = plan->ops[op].resend = false;
    TRY(read_state(plan, op, at, lenient, err));
    return place(plan, op, &split, devices, n, err);
}

/* As read_op(), with the operator's name in front of the error. */
static enum hypar_status read_named(struct hypar_plan *plan, int op, const struct json *at,
                                    bool lenient, struct arena *scratch,
                                    struct hypar_error *err)
{
    struct arena_mark mark = hp_arena_mark(scratch);
    enum hypar_status status = read_op(plan, op, at, lenient, scratch, err);
    hp_arena_release(scratch, mark);
    if (status == HYPAR_INFEASIBLE)
        hp_in(err, status, "op '%s'", plan->graph->ops[op].name);
    return status;
}

/* One element of "ops"; that of REST is only remembered. */
static enum hypar_status read_listed(struct hypar_plan *plan, const struct json *at, bool *seen,
                                     struct json *rest, struct arena *scratch,
                                     struct hypar_error *err)
{
    static const char *const members[] = { "name",       "kind",        "split",  "sizes",
                                           "devices",    "recompute",   "resend", "shard",
                                           "shard_over", "shard_state", NULL };
    static const char *const rest_members[] = { "name",  "split",      "recompute",   "resend",
                                                "shard", "shard_over", "shard_state", NULL };
    const char *name;
    int op;
    TRY(hp_json_object(at, err));
    struct json member = hp_json_member(at, "name");
    TRY(hp_json_string(&member, &name, err));
    if (strcmp(name, REST) == 0) {
        if (plan->has_layout)
            return hp_json_fail(at, err, "'%s' beside 'layout', which says how the rest is",
                                REST);
        if (rest->value)
            return hp_json_fail(at, err, "'%s' is listed twice", REST);
        *rest = *at;
        return hp_json_only(at, rest_members, err);
    }
    TRY(hp_json_only(at, members, err));
    TRY(hp_read_op_name(plan->graph, name, &op, err));
    if (seen[op])
        return hp_json_fail(at, err, "op '%s' is listed twice", name);
    seen[op] = true;
    return read_named(plan, op, at, false, scratch, err);
}

/* The rest passes over axes that an operator lacks; one that all lack is a slip. */
static enum hypar_status check_rest(const struct hypar_graph *graph, const struct json *rest,
                                    struct hypar_error *err)
{
    struct json split = hp_json_member(rest, "split"), member;
    struct hypar_error unused;
    for (void *iter = NULL; hp_json_next(&split, &iter, &member);) {
        int op = 0, axis;
        while (op < graph->n_ops &&
               read_axis(graph->ops[op].nest, member.key, &axis, &unused) != HYPAR_OK)
            op++;
        if (op == graph->n_ops)
            return hp_fail(err, HYPAR_INFEASIBLE, "op '%s': no operator has an axis '%.40s'",
                           REST, member.key);
    }
    return HYPAR_OK;
}

enum hypar_status hp_read_ops(struct hypar_plan *plan, const struct json *root,
                              struct arena *scratch, struct hypar_error *err)
{
    int n_ops = plan->graph->n_ops;
    int64_t placements = 0;
    struct json ops = hp_json_member(root, "ops"), rest = { 0 };
    bool *seen = NEW(scratch, bool, n_ops);
    if (!ops.value && plan->has_layout)
        return HYPAR_OK;
    TRY(hp_json_array(&ops, (int64_t)n_ops + 1, err));
    for (struct json at = { 0 }; hp_json_each(&ops, &at);)
        TRY(read_listed(plan, &at, seen, &rest, scratch, err));
    TRY(check_rest(plan->graph, &rest, err));
    for (int op = 0; op < n_ops; op++) {
        if (!seen[op] && !rest.value && !plan->has_layout)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s' is not listed, nor is '%s', which stands for the rest",
                           plan->graph->ops[op].name, REST);
        if (!seen[op] && rest.value)
            TRY(read_named(plan, op, &rest, true, scratch, err));
        placements += plan->ops[op].n_devices;
        if (placements > HP_MAX_PLACEMENTS)
            return hp_fail(err, HYPAR_INFEASIBLE, "more than %d parts in all",
                           HP_MAX_PLACEMENTS);
    }
    return HYPAR_OK;
}
