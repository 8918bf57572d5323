/* Reads and writes the facts about the original PyTorch model in hypar-graph/1. The exporter
 * needs these facts; the graph does not. */
#include <string.h>

#include "model/json_graph.h"

static enum hypar_status read_texts(struct arena *arena, const struct json *list,
                                    const char ***out, int *n, struct hypar_error *err)
{
    *out = NEW(arena, const char *, hp_json_length(list));
    for (struct json at = { 0 }; hp_json_each(list, &at); ++*n) {
        TRY(hp_json_name(&at, &(*out)[*n], err));
        (*out)[*n] = hp_arena_strdup(arena, (*out)[*n]);
    }
    return HYPAR_OK;
}

/* Samples and positions may share a dimension: labels that the model flattens. */
static enum hypar_status follow_batch(struct torch_argument *argument, const struct json *at,
                                      int64_t file_batch, int64_t batch,
                                      struct hypar_error *err)
{
    int64_t *n = &argument->shape.dim[argument->sample_dim];
    if (*n % file_batch != 0 || (double)*n / (double)file_batch * (double)batch > 0x1p50)
        return hp_json_fail(at, err,
                            "dimension %d has %lld, expected a multiple of the batch, at most "
                            "2^50",
                            argument->sample_dim, (long long)*n);
    *n = *n / file_batch * batch;
    return HYPAR_OK;
}

static enum hypar_status read_argument(struct hypar_graph *graph, const struct json *at,
                                       int64_t file_batch, struct hypar_error *err)
{
    struct torch_argument *argument = &graph->arguments[at->index];
    const char *name, *type;
    struct json shape, dim;
    int64_t sample_dim = 0;
    TRY(HP_JSON_READ(at, err, JSON_NAME("name", &name), JSON_ANY("shape", &shape),
                     JSON_NAME("type", &type), JSON_KEY("sample_dim")));
    TRY(hp_read_shape(&shape, &argument->shape, err));
    dim = hp_json_member(at, "sample_dim");
    if (dim.value || argument->shape.n_dims == 0)
        TRY(hp_json_int(&dim, -1, argument->shape.n_dims - 1, &sample_dim, err));
    argument->name = hp_arena_strdup(&graph->arena, name);
    argument->type = hp_arena_strdup(&graph->arena, type);
    argument->sample_dim = (int)sample_dim;
    return sample_dim < 0 ? HYPAR_OK
                          : follow_batch(argument, &shape, file_batch, graph->batch, err);
}

enum hypar_status hp_read_torch(struct hypar_graph *graph, const struct json *root,
                                int64_t file_batch, struct hypar_error *err)
{
    struct arena *arena = &graph->arena;
    struct json modules, mixing, undivided, arguments;
    TRY(HP_JSON_READ(root, err, JSON_LIST("?modules", &modules, HP_MAX_OPS),
                     JSON_LIST("?mixing", &mixing, HP_MAX_OPS),
                     JSON_LIST("?undivided", &undivided, HP_MAX_OPS),
                     JSON_LIST("?arguments", &arguments, HP_MAX_TENSORS),
                     JSON_BOOL("?own_loss", &graph->own_loss),
                     JSON_BOOL("?summed_loss", &graph->summed_loss),
                     JSON_NAME("?loss_function", &graph->loss_function), JSON_OTHERS));
    if (graph->loss_function)
        graph->loss_function = hp_arena_strdup(arena, graph->loss_function);
    TRY(read_texts(arena, &modules, &graph->modules, &graph->n_modules, err));
    for (int i = 0; i < graph->n_modules; i++)
        hp_table_put(&graph->module_at, arena, graph->modules[i], strlen(graph->modules[i]), i);
    TRY(read_texts(arena, &mixing, &graph->mixing, &graph->n_mixing, err));
    TRY(read_texts(arena, &undivided, &graph->undivided, &graph->n_undivided, err));
    graph->n_arguments = hp_json_length(&arguments);
    graph->arguments = NEW(arena, struct torch_argument, graph->n_arguments);
    for (struct json at = { 0 }; hp_json_each(&arguments, &at);)
        TRY(read_argument(graph, &at, file_batch, err));
    return HYPAR_OK;
}

static void write_texts(struct json_writer *w, const char *key, const char **text, int n)
{
    if (n == 0)
        return;
    hp_json_begin_array(w, key, true);
    for (int i = 0; i < n; i++)
        hp_json_put_string(w, NULL, text[i]);
    hp_json_end_array(w);
}

static void write_arguments(struct json_writer *w, const struct hypar_graph *graph)
{
    if (graph->n_arguments == 0)
        return;
    hp_json_begin_array(w, "arguments", false);
    for (int i = 0; i < graph->n_arguments; i++) {
        const struct torch_argument *argument = &graph->arguments[i];
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", argument->name);
        hp_write_shape(w, &argument->shape);
        hp_json_put_string(w, "type", argument->type);
        if (argument->sample_dim != 0)
            hp_json_put_int(w, "sample_dim", argument->sample_dim);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

void hp_write_torch(struct json_writer *w, const struct hypar_graph *graph)
{
    write_texts(w, "modules", graph->modules, graph->n_modules);
    write_arguments(w, graph);
    write_texts(w, "mixing", graph->mixing, graph->n_mixing);
    write_texts(w, "undivided", graph->undivided, graph->n_undivided);
    if (graph->loss_function)
        hp_json_put_string(w, "loss_function", graph->loss_function);
    if (graph->summed_loss)
        hp_json_put_bool(w, "summed_loss", true);
    if (graph->own_loss)
        hp_json_put_bool(w, "own_loss", true);
}
