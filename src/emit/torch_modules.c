/* Finds the modules of a PyTorch model that are recomputed, that begin a stage, or whose
 * parameters are gathered together. */
#include <string.h>

#include "base/word.h"
#include "emit/torch.h"

static const char *path_of(const struct module *module, struct arena *arena)
{
    return hp_arena_strndup(arena, module->path, module->length);
}

/* Recomputed modules ---------------------------------------------------------------------- */

/* Is the operator inside the module? */
static bool contains(const struct modules *m, int module, int op)
{
    int i = m->of_op[op];
    while (i >= 0 && i != module)
        i = m->module[i].parent;
    return i == module;
}

/* The innermost module that contains the operator and all readers of its output; -1: the
 * model. */
static int read_within(const struct hypar_graph *graph, const struct modules *m, int op)
{
    const struct op *node = &graph->ops[op];
    int within = m->of_op[op];
    for (int o = 0; o < node->nest->n_operands; o++) {
        int t = node->tensor[o];
        if (t < 0 || graph->tensors[t].producer != op)
            continue;
        for (int u = graph->use_start[t]; u < graph->use_start[t + 1]; u++)
            while (within >= 0 && !contains(m, within, graph->use[u].op))
                within = m->module[within].parent;
    }
    return within;
}

static void find_kept(const struct torch_script *s, struct modules *m)
{
    for (int op = 0; op < s->graph->n_ops; op++)
        if (!s->plan->ops[op].recompute)
            for (int i = read_within(s->graph, m, op); i >= 0; i = m->module[i].parent)
                m->module[i].kept = true;
}

/* Is all of the module recomputed, except its output? A module of a list may be called where
 * the graph does not say. */
static bool is_recomputed(const struct hypar_graph *graph, const struct module *module)
{
    bool may_be = graph->n_modules == 0 && module->numbered;
    return !module->kept && (module->calls > 0 || may_be);
}

/* The outermost recomputed module around the operator; -1: none. */
static int recomputed_around(const struct hypar_graph *graph, const struct modules *m, int op)
{
    int found = -1;
    for (int i = m->of_op[op]; i >= 0; i = m->module[i].parent)
        if (is_recomputed(graph, &m->module[i]))
            found = i;
    return found;
}

static bool any_recomputed(const struct hypar_plan *plan)
{
    int op = 0;
    while (op < plan->graph->n_ops && !plan->ops[op].recompute)
        op++;
    return op < plan->graph->n_ops;
}

enum hypar_status hp_torch_recomputed(const struct torch_script *s, struct table_rows *out,
                                      struct hypar_error *err)
{
    const struct hypar_graph *graph = s->graph;
    if (!any_recomputed(s->plan))
        return HYPAR_OK;
    struct modules m = hp_find_modules(graph, s->arena);
    bool *written = NEW(s->arena, bool, m.n);
    find_kept(s, &m);
    for (int op = 0; op < graph->n_ops; op++) {
        if (!s->plan->ops[op].recompute)
            continue;
        int i = recomputed_around(graph, &m, op);
        if (i < 0)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s': recompute: PyTorch recomputes whole modules; expected a "
                           "module all of whose operators are recomputed, except those that "
                           "others read (put layers into modules of their own, or plan with "
                           "--recompute none)",
                           graph->ops[op].name);
        if (!written[i])
            hp_add_row(s->arena, out, path_of(&m.module[i], s->arena), "True");
        written[i] = true;
    }
    for (int i = 0; i < m.n; i++) /* rows that prevent folding with other modules */
        if (!is_recomputed(graph, &m.module[i]))
            hp_add_row(s->arena, out, path_of(&m.module[i], s->arena), "");
    hp_fold_rows(s->arena, out);
    return HYPAR_OK;
}

/* Stages ---------------------------------------------------------------------------------- */

/* The outermost module whose first operator is `op`, the first of its stage; -1: none. */
static int begins_at(const struct modules *m, int op)
{
    int found = -1;
    for (int i = m->of_op[op]; i >= 0 && m->module[i].first == op; i = m->module[i].parent) {
        found = m->module[i].calls == 1 ? i : found;
        if (m->module[i].numbered)
            break;
    }
    return found;
}

/* The outermost module that ends before operator `op`; -1: none. */
static int ends_before(const struct modules *m, int op)
{
    int found = -1;
    for (int i = m->of_op[op - 1]; i >= 0 && m->module[i].last == op - 1;
         i = m->module[i].parent) {
        found = m->module[i].calls == 1 ? i : found;
        if (m->module[i].numbered)
            break;
    }
    return found;
}

bool *hp_torch_borders(const struct hypar_graph *graph, struct arena *arena)
{
    bool *borders = NEW(arena, bool, graph->n_ops + 1);
    struct modules m = hp_find_modules(graph, arena);
    for (int op = 1; op < graph->n_ops; op++)
        borders[op] = begins_at(&m, op) >= 0 || ends_before(&m, op) >= 0;
    return borders;
}

static enum hypar_status check_order(const struct hypar_plan *plan, struct hypar_error *err)
{
    for (int op = 1; op < plan->graph->n_ops; op++) {
        int stage = plan->ops[op].stage, before = plan->ops[op - 1].stage;
        if (stage != before && stage != before + 1)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s' is in stage %d behind one of stage %d; PyTorch cuts a "
                           "model in the order in which it runs",
                           plan->graph->ops[op].name, stage, before);
    }
    return HYPAR_OK;
}

/* Find where the stage with the first operator `op` begins. A module may have only one cut: for
 * a module that is a stage by itself, this is its end. So the caller goes from the last stage
 * to the first. */
static enum hypar_status find_cut(const struct torch_script *s, struct modules *m, int op,
                                  struct table_row *out, struct hypar_error *err)
{
    int begin = begins_at(m, op), end = ends_before(m, op);
    bool begins = begin >= 0 && !m->module[begin].cut;
    bool ends = !begins && end >= 0 && !m->module[end].cut;
    if (!begins && !ends)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       begin >= 0 || end >= 0
                           ? "op '%s': stage %d begins at a module that another one ends "
                             "with; PyTorch cuts a model once at each module"
                           : "op '%s': stage %d begins inside of a module; PyTorch cuts a "
                             "model between modules",
                       s->graph->ops[op].name, s->plan->ops[op].stage);
    struct module *module = &m->module[begins ? begin : end];
    module->cut = true;
    *out = (struct table_row){ path_of(module, s->arena),
                               begins ? "SplitPoint.BEGINNING" : "SplitPoint.END" };
    return HYPAR_OK;
}

enum hypar_status hp_torch_cuts(const struct torch_script *s, struct table_rows *out,
                                struct hypar_error *err)
{
    const struct hypar_plan *plan = s->plan;
    struct modules m = hp_find_modules(s->graph, s->arena);
    struct table_row *row = NEW(s->arena, struct table_row, plan->n_stages);
    TRY(check_order(plan, err));
    for (int op = s->graph->n_ops - 1; op > 0; op--)
        if (plan->ops[op].stage != plan->ops[op - 1].stage)
            TRY(find_cut(s, &m, op, &row[plan->ops[op].stage], err));
    for (int stage = 1; stage < plan->n_stages; stage++)
        hp_add_row(s->arena, out, row[stage].name, row[stage].text);
    return HYPAR_OK;
}

/* Modules gathered together --------------------------------------------------------------- */

void hp_torch_units(const struct torch_script *s, struct table_rows *out)
{
    struct modules m = hp_find_modules(s->graph, s->arena);
    struct table seen = { 0 };
    for (int op = 0; op < s->graph->n_ops; op++) {
        int unit = hp_op_has_params(s->graph, op) ? hp_unit_of(&m, op) : -1;
        if (unit < 0)
            continue;
        const char *path = hp_without_numbers(s->arena, path_of(&m.module[unit], s->arena));
        if (hp_table_put(&seen, s->arena, path, strlen(path), op) == op)
            hp_add_row(s->arena, out, path, "True");
    }
}
