/* Finds operators of a graph that are best changed together. */
#include "search/mcmc/groups.h"

#include "base/csr.h"

/* Following --------------------------------------------------------------------------- */

/* The tensor of the first operand that another operator writes; -1: none. */
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
        bool leads = (fixed && fixed[op]) || hp_multiplies(g->ops[op].nest);
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
    struct csr members = hp_csr_by(arena, n, s->leader, 1, n);
    s->member_start = members.start;
    s->member = members.item;
}

/* Find the families, in the order of their first members. */
static void find_families(struct groups *s, struct arena *arena)
{
    int n = s->graph->n_ops;
    bool *leads = NEW(arena, bool, n);
    for (int i = 0; i < s->n_leaders; i++)
        leads[s->leaders[i]] = true;
    const struct sharing *sharing = hp_sharing(arena, s->graph, leads);
    s->family = NEW(arena, int, n);
    s->family_start = hp_csr(arena, n);
    s->family_member = NEW(arena, int, n);
    int *size = NEW(arena, int, n);
    for (int op = 0; op < n; op++)
        size[sharing[op].first]++;
    for (int op = 0; op < n; op++) {
        int first = sharing[op].first;
        s->family[op] = size[first] < 2 ? -1 : first == op ? s->n_families++ : s->family[first];
        if (s->family[op] >= 0)
            hp_csr_count(s->family_start, s->family[op]);
    }
    hp_csr_sum(s->family_start, s->n_families);
    for (int op = 0; op < n; op++)
        if (s->family[op] >= 0)
            s->family_member[hp_csr_place(s->family_start, s->family[op])] = op;
}

/* Branches ---------------------------------------------------------------------------- */

/* Does `op` read from no other operator than `before`? */
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
        int reader = hp_only_reader(s->graph, op);
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
