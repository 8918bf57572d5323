/* How long a trace of a large plan takes, and how large it is: llama2-70b on 64 devices, with
 * as many bars as by default, packed and not, with arrows, and of one device. The aims: under 5
 * s with the simulation, and under 30 MB packed. */
#include "bench/bench.h"

#include <hypar/report.h>

static const struct hypar_search_options how = {
    .planner = "3d",
    .precision = HYPAR_BF16,
    .optimizer = HYPAR_ADAMW,
    .micro_batches = 64,
    .layout = { .data = 1, .tensor = 8, .pipeline = 8, .micro_batches = 64 },
};

static struct hypar_found *planned(struct hypar_graph **graph, struct hypar_machine **machine)
{
    struct hypar_import_options batch = { .batch = 64 };
    struct hypar_found *found = NULL;
    struct hypar_error err;
    must(hypar_import(graph, "llama2-70b", &batch, &err), &err);
    must(hypar_machine_read(machine, "cluster:8x8,device=h100", &err), &err);
    must(hypar_search(&found, *graph, *machine, &how, &err), &err);
    return found;
}

static void measure(const char *what, const struct hypar_sim *sim,
                    const struct hypar_trace_options *options, bool pack)
{
    FILE *file = tmpfile(), *to = pack ? hypar_gzip(file) : file;
    double start = now_s();
    struct hypar_trace_shown shown = hypar_report_trace(to, sim, options);
    if (pack)
        fclose(to);
    fflush(file);
    printf("%-12s %9lld bars %6.2f s %6.1f MB\n", what, (long long)shown.bars, now_s() - start,
           (double)ftell(file) / 1e6);
    fclose(file);
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    static const bool first[64] = { true };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found = planned(&graph, &machine);
    struct hypar_sim_options options = { .timeline = true };
    struct hypar_sim *sim;
    struct hypar_error err;
    double start = now_s();
    must(hypar_simulate(&sim, hypar_found_plan(found), &options, &err), &err);
    printf("simulated %lld tasks in %.2f s\n", (long long)hypar_sim_summary(sim).tasks,
           now_s() - start);
    measure("packed", sim, NULL, true);
    measure("not packed", sim, NULL, false);
    measure("arrows", sim, &(struct hypar_trace_options){ .arrows = true }, true);
    measure("one device", sim, &(struct hypar_trace_options){ .device = first }, true);
    hypar_sim_free(sim);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return 0;
}
