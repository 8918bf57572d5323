/* Batch norm over each replica's own samples, as frameworks do it: data parallelism over g
 * devices is then what one device computes in g micro-batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <math.h>

#include "run/interpret.h"
#include "run/reference.h"
#include "tests/random_graph.h"

enum { GRAPHS = 60, MAX_REPLICAS = 6 };

/* The samples of every operator over all devices; what has no samples is computed by each. */
static void split_samples(struct hypar_plan *plan, int replicas)
{
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct nest *nest = plan->graph->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int axis = nest->n_axes - 1;
        for (int a = 0; a < nest->n_axes; a++)
            if (nest->axis[a].role == HYPAR_SAMPLE)
                axis = a;
        split.degree[axis] = replicas;
        hp_plan_set(plan, op, &split, NULL);
    }
}

/* Can the graph run in micro-batches, that is: does nothing but batch norm mix samples? */
static bool divides(const struct hypar_graph *graph, const struct hypar_machine *machine,
                    int micro_batches)
{
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct plan_settings){ 0 });
    struct hypar_program *program;
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .micro_batches = micro_batches });
    bool ok = hypar_lower(&program, plan, NULL, NULL) == HYPAR_OK;
    hypar_program_free(program);
    hypar_plan_free(plan);
    return ok;
}

/* What a device holds against the micro-batch of its number. A gradient without samples is
 * summed over devices, but not over micro-batches, unless it is a parameter's. */
static void compare(const struct hypar_graph *graph, const struct interpreter *it,
                    const struct reference_run *reference, int device, int tensor, bool grad)
{
    const struct tensor *t = &graph->tensors[tensor];
    struct place place = { tensor, grad };
    const struct view *held = hp_interpreter_view(it, device, place, 0);
    const double *right = hp_reference_view(reference, place, device)->data;
    double loss = hp_reference_loss(reference, 0);
    if (!held || t->index || (grad && t->sample_dim < 0 && t->kind != TENSOR_PARAM))
        return;
    if (tensor == graph->loss)
        right = &loss;
    for (int64_t i = 0; i < hp_box_elements(&held->box); i++) {
        double value = ((const double *)held->data)[i];
        if (!isnan(value) && !(fabs(value - right[i]) <= 1e-9 * (1e-3 + fabs(right[i]))))
            fail_msg("device %d: %s'%s' element %lld is %.17g, expected %.17g", device,
                     grad ? "the gradient of " : "", t->name, (long long)i, value, right[i]);
    }
}

static void check(const struct hypar_graph *graph, const struct hypar_machine *machine,
                  int replicas, uint64_t seed)
{
    struct arena arena = { 0 };
    struct hypar_error err;
    struct hypar_program *program;
    struct run_data data = hp_random_data(&arena, graph, REAL_F64, seed);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct plan_settings){ 0 });
    split_samples(plan, replicas);
    if (hypar_lower(&program, plan, &(struct hypar_lower_options){ .local_bn = true }, &err))
        fail_msg("%s", err.text);
    struct optimizer sgd = hp_optimizer(HYPAR_SGD);
    struct interpreter *it = hp_interpreter_new(
        program, &data, &(struct interpret_settings){ .optimizer = sgd, .seed = seed });
    struct reference_run *reference =
        hp_reference_new(graph, &data,
                         &(struct reference_settings){
                             .micro_batches = replicas, .optimizer = sgd, .seed = seed });
    if (hp_interpret_step(it, &err))
        fail_msg("%s", err.text);
    hp_reference_step(reference);
    for (int d = 0; d < replicas; d++)
        for (int t = 0; t < graph->n_tensors; t++)
            for (int grad = 0; grad < 2; grad++)
                if (graph->tensors[t].kind != TENSOR_STAT)
                    compare(graph, it, reference, d, t, grad);
    hp_reference_free(reference);
    hp_interpreter_free(it);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hp_arena_free(&arena);
}

static void replicas_are_micro_batches(void **state)
{
    (void)state;
    struct hypar_machine *machine[MAX_REPLICAS + 1];
    for (int n = 1; n <= MAX_REPLICAS; n++) {
        char word[16];
        snprintf(word, sizeof word, "full:%d", n);
        assert_int_equal(hypar_machine_read(&machine[n], word, NULL), HYPAR_OK);
    }
    int checked = 0;
    for (uint64_t seed = 1; checked < GRAPHS; seed++) {
        struct random random = { seed };
        struct hypar_graph *graph = random_graph(&random, OP_BATCH_NORM);
        int replicas = (int)graph->batch;
        if (one_in(&random, 2) && replicas % 2 == 0)
            replicas /= 2;
        if (replicas > 1 && divides(graph, machine[1], replicas)) {
            check(graph, machine[replicas], replicas, seed);
            checked++;
        }
        hypar_graph_free(graph);
    }
    for (int n = 1; n <= MAX_REPLICAS; n++)
        hypar_machine_free(machine[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_micro_batches),
    };
    return cmocka_run_group_tests_name("program: local batch norm", tests, NULL, NULL);
}
