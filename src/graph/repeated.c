/* Finding repeated layers: the sequence of operators is compared with itself, shifted. Equal
 * operators share a nest. */
#include "graph/repeated.h"

int64_t *hp_crossing(struct arena *arena, const struct hypar_graph *graph, bool elements)
{
    int64_t *crossing = NEW(arena, int64_t, graph->n_ops + 1);
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct tensor *tensor = &graph->tensors[t];
        int from = graph->use_start[t], end = graph->use_start[t + 1];
        if (tensor->kind != TENSOR_ACTIVATION || from == end)
            continue;
        int64_t each = elements ? hp_shape_elements(&tensor->shape) : 1;
        crossing[tensor->producer + 1] += each;
        crossing[graph->use[end - 1].op + 1] -= each;
    }
    for (int i = 1; i <= graph->n_ops; i++)
        crossing[i] += crossing[i - 1];
    return crossing;
}

/* Find the longest run with this period, if it is longer than the best so far. */
static void look_for(const struct hypar_graph *graph, int period, struct repeated_layers *best,
                     int *spare)
{
    int run = 0;
    for (int i = period; i <= graph->n_ops; i++) {
        if (i < graph->n_ops && graph->ops[i].nest == graph->ops[i - period].nest) {
            run++;
            continue;
        }
        int count = run / period + 1;
        if (count > 1 && count * period > best->count * best->n_ops) {
            *best = (struct repeated_layers){ i - run - period, period, count };
            *spare = run % period;
        }
        run = 0;
    }
}

/* Where a layer may begin, within `spare` operators of the first position. */
static int least_crossing(const struct hypar_graph *graph, const struct repeated_layers *layers,
                          int spare)
{
    struct arena scratch = { 0 };
    const int64_t *crossing = hp_crossing(&scratch, graph, true);
    int best = 0;
    for (int shift = 1; shift <= spare; shift++) /* where the second layer begins */
        if (crossing[layers->first + layers->n_ops + shift] <
            crossing[layers->first + layers->n_ops + best])
            best = shift;
    hp_arena_free(&scratch);
    return layers->first + best;
}

struct repeated_layers hp_repeated_layers(const struct hypar_graph *graph)
{
    struct repeated_layers best = { 0 };
    struct arena scratch = { 0 };
    int *last = NEW(&scratch, int,
                    graph->n_nests); /* by nest: the operator after the last one with it */
    bool *tried = NEW(&scratch, bool, graph->n_ops);
    int spare = 0;
    for (int i = 0; i < graph->n_ops; i++) {
        int *before = &last[graph->ops[i].nest->id];
        int period = *before ? i + 1 - *before : 0;
        *before = i + 1;
        if (period && !tried[period])
            look_for(graph, period, &best, &spare);
        tried[period] = true;
    }
    hp_arena_free(&scratch);
    if (best.count > 0 && spare > 0)
        best.first = least_crossing(graph, &best, spare);
    return best;
}

static bool are_borders(const struct repeated_layers *layers, const bool *borders, int moved)
{
    for (int i = 1; i < layers->count; i++)
        if (!borders[layers->first + moved + i * layers->n_ops])
            return false;
    return true;
}

bool hp_layers_at_borders(const struct repeated_layers *layers, const bool *borders, int *moved)
{
    *moved = 0;
    for (int by = 0; borders && 2 * by <= layers->n_ops; by++)
        for (int sign = 1; sign >= -1; sign -= 2)
            if (are_borders(layers, borders, sign * by)) {
                *moved = sign * by;
                return true;
            }
    return !borders;
}
