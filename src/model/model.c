#include "model/model.h"

#include "model/zoo.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct model_reader *const readers[] = { &hp_reader_json, &hp_reader_pipedream };

enum { READER_COUNT = sizeof readers / sizeof readers[0], HEAD_BYTES = 512 };

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

static const struct model_reader *reader_by_extension(const char *path)
{
    for (int i = 0; i < READER_COUNT; i++)
        if (ends_in(path, readers[i]->extension))
            return readers[i];
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
    FILE *file = fopen(path, "rb");
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
    return hp_fail(err, HYPAR_UNSUPPORTED, "%s: unknown kind of file, expected %s or a %s",
                   path, readers[0]->form, readers[1]->form);
}

static enum hypar_status import_file(struct hypar_graph **out, const char *path, int64_t batch,
                                     struct hypar_error *err)
{
    const struct model_reader *reader =
        reads_once(path) ? readers[0] : reader_by_extension(path);
    if (!reader)
        TRY(reader_by_content(&reader, path, err));
    return reader->read(out, path, batch, err);
}

enum hypar_status hypar_import(struct hypar_graph **out, const char *model,
                               const struct hypar_import_options *options,
                               struct hypar_error *err)
{
    int64_t batch = options ? options->batch : 0;
    *out = NULL;
    if (batch < 0 || batch > HP_MAX_BATCH)
        return hp_fail(err, HYPAR_INVALID, "batch is %lld, expected 1 to %lld",
                       (long long)batch, (long long)HP_MAX_BATCH);
    if (ends_in(model, ".onnx"))
        return hp_fail(err, HYPAR_UNSUPPORTED, "%s: ONNX is not read yet, expected %s", model,
                       readers[0]->form);
    bool path = strcmp(model, "-") == 0 || strchr(model, '/') || reader_by_extension(model);
    return path ? import_file(out, model, batch, err) : hp_zoo_build(out, model, batch, err);
}
