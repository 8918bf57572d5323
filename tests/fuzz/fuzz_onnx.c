/* Any bytes: a graph that is written and read back the same, or one line; and values of its
 * parameters, all at once as in pieces, or one line. */
#include "model/onnx/onnx.h"
#include "model/weights.h"

#include <stdlib.h>
#include <string.h>

#include "tests/written_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool one_line(const struct hypar_error *err)
{
    return *err->text && !strchr(err->text, '\n');
}

static void read_values(const struct weights *weights, const struct tensor *t)
{
    enum { MOST = 1 << 16 };
    static double all[MOST], part[MOST];
    struct hypar_error err = { 0 };
    int64_t n = hp_shape_elements(&t->shape), half = n / 2;
    if (n > MOST || !hp_weights_has(weights, t->name))
        return;
    if (hp_weights_read(weights, t->name, n, all, &err) != HYPAR_OK) {
        if (!one_line(&err))
            abort();
        return;
    }
    if (hp_weights_read_part(weights, t->name, n, 0, half, part, &err) ||
        hp_weights_read_part(weights, t->name, n, half, n - half, part + half, &err) ||
        memcmp(part, all, (size_t)n * sizeof *all) != 0)
        abort();
}

/* What the graph's tensors begin with. */
static void check_values(const struct hypar_graph *graph, const uint8_t *data, size_t size,
                         const struct hypar_import_options *options)
{
    struct weights *weights;
    struct hypar_error err = { 0 };
    FILE *stream = fmemopen((void *)(uintptr_t)data, size, "rb");
    if (!stream)
        return;
    if (hp_weights_open_stream(&weights, stream, "text", options, &err) != HYPAR_OK)
        abort(); /* it was read before */
    for (int t = 0; t < graph->n_tensors; t++)
        read_values(weights, &graph->tensors[t]);
    hp_weights_close(weights);
}

/* The first byte chooses the options, the rest is the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hypar_import_options options[] = {
        { .batch = 0 },
        { .batch = 3 },
        { .batch = 2, .batch_dims = "x=1" },
        { .batch = 1, .dims = "seq=4" },
    };
    if (size < 2 || strstr(hypar_features(), "protobuf-c: no"))
        return 0;
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    FILE *stream = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "rb");
    if (!stream)
        return 0;
    enum hypar_status status =
        hp_onnx_read_stream(&graph, stream, "text", &options[data[0] & 3], &err);
    if ((status == HYPAR_OK) != (graph != NULL) || (status != HYPAR_OK && !*err.text) ||
        strchr(err.text, '\n'))
        abort();
    if (graph && !survives_writing(graph, &err))
        abort();
    if (graph)
        check_values(graph, data + 1, size - 1, &options[data[0] & 3]);
    hypar_graph_free(graph);
    return 0;
}
