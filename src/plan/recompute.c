/* Which operators are computed again instead of kept, by a word (Korthikanti et al., "Reducing
 * Activation Recomputation in Large Transformer Models", 2022). */
#include "plan/plan.h"

#include "graph/repeated.h"

/* The layer that an operator is in, -1: in none. */
static int layer_of(const struct repeated_layers *layers, int op)
{
    int at = op - layers->first;
    return at < 0 || at >= layers->count * layers->n_ops ? -1 : at / layers->n_ops;
}

/* Is what an operator writes read in another layer than its own? */
static bool leaves_layer(const struct hypar_graph *g, const struct repeated_layers *layers,
                         int op)
{
    for (int o = g->ops[op].nest->n_inputs; o < g->ops[op].nest->n_operands; o++) {
        int t = g->ops[op].tensor[o];
        for (int u = t < 0 ? 0 : g->use_start[t]; t >= 0 && u < g->use_start[t + 1]; u++)
            if (layer_of(layers, g->use[u].op) != layer_of(layers, op))
                return true;
    }
    return false;
}

/* All of a repeated layer but what crosses its border. */
static void mark_layers(struct hypar_plan *plan)
{
    struct repeated_layers layers = hp_repeated_layers(plan->graph);
    for (int op = 0; op < plan->graph->n_ops; op++)
        plan->ops[op].recompute =
            layer_of(&layers, op) >= 0 && !leaves_layer(plan->graph, &layers, op);
}

/* The only operator that reads what `op` writes, -1: there are others. */
static int only_reader(const struct hypar_graph *g, int op)
{
    int reader = -1;
    for (int o = g->ops[op].nest->n_inputs; o < g->ops[op].nest->n_operands; o++) {
        int t = g->ops[op].tensor[o];
        if (t < 0 || g->ops[op].nest->operand[o].role != OPERAND_OUTPUT)
            continue;
        for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++) {
            if (reader >= 0 && reader != g->use[u].op)
                return -1;
            reader = g->use[u].op;
        }
    }
    return reader;
}

/* The producer of an operator's first input that nobody else reads, -1. */
static int only_producer(const struct hypar_graph *g, int op)
{
    int t = g->ops[op].tensor[0], from = t < 0 ? -1 : g->tensors[t].producer;
    return from >= 0 && only_reader(g, from) == op ? from : -1;
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
    int at = only_reader(g, op);
    while (at >= 0 && g->ops[at].kind != OP_MATMUL && !hp_multiplies(g->ops[at].nest))
        at = only_reader(g, at);
    return at >= 0 && g->ops[at].kind == OP_MATMUL ? at : -1;
}

/* Scores, softmax and its dropout, where attention is written out. */
static void mark_attention(struct hypar_plan *plan)
{
    const struct hypar_graph *g = plan->graph;
    for (int op = 0; op < g->n_ops; op++) {
        int scores = g->ops[op].kind == OP_SOFTMAX ? scores_of(g, op) : -1;
        int product = scores < 0 ? -1 : product_of(g, op);
        for (int at = scores; product >= 0 && at != product; at = only_reader(g, at))
            plan->ops[at].recompute = true;
    }
}

void hp_plan_set_recompute(struct hypar_plan *plan, enum hypar_recompute recompute)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        plan->ops[op].recompute = false;
    if (recompute == HYPAR_RECOMPUTE_FULL)
        mark_layers(plan);
    if (recompute == HYPAR_RECOMPUTE_SELECTIVE)
        mark_attention(plan);
}
