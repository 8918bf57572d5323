#include "tests/all_reduces.h"

#include "cost/collective.h"

double all_reduces_s(const struct hypar_plan *plan, const char *name)
{
    struct arena arena = { 0 };
    int n = hypar_machine_device_count(plan->machine);
    struct comm_group group = { COMM_ALL_REDUCE, n, plan->all_devices, 0 };
    const struct comm_model *model = hp_comm_model_named(&arena, plan->machine, &group, name);
    double sum_s = 0;
    for (int t = 0; t < plan->graph->n_tensors; t++) {
        const struct tensor *tensor = &plan->graph->tensors[t];
        if (tensor->kind != TENSOR_PARAM && t != plan->graph->loss)
            continue;
        double bytes = 4 * (double)hp_shape_elements(&tensor->shape);
        const struct comm_way *way = hp_comm_best_way(model, bytes);
        sum_s += way->fixed_s + bytes * way->s_per_byte;
    }
    hp_arena_free(&arena);
    return sum_s;
}
