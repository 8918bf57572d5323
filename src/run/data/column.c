/* Helpers that the parsers of sample files share. */
#include "run/data/column.h"

#include <stdarg.h>

enum hypar_status hp_bad_file(const struct input_file *file, struct hypar_error *err,
                              const char *fmt, ...)
{
    struct hypar_error message;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message.text, sizeof message.text, fmt, ap);
    va_end(ap);
    return hp_in(err, hp_fail(err, HYPAR_INVALID, "%s", message.text), "%s", file->path);
}

/* The bytes of a sample; -1 if the array has none, or more than any file. */
static int64_t sample_bytes(const struct hypar_shape *shape, enum element type)
{
    const int64_t most = (int64_t)1 << 60;
    int64_t bytes = hp_element[type].bytes;
    for (int d = 0; d < shape->n_dims; d++) {
        if (shape->dim[d] < 1 || shape->dim[d] > most / bytes)
            return -1;
        if (d > 0)
            bytes *= shape->dim[d];
    }
    return shape->dim[0] > most / bytes ? -1 : bytes;
}

enum hypar_status hp_array_column(struct column *out, struct arena *arena,
                                  const struct input_file *file, int64_t begin,
                                  const struct hypar_shape *shape, struct hypar_error *err)
{
    char text[SHAPE_TEXT_BYTES];
    out->stride = shape->n_dims > 0 ? sample_bytes(shape, out->type) : -1;
    if (out->stride < 0)
        return hp_bad_file(file, err,
                           "an array of shape %s, expected samples, then a sample's "
                           "dimensions, each at least 1",
                           hp_shape_text(shape, text));
    int64_t expected = begin + shape->dim[0] * out->stride;
    if (file->bytes != expected)
        return hp_bad_file(file, err, "%lld bytes, expected %lld for an array of %s, %s",
                           (long long)file->bytes, (long long)expected,
                           hp_shape_text(shape, text), hp_element[out->type].name);
    out->shape.n_dims = shape->n_dims - 1;
    for (int d = 1; d < shape->n_dims; d++)
        out->shape.dim[d - 1] = shape->dim[d];
    out->samples = shape->dim[0];
    out->n_parts = 1;
    out->part = NEW(arena, struct column_part, 1);
    out->part[0] = (struct column_part){ file, begin, out->samples };
    return HYPAR_OK;
}
