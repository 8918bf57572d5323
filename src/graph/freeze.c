/* Freezing parameters: no gradient is computed for a frozen parameter, nor for a tensor that
 * depends on no trained one. */
#include <fnmatch.h>
#include <string.h>

#include "graph/graph.h"

/* Freeze the parameters that match `pattern`; returns their number. */
static int freeze(struct hypar_graph *g, const char *pattern)
{
    int n = 0;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM &&
            fnmatch(pattern, g->tensors[t].name, 0) == 0) {
            g->tensors[t].needs_grad = false;
            n++;
        }
    return n;
}

/* The output of an operator needs a gradient only if one of its inputs still does. */
static void follow(struct hypar_graph *g)
{
    for (int i = 0; i < g->n_ops; i++) {
        const struct op *op = &g->ops[i];
        bool any = false;
        for (int o = 0; o < op->nest->n_inputs; o++)
            any |= op->tensor[o] >= 0 && g->tensors[op->tensor[o]].needs_grad;
        for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++)
            g->tensors[op->tensor[o]].needs_grad &= any;
    }
}

enum hypar_status hp_graph_freeze(struct hypar_graph *g, const char *patterns,
                                  struct hypar_error *err)
{
    struct arena scratch = { 0 };
    enum hypar_status status = HYPAR_OK;
    for (const char *p = patterns; *p && status == HYPAR_OK;) {
        size_t n = strcspn(p, ",");
        if (!freeze(g, hp_arena_strndup(&scratch, p, n)))
            status = hp_fail(err, HYPAR_INVALID, "%s: no parameter to freeze fits '%.*s'",
                             g->name, (int)(n < 80 ? n : 80), p);
        p += n + (p[n] == ',');
    }
    hp_arena_free(&scratch);
    TRY(status);
    follow(g);
    bool any = false;
    for (int t = 0; t < g->n_tensors; t++)
        any |= g->tensors[t].kind == TENSOR_PARAM && g->tensors[t].needs_grad;
    if (!any)
        return hp_fail(err, HYPAR_INVALID,
                       "%s: all parameters are frozen, expected one to train", g->name);
    g->frozen = hp_arena_strdup(&g->arena, patterns);
    return HYPAR_OK;
}
