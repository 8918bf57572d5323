/* Values of a model file's parameters, read when they are asked for. */
#include "model/weights.h"

#include <string.h>

#include "model/onnx/onnx.h"

struct weights {
    struct arena arena;
    struct onnx_file *file;
    struct named_source *source;
    int n_sources;
    struct table names;
};

enum hypar_status hp_weights_open(struct weights **out, const char *path,
                                  const struct hypar_import_options *options,
                                  struct hypar_error *err)
{
    static const struct hypar_import_options defaults = { 0 };
    options = options ? options : &defaults;
    struct arena arena = { 0 };
    struct weights *w = NEW(&arena, struct weights, 1);
    struct hypar_graph *graph = NULL;
    w->arena = arena;
    *out = NULL;
    enum hypar_status status = hp_onnx_open(&w->file, path, err);
    if (status == HYPAR_OK) {
        w->file->follow_links = options->follow_links;
        status = hp_onnx_network(&graph, w->file, options, &w->arena, &w->source, &w->n_sources,
                                 err);
    }
    hypar_graph_free(graph);
    if (status != HYPAR_OK) {
        hp_weights_close(w);
        return status;
    }
    for (int i = 0; i < w->n_sources; i++)
        hp_table_put(&w->names, &w->arena, w->source[i].name, strlen(w->source[i].name), i);
    *out = w;
    return HYPAR_OK;
}

void hp_weights_close(struct weights *weights)
{
    if (!weights)
        return;
    struct arena arena = weights->arena; /* they live in it */
    hp_onnx_close(weights->file);
    hp_arena_free(&arena);
}

static const struct weight_source *find(const struct weights *weights, const char *name)
{
    int i = hp_table_get(&weights->names, name, strlen(name));
    return i < 0 ? NULL : &weights->source[i].source;
}

bool hp_weights_has(const struct weights *weights, const char *name)
{
    return find(weights, name) != NULL;
}

/* The ranges one after another. */
static enum hypar_status read_whole(const struct weights *weights,
                                    const struct weight_source *source, double *values,
                                    struct hypar_error *err)
{
    for (int i = 0; i < source->n_ranges; i++) {
        const struct weight_range *r = &source->range[i];
        const struct onnx_tensor *t = &weights->file->initializer[r->initializer];
        TRY(hp_in(err, hp_onnx_read_data(weights->file, t, r->start, r->count, values, err),
                  "%s: initializer '%.80s'", weights->file->path, t->name));
        values += r->count;
    }
    return HYPAR_OK;
}

/* [from, to) of one dimension of the whole. */
static void crop(const struct weight_source *source, const double *whole, double *values)
{
    int64_t outer = 1, inner = 1, size = source->whole.dim[source->dim];
    for (int d = 0; d < source->whole.n_dims; d++)
        *(d < source->dim ? &outer : &inner) *= d == source->dim ? 1 : source->whole.dim[d];
    size_t run = (size_t)((source->to - source->from) * inner);
    for (int64_t o = 0; o < outer; o++)
        memcpy(values + (size_t)o * run, whole + (o * size + source->from) * inner,
               run * sizeof *values);
}

enum hypar_status hp_weights_read(const struct weights *weights, const char *name, int64_t n,
                                  double *values, struct hypar_error *err)
{
    const struct weight_source *source = find(weights, name);
    if (!source)
        return hp_fail(err, HYPAR_INVALID, "%s: no values of '%.80s'", weights->file->path,
                       name);
    int64_t whole = hp_shape_elements(&source->whole), count = whole;
    if (source->to)
        count = whole / source->whole.dim[source->dim] * (source->to - source->from);
    if (count != n)
        return hp_fail(err, HYPAR_INVALID, "%s: '%.80s' has %lld elements, expected %lld",
                       weights->file->path, name, (long long)count, (long long)n);
    for (int64_t i = 0; source->constant && i < n; i++)
        values[i] = source->constant[source->uniform ? 0 : i];
    if (source->constant)
        return HYPAR_OK;
    if (!source->to)
        return read_whole(weights, source, values, err);
    struct arena scratch = { 0 };
    double *all = NEW(&scratch, double, whole);
    enum hypar_status status = read_whole(weights, source, all, err);
    if (status == HYPAR_OK)
        crop(source, all, values);
    hp_arena_free(&scratch);
    return status;
}
