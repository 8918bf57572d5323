/* Files of records without a header: CIFAR's images with their labels, and tokens, of which a
 * sample is a window. */
#include <string.h>

#include "run/data/column.h"

/* https://www.cs.toronto.edu/~kriz/cifar.html, "binary version"; tokens as nanoGPT and llm.c
 * write them, without a header. */
static const struct record_format formats[] = {
    { "cifar10", false, ELEMENT_U8, 0, 1, 3073 },
    { "cifar100", false, ELEMENT_U8, 1, 2, 3074 }, /* byte 0 is the coarse label */
    { "tokens", true, ELEMENT_U16, 0, 0, 0 },
    { "tokens32", true, ELEMENT_U32, 0, 0, 0 },
};

const struct record_format *hp_record_format(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strlen(formats[i].name) == length && strncmp(formats[i].name, name, length) == 0)
            return &formats[i];
    return NULL;
}

/* The samples in a file: windows that have all their labels, or images. */
static enum hypar_status count_samples(const struct record_format *format,
                                       const struct input_file *file, int64_t window,
                                       int64_t *out, struct hypar_error *err)
{
    int64_t unit = format->tokens ? hp_element[format->type].bytes : format->record;
    int64_t n = file->bytes / unit;
    if (file->bytes % unit)
        return hp_bad_file(file, err, "%lld bytes, expected a multiple of %lld, as %s has it",
                           (long long)file->bytes, (long long)unit, format->name);
    if (n < (format->tokens ? window + 1 : 1))
        return hp_bad_file(file, err, "%lld %s, expected at least %lld", (long long)n,
                           format->tokens ? "tokens" : "images",
                           (long long)(format->tokens ? window + 1 : 1));
    *out = format->tokens ? (n - 1) / window : n;
    return HYPAR_OK;
}

enum hypar_status hp_record_columns(const struct record_format *format, struct column *inputs,
                                    struct column *labels, struct arena *arena,
                                    const struct input_file *file, int n_files, int64_t window,
                                    struct hypar_error *err)
{
    int64_t width = hp_element[format->type].bytes;
    struct hypar_shape image = { 3, { 3, 32, 32 } }, ids = { 1, { window } };
    struct column both = { .type = format->type,
                           .stride = format->tokens ? window * width : format->record,
                           .n_parts = n_files };
    *inputs = *labels = both;
    inputs->shape = format->tokens ? ids : image;
    if (format->tokens)
        labels->shape = ids;
    inputs->part = NEW(arena, struct column_part, n_files);
    labels->part = NEW(arena, struct column_part, n_files);
    for (int i = 0; i < n_files; i++) {
        int64_t n = 0;
        TRY(count_samples(format, &file[i], window, &n, err));
        inputs->part[i] =
            (struct column_part){ &file[i], format->tokens ? 0 : format->image, n };
        labels->part[i] =
            (struct column_part){ &file[i], format->tokens ? width : format->label, n };
        inputs->samples += n;
        labels->samples += n;
    }
    return HYPAR_OK;
}
