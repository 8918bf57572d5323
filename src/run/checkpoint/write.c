/* Writing a checkpoint: the header first, then boxes of tensors at their places. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "graph/graph.h"
#include "run/checkpoint/checkpoint.h"

struct checkpoint_writer {
    struct arena arena; /* holds the writer too */
    struct hypar_output output;
    int n_tensors;
    struct checkpoint_tensor *tensor;
    int64_t *at;   /* where each tensor begins in the file */
    int64_t *left; /* its elements that nobody has put yet */
    bool failed;
};

static enum hypar_status cannot_write(const struct checkpoint_writer *w, int why,
                                      struct hypar_error *err)
{
    enum hypar_status status = hp_fail(err, HYPAR_RUNTIME, "cannot write: %s", strerror(why));
    return hp_in(err, status, "%s", w->output.path);
}

static void write_tensor(struct json_writer *json, const struct checkpoint_tensor *t,
                         int64_t begin, int64_t end)
{
    hp_json_begin_object(json, t->name, true);
    hp_json_put_string(json, "dtype", hp_element[t->type].name);
    hp_json_begin_array(json, "shape", true);
    for (int d = 0; d < t->shape.n_dims; d++)
        hp_json_put_int(json, NULL, t->shape.dim[d]);
    hp_json_end_array(json);
    hp_json_begin_array(json, "data_offsets", true);
    hp_json_put_int(json, NULL, begin);
    hp_json_put_int(json, NULL, end);
    hp_json_end_array(json);
    hp_json_end_object(json);
}

/* Places are those in the data, until the header's length is known. */
static void write_header(struct checkpoint_writer *w, FILE *file,
                         const struct checkpoint_pair *metadata, int n_metadata)
{
    struct json_writer json = { .file = file };
    int64_t at = 0;
    hp_json_begin_object(&json, NULL, true);
    if (n_metadata > 0) {
        hp_json_begin_object(&json, "__metadata__", true);
        for (int i = 0; i < n_metadata; i++)
            hp_json_put_string(&json, metadata[i].key, metadata[i].value);
        hp_json_end_object(&json);
    }
    for (int t = 0; t < w->n_tensors; t++) {
        w->left[t] = hp_shape_elements(&w->tensor[t].shape);
        w->at[t] = at;
        at += w->left[t] * hp_element[w->tensor[t].type].bytes;
        write_tensor(&json, &w->tensor[t], w->at[t], at);
    }
    hp_json_end_object(&json);
}

/* Length and header, which ends at a multiple of 8 bytes: the JSON writer's line end and what
 * fills up are blanks. */
static enum hypar_status put_header(struct checkpoint_writer *w,
                                    const struct checkpoint_pair *metadata, int n_metadata,
                                    struct hypar_error *err)
{
    FILE *file = w->output.file;
    unsigned char length[8] = { 0 };
    if (fseek(file, sizeof length, SEEK_SET) != 0)
        return cannot_write(w, errno, err);
    write_header(w, file, metadata, n_metadata);
    long end = ftell(file), begin = (long)sizeof length;
    if (end < 0 || fseek(file, end - 1, SEEK_SET) != 0)
        return cannot_write(w, errno, err);
    int blanks = 1 + (int)((8 - (end - begin) % 8) % 8);
    fprintf(file, "%*s", blanks, "");
    end += blanks - 1;
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)(end - begin) >> 8 * i);
    errno = 0;
    if (fseek(file, 0, SEEK_SET) != 0 || fwrite(length, 1, sizeof length, file) == 0 ||
        fflush(file) != 0 || ferror(file))
        return cannot_write(w, errno ? errno : EIO, err);
    for (int t = 0; t < w->n_tensors; t++)
        w->at[t] += end;
    return HYPAR_OK;
}

enum hypar_status hp_checkpoint_create(struct checkpoint_writer **out, const char *path,
                                       const struct checkpoint_tensor *tensor, int n_tensors,
                                       const struct checkpoint_pair *metadata, int n_metadata,
                                       struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct checkpoint_writer *w = NEW(&arena, struct checkpoint_writer, 1);
    *out = NULL;
    w->n_tensors = n_tensors;
    w->tensor = NEW(&arena, struct checkpoint_tensor, n_tensors);
    w->at = NEW(&arena, int64_t, n_tensors);
    w->left = NEW(&arena, int64_t, n_tensors);
    for (int t = 0; t < n_tensors; t++) {
        w->tensor[t] = tensor[t];
        w->tensor[t].name = hp_arena_strdup(&arena, tensor[t].name);
    }
    w->arena = arena;
    enum hypar_status status = hypar_output_open(&w->output, path, err);
    if (status == HYPAR_OK)
        status = put_header(w, metadata, n_metadata, err);
    if (status == HYPAR_OK) {
        *out = w;
        return HYPAR_OK;
    }
    hp_checkpoint_finish(w, false, NULL);
    return status;
}

static enum hypar_status write_at(struct checkpoint_writer *w, int64_t at, const void *bytes,
                                  size_t n, struct hypar_error *err)
{
    while (n > 0) {
        ssize_t done = pwrite(fileno(w->output.file), bytes, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            w->failed = true;
            return cannot_write(w, done < 0 ? errno : EIO, err);
        }
        bytes = (const char *)bytes + done;
        n -= (size_t)done;
        at += done;
    }
    return HYPAR_OK;
}

enum hypar_status hp_checkpoint_put(struct checkpoint_writer *w, int t, const struct box *box,
                                    const void *dense, struct hypar_error *err)
{
    enum { CHUNK = 8192 };
    uint64_t chunk[CHUNK];
    const struct checkpoint_tensor *tensor = &w->tensor[t];
    int64_t bytes = hp_element[tensor->type].bytes;
    struct runs r = hp_runs(&tensor->shape, box);
    w->left[t] -= hp_box_elements(box);
    assert(w->left[t] >= 0);
    while (hp_next_run(&r))
        for (int64_t i = 0; i < r.length; i += CHUNK) {
            int64_t n = r.length - i < CHUNK ? r.length - i : CHUNK;
            hp_elements_to_file((const char *)dense + (r.in_box + i) * bytes, tensor->type, n,
                                chunk);
            TRY(write_at(w, w->at[t] + (r.in_array + i) * bytes, chunk, (size_t)(n * bytes),
                         err));
        }
    return HYPAR_OK;
}

enum hypar_status hp_checkpoint_finish(struct checkpoint_writer *w, bool keep,
                                       struct hypar_error *err)
{
    if (!w)
        return HYPAR_OK;
    for (int t = 0; t < w->n_tensors; t++)
        assert(!keep || w->failed || w->left[t] == 0);
    enum hypar_status status = hypar_output_close(&w->output, keep && !w->failed, err);
    if (keep && w->failed)
        status = cannot_write(w, EIO, err);
    struct arena arena = w->arena; /* the writer lives in it */
    hp_arena_free(&arena);
    return status;
}
