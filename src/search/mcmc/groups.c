/* Which operators of a graph are best changed together. */
#include "search/mcmc/groups.h"

/* Following --------------------------------------------------------------------------- */

static bool multiplies(const struct nest *nest)
{
    for (int p = 0; p < nest->n_passes; p++)
        if (nest->pass[p].macs > 0)
            return true;
    return false;
}

/* The first operand that another operator writes, as a tensor; -1: there is none. */
static int first_input(const struct hypar_graph *g, int op)
{
    const struct op *o = &g->ops[op];
    for (int i = 0; i < o->nest->n_operands; i++)
        if (o->tensor[i] >= 0 && g->tensors[o->tensor[i]].kind == TENSOR_ACTIVATION &&
            g->tensors[o->tensor[i]].producer >= 0 && g->tensors[o->tensor[i]].producer != op)
            return o->tensor[i];
    return -1;
}

static void find_leaders(struct groups *s, struct arena *arena, const bool *fixed)
{
    const struct hypar_graph *g = s->graph;
    s->producer = NEW(arena, int, g->n_ops);
    s->via = NEW(arena, int, g->n_ops);
    s->leader = NEW(arena, int, g->n_ops);
    s->leaders = NEW(arena, int, g->n_ops);
    for (int op = 0; op < g->n_ops; op++) {
        bool leads = (fixed && fixed[op]) || multiplies(g->ops[op].nest);
        s->via[op] = leads ? -1 : first_input(g, op);
        s->producer[op] = s->via[op] < 0 ? -1 : g->tensors[s->via[op]].producer;
        s->leader[op] = s->producer[op] < 0 ? op : s->leader[s->producer[op]];
        if (s->leader[op] == op)
            s->leaders[s->n_leaders++] = op;
    }
}

static void list_members(struct groups *s, struct arena *arena)
{
    int n = s->graph->n_ops;
    int *at = NEW(arena, int, n);
    s->member_start = NEW(arena, int, n + 1);
    s->member = NEW(arena, int, n);
    for (int op = 0; op < n; op++)
        s->member_start[s->leader[op] + 1]++;
    for (int op = 0; op < n; op++) {
        s->member_start[op + 1] += s->member_start[op];
        at[op] = s->member_start[op];
    }
    for (int op = 0; op < n; op++)
        s->member[at[s->leader[op]]++] = op;
}

/* Families ---------------------------------------------------------------------------- */

static int root(int *parent, int op)
{
    while (parent[op] != op)
        op = parent[op] = parent[parent[op]];
    return op;
}

static void number_families(struct groups *s, struct arena *arena, int *parent)
{
    int n = s->graph->n_ops;
    int *size = NEW(arena, int, n), *at = NEW(arena, int, n + 1);
    for (int i = 0; i < s->n_leaders; i++)
        size[root(parent, s->leaders[i])]++;
    s->family_start = NEW(arena, int, n + 1);
    for (int op = 0; op < n; op++) {
        s->family[op] = -1;
        if (size[op] > 1 && parent[op] == op) {
            s->family[op] = s->n_families++;
            s->family_start[s->n_families] = s->family_start[s->n_families - 1] + size[op];
            at[s->family[op]] = s->family_start[s->n_families - 1];
        }
    }
    s->family_member = NEW(arena, int, n);
    for (int i = 0; i < s->n_leaders; i++) {
        int op = s->leaders[i];
        s->family[op] = s->family[root(parent, op)];
        if (s->family[op] >= 0)
            s->family_member[at[s->family[op]]++] = op;
    }
}

static void find_families(struct groups *s, struct arena *arena)
{
    const struct hypar_graph *g = s->graph;
    int *parent = NEW(arena, int, g->n_ops);
    s->family = NEW(arena, int, g->n_ops);
    for (int op = 0; op < g->n_ops; op++)
        parent[op] = op;
    for (int t = 0; t < g->n_tensors; t++) {
        int first = -1;
        for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++) {
            int op = g->use[u].op;
            if (g->tensors[t].kind != TENSOR_PARAM || s->leader[op] != op)
                continue;
            if (first >= 0 && first != op) {
                int a = root(parent, first), b = root(parent, op);
                parent[a > b ? a : b] = a < b ? a : b;
            }
            first = first < 0 ? op : first;
        }
    }
    number_families(s, arena, parent);
}

/* Branches ---------------------------------------------------------------------------- */

/* The only operator that reads what `op` writes; -1: none, or several. */
static int only_reader(const struct hypar_graph *g, int op)
{
    const struct op *o = &g->ops[op];
    int reader = -1;
    for (int i = 0; i < o->nest->n_operands; i++) {
        int t = o->tensor[i];
        if (t < 0 || g->tensors[t].producer != op || g->tensors[t].kind != TENSOR_ACTIVATION)
            continue;
        for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++) {
            if (reader >= 0 && g->use[u].op != reader)
                return -1;
            reader = g->use[u].op;
        }
    }
    return reader;
}

/* Is what `before` writes all that `op` reads of other operators? */
static bool reads_only(const struct hypar_graph *g, int op, int before)
{
    const struct op *o = &g->ops[op];
    for (int i = 0; i < o->nest->n_operands; i++) {
        int from = o->tensor[i] < 0 ? -1 : g->tensors[o->tensor[i]].producer;
        if (from >= 0 && from != op && from != before)
            return false;
    }
    return true;
}

static void find_branches(struct groups *s, struct arena *arena)
{
    int n = s->graph->n_ops;
    s->next = NEW(arena, int, n);
    s->before = NEW(arena, int, n);
    for (int op = 0; op < n; op++)
        s->next[op] = s->before[op] = -1;
    for (int op = 0; op < n; op++) {
        int reader = only_reader(s->graph, op);
        if (reader >= 0 && reads_only(s->graph, reader, op)) {
            s->next[op] = reader;
            s->before[reader] = op;
        }
    }
}

struct groups *hp_groups(struct arena *arena, const struct hypar_graph *graph,
                         const bool *fixed)
{
    struct groups *s = NEW(arena, struct groups, 1);
    s->graph = graph;
    find_leaders(s, arena, fixed);
    list_members(s, arena);
    find_families(s, arena);
    find_branches(s, arena);
    return s;
}
