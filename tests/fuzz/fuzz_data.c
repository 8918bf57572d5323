/* Any bytes as a file of samples: batches that can be read, or one line. The first byte chooses
 * the format and which input the file is for, the rest is the file. */
#include <stdlib.h>
#include <string.h>

#include <hypar/graph.h>

#include "run/data.h"
#include "run/data/inputs.h"
#include "run/data/source.h"
#include "tests/scratch_file.h"

/* Files: the bytes, five samples, their labels. */
enum { BYTES, SAMPLES, LABELS, NONE };

static const struct {
    const char *model, *format;
    int first, second;
} targets[] = {
    { "mlp:6-3", "", BYTES, LABELS },
    { "mlp:6-3", "", SAMPLES, BYTES },
    { "mlp:3072-10", "cifar10:", BYTES, NONE },
    { "mlp:3072-100", "cifar100:", BYTES, NONE },
    { "gpt:layers=1,hidden=4,heads=1,seq=4,vocab=300", "tokens:", BYTES, NONE },
    { "gpt:layers=1,hidden=4,heads=1,seq=4,vocab=300", "tokens32:", BYTES, NONE },
};
enum { TARGETS = sizeof targets / sizeof targets[0] };

static void require(bool condition)
{
    if (!condition)
        abort();
}

static const struct hypar_graph *model(int target)
{
    static struct hypar_graph *graph[TARGETS];
    struct hypar_import_options options = { .batch = 2 };
    if (!graph[target])
        require(hypar_import(&graph[target], targets[target].model, &options, NULL) ==
                HYPAR_OK);
    return graph[target];
}

static void read_batches(const struct data_source *source, const struct hypar_graph *graph)
{
    static double room[2 * 3072];
    for (int t = 0; t < graph->n_tensors; t++)
        for (int64_t batch = 0; batch < 4 && hp_is_data_input(graph, t); batch++) {
            struct hypar_error err = { 0 };
            struct data_request request = { .tensor = t,
                                            .position = 2 * batch,
                                            .box = hp_shape_box(&graph->tensors[t].shape),
                                            .real = REAL_F64 };
            enum hypar_status status = hp_data_read(source, &request, room, &err);
            require(status == HYPAR_OK || (status == HYPAR_INVALID && *err.text));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char x[12 + 30] = { 0, 0, 8, 2, 0, 0, 0, 5, 0, 0, 0, 6 };
    static const unsigned char y[8 + 5] = { 0, 0, 8, 1, 0, 0, 0, 5 };
    if (size < 1)
        return 0;
    int target = data[0] % TARGETS;
    const struct hypar_graph *graph = model(target);
    char text[128];
    struct data_source *source;
    struct hypar_error err = { 0 };
    const char *const path[] = { [BYTES] = scratch_file(BYTES, data + 1, size - 1),
                                 [SAMPLES] = scratch_file(SAMPLES, x, sizeof x),
                                 [LABELS] = scratch_file(LABELS, y, sizeof y),
                                 [NONE] = "" };
    snprintf(text, sizeof text, "%s%s%s%s", targets[target].format, path[targets[target].first],
             targets[target].second == NONE ? "" : ",", path[targets[target].second]);
    enum hypar_status status =
        hp_data_open(&source, graph, &(struct data_options){ .train = text }, &err);
    require((status == HYPAR_OK) == (source != NULL));
    require(source || (*err.text && !strchr(err.text, '\n')));
    if (source)
        read_batches(source, graph);
    if (source && hp_data_check(source, &err) != HYPAR_OK)
        require(*err.text);
    hp_data_close(source);
    return 0;
}
