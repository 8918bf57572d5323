/* Any bytes: a graph that is written and read back the same, or one line. */
#include "model/onnx/onnx.h"

#include <stdlib.h>
#include <string.h>

#include "tests/written_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    struct hypar_error err = { "" };
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
    hypar_graph_free(graph);
    return 0;
}
