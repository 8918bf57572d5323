/* Writing a checkpoint: the header first, then boxes of tensors at their places, and finally
 * the header again with the checksums of what was written. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/files/gzip.h"
#include "base/files/json.h"
#include "graph/graph.h"
#include "run/checkpoint/checkpoint.h"

struct checkpoint_writer {
    struct arena arena; /* holds the writer too */
    struct hypar_output output;
    int n_tensors;
    struct checkpoint_tensor *tensor;
    int64_t *at;   /* where each tensor begins in the file */
    int64_t *left; /* by tensor: elements that are not written yet */
    uint32_t *crc; /* by tensor: the shares of the bytes written so far (base/files/gzip.h) */
    char *header;  /* with the length in front */
    size_t header_bytes;
    size_t own_digits,
        *digits; /* positions of checksums in the header: its own, the tensors' */
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

/* Write a checksum that is filled in at the end; returns the position of its digits. */
static size_t write_checksum(struct json_writer *json, const char *key)
{
    hp_json_put_string(json, key, CHECKSUM_BLANK);
    return (size_t)ftell(json->file) - CHECKSUM_DIGITS - 1; /* before the quote */
}

/* Positions are relative to the data until the header's length is known. */
static void write_header(struct checkpoint_writer *w, FILE *file,
                         const struct checkpoint_pair *metadata, int n_metadata)
{
    struct json_writer json = { .file = file };
    int64_t at = 0;
    hp_json_begin_object(&json, NULL, true);
    hp_json_begin_object(&json, "__metadata__", true);
    w->own_digits = write_checksum(&json, HEADER_CHECKSUM);
    for (int i = 0; i < n_metadata; i++)
        hp_json_put_string(&json, metadata[i].key, metadata[i].value);
    for (int t = 0; t < w->n_tensors; t++)
        w->digits[t] = write_checksum(
            &json, hp_arena_printf(&w->arena, TENSOR_CHECKSUM "%s", w->tensor[t].name));
    hp_json_end_object(&json);
    for (int t = 0; t < w->n_tensors; t++) {
        w->left[t] = hp_shape_elements(&w->tensor[t].shape);
        w->at[t] = at;
        at += w->left[t] * hp_element[w->tensor[t].type].bytes;
        write_tensor(&json, &w->tensor[t], w->at[t], at);
    }
    hp_json_end_object(&json);
}

/* An upper bound of the header's bytes: a byte of text becomes at most six (\u0001), a tensor's
 * name is written twice. */
static size_t header_room(const struct checkpoint_writer *w,
                          const struct checkpoint_pair *metadata, int n_metadata)
{
    enum { ESCAPED = 6, WORDS = 160, DIGITS = 22 };
    size_t room = WORDS;
    for (int i = 0; i < n_metadata; i++)
        room += ESCAPED * (strlen(metadata[i].key) + strlen(metadata[i].value)) + WORDS;
    for (int t = 0; t < w->n_tensors; t++)
        room += 2 * ESCAPED * strlen(w->tensor[t].name) + WORDS +
                DIGITS * (size_t)(w->tensor[t].shape.n_dims + 2);
    return room;
}

/* Make length and header, which ends at a multiple of 8 bytes: the JSON writer's line end and
 * the padding are blanks. */
static void make_header(struct checkpoint_writer *w, const struct checkpoint_pair *metadata,
                        int n_metadata)
{
    const size_t begin = 8, room = begin + header_room(w, metadata, n_metadata);
    w->header = NEW(&w->arena, char, (int64_t)room);
    FILE *file = hypar_or_out_of_memory(fmemopen(w->header, room, "w"));
    fseek(file, (long)begin, SEEK_SET);
    write_header(w, file, metadata, n_metadata);
    size_t end = (size_t)ftell(file) - 1;
    fclose(file);
    w->header_bytes = (end + 7) / 8 * 8;
    assert(w->header_bytes <= room);
    memset(w->header + end, ' ', w->header_bytes - end);
    for (int i = 0; i < 8; i++)
        w->header[i] = (char)(unsigned char)((uint64_t)(w->header_bytes - begin) >> 8 * i);
    for (int t = 0; t < w->n_tensors; t++)
        w->at[t] += (int64_t)w->header_bytes;
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

static void put_digits(char *to, uint32_t checksum)
{
    char digits[CHECKSUM_DIGITS + 1];
    snprintf(digits, sizeof digits, "%08" PRIx32, checksum);
    memcpy(to, digits, CHECKSUM_DIGITS);
}

/* Write the checksums of the tensors, then that of the header with these; its own digits are
 * blank meanwhile. */
static enum hypar_status put_checksums(struct checkpoint_writer *w, struct hypar_error *err)
{
    for (int t = 0; t < w->n_tensors; t++) {
        int64_t bytes =
            hp_shape_elements(&w->tensor[t].shape) * hp_element[w->tensor[t].type].bytes;
        put_digits(w->header + w->digits[t], hp_crc32_of_shares(w->crc[t], bytes));
    }
    put_digits(w->header + w->own_digits, hp_crc32(0, w->header, w->header_bytes));
    return write_at(w, 0, w->header, w->header_bytes, err);
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
    w->crc = NEW(&arena, uint32_t, n_tensors);
    w->digits = NEW(&arena, size_t, n_tensors);
    for (int t = 0; t < n_tensors; t++) {
        w->tensor[t] = tensor[t];
        w->tensor[t].name = hp_arena_strdup(&arena, tensor[t].name);
    }
    w->arena = arena;
    make_header(w, metadata, n_metadata);
    enum hypar_status status = hypar_output_open(&w->output, path, err);
    if (status == HYPAR_OK)
        status = write_at(w, 0, w->header, w->header_bytes, err);
    if (status == HYPAR_OK) {
        *out = w;
        return HYPAR_OK;
    }
    hp_checkpoint_finish(w, false, NULL);
    return status;
}

enum hypar_status hp_checkpoint_put(struct checkpoint_writer *w, int t, const struct box *box,
                                    const void *dense, struct hypar_error *err)
{
    enum { CHUNK = 8192 };
    uint64_t chunk[CHUNK];
    const struct checkpoint_tensor *tensor = &w->tensor[t];
    int64_t bytes = hp_element[tensor->type].bytes,
            end = w->at[t] + hp_shape_elements(&tensor->shape) * bytes;
    struct runs r = hp_runs(&tensor->shape, box);
    w->left[t] -= hp_box_elements(box);
    assert(w->left[t] >= 0);
    while (hp_next_run(&r))
        for (int64_t i = 0; i < r.length; i += CHUNK) {
            int64_t n = r.length - i < CHUNK ? r.length - i : CHUNK;
            hp_elements_to_file((const char *)dense + (r.in_box + i) * bytes, tensor->type, n,
                                chunk);
            int64_t at = w->at[t] + (r.in_array + i) * bytes;
            w->crc[t] ^= hp_crc32_share(chunk, (size_t)(n * bytes), end - at - n * bytes);
            TRY(write_at(w, at, chunk, (size_t)(n * bytes), err));
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
    enum hypar_status written = HYPAR_OK, status;
    if (keep)
        written = w->failed ? cannot_write(w, EIO, err) : put_checksums(w, err);
    status = hypar_output_close(&w->output, keep && written == HYPAR_OK,
                                written == HYPAR_OK ? err : NULL);
    status = written == HYPAR_OK ? status : written;
    hp_arena_free(&w->arena);
    return status;
}
