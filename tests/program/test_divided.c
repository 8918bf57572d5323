/* Sharded state: bytes sent and memory used, in closed form. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <hypar/search.h>

#include "program/lowering.h"
#include "program/memory/memory.h"

enum { DEGREE = 4 };

static struct hypar_plan *data_parallel(const char *model, int degree, int tensor,
                                        struct hypar_graph **graph,
                                        struct hypar_machine **machine)
{
    struct hypar_error err;
    struct hypar_import_options options = { .batch = 2 * degree };
    char word[32];
    snprintf(word, sizeof word, "full:%d", degree * tensor);
    if (hypar_import(graph, model, &options, &err) != HYPAR_OK ||
        hypar_machine_read(machine, word, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct hypar_plan_settings settings = { .precision = HYPAR_BF16, .optimizer = HYPAR_ADAM };
    struct hypar_plan *plan = hp_plan_new(*graph, *machine, &settings);
    for (int op = 0; op < (*graph)->n_ops; op++) {
        const struct nest *nest = (*graph)->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int n = hp_nest_axis(nest, 'n'), k = hp_nest_axis(nest, 'k'),
            r = hp_nest_axis(nest, 'r');
        if (n >= 0 && nest->axis[n].splittable)
            split.degree[n] = degree;
        else
            split.degree[r] = degree;
        if (tensor > 1 && (*graph)->ops[op].kind == OP_LINEAR && k >= 0 &&
            nest->axis[k].splittable && nest->axis[k].extent % tensor == 0)
            split.degree[k] = tensor;
        else if (tensor > 1)
            split.degree[r] = tensor * (split.degree[r] > 1 ? split.degree[r] : 1);
        hp_plan_set(plan, op, &split, NULL);
    }
    return plan;
}

/* By the pieces of each parameter: bytes in a step of one micro-batch, and of what is kept. */
struct right {
    double gradients, parameters;
};

/* Passes of a half read a parameter? */
static bool reads(const struct hypar_program *p, int tensor, bool backward)
{
    const struct hypar_graph *g = p->plan->graph;
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++) {
        const struct op *op = &g->ops[g->use[u].op];
        for (int pass = 0; pass < op->nest->n_passes; pass++)
            if (op->nest->pass[pass].backward == backward &&
                p->lowering->training.passes[g->use[u].op] >> pass & 1 &&
                op->nest->pass[pass].reads >> g->use[u].operand & 1)
                return true;
    }
    return false;
}

/* The table of the plan's format: a piece with g holders in groups of s, r of them. The bytes
 * of gradients where all holders have a part in them, which samples that are split see to. */
static struct right expected(const struct hypar_program *undivided, enum hypar_shard shard,
                             int over)
{
    const struct training_graph *k = &undivided->lowering->training;
    struct right right = { 0, 0 };
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_sums; d++) {
        const struct pattern *p = hp_exchange_pattern(undivided->lowering, 0, d);
        int tensor = k->exchange[d].place.tensor;
        for (int c = 0; k->exchange[d].place.grad && c < p->n_cells; c++) {
            const struct cell *cell = &p->cell[c];
            int g = cell->n_receivers + cell->n_kept, s = over && g > 1 ? over : g, r = g / s;
            double bytes = 2.0 * (double)cell->elements;
            int halves = shard == HYPAR_SHARD_PARAMETERS
                             ? reads(undivided, tensor, false) + reads(undivided, tensor, true)
                             : 1;
            right.gradients += (g - 1) * bytes + (r - 1) * bytes;
            right.parameters += halves * (g - r) * bytes;
        }
    }
    return right;
}

static void check_bytes(struct hypar_plan *plan, enum hypar_shard shard, int over)
{
    struct hypar_program *whole, *divided;
    struct hypar_error err;
    struct hypar_lower_options local = { .local_bn = true };
    assert_int_equal(hypar_plan_shard_all(plan, HYPAR_SHARD_NONE, 0, &err), HYPAR_OK);
    assert_int_equal(hypar_lower(&whole, plan, &local, &err), HYPAR_OK);
    if (hypar_plan_shard_all(plan, shard, over, &err) != HYPAR_OK ||
        hypar_lower(&divided, plan, &local, &err) != HYPAR_OK)
        fail_msg("%s, %s: %s", plan->graph->name, hypar_shard_text(shard), err.text);
    struct right right = expected(whole, shard, over);
    struct hypar_program_totals totals = hypar_program_totals(divided);
    if (totals.gradient_bytes != right.gradients || totals.parameter_bytes != right.parameters)
        fail_msg(
            "%s, %s over %d: %.0f bytes of gradients and %.0f of parameters, expected %.0f "
            "and %.0f",
            plan->graph->name, hypar_shard_text(shard), over, totals.gradient_bytes,
            totals.parameter_bytes, right.gradients, right.parameters);
    hypar_program_free(whole);
    hypar_program_free(divided);
}

/* 4 + 12/N, 2 + 14/N, 16/N bytes for each parameter, to the rounding of pieces. */
static void check_memory(struct hypar_plan *plan, enum hypar_shard shard)
{
    static const double whole[] = { 16, 4, 2, 0 }, divided[] = { 0, 12, 14, 16 };
    struct hypar_program *program;
    struct hypar_error err;
    struct hypar_lower_options local = { .local_bn = true };
    assert_int_equal(hypar_plan_shard_all(plan, shard, 0, &err), HYPAR_OK);
    assert_int_equal(hypar_lower(&program, plan, &local, &err), HYPAR_OK);
    struct memory_model *model = hp_memory(program, NULL);
    double params = (double)hypar_graph_params(plan->graph), rounding = 0;
    for (int t = 0; t < plan->graph->n_tensors; t++)
        rounding += plan->graph->tensors[t].kind == TENSOR_PARAM ? divided[shard] : 0;
    for (int d = 0; d < DEGREE; d++) {
        const struct hypar_memory *m = &model->device[d];
        double found = m->parameters + m->gradients + m->optimizer;
        double right = params * (whole[shard] + divided[shard] / DEGREE);
        if (fabs(found - right) > rounding)
            fail_msg("%s, %s: device %d has %.0f bytes of state, expected %.0f to %.0f",
                     plan->graph->name, hypar_shard_text(shard), d, found, right, rounding);
    }
    hp_memory_free(model);
    hypar_program_free(program);
}

static void whole_zoo(void **state)
{
    (void)state;
    for (int i = 0; i < hypar_model_count(); i++) {
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_plan *plan =
            data_parallel(hypar_model_at(i).name, DEGREE, 1, &graph, &machine);
        for (int shard = HYPAR_SHARD_OPTIMIZER; shard < HYPAR_SHARD_COUNT; shard++) {
            check_bytes(plan, (enum hypar_shard)shard, 0);
            check_bytes(plan, (enum hypar_shard)shard, 2);
            check_memory(plan, (enum hypar_shard)shard);
        }
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* What copies have already of a gradient is not sent, nor a piece of a parameter in a half to
 * holders that do not read it there: no more than the table says. */
static void with_tensor_parallelism(void **state)
{
    (void)state;
    static const char *const models[] = { "mlp:64-64-32-8",
                                          "gpt:layers=2,hidden=32,heads=2,seq=16,vocab=64" };
    for (int i = 0; i < 2; i++) {
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_plan *plan = data_parallel(models[i], 2, 2, &graph, &machine);
        for (int shard = HYPAR_SHARD_OPTIMIZER; shard < HYPAR_SHARD_COUNT; shard++) {
            struct hypar_program *whole, *divided;
            struct hypar_error err;
            assert_int_equal(hypar_plan_shard_all(plan, HYPAR_SHARD_NONE, 0, &err), HYPAR_OK);
            assert_int_equal(hypar_lower(&whole, plan, NULL, &err), HYPAR_OK);
            assert_int_equal(hypar_plan_shard_all(plan, (enum hypar_shard)shard, 0, &err),
                             HYPAR_OK);
            assert_int_equal(hypar_lower(&divided, plan, NULL, &err), HYPAR_OK);
            struct right right = expected(whole, (enum hypar_shard)shard, 0);
            struct hypar_program_totals totals = hypar_program_totals(divided);
            bool half = shard == HYPAR_SHARD_PARAMETERS && i == 1; /* its embedding is shared */
            if (half ? totals.parameter_bytes >= right.parameters
                     : totals.parameter_bytes != right.parameters)
                fail_msg("%s, %s: %.0f bytes of parameters, expected %.0f", models[i],
                         hypar_shard_text((enum hypar_shard)shard), totals.parameter_bytes,
                         right.parameters);
            assert_true(totals.gradient_bytes > 0 && totals.gradient_bytes <= right.gradients);
            hypar_program_free(whole);
            hypar_program_free(divided);
        }
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* Devices that divide a layer have copies of a norm's gradient: for a sum in pieces each takes
 * part in one group, with those that have its place in the other replicas. */
static void copies_sum_in_groups(void **state)
{
    (void)state;
    enum { REPLICAS = 4, TENSOR = 2 };
    struct hypar_import_options import = { .batch = 8 };
    struct hypar_search_options how = { .planner = "3d",
                                        .layout = { .data = REPLICAS, .tensor = TENSOR },
                                        .shard = HYPAR_SHARD_GRADIENTS,
                                        .shard_given = true };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_program *program;
    struct hypar_error err;
    int sums = 0;
    if (hypar_import(&graph, "gpt:layers=2,hidden=32,heads=2,seq=16,vocab=64", &import, &err) ||
        hypar_machine_read(&machine, "full:8", &err) ||
        hypar_search(&found, graph, machine, &how, &err) ||
        hypar_lower(&program, hypar_found_plan(found), NULL, &err))
        fail_msg("%s", err.text);
    const struct training_graph *k = &program->lowering->training;
    for (int d = 0; d < k->n_exchanges + k->n_sums; d++) {
        const struct pattern *p = hp_exchange_pattern(program->lowering, 0, d);
        if (!k->exchange[d].place.grad || k->exchange[d].division == DIVIDE_NOT || !p->n_comms)
            continue;
        assert_in_range(p->n_comms, 1, TENSOR);
        for (int c = 0; c < p->n_comms; c++)
            assert_int_equal(p->comm[c].n_devices, REPLICAS);
        sums++;
    }
    assert_true(sums > 0);
    hypar_program_free(program);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* A framework divides rows: a parameter whose rows three devices do not divide evenly is sent
 * as if it had rows for all, and the first device has most of it. */
static void rows_are_padded(void **state)
{
    (void)state;
    enum { HOLDERS = 3, INPUTS = 7, OUTPUTS = 5, ROWS = 3 }; /* of 7 rows 3, 3, 1 */
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_program *program;
    struct hypar_error err;
    struct hypar_plan *plan = data_parallel("mlp:7-5", HOLDERS, 1, &graph, &machine);
    plan->simulation.framework.row_shards = true;
    plan->simulation.framework.memory.bare = true;
    assert_int_equal(hypar_plan_shard_all(plan, HYPAR_SHARD_GRADIENTS, 0, &err), HYPAR_OK);
    assert_int_equal(hypar_lower(&program, plan, NULL, &err), HYPAR_OK);
    struct hypar_program_totals totals = hypar_program_totals(program);
    double weight = ROWS * HOLDERS * OUTPUTS, bias = 2 * HOLDERS; /* with padding, in bf16 */
    double sent = (HOLDERS - 1) * 2 * (weight + bias),
           whole = (HOLDERS - 1) * 2 * (INPUTS * OUTPUTS + OUTPUTS);
    assert_true(totals.gradient_bytes == sent && totals.parameter_bytes == sent);
    assert_true(totals.padding_bytes == 2 * (sent - whole));
    struct memory_model *model = hp_memory(program, NULL);
    double each[HOLDERS] = { 3 * OUTPUTS + 2, 3 * OUTPUTS + 2, OUTPUTS + 1 };
    double bytes[HOLDERS];
    hypar_plan_state_bytes(plan, bytes);
    for (int d = 0; d < HOLDERS; d++) { /* Adam: 12 bytes of state, 2 of the gradient */
        const struct hypar_memory *m = &model->device[d];
        assert_true(m->optimizer == 12 * each[d] && m->gradients == 2 * each[d]);
        assert_true(bytes[d] >= m->optimizer + m->gradients + m->parameters);
    }
    hp_memory_free(model);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_zoo),
        cmocka_unit_test(with_tensor_parallelism),
        cmocka_unit_test(copies_sum_in_groups),
        cmocka_unit_test(rows_are_padded),
    };
    return cmocka_run_group_tests_name("program: what is divided", tests, NULL, NULL);
}
