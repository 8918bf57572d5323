/* From the text that names files to a column for each input of the model. */
#include "run/data/files.h"

#include <string.h>

#include "run/data/inputs.h"

/* Opening ------------------------------------------------------------------------------- */

static int count_items(const char *text)
{
    int n = 1;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

/* The next path of a list; the comma behind it is overwritten by its end. */
static char *next_item(char **text)
{
    char *item = *text, *comma = strchr(item, ',');
    *text = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return item;
}

static enum hypar_status open_next(struct data_files *files, const char *path,
                                   struct hypar_error *err)
{
    if (!*path)
        return hp_fail(err, HYPAR_INVALID, "data: the name of a file is empty");
    TRY(hp_input_open(&files->file[files->n_files], path, err));
    files->n_files++;
    return HYPAR_OK;
}

void hp_files_close(struct data_files *files)
{
    for (int i = 0; i < files->n_files; i++)
        hp_input_close(&files->file[i]);
    files->n_files = 0;
}

/* Arrays -------------------------------------------------------------------------------- */

static enum hypar_status read_array(struct column *out, struct arena *arena,
                                    const struct input_file *file, struct hypar_error *err)
{
    static const struct array_format *const formats[] = { &hp_npy_format, &hp_idx_format };
    unsigned char first[8] = { 0 };
    int64_t n = file->bytes < 8 ? file->bytes : 8;
    TRY(hp_input_read(file, 0, n, first, err));
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i]->begins(first, n))
            return formats[i]->read(out, arena, file, err);
    return hp_bad_file(file, err,
                       "begins with %02x %02x %02x %02x, expected a .npy or an IDX file, or "
                       "cifar10:, cifar100:, tokens: or tokens32: in front of the name",
                       first[0], first[1], first[2], first[3]);
}

/* The input of an item INPUT=FILE, or the next input without a file; -1: there is none. */
static int input_of(const struct data_files *files, const struct hypar_graph *graph,
                    char **item)
{
    const char *sign = strchr(*item, '=');
    int t = sign ? hp_find_input(graph, *item, (size_t)(sign - *item)) : -1;
    if (t >= 0) {
        *item += sign + 1 - *item;
        return t;
    }
    for (t = 0; t < graph->n_tensors; t++)
        if (hp_is_data_input(graph, t) && !files->column[t].samples)
            return t;
    return -1;
}

static enum hypar_status open_arrays(struct data_files *files, struct arena *arena,
                                     const struct hypar_graph *graph, char *text,
                                     struct hypar_error *err)
{
    while (text) {
        char *item = next_item(&text);
        int t = input_of(files, graph, &item);
        if (t < 0)
            return hp_fail(err, HYPAR_INVALID,
                           "data: '%.200s' is one file more than the model has inputs", item);
        if (files->column[t].samples)
            return hp_fail(err, HYPAR_INVALID, "data: input '%.80s' has two files",
                           graph->tensors[t].name);
        TRY(open_next(files, item, err));
        TRY(read_array(&files->column[t], arena, &files->file[files->n_files - 1], err));
    }
    return HYPAR_OK;
}

/* Records ------------------------------------------------------------------------------- */

/* The only input with a role. */
static enum hypar_status only_input(const struct hypar_graph *graph,
                                    const struct record_format *format, enum input_role role,
                                    int *out, struct hypar_error *err)
{
    static const char *const names[] = {
        [ROLE_NUMBERS] = "numbers", [ROLE_IDS] = "ids", [ROLE_LABELS] = "labels"
    };
    *out = hp_next_input(graph, role, 0);
    if (*out < 0)
        return hp_fail(err, HYPAR_INVALID,
                       "data: the model has no input of %s, expected one for %s", names[role],
                       format->name);
    if (hp_next_input(graph, role, *out + 1) >= 0)
        return hp_fail(err, HYPAR_INVALID,
                       "data: the model has several inputs of %s, expected one for %s",
                       names[role], format->name);
    return HYPAR_OK;
}

static enum hypar_status open_records(struct data_files *files, struct arena *arena,
                                      const struct hypar_graph *graph,
                                      const struct record_format *format, char *text,
                                      struct hypar_error *err)
{
    int inputs = -1, labels = -1;
    TRY(only_input(graph, format, format->tokens ? ROLE_IDS : ROLE_NUMBERS, &inputs, err));
    TRY(only_input(graph, format, ROLE_LABELS, &labels, err));
    while (text)
        TRY(open_next(files, next_item(&text), err));
    struct hypar_shape sample = hp_sample_shape(graph, inputs);
    return hp_record_columns(format, &files->column[inputs], &files->column[labels], arena,
                             files->file, files->n_files, hp_shape_elements(&sample), err);
}

/* Checks -------------------------------------------------------------------------------- */

static struct hypar_shape without_ones(const struct hypar_shape *shape)
{
    struct hypar_shape out = { 0 };
    for (int d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] != 1)
            out.dim[out.n_dims++] = shape->dim[d];
    return out;
}

/* Do two shapes hold the same elements in the same order? Dimensions of size 1 are ignored, and
 * one side may be flat. */
static bool same_samples(const struct hypar_shape *a, const struct hypar_shape *b)
{
    struct hypar_shape x = without_ones(a), y = without_ones(b);
    bool same = x.n_dims == y.n_dims;
    for (int d = 0; same && d < x.n_dims; d++)
        same = x.dim[d] == y.dim[d];
    bool flat = x.n_dims == 1 || y.n_dims == 1;
    return same || (flat && hp_shape_elements(&x) == hp_shape_elements(&y));
}

static enum hypar_status check_column(const struct data_files *files,
                                      const struct hypar_graph *graph, int t,
                                      struct hypar_error *err)
{
    const struct column *column = &files->column[t];
    const char *name = graph->tensors[t].name;
    char has[SHAPE_TEXT_BYTES], expected[SHAPE_TEXT_BYTES];
    if (!column->samples)
        return hp_fail(err, HYPAR_INVALID, "data: no file for input '%.80s'", name);
    const struct input_file *file = column->part[0].file;
    struct hypar_shape sample = hp_sample_shape(graph, t);
    if (graph->tensors[t].index && hp_element[column->type].kind == 'f')
        return hp_bad_file(file, err,
                           "elements of type %s, expected integers for input '%.80s'",
                           hp_element[column->type].name, name);
    if (!same_samples(&column->shape, &sample))
        return hp_bad_file(file, err, "samples of shape %s, expected %s for input '%.80s'",
                           hp_shape_text(&column->shape, has), hp_shape_text(&sample, expected),
                           name);
    if (column->samples != files->samples)
        return hp_bad_file(file, err,
                           "%lld samples, expected %lld, as many as the first input has",
                           (long long)column->samples, (long long)files->samples);
    return HYPAR_OK;
}

static enum hypar_status check_columns(struct data_files *files,
                                       const struct hypar_graph *graph, struct hypar_error *err)
{
    for (int t = 0; t < graph->n_tensors; t++) {
        if (!hp_is_data_input(graph, t))
            continue;
        if (!files->samples)
            files->samples = files->column[t].samples;
        TRY(check_column(files, graph, t, err));
    }
    return HYPAR_OK;
}

enum hypar_status hp_files_open(struct data_files *out, struct arena *arena,
                                const struct hypar_graph *graph, const char *text,
                                struct hypar_error *err)
{
    char *copy = hp_arena_strdup(arena, text), *colon = strchr(copy, ':');
    const struct record_format *format =
        colon ? hp_record_format(copy, (size_t)(colon - copy)) : NULL;
    *out = (struct data_files){ .file = NEW(arena, struct input_file, count_items(text)),
                                .column = NEW(arena, struct column, graph->n_tensors) };
    TRY(format ? open_records(out, arena, graph, format, colon + 1, err)
               : open_arrays(out, arena, graph, copy, err));
    return check_columns(out, graph, err);
}
