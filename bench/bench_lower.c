/* How long it takes to write a plan out as tasks.
 *
 *     resnet101   64 devices, data parallel and HyPar's plan: under 50 ms
 *     bert-large  256 devices, likewise: under 0.5 s
 *     gpt3-175b   1,024 devices: tensor 8 x pipeline 16 x data 8, 1F1B, batch 1,536, one sample
 *                 for each replica in a micro-batch: under 30 s and 4 GB
 *
 * The fastest of RUNS, but of the last one only; peak memory is that of the process so far. */
#include <hypar/program.h>
#include <hypar/search.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "plan/plan.h"

enum { RUNS = 5, TENSOR = 8, PIPELINE = 16, DATA = 8, GPT_LAYERS = 96 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_memory_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024 / 1e6;
}

static void must(enum hypar_status status, const struct hypar_error *err)
{
    if (status == HYPAR_OK)
        return;
    fprintf(stderr, "bench_lower: %s\n", err->text);
    exit(hypar_status_exit_code(status));
}

static void report(const char *name, const struct hypar_plan *plan, int runs, double limit_s)
{
    struct hypar_program_totals totals = { 0 };
    struct hypar_error err;
    double best_s = 1e9;
    for (int i = 0; i < runs; i++) {
        struct hypar_program *program;
        double start_s = now_s();
        must(hypar_lower(&program, plan, NULL, &err), &err);
        double took_s = now_s() - start_s;
        best_s = took_s < best_s ? took_s : best_s;
        totals = hypar_program_totals(program);
        hypar_program_free(program);
    }
    printf("%-32s %10.1f ms (limit %6.0f) %10lld tasks, %8lld of them comm, %9.3f GB sent, "
           "peak %6.0f MB\n",
           name, 1e3 * best_s, 1e3 * limit_s, (long long)totals.tasks, (long long)totals.comm,
           totals.comm_bytes / 1e9, peak_memory_mb());
    fflush(stdout);
}

/* A planner's plan. */
static void bench_planner(const char *model, int64_t batch, const char *machine_word,
                          const char *planner, double limit_s)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_error err;
    char name[96];
    must(hypar_import(&graph, model, &(struct hypar_import_options){ .batch = batch }, &err),
         &err);
    must(hypar_machine_read(&machine, machine_word, &err), &err);
    struct hypar_search_options options = { .planner = planner, .memory_bytes = 1e15 };
    must(hypar_search(&found, graph, machine, &options, &err), &err);
    snprintf(name, sizeof name, "%s, %s, %s", model, machine_word, planner);
    report(name, hypar_found_plan(found), RUNS, limit_s);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Megatron's plan for GPT --------------------------------------------------------------- */

/* The axis that the tensor-parallel devices divide: the first linear layer of a block its
 * outputs, the second its inputs, attention its heads; norms and sums are copies. */
static char tensor_axis(const struct op *op)
{
    switch (op->kind) {
    case OP_LINEAR:
        return strstr(op->name, "c_proj") ? 'c' : 'k';
    case OP_ATTENTION:
        return 'a';
    case OP_EMBEDDING:
        return 'v';
    case OP_GELU:
    case OP_SPLIT:
    case OP_CROSS_ENTROPY:
        return 'c';
    default:
        return 'r';
    }
}

static int stage_of(const struct op *op, bool after_layers)
{
    int layer;
    if (sscanf(op->name, "h.%d.", &layer) == 1)
        return layer * PIPELINE / GPT_LAYERS;
    return after_layers ? PIPELINE - 1 : 0;
}

static void add_stages(struct hypar_plan *plan)
{
    const struct hypar_graph *g = plan->graph;
    int *stage = malloc((size_t)g->n_ops * sizeof *stage);
    int *ops = malloc((size_t)g->n_ops * sizeof *ops);
    bool after = false;
    for (int op = 0; op < g->n_ops; op++) {
        stage[op] = stage_of(&g->ops[op], after);
        after |= strncmp(g->ops[op].name, "h.", 2) == 0;
    }
    for (int s = 0; s < PIPELINE; s++) {
        int device[DATA * TENSOR], n = 0;
        for (int i = 0; i < DATA * TENSOR; i++)
            device[i] = s * DATA * TENSOR + i;
        for (int op = 0; op < g->n_ops; op++)
            if (stage[op] == s)
                ops[n++] = op;
        hp_plan_add_stage(plan, &(struct hypar_stage){ .n_ops = n,
                                                       .op = ops,
                                                       .n_devices = DATA * TENSOR,
                                                       .device = device,
                                                       .replicas = DATA });
    }
    free(stage);
    free(ops);
}

static void bench_gpt3(void)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_error err;
    int64_t batch = 1536;
    must(hypar_import(&graph, "gpt3-175b", &(struct hypar_import_options){ .batch = batch },
                      &err),
         &err);
    must(hypar_machine_read(&machine, "cluster:128x8,device=h100", &err), &err);
    struct hypar_plan *plan =
        hp_plan_new(graph, machine, &(struct plan_settings){ .precision = HYPAR_BF16 });
    add_stages(plan);
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .kind = HYPAR_SCHEDULE_1F1B,
                                                         .micro_batches = batch / DATA });
    for (int op = 0; op < graph->n_ops; op++) {
        const struct nest *nest = graph->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int n = hp_nest_axis(nest, 'n');
        bool samples = nest->axis[n].role == HYPAR_SAMPLE;
        split.degree[samples ? n : nest->n_axes - 1] = DATA;
        if (samples)
            split.degree[hp_nest_axis(nest, tensor_axis(&graph->ops[op]))] = TENSOR;
        else
            split.degree[nest->n_axes - 1] = DATA * TENSOR;
        hp_plan_set(plan, op, &split, NULL);
    }
    must(hypar_plan_check(plan, &err), &err);
    report("gpt3-175b, 8 x 16 x 8 devices", plan, 1, 30);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    bench_planner("resnet101", 256, "htree:64", "dp", 0.05);
    bench_planner("resnet101", 256, "htree:64", "hypar", 0.05);
    bench_planner("bert-large", 512, "htree:256", "dp", 0.5);
    bench_planner("bert-large", 512, "htree:256", "hypar", 0.5);
    bench_gpt3();
    return 0;
}
