/* Makes a graph from the name of a zoo model, or from a file. The table of readers decides
 * by the first bytes of the file which reader takes it. */
#include "model/model.h"

#include "base/files/file.h"
#include "base/utf8.h"
#include "model/zoo/zoo.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const struct model_reader *const readers[] = { &hp_reader_json, &hp_reader_onnx,
                                                      &hp_reader_pipedream };

enum { READER_COUNT = sizeof readers / sizeof readers[0], HEAD_BYTES = 512 };

/* By the end of path[0..n). */
static const struct model_reader *reader_by_extension(const char *path, size_t n)
{
    for (int i = 0; i < READER_COUNT; i++) {
        size_t m = strlen(readers[i]->extension);
        if (n >= m && memcmp(path + n - m, readers[i]->extension, m) == 0)
            return readers[i];
    }
    return NULL;
}

/* A pipe or a terminal gives its bytes once: it cannot be looked into before it is read. */
static bool reads_once(const char *path)
{
    struct stat about;
    return strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode));
}

static enum hypar_status reader_by_content(const struct model_reader **out, const char *path,
                                           struct hypar_error *err)
{
    char head[HEAD_BYTES];
    TRY(hp_file_refuse_python(path, err));
    FILE *file = hypar_or_out_of_memory(fopen(path, "rb"));
    if (!file)
        return hp_fail(err, HYPAR_UNREADABLE, "%s: cannot open: %s", path, strerror(errno));
    size_t n = fread(head, 1, sizeof head, file);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed)
        return hp_fail(err, HYPAR_UNREADABLE, "%s: cannot read: %s", path, strerror(failed));
    for (int i = 0; i < READER_COUNT; i++)
        if (readers[i]->begins(head, n)) {
            *out = readers[i];
            return HYPAR_OK;
        }
    return hp_fail(err, HYPAR_UNSUPPORTED, "%s: unknown kind of file, expected %s, %s or a %s",
                   path, readers[0]->form, readers[1]->form, readers[2]->form);
}

char *hp_model_name(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    const char *dot = strrchr(from, '.');
    size_t n = dot && dot > from ? (size_t)(dot - from) : strlen(from);
    return hp_clean_text(hp_arena_strndup(arena, from, n), '_');
}

/* An attribute that counts samples (a shape, the stop of a slice) does not follow. */
enum hypar_status hp_check_follows(const struct hypar_graph *g, const struct hypar_graph *h,
                                   const char *file, struct hypar_error *err)
{
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *was = &g->tensors[t], *is = &h->tensors[t];
        for (int d = 0; d < was->shape.n_dims; d++) {
            int64_t wanted = was->shape.dim[d];
            if (d == was->sample_dim)
                wanted = wanted / g->batch * h->batch;
            if (is->shape.dim[d] != wanted)
                return hp_fail(err, HYPAR_INVALID,
                               "%s: cannot follow a batch of %lld: '%.60s' has %lld in "
                               "dimension %d, expected %lld",
                               file, (long long)h->batch, was->name,
                               (long long)is->shape.dim[d], d, (long long)wanted);
        }
        if (is->sample_dim != was->sample_dim)
            return hp_fail(err, HYPAR_INVALID,
                           "%s: cannot follow a batch of %lld: '%.60s' has its samples in "
                           "dimension %d, expected %d",
                           file, (long long)h->batch, was->name, is->sample_dim,
                           was->sample_dim);
    }
    return HYPAR_OK;
}

static enum hypar_status import_file(struct hypar_graph **out, const char *path,
                                     const struct hypar_import_options *options,
                                     struct hypar_error *err)
{
    const struct model_reader *reader =
        reads_once(path) ? readers[0] : reader_by_extension(path, strlen(path));
    if (options->reads && strcmp(path, "-") != 0)
        TRY(options->reads(options->who, path, err));
    if (!reader)
        TRY(reader_by_content(&reader, path, err));
    return reader->read(out, path, options, err);
}

/* The options behind a path: lists as in struct hypar_import_options. */
struct word_options {
    char path[4096], batch_dims[1024], dims[1024];
};

static void add_item(char *list, size_t size, const char *item, int length)
{
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s%.*s", n ? "," : "", length, item);
}

static enum hypar_status split_word(const char *model, const char *colon,
                                    struct word_options *out, struct hypar_error *err)
{
    *out = (struct word_options){ "", "", "" };
    snprintf(out->path, sizeof out->path, "%.*s", (int)(colon - model), model);
    for (const char *p = colon + 1; *p;) {
        int length = (int)strcspn(p, ",");
        if (strncmp(p, "batch-dim=", 10) == 0)
            add_item(out->batch_dims, sizeof out->batch_dims, p + 10, length - 10);
        else if (strncmp(p, "dim=", 4) == 0)
            add_item(out->dims, sizeof out->dims, p + 4, length - 4);
        else
            return hp_fail(err, HYPAR_INVALID,
                           "%.*s: unknown option '%.*s', expected batch-dim=NAME=DIM or "
                           "dim=NAME=N",
                           (int)(colon - model), model, length, p);
        p += length + (p[length] == ',');
    }
    return HYPAR_OK;
}

/* A path with options in the word itself. */
static enum hypar_status import_word(struct hypar_graph **out, const char *model,
                                     const char *colon,
                                     const struct hypar_import_options *options,
                                     struct hypar_error *err)
{
    struct word_options word;
    struct hypar_import_options all = *options;
    size_t length = strlen(colon) + (options->batch_dims ? strlen(options->batch_dims) : 0) +
                    (options->dims ? strlen(options->dims) : 0);
    if (length >= sizeof word.dims || (size_t)(colon - model) >= sizeof word.path)
        return hp_fail(err, HYPAR_INVALID,
                       "model '%.40s...': too long, expected options of less than %zu "
                       "characters",
                       model, sizeof word.dims);
    TRY(split_word(model, colon, &word, err));
    if (options->batch_dims)
        add_item(word.batch_dims, sizeof word.batch_dims, options->batch_dims,
                 (int)strlen(options->batch_dims));
    if (options->dims)
        add_item(word.dims, sizeof word.dims, options->dims, (int)strlen(options->dims));
    all.batch_dims = *word.batch_dims ? word.batch_dims : NULL;
    all.dims = *word.dims ? word.dims : NULL;
    return import_file(out, word.path, &all, err);
}

static const char *nearer(const char *a, const char *b)
{
    return !a || (b && b < a) ? b : a;
}

/* ".onnx:" begins options, right or wrong ones; behind another name only those that there are:
 * a path may have a colon in it. */
size_t hypar_model_path_length(const char *model)
{
    const char *colon = strstr(model, ".onnx:");
    if (colon)
        return (size_t)(colon + 5 - model);
    colon = nearer(strstr(model, ":dim="), strstr(model, ":batch-dim="));
    size_t n = colon ? (size_t)(colon - model) : 0;
    return memchr(model, '/', n) || reader_by_extension(model, n) ? n : strlen(model);
}

bool hypar_model_is_path(const char *model)
{
    return strchr(model, '/') || reader_by_extension(model, hypar_model_path_length(model));
}

enum { USUAL_BYTES = 64 };

/* The options of models of the zoo that a framework sets; NULL: none. */
static const char *usual_options(const struct hypar_framework *framework,
                                 char text[USUAL_BYTES])
{
    if (!framework || framework->attention != HYPAR_ATTENTION_UNFUSED)
        return NULL;
    snprintf(text, USUAL_BYTES, "attention=unfused,attention_dropout_percent=%ld",
             lround(100 * framework->attention_dropout));
    return text;
}

static enum hypar_status import(struct hypar_graph **out, const char *model,
                                const struct hypar_import_options *options,
                                struct hypar_error *err)
{
    char usual[USUAL_BYTES];
    int64_t batch = options->batch;
    if (batch < 0 || batch > HP_MAX_BATCH)
        return hp_fail(err, HYPAR_INVALID, "batch is %lld, expected 1 to %lld",
                       (long long)batch, (long long)HP_MAX_BATCH);
    size_t n = hypar_model_path_length(model);
    if (model[n])
        return import_word(out, model, model + n, options, err);
    return strcmp(model, "-") == 0 || hypar_model_is_path(model)
               ? import_file(out, model, options, err)
               : hp_zoo_build(out, model, batch, usual_options(options->framework, usual), err);
}

enum hypar_status hypar_import(struct hypar_graph **out, const char *model,
                               const struct hypar_import_options *options,
                               struct hypar_error *err)
{
    static const struct hypar_import_options defaults = { 0 };
    options = options ? options : &defaults;
    *out = NULL;
    TRY(import(out, model, options, err));
    enum hypar_status status =
        options->freeze ? hp_graph_freeze(*out, options->freeze, err) : HYPAR_OK;
    if (status == HYPAR_OK) {
        hp_graph_note_untrained(*out);
        return HYPAR_OK;
    }
    hypar_graph_free(*out);
    *out = NULL;
    return status;
}
