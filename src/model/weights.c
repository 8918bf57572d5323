/* Reads the values of the parameters of an ONNX file, part by part, for training. */
#include "model/weights.h"

#include <string.h>

#include "model/onnx/onnx.h"

struct weights {
    struct arena arena;
    struct onnx_file *file;
    struct kept_sources kept;
    struct table names;
};

/* Find the values of all parameters in an open file. *out owns the file. */
static enum hypar_status find_sources(struct weights **out, struct onnx_file *file,
                                      const struct hypar_import_options *options,
                                      struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct weights *w = NEW(&arena, struct weights, 1);
    struct hypar_graph *graph;
    w->arena = arena;
    w->file = file;
    file->follow_links = options->follow_links;
    w->kept.arena = &w->arena;
    enum hypar_status status = hp_onnx_network(&graph, file, options, &w->kept, err);
    hypar_graph_free(graph);
    if (status != HYPAR_OK) {
        hp_weights_close(w);
        return status;
    }
    for (int i = 0; i < w->kept.n; i++) {
        const char *name = w->kept.source[i].name;
        hp_table_put(&w->names, &w->arena, name, strlen(name), i);
    }
    *out = w;
    return HYPAR_OK;
}

enum hypar_status hp_weights_open(struct weights **out, const char *path,
                                  const struct hypar_import_options *options,
                                  struct hypar_error *err)
{
    static const struct hypar_import_options defaults = { 0 };
    struct onnx_file *file;
    *out = NULL;
    TRY(hp_onnx_open(&file, path, err));
    return find_sources(out, file, options ? options : &defaults, err);
}

enum hypar_status hp_weights_open_stream(struct weights **out, FILE *stream, const char *path,
                                         const struct hypar_import_options *options,
                                         struct hypar_error *err)
{
    struct onnx_file *file;
    *out = NULL;
    TRY(hp_onnx_open_stream(&file, stream, path, err));
    return find_sources(out, file, options, err);
}

void hp_weights_close(struct weights *weights)
{
    if (!weights)
        return;
    hp_onnx_close(weights->file);
    hp_arena_free(&weights->arena);
}

static const struct weight_source *find(const struct weights *weights, const char *name)
{
    int i = hp_table_get(&weights->names, name, strlen(name));
    return i < 0 ? NULL : &weights->kept.source[i].source;
}

/* A tensor without any values passes the import: its shape is enough to plan with. */
bool hp_weights_has(const struct weights *weights, const char *name)
{
    const struct weight_source *source = find(weights, name);
    for (int i = 0; source && i < source->n_ranges; i++)
        if (!weights->file->initializer[source->range[i].initializer].field)
            return false;
    return source != NULL;
}

/* Elements [start, start + n) of the ranges, one after another. */
static enum hypar_status read_ranges(const struct weights *weights,
                                     const struct weight_source *source, int64_t start,
                                     int64_t n, double *values, struct hypar_error *err)
{
    for (int i = 0; i < source->n_ranges && n > 0; i++) {
        const struct weight_range *r = &source->range[i];
        const struct onnx_tensor *t = &weights->file->initializer[r->initializer];
        int64_t count = r->count - start < n ? r->count - start : n;
        if (start < r->count) {
            TRY(hp_in(err,
                      hp_onnx_read_data(weights->file, t, r->start + start, count, values, err),
                      "%s: initializer '%.80s'", weights->file->path, t->name));
            values += count;
            n -= count;
            start += count;
        }
        start -= r->count;
    }
    return HYPAR_OK;
}

/* Reads elements [start, start + n) of a tensor that is a part of the stored tensor: in
 * dimension `dim` the part has indices source->from .. source->to - 1. So of every `all` stored
 * elements in a row, `kept` belong to the part. */
static enum hypar_status read_cropped(const struct weights *weights,
                                      const struct weight_source *source, int64_t start,
                                      int64_t n, double *values, struct hypar_error *err)
{
    int64_t inner = 1;
    for (int d = source->dim + 1; d < source->whole.n_dims; d++)
        inner *= source->whole.dim[d];
    int64_t all = source->whole.dim[source->dim] * inner;
    int64_t kept = (source->to - source->from) * inner;
    while (n > 0) {
        int64_t at = start % kept, run = kept - at < n ? kept - at : n;
        TRY(read_ranges(weights, source, start / kept * all + source->from * inner + at, run,
                        values, err));
        values += run;
        start += run;
        n -= run;
    }
    return HYPAR_OK;
}

enum hypar_status hp_weights_read_part(const struct weights *weights, const char *name,
                                       int64_t n, int64_t start, int64_t count, double *values,
                                       struct hypar_error *err)
{
    const struct weight_source *source = find(weights, name);
    if (!source)
        return hp_fail(err, HYPAR_INVALID, "%s: no values of '%.80s'", weights->file->path,
                       name);
    int64_t have = hp_shape_elements(&source->whole);
    if (source->to)
        have = have / source->whole.dim[source->dim] * (source->to - source->from);
    if (have != n)
        return hp_fail(err, HYPAR_INVALID, "%s: '%.80s' has %lld elements, expected %lld",
                       weights->file->path, name, (long long)have, (long long)n);
    for (int64_t i = 0; source->constant && i < count; i++)
        values[i] = source->constant[source->uniform ? 0 : start + i];
    if (source->constant)
        return HYPAR_OK;
    return source->to ? read_cropped(weights, source, start, count, values, err)
                      : read_ranges(weights, source, start, count, values, err);
}

enum hypar_status hp_weights_read(const struct weights *weights, const char *name, int64_t n,
                                  double *values, struct hypar_error *err)
{
    return hp_weights_read_part(weights, name, n, 0, n, values, err);
}
