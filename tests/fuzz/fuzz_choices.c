/* Any text, as Piper's profile or as a graph: one with choices is written and read back the
 * same, and its plan fits into memory; or one line says why not. */
#include <stdlib.h>
#include <string.h>

#include <hypar/search.h>

#include "model/model.h"
#include "tests/written_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(enum hypar_status status, const void *made, const struct hypar_error *err)
{
    if ((status == HYPAR_OK) != (made != NULL) || (status != HYPAR_OK && !*err->text) ||
        strchr(err->text, '\n'))
        abort();
}

static void check_plan(const struct hypar_graph *graph, const struct hypar_machine *machine,
                       double memory_bytes)
{
    struct hypar_found *found;
    struct hypar_error err = { 0 };
    struct hypar_search_options options = { .planner = "hybrid", .memory_bytes = memory_bytes };
    enum hypar_status status = hypar_search(&found, graph, machine, &options, &err);
    check(status, found, &err);
    const struct hypar_pipeline_view *view = found ? hypar_found_pipeline(found) : NULL;
    for (int s = 0; view && s < view->n_stages; s++)
        if (view->stage[s].time_s > view->bottleneck_s ||
            !(view->stage[s].memory_bytes <= memory_bytes * (1 + 1e-9)))
            abort();
    hypar_found_free(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    enum hypar_status status =
        hp_graph_read_text(&graph, (const char *)data, size, "text", 0, &err);
    check(status, graph, &err);
    if (graph && !survives_writing(graph, &err))
        abort();
    if (graph && hp_has_choices(graph) && graph->n_ops <= 12 && graph->batch <= 64) {
        struct hypar_machine *machine;
        if (hypar_machine_read(&machine, "full:5,bandwidth=25GB/s", &err))
            abort();
        check_plan(graph, machine, 4e9);
        check_plan(graph, machine, 40);
        hypar_machine_free(machine);
    }
    hypar_graph_free(graph);
    return 0;
}
