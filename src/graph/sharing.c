/* Operators that share parameters: sets by union-find, which also record whether a member reads
 * its parameters transposed. */
#include "graph/graph.h"

/* The operator that represents the set of `op`, and whether `op` reads transposed relative to
 * it. Paths are halved on the way. */
static int root(struct sharing *s, int op, bool *transposed)
{
    *transposed = false;
    while (s[op].first != op) {
        struct sharing up = s[s[op].first];
        s[op] = (struct sharing){ up.first, s[op].transposed != up.transposed };
        *transposed ^= s[op].transposed;
        op = up.first;
    }
    return op;
}

/* Does an operator sum over dimension 0 of the parameter that it reads? */
static bool sums_rows(const struct hypar_graph *g, const struct use *use)
{
    const struct nest *nest = g->ops[use->op].nest;
    const struct dim_map *rows = &nest->operand[use->operand].dim[0];
    return rows->n_axes && nest->axis[rows->axis[0]].role == HYPAR_REDUCTION;
}

static void join(struct sharing *s, const struct hypar_graph *g, const struct use *first,
                 const struct use *use)
{
    bool as, bs;
    int a = root(s, first->op, &as), b = root(s, use->op, &bs);
    bool transposed = (sums_rows(g, first) != sums_rows(g, use)) != (as != bs);
    if (a != b)
        s[a > b ? a : b] = (struct sharing){ a < b ? a : b, transposed };
}

struct sharing *hp_sharing(struct arena *arena, const struct hypar_graph *g,
                           const bool *counted)
{
    struct sharing *s = NEW(arena, struct sharing, g->n_ops);
    bool transposed;
    for (int op = 0; op < g->n_ops; op++)
        s[op].first = op;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct use *first = NULL;
        for (int u = g->use_start[t];
             g->tensors[t].kind == TENSOR_PARAM && u < g->use_start[t + 1]; u++) {
            if (counted && !counted[g->use[u].op])
                continue;
            if (first)
                join(s, g, first, &g->use[u]);
            else
                first = &g->use[u];
        }
    }
    for (int op = 0; op < g->n_ops; op++) {
        int first = root(s, op, &transposed);
        s[op] = (struct sharing){ first, transposed };
    }
    return s;
}
