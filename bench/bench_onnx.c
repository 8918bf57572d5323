/* How fast ONNX files are imported for planning.
 *
 *     weights   a file of 500 MB: at most half the time that reading it takes
 *     nodes     10,000 nodes, four in ten of them shape arithmetic: under 0.2 s
 *     exports   what PyTorch writes of real networks (tests/data/onnx)
 *
 * Each figure is the fastest of RUNS, the files being in the page cache. */
#define _DEFAULT_SOURCE /* mkstemps */

#include "bench/bench.h"
#include "model/onnx/onnx.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 5, LAYERS = 10, WIDTH = 3536, BLOCKS = 1000 };

static void expect(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench_onnx: %s\n", what);
    exit(4);
}

/* Messages are written into memory, but for the values of weights, whose bytes only count. */
struct message {
    char *text;
    size_t n;
    FILE *file;
};

static void begin(struct message *m)
{
    m->file = open_memstream(&m->text, &m->n);
    expect(m->file, "no memory");
}

static void put_varint(FILE *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        putc((int)(value & 0x7f) | 0x80, to);
    putc((int)value, to);
}

static void put_text(FILE *to, unsigned field, const char *text)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, strlen(text));
    fputs(text, to);
}

static void put_int(FILE *to, unsigned field, uint64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, value);
}

static void put_message(FILE *to, unsigned field, struct message *m)
{
    fclose(m->file);
    put_varint(to, field << 3 | 2);
    put_varint(to, m->n);
    fwrite(m->text, 1, m->n, to);
    free(m->text);
}

/* A node: "Gemm x w -> y", attributes "axis=0" (an integer) or "axes=0," (a list). */
static void put_node(FILE *graph, const char *fmt, int i)
{
    char text[256], *save;
    struct message node;
    begin(&node);
    snprintf(text, sizeof text, fmt, i, i, i, i);
    const char *word = strtok_r(text, " ", &save);
    put_text(node.file, 4, word);
    unsigned field = 1;
    while ((word = strtok_r(NULL, " ", &save))) {
        const char *sign = strchr(word, '=');
        if (strcmp(word, "->") == 0) {
            field = 2;
        } else if (!sign) {
            put_text(node.file, field, word);
        } else {
            struct message attr;
            begin(&attr);
            char name[32];
            snprintf(name, sizeof name, "%.*s", (int)(sign - word), word);
            put_text(attr.file, 1, name);
            put_int(attr.file, strchr(sign, ',') ? 8 : 3, strtoull(sign + 1, NULL, 10));
            put_message(node.file, 5, &attr);
        }
    }
    put_message(graph, 1, &node);
}

/* An input or output [batch, width]. */
static void put_info(FILE *graph, unsigned field, const char *name, int width)
{
    struct message info, type, tensor, shape, batch, dim,
        *all[] = { &info, &type, &tensor, &shape, &batch, &dim };
    for (int i = 0; i < 6; i++)
        begin(all[i]);
    put_text(batch.file, 2, "batch");
    put_int(dim.file, 1, (uint64_t)width);
    put_message(shape.file, 1, &batch);
    put_message(shape.file, 1, &dim);
    put_int(tensor.file, 1, ONNX_FLOAT);
    put_message(tensor.file, 2, &shape);
    put_message(type.file, 1, &tensor);
    put_text(info.file, 1, name);
    put_message(info.file, 2, &type);
    put_message(graph, field, &info);
}

/* The head of an initializer [width, width]; its values follow if `bytes` is not 0. */
static void weight(struct message *t, const char *name, int width, uint64_t bytes)
{
    begin(t);
    put_int(t->file, 1, (uint64_t)width);
    put_int(t->file, 1, (uint64_t)width);
    put_int(t->file, 2, ONNX_FLOAT);
    put_text(t->file, 8, name);
    if (bytes) {
        put_varint(t->file, 9 << 3 | 2);
        put_varint(t->file, bytes);
    }
}

static void put_head(FILE *to, uint64_t graph_bytes)
{
    struct message opset;
    begin(&opset);
    put_int(to, 1, 7);
    put_int(opset.file, 2, 11);
    put_message(to, 8, &opset);
    put_varint(to, 7 << 3 | 2);
    put_varint(to, graph_bytes);
}

/* Layers of WIDTH x WIDTH, with their values. */
static void write_weights(FILE *to)
{
    uint64_t bytes = (uint64_t)WIDTH * WIDTH * 4, size = 0;
    struct message rest;
    begin(&rest);
    put_info(rest.file, 11, "t0", WIDTH);
    char node[64], name[32];
    for (int i = 0; i < LAYERS; i++) {
        snprintf(node, sizeof node, "Gemm t%d w%%d -> t%d", i, i + 1);
        put_node(rest.file, node, i);
    }
    snprintf(name, sizeof name, "t%d", LAYERS);
    put_info(rest.file, 12, name, WIDTH);
    fflush(rest.file);
    for (int pass = 0; pass < 2; pass++) { /* the length, then the bytes */
        if (pass) {
            put_head(to, size + rest.n);
            fwrite(rest.text, 1, rest.n, to);
        }
        for (int i = 0; i < LAYERS; i++) {
            struct message length, w;
            begin(&length);
            snprintf(name, sizeof name, "w%d", i);
            weight(&w, name, WIDTH, bytes);
            fflush(w.file);
            put_varint(length.file, 5 << 3 | 2);
            put_varint(length.file, w.n + bytes);
            fflush(length.file);
            size += pass ? 0 : length.n + w.n + bytes;
            if (pass) {
                static const char zeros[1 << 16];
                fwrite(length.text, 1, length.n, to);
                fwrite(w.text, 1, w.n, to);
                for (uint64_t at = 0; at < bytes; at += sizeof zeros)
                    fwrite(zeros, 1, bytes - at < sizeof zeros ? bytes - at : sizeof zeros, to);
            }
            fclose(length.file);
            fclose(w.file);
            free(length.text);
            free(w.text);
        }
    }
    fclose(rest.file);
    free(rest.text);
}

/* Blocks of ten nodes: a layer, and a reshape whose shape is computed. */
static void write_nodes(FILE *to)
{
    static const char *const nodes[] = {
        "Gemm t%d w -> a%d",
        "Relu a%d -> b%d",
        "Shape b%d -> c%d",
        "Gather c%d zero -> d%d",
        "Unsqueeze d%d -> e%d axes=0,",
        "Concat e%d rest -> f%d axis=0",
        "Reshape b%d f%d -> g%d",
        "Tanh g%d -> h%d",
        "Add h%d b%d -> i%d",
    };
    struct message graph, zero, rest, w;
    begin(&graph);
    begin(&zero);
    begin(&rest);
    put_info(graph.file, 11, "t0", 64);
    weight(&w, "w", 64, 0);
    put_message(graph.file, 5, &w);
    put_int(zero.file, 2, ONNX_INT64);
    put_text(zero.file, 8, "zero");
    put_varint(zero.file, 9 << 3 | 2);
    put_varint(zero.file, 8);
    fwrite("\0\0\0\0\0\0\0", 1, 8, zero.file);
    put_message(graph.file, 5, &zero);
    put_int(rest.file, 1, 1);
    put_int(rest.file, 2, ONNX_INT64);
    put_text(rest.file, 8, "rest");
    put_varint(rest.file, 9 << 3 | 2);
    put_varint(rest.file, 8);
    fwrite("\100\0\0\0\0\0\0", 1, 8, rest.file);
    put_message(graph.file, 5, &rest);
    for (int i = 0; i < BLOCKS; i++) {
        char last[32];
        for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
            put_node(graph.file, nodes[n], i);
        snprintf(last, sizeof last, "Relu i%%d -> t%d", i + 1);
        put_node(graph.file, last, i);
    }
    char name[32];
    snprintf(name, sizeof name, "t%d", BLOCKS);
    put_info(graph.file, 12, name, 64);
    fclose(graph.file);
    put_head(to, graph.n);
    fwrite(graph.text, 1, graph.n, to);
    free(graph.text);
}

static double import_s(const char *path, int *ops)
{
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        double start = wall_s();
        expect(hypar_import(&graph, path, NULL, &err) == HYPAR_OK, err.text);
        double took = wall_s() - start;
        best = took < best ? took : best;
        *ops = hypar_graph_info(graph).n_ops;
        hypar_graph_free(graph);
    }
    return best;
}

static double read_s(const char *path, double *bytes)
{
    static char buffer[1 << 20];
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        FILE *file = fopen(path, "rb");
        expect(file, path);
        double start = wall_s();
        *bytes = 0;
        for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;)
            *bytes += (double)n;
        double took = wall_s() - start;
        best = took < best ? took : best;
        fclose(file);
    }
    return best;
}

static void bench_file(const char *name, void (*write)(FILE *to))
{
    char path[] = "/tmp/hypar-bench-XXXXXX.onnx";
    int fd = mkstemps(path, 5), ops;
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    expect(file, "cannot write a file in /tmp");
    write(file);
    expect(fclose(file) == 0, "cannot write a file in /tmp");
    double bytes, reading = read_s(path, &bytes), took = import_s(path, &ops);
    unlink(path);
    printf("%-10s %7.1f MB %5d ops  import %8.2f ms  reading the file %8.2f ms\n", name,
           bytes / 1e6, ops, 1e3 * took, 1e3 * reading);
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    static const char *const exports[] = { "vit_b_16", "densenet121", "inception_v3",
                                           "lstm_lm" };
    if (strstr(hypar_features(), "protobuf-c: no")) {
        printf("without protobuf-c there is no ONNX\n");
        return 0;
    }
    bench_file("weights", write_weights);
    bench_file("nodes", write_nodes);
    for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++) {
        char path[128];
        int ops;
        snprintf(path, sizeof path, "tests/data/onnx/train/%s.onnx", exports[i]);
        double took = import_s(path, &ops);
        printf("%-14s %14d ops  import %8.2f ms\n", exports[i], ops, 1e3 * took);
    }
    return 0;
}
