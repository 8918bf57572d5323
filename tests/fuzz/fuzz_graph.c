/* Any text: a graph that is written and read back the same, or one line. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "tests/written_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t batches[] = { 0, 6 };
    for (int i = 0; i < 2; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        enum hypar_status status =
            hp_graph_read_text(&graph, (const char *)data, size, "text", batches[i], &err);
        if ((status == HYPAR_OK) != (graph != NULL) || (status != HYPAR_OK && !*err.text) ||
            strchr(err.text, '\n'))
            abort();
        if (graph && !survives_writing(graph, &err))
            abort();
        hypar_graph_free(graph);
    }
    return 0;
}
