#include "tests/random_data.h"

#include "base/random.h"

static void fill(const struct hypar_graph *graph, int t, void *data, enum real real,
                 uint64_t seed)
{
    struct random random = { seed ^ (uint64_t)t * 0x9e3779b97f4a7c15u };
    int64_t n = hp_shape_elements(&graph->tensors[t].shape);
    if (graph->tensors[t].kind == TENSOR_STAT) { /* pairs of a mean and a variance */
        for (int64_t i = 0; i < n; i++)
            hp_put(data, i, i % 2 ? 0.5 + hp_random_unit(&random) : hp_random_unit(&random),
                   real);
        return;
    }
    if (graph->tensors[t].index) {
        int64_t below = hp_integers_below(graph, t);
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)data)[i] = (int32_t)hp_random_below(&random, below);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        hp_put(data, i, 2 * hp_random_unit(&random) - 1, real);
}

struct run_data random_data(struct arena *arena, const struct hypar_graph *graph,
                            enum real real, uint64_t seed)
{
    struct view *tensor = NEW(arena, struct view, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct tensor *info = &graph->tensors[t];
        if (info->kind != TENSOR_PARAM && info->kind != TENSOR_INPUT &&
            !hp_is_running(graph, t))
            continue;
        size_t bytes =
            (size_t)hp_shape_elements(&info->shape) * hp_tensor_element_bytes(graph, t, real);
        /* doubles, so that memory is aligned for every precision */
        struct box box = hp_shape_box(&info->shape);
        tensor[t] = hp_dense_view(
            NEW(arena, double, (bytes + sizeof(double) - 1) / sizeof(double)), &box);
        fill(graph, t, tensor[t].data, real, seed);
    }
    return (struct run_data){ real, tensor };
}
