/* Any text: a graph that is written and read back the same, or one line. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(const struct hypar_graph *graph)
{
    char *text;
    size_t n;
    struct hypar_graph *back;
    FILE *file = open_memstream(&text, &n);
    hypar_graph_write(graph, file);
    fclose(file);
    if (hp_graph_read_text(&back, text, n, "written", 0, NULL) != HYPAR_OK ||
        hypar_graph_hash(back) != hypar_graph_hash(graph))
        abort();
    free(text);
    hypar_graph_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t batches[] = { 0, 6 };
    for (int i = 0; i < 2; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { "" };
        enum hypar_status status =
            hp_graph_read_text(&graph, (const char *)data, size, "text", batches[i], &err);
        if ((status == HYPAR_OK) != (graph != NULL) || (status != HYPAR_OK && !*err.text) ||
            strchr(err.text, '\n'))
            abort();
        if (graph)
            check_written(graph);
        hypar_graph_free(graph);
    }
    return 0;
}
