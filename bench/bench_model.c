/* How fast models are built, written and read.
 *
 *     gpt3-175b   built in the zoo: under 20 ms
 *     chain       a JSON graph of 10,000 operators, read from a text: under 0.2 s
 *
 * Each figure is the fastest of RUNS. */
#include "bench/bench.h"
#include "graph/graph.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 20, CHAIN_OPS = 10000 };

static double build_s(const char *word)
{
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        struct hypar_graph *graph;
        struct hypar_error err;
        double start = now_s();
        must(hypar_import(&graph, word, NULL, &err), &err);
        double took = now_s() - start;
        best = took < best ? took : best;
        hypar_graph_free(graph);
    }
    return best;
}

/* Linear layers and ReLU in turn. */
static struct hypar_graph *chain(void)
{
    struct graph_builder *b = hp_build("chain", 32);
    struct hypar_shape shape = { 2, { 32, 64 } };
    struct hypar_graph *graph;
    struct hypar_error err;
    int x = hp_build_input(b, "x", &shape, false, 0);
    for (int i = 0; i < CHAIN_OPS; i++) {
        char name[32];
        snprintf(name, sizeof name, "op%d", i);
        struct op_request request = { .kind = i % 2 ? OP_RELU : OP_LINEAR,
                                      .name = name,
                                      .n_inputs = 1,
                                      .inputs = &x,
                                      .attrs = i % 2 ? NULL : ATTRS({ ATTR_OUT, 1, V(64) }) };
        int y;
        must(hp_build_op(b, &request, &y, &err), &err);
        x = y;
    }
    must(hp_build_finish(b, &graph, &err), &err);
    return graph;
}

static double read_s(const char *text, size_t n)
{
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        struct hypar_graph *graph;
        struct hypar_error err;
        double start = now_s();
        must(hp_graph_read_text(&graph, text, n, "chain", 0, &err), &err);
        double took = now_s() - start;
        best = took < best ? took : best;
        hypar_graph_free(graph);
    }
    return best;
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    static const char *const words[] = { "vgg16", "resnet152",  "densenet121",
                                         "nmt",   "llama2-70b", "gpt3-175b" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        printf("build  %-12s %8.3f ms\n", words[i], 1e3 * build_s(words[i]));

    struct hypar_graph *graph = chain();
    char *text;
    size_t n;
    double start = now_s();
    FILE *file = open_memstream(&text, &n);
    hypar_graph_write(graph, file);
    fclose(file);
    printf("write  %d ops  %7.1f ms (%zu bytes)\n", CHAIN_OPS, 1e3 * (now_s() - start), n);
    printf("read   %d ops  %7.1f ms\n", CHAIN_OPS, 1e3 * read_s(text, n));
    free(text);
    hypar_graph_free(graph);
    return 0;
}
