/* The table of targets: frameworks that plans are written for, one row each. */
#include <string.h>

#include "base/word.h"
#include "emit/layouts.h"
#include "emit/target.h"
#include "machine/machine.h"
#include "plan/schedules.h"

static const struct target *const targets[] = {
    &hp_target_torch,
    &hp_target_megatron,
    &hp_target_deepspeed,
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

static struct hypar_target told(const struct target *row)
{
    return (struct hypar_target){ row->name, row->title, row->summary };
}

struct hypar_target hypar_target_at(int target)
{
    return target >= 0 && target < TARGET_COUNT ? told(targets[target])
                                                : (struct hypar_target){ 0 };
}

enum hypar_status hp_find_target(const struct target **out, const char *name,
                                 struct hypar_error *err)
{
    const char *names[TARGET_COUNT];
    char list[120];
    *out = NULL;
    for (int i = 0; i < TARGET_COUNT; i++) {
        names[i] = targets[i]->name;
        if (strcmp(names[i], name) == 0)
            *out = targets[i];
    }
    if (*out)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_USAGE, "'%s': no such target, %s", name,
                   hp_expected(list, sizeof list, name, names, TARGET_COUNT, NULL));
}

enum hypar_status hypar_target_find(struct hypar_target *out, const char *name,
                                    struct hypar_error *err)
{
    const struct target *row;
    TRY(hp_find_target(&row, name, err));
    *out = told(row);
    return HYPAR_OK;
}

struct hypar_target_defaults hypar_target_defaults(const char *target,
                                                   const struct hypar_machine *machine)
{
    const struct target *row;
    const struct hypar_device *device = machine ? hypar_machine_device(machine, 0) : NULL;
    bool is_short = device && device->bf16_op_per_s > device->fp32_op_per_s;
    if (hp_find_target(&row, target, NULL) != HYPAR_OK)
        return (struct hypar_target_defaults){ HYPAR_FP32, HYPAR_SGD, NULL };
    return (struct hypar_target_defaults){ is_short ? HYPAR_BF16 : HYPAR_FP32,
                                           is_short ? HYPAR_ADAMW : HYPAR_SGD, row->framework };
}

/* The schedules that a target has: "gpipe, 1f1b or interleaved". */
static const char *list_schedules(const struct target *target, char *text, size_t size)
{
    const char *names[HP_MOST_SCHEDULES];
    int n = 0;
    for (int kind = HYPAR_SCHEDULE_NONE + 1; kind < hp_n_schedules; kind++)
        if (hp_target_has(target, (enum hypar_schedule_kind)kind))
            names[n++] = hp_schedule[kind].name;
    return hp_word_list(text, size, names, n);
}

enum hypar_status hp_check_target_schedule(const struct target *target,
                                           enum hypar_schedule_kind kind, bool in_turn,
                                           struct hypar_error *err)
{
    char list[128];
    if (hp_target_has(target, kind) && !(in_turn && kind == HYPAR_SCHEDULE_NONE))
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE, "%s has no schedule '%s', expected %s", target->title,
                   hypar_schedule_text(kind), list_schedules(target, list, sizeof list));
}

/* The processes that run a plan, one for each device that it uses. */
struct ranks {
    int all;
    int nodes; /* nodes that the processes are on */
    int each;  /* processes on each node; 0: the nodes have different numbers */
};

static struct ranks count_ranks(const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    struct ranks ranks = { 0 };
    bool *used = NEW(&scratch, bool, plan->n_all_devices);
    int *on_node = NEW(&scratch, int, plan->n_all_devices);
    for (int op = 0; op < plan->graph->n_ops; op++)
        for (int i = 0; i < plan->ops[op].n_devices; i++)
            used[plan->ops[op].device[i]] = true;
    for (int d = 0; d < plan->n_all_devices; d++)
        if (used[d]) {
            int node = hp_machine_node(plan->machine, d);
            ranks.all++;
            ranks.nodes += !on_node[node];
            ranks.each = ++on_node[node];
        }
    for (int node = 0; node < plan->n_all_devices; node++)
        if (on_node[node] && on_node[node] != ranks.each)
            ranks.each = 0;
    hp_arena_free(&scratch);
    return ranks;
}

int hypar_emit_ranks(const struct hypar_plan *plan)
{
    return count_ranks(plan).all;
}

/* If `*at` begins with `word`, move `*at` past it. */
static bool skip_word(const char **at, const char *word)
{
    size_t n = strlen(word);
    bool is = strncmp(*at, word, n) == 0;
    *at += is ? n : 0;
    return is;
}

void hp_put_command(const struct target *target, const struct hypar_plan *plan,
                    const char *file, FILE *to)
{
    struct ranks ranks = count_ranks(plan);
    for (const char *at = target->command; *at;) {
        if (skip_word(&at, "[")) {
            if (ranks.nodes <= 1)
                at = strchr(at, ']') + 1;
        } else if (skip_word(&at, "]")) {
            continue;
        } else if (skip_word(&at, "NODES")) {
            fprintf(to, "%d", ranks.nodes);
        } else if (ranks.each && skip_word(&at, "RANKS")) {
            fprintf(to, "%d", ranks.each);
        } else if (skip_word(&at, "FILE")) {
            fputs(file, to);
        } else {
            fputc(*at++, to);
        }
    }
}

enum hypar_status hypar_emit_command(const struct hypar_plan *plan, const char *target,
                                     const char *file, FILE *to, struct hypar_error *err)
{
    const struct target *row;
    TRY(hp_find_target(&row, target, err));
    hp_put_command(row, plan, file, to);
    return HYPAR_OK;
}

struct layout_limits hp_target_limits(const struct target *target,
                                      const struct hypar_graph *graph, struct arena *arena)
{
    struct layout_limits limits = { 0 };
    if (target->borders)
        limits.borders = target->borders(graph, arena);
    if (!target->axes)
        return limits;
    axis_set *axes = NEW(arena, axis_set, graph->n_nests);
    memset(axes, 0xff, (size_t)graph->n_nests * sizeof *axes);
    for (int op = 0; op < graph->n_ops; op++)
        axes[graph->ops[op].nest->id] &= target->axes(graph, op);
    limits.axes = axes;
    return limits;
}

enum hypar_status hp_target_takes(const struct target *target, const struct hypar_graph *graph,
                                  struct hypar_error *err)
{
    return target->takes ? target->takes(graph, err) : HYPAR_OK;
}

enum hypar_status hp_target_runs(const struct target *target, const struct hypar_plan *plan,
                                 struct hypar_error *err)
{
    TRY(hp_target_takes(target, plan->graph, err));
    return target->check(target, plan, err);
}

bool hypar_emit_note(const struct hypar_plan *plan, const char *target, int i, char *text,
                     size_t size)
{
    const struct target *row;
    if (hp_find_target(&row, target, NULL) != HYPAR_OK || !row->notes)
        return false;
    for (target_note *const *note = row->notes; *note; note++)
        if ((*note)(plan, text, size) && i-- == 0)
            return true;
    return false;
}

enum hypar_status hypar_emit_check(const struct hypar_plan *plan, const char *target,
                                   struct hypar_error *err)
{
    const struct target *row;
    TRY(hp_find_target(&row, target, err));
    return hp_target_runs(row, plan, err);
}

enum hypar_status hypar_emit(const struct hypar_plan *plan, const char *target, FILE *to,
                             struct hypar_error *err)
{
    const struct target *row;
    TRY(hp_find_target(&row, target, err));
    if (!row->write)
        return hp_fail(err, HYPAR_UNSUPPORTED, "nothing is written for %s yet", row->title);
    TRY(hp_target_runs(row, plan, err));
    return row->write(plan, to, err);
}
