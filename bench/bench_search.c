/* How long planning takes: the search alone (HyPar's Algorithms 1 and 2 on the graph), and all
 * of hypar_search() with the plan written down and predicted. Goals: vgg-e on 16 devices in 1
 * ms; resnet152 and bert-large on 1,024 in 50 ms. Then that the search grows linearly with
 * layers and with levels. Each figure is processor time, the least of several runs. No input:
 *
 *     build/bench_search */
#include <hypar/search.h>

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "bench/bench.h"
#include "search/levels/partition.h"

/* The layered view of a graph and its greedy partition over n_levels of two sides. */
static double partition_s(const struct hypar_graph *graph, int n_levels, bool joint)
{
    double best_s = INFINITY, spent_s = 0;
    for (int run = 0; run < 200 && spent_s < 0.5; run++) {
        struct arena arena = { 0 };
        struct hypar_error err;
        struct partition found;
        double start_s = now_s();
        struct partition_problem p = { .layered = hp_layered(&arena, graph),
                                       .n_levels = n_levels,
                                       .joint = joint };
        unsigned *allowed = NEW(&arena, unsigned, n_levels *p.layered->n_nodes);
        for (int i = 0; i < n_levels * p.layered->n_nodes; i++)
            allowed[i] = 1u << TYPE_I | 1u << TYPE_II | 1u << TYPE_CHANNEL;
        for (int h = 0; h < n_levels; h++)
            p.ways[h] = 2;
        p.allowed = allowed;
        must(hp_partition(&arena, &p, &found, &err), &err);
        double run_s = now_s() - start_s;
        best_s = fmin(best_s, run_s);
        spent_s += run_s;
        hp_arena_free(&arena);
    }
    return best_s;
}

static double search_s(const struct hypar_graph *graph, const struct hypar_machine *machine,
                       const char *planner)
{
    double best_s = INFINITY, spent_s = 0;
    struct hypar_search_options options = { .planner = planner };
    for (int run = 0; run < 200 && spent_s < 1; run++) {
        struct hypar_found *found;
        struct hypar_error err;
        double start_s = now_s();
        must(hypar_search(&found, graph, machine, &options, &err), &err);
        double run_s = now_s() - start_s;
        best_s = fmin(best_s, run_s);
        spent_s += run_s;
        hypar_found_free(found);
    }
    return best_s;
}

static void planning(const char *model, int n_levels, double goal_s)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_error err;
    char word[64];
    snprintf(word, sizeof word, "htree:%d,device=h200", 1 << n_levels);
    must(hypar_import(&graph, model, NULL, &err), &err);
    must(hypar_machine_read(&machine, word, &err), &err);
    double alone_s = partition_s(graph, n_levels, false);
    double whole_s = search_s(graph, machine, "hypar");
    printf("%-14s %5d devices   search %8.3f ms   with the plan %8.3f ms", model, 1 << n_levels,
           1e3 * alone_s, 1e3 * whole_s);
    if (goal_s > 0)
        printf("   (goal %g ms: %s)", 1e3 * goal_s, whole_s <= goal_s ? "met" : "MISSED");
    putchar('\n');
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void by_layers(void)
{
    printf("\nlayers: gpt of 768 features, 16 devices\n");
    for (int layers = 12; layers <= 192; layers *= 2) {
        struct hypar_graph *graph;
        struct hypar_error err;
        char word[64];
        snprintf(word, sizeof word, "gpt:layers=%d", layers);
        must(hypar_import(&graph, word, NULL, &err), &err);
        int n = hypar_graph_layer_count(graph);
        double s = partition_s(graph, 4, false);
        printf("%5d weighted layers  %8.3f ms  %.3f us for each layer and level\n", n, 1e3 * s,
               1e6 * s / n / 4);
        hypar_graph_free(graph);
    }
}

static void by_levels(void)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    printf("\nlevels: resnet152\n");
    must(hypar_import(&graph, "resnet152", NULL, &err), &err);
    int n = hypar_graph_layer_count(graph);
    for (int levels = 2; levels <= 16; levels += 2) {
        double s = partition_s(graph, levels, false);
        printf("%5d levels           %8.3f ms  %.3f us for each layer and level\n", levels,
               1e3 * s, 1e6 * s / n / levels);
    }
    hypar_graph_free(graph);
}

static void all_levels_at_once(void)
{
    static const char *const models[] = { "vgg-e", "resnet50", "bert-base" };
    printf("\nall levels at once\n");
    for (int i = 0; i < 3; i++) {
        struct hypar_graph *graph;
        struct hypar_error err;
        must(hypar_import(&graph, models[i], NULL, &err), &err);
        for (int levels = 4; levels <= 10; levels += 3)
            printf("%-14s %5d devices   %9.3f ms\n", models[i], 1 << levels,
                   1e3 * partition_s(graph, levels, true));
        hypar_graph_free(graph);
    }
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    planning("vgg-e", 4, 1e-3);
    planning("resnet50", 4, 0);
    planning("resnet152", 10, 50e-3);
    planning("bert-large", 10, 50e-3);
    planning("gpt2-xl", 10, 0);
    planning("nmt", 10, 0);
    by_layers();
    by_levels();
    all_levels_at_once();
    return 0;
}
