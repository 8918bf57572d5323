/* Which operators are computed again instead of kept, by a word (Korthikanti et al., "Reducing
 * Activation Recomputation in Large Transformer Models", 2022). */
#include "plan/plan.h"

#include <string.h>

#include "graph/structure/repeated.h"

/* The length of the name of the outermost module around an operator that is called and is an
 * element of a list ("layers.3"); 0: there is none. */
static size_t module_of(const struct hypar_graph *g, const char *name)
{
    for (size_t at = 0; g->n_modules > 0 && name[at];) {
        size_t part = strcspn(name + at, "."), digits = strspn(name + at, "0123456789");
        at += part;
        if (part > 0 && digits == part && hp_table_get(&g->module_at, name, at) >= 0)
            return at;
        at += name[at] == '.';
    }
    return 0;
}

/* By operator, the layer that it is in, -1: in none. Models of PyTorch have their layers in
 * lists, which may differ in an operator (t5's first has the positions' bias). */
static void find_modules(struct arena *arena, const struct hypar_graph *g, int *layer)
{
    struct table known = { 0 };
    for (int op = 0; op < g->n_ops; op++) {
        const char *name = g->ops[op].name;
        size_t length = module_of(g, name);
        layer[op] = length ? hp_table_put(&known, arena, name, length, op) : -1;
    }
}

static void find_repeated(const struct hypar_graph *g, int *layer)
{
    struct repeated_layers layers = hp_repeated_layers(g);
    for (int op = 0; op < g->n_ops; op++) {
        int at = op - layers.first;
        bool outside = at < 0 || at >= layers.count * layers.n_ops;
        layer[op] = outside ? -1 : at / layers.n_ops;
    }
}

/* Is what an operator writes read in another layer than its own? */
static bool leaves_layer(const struct hypar_graph *g, const int *layer, int op)
{
    for (int o = g->ops[op].nest->n_inputs; o < g->ops[op].nest->n_operands; o++) {
        int t = g->ops[op].tensor[o];
        for (int u = t < 0 ? 0 : g->use_start[t]; t >= 0 && u < g->use_start[t + 1]; u++)
            if (layer[g->use[u].op] != layer[op])
                return true;
    }
    return false;
}

/* All of the layers but what crosses their borders; false: that is nothing. `some`: attention
 * is kept, too, and a layer's first, third, ... product. */
static bool mark_layers(struct hypar_plan *plan, const int *layer, bool some)
{
    const struct hypar_graph *g = plan->graph;
    bool any = false;
    int products = 0;
    for (int op = 0; op < g->n_ops; op++) {
        enum op_kind kind = g->ops[op].kind;
        products = op > 0 && layer[op] != layer[op - 1] ? 0 : products;
        products += kind == OP_LINEAR;
        bool kept = some && (kind == OP_ATTENTION || (kind == OP_LINEAR && products % 2 == 1));
        plan->ops[op].recompute = layer[op] >= 0 && !kept && !leaves_layer(g, layer, op);
        any |= plan->ops[op].recompute;
    }
    return any;
}

static void mark_all_layers(struct hypar_plan *plan, bool some)
{
    struct arena scratch = { 0 };
    int *layer = NEW(&scratch, int, plan->graph->n_ops);
    find_modules(&scratch, plan->graph, layer);
    if (!mark_layers(plan, layer, some)) {
        find_repeated(plan->graph, layer);
        mark_layers(plan, layer, some);
    }
    hp_arena_free(&scratch);
}

/* The producer of an operator's first input that nobody else reads, -1. */
static int only_producer(const struct hypar_graph *g, int op)
{
    int t = g->ops[op].tensor[0], from = t < 0 ? -1 : g->tensors[t].producer;
    return from >= 0 && hp_only_reader(g, from) == op ? from : -1;
}

/* The product that scores come from, before the softmax `op` and what only scales or masks
 * them; -1: they do not come from one. */
static int scores_of(const struct hypar_graph *g, int op)
{
    int at = only_producer(g, op);
    while (at >= 0 && g->ops[at].kind != OP_MATMUL && !hp_multiplies(g->ops[at].nest))
        at = only_producer(g, at);
    return at >= 0 && g->ops[at].kind == OP_MATMUL ? at : -1;
}

/* The product with v, after the softmax and its dropout; -1: there is none. */
static int product_of(const struct hypar_graph *g, int op)
{
    int at = hp_only_reader(g, op);
    while (at >= 0 && g->ops[at].kind != OP_MATMUL && !hp_multiplies(g->ops[at].nest))
        at = hp_only_reader(g, at);
    return at >= 0 && g->ops[at].kind == OP_MATMUL ? at : -1;
}

/* Scores, softmax and its dropout, where attention is written out. */
static void mark_attention(struct hypar_plan *plan)
{
    const struct hypar_graph *g = plan->graph;
    for (int op = 0; op < g->n_ops; op++) {
        int scores = g->ops[op].kind == OP_SOFTMAX ? scores_of(g, op) : -1;
        int product = scores < 0 ? -1 : product_of(g, op);
        for (int at = scores; product >= 0 && at != product; at = hp_only_reader(g, at))
            plan->ops[at].recompute = true;
    }
}

void hp_plan_set_recompute(struct hypar_plan *plan, enum hypar_recompute recompute)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        plan->ops[op].recompute = false;
    bool products = plan->simulation.framework.selective == HYPAR_SELECTIVE_PRODUCTS;
    if (recompute == HYPAR_RECOMPUTE_FULL)
        mark_all_layers(plan, false);
    if (recompute == HYPAR_RECOMPUTE_SELECTIVE && products)
        mark_all_layers(plan, true);
    else if (recompute == HYPAR_RECOMPUTE_SELECTIVE)
        mark_attention(plan);
}
