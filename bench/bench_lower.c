/* How long it takes to write a plan out as tasks.
 *
 *     resnet101   64 devices, data parallel and HyPar's plan: under 50 ms
 *     bert-large  256 devices, likewise: under 0.5 s
 *     gpt3-175b   1,024 devices (gpt3.h): under 30 s and 4 GB
 *
 * The fastest of RUNS, but of the last one only; peak memory is that of the process so far. */
#include <hypar/program.h>

#include "bench/gpt3.h"

enum { RUNS = 5 };

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

static void bench_planner(const char *model, int64_t batch, const char *machine,
                          const char *planner, double limit_s)
{
    struct found_plan f = find_plan(model, batch, machine, planner);
    char name[96];
    snprintf(name, sizeof name, "%s, %s, %s", model, machine, planner);
    report(name, hypar_found_plan(f.found), RUNS, limit_s);
    free_found(&f);
}

static void bench_gpt3(void)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan = gpt3_plan(&graph, &machine);
    report("gpt3-175b, 8 x 16 x 8 devices", plan, 1, 30);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    bench_planner("resnet101", 256, "htree:64", "dp", 0.05);
    bench_planner("resnet101", 256, "htree:64", "hypar", 0.05);
    bench_planner("bert-large", 512, "htree:256", "dp", 0.5);
    bench_planner("bert-large", 512, "htree:256", "hypar", 0.5);
    bench_gpt3();
    return 0;
}
