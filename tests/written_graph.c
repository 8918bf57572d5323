#include "tests/written_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/model.h"

char *written_graph(const struct hypar_graph *graph, size_t *size)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);
    if (!file)
        abort();
    hypar_graph_write(graph, file);
    fclose(file);
    return text;
}

bool survives_writing(const struct hypar_graph *graph, struct hypar_error *err)
{
    size_t n, m = 0;
    struct hypar_graph *back;
    char *text = written_graph(graph, &n), *again = NULL;
    enum hypar_status status = hp_graph_read_text(&back, text, n, "written", 0, err);
    if (status == HYPAR_OK)
        again = written_graph(back, &m);
    if (status == HYPAR_OK && (n != m || memcmp(text, again, n) != 0)) {
        size_t at = 0;
        while (at < n && at < m && text[at] == again[at])
            at++;
        status = hp_fail(err, HYPAR_INVALID, "other bytes from %zu on: '%.40s', then '%.40s'",
                         at, text + at, again + at);
    }
    if (status == HYPAR_OK && hypar_graph_info(graph).hash != hypar_graph_info(back).hash)
        status = hp_fail(err, HYPAR_INVALID, "the same bytes, but another hash");
    free(text);
    free(again);
    hypar_graph_free(back);
    return status == HYPAR_OK;
}
