/* Reading a checkpoint: the whole header is checked before any of it is used; then boxes of
 * tensors are read from their places. */
#include <inttypes.h>
#include <string.h>

#include "base/files/gzip.h"
#include "base/files/json.h"
#include "base/sort.h"
#include "base/table.h"
#include "run/checkpoint/checkpoint.h"
#include "run/input_file.h"

static const int64_t MAX_HEADER_BYTES =
    100000000; /* the limit of the reference implementation */
static const int64_t MAX_ELEMENTS = (int64_t)1 << 50;
static const char METADATA[] = "__metadata__";

/* The place of a tensor in the data. */
struct extent {
    int64_t begin, end;
    int tensor;
};

struct checkpoint {
    struct arena arena; /* holds the checkpoint too */
    struct input_file file;
    int64_t data; /* where the data begins */
    int n_tensors, n_metadata, tensors_capacity, extents_capacity, metadata_capacity;
    struct checkpoint_tensor *tensor;
    struct extent *extent;
    struct checkpoint_pair *metadata;
    bool header_checked; /* the header has a checksum, which is right */
    uint32_t *crc;       /* of each tensor; NULL: the file has no checksums */
    struct table names, keys;
};

/* Header ---------------------------------------------------------------------------------- */

static enum hypar_status read_metadata(struct checkpoint *c, const struct json *object,
                                       struct hypar_error *err)
{
    struct json member;
    TRY(hp_json_object(object, err));
    for (void *iter = NULL; hp_json_next(object, &iter, &member);) {
        const char *value;
        TRY(hp_json_string(&member, &value, err));
        c->metadata = GROW(&c->arena, struct checkpoint_pair, c->metadata, c->n_metadata,
                           &c->metadata_capacity);
        struct checkpoint_pair pair = { hp_arena_strdup(&c->arena, member.key),
                                        hp_arena_strdup(&c->arena, value) };
        hp_table_put(&c->keys, &c->arena, pair.key, strlen(pair.key), c->n_metadata);
        c->metadata[c->n_metadata++] = pair;
    }
    return HYPAR_OK;
}

static enum hypar_status read_type(const struct json *at, enum element *out,
                                   struct hypar_error *err)
{
    const char *name;
    int type = 0;
    TRY(hp_json_string(at, &name, err));
    while (type < ELEMENT_COUNT && strcmp(hp_element[type].name, name) != 0)
        type++;
    if (type == ELEMENT_COUNT)
        return hp_json_fail(at, err, "unknown type '%.20s', expected one such as F32 or F64",
                            name);
    *out = (enum element)type;
    return HYPAR_OK;
}

static enum hypar_status read_shape(const struct json *at, struct hypar_shape *out,
                                    int64_t *elements, struct hypar_error *err)
{
    TRY(hp_json_array(at, HYPAR_MAX_DIMS, err));
    *elements = 1;
    out->n_dims = hp_json_length(at);
    for (int d = 0; d < out->n_dims; d++) {
        struct json size = hp_json_element(at, d);
        TRY(hp_json_int(&size, 0, MAX_ELEMENTS, &out->dim[d], err));
        if (*elements && out->dim[d] > MAX_ELEMENTS / *elements)
            return hp_json_fail(at, err, "more than 2^50 elements");
        *elements *= out->dim[d];
    }
    return HYPAR_OK;
}

static enum hypar_status read_extent(const struct json *at, int64_t bytes, int64_t data_bytes,
                                     struct extent *out, struct hypar_error *err)
{
    TRY(hp_json_array(at, 2, err));
    struct json begin = hp_json_element(at, 0), end = hp_json_element(at, 1);
    TRY(hp_json_int(&begin, 0, data_bytes, &out->begin, err));
    TRY(hp_json_int(&end, 0, data_bytes, &out->end, err));
    if (out->end - out->begin != bytes)
        return hp_json_fail(at, err, "%lld to %lld, expected %lld bytes, as type and shape say",
                            (long long)out->begin, (long long)out->end, (long long)bytes);
    return HYPAR_OK;
}

static enum hypar_status read_tensor(struct checkpoint *c, const struct json *object,
                                     struct hypar_error *err)
{
    static const char *const members[] = { "dtype", "shape", "data_offsets", NULL };
    struct checkpoint_tensor tensor = { .name = hp_arena_strdup(&c->arena, object->key) };
    struct extent extent = { .tensor = c->n_tensors };
    int64_t elements;
    TRY(hp_json_object(object, err));
    TRY(hp_json_only(object, members, err));
    struct json dtype = hp_json_member(object, "dtype");
    struct json shape = hp_json_member(object, "shape");
    struct json offsets = hp_json_member(object, "data_offsets");
    TRY(read_type(&dtype, &tensor.type, err));
    TRY(read_shape(&shape, &tensor.shape, &elements, err));
    TRY(read_extent(&offsets, elements * hp_element[tensor.type].bytes, c->file.bytes - c->data,
                    &extent, err));

    int t = c->n_tensors;
    c->tensor = GROW(&c->arena, struct checkpoint_tensor, c->tensor, t, &c->tensors_capacity);
    c->extent = GROW(&c->arena, struct extent, c->extent, t, &c->extents_capacity);
    c->tensor[t] = tensor;
    c->extent[t] = extent;
    hp_table_put(&c->names, &c->arena, tensor.name, strlen(tensor.name), t);
    c->n_tensors++;
    return HYPAR_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : x->tensor - y->tensor;
}

/* Tensors must follow one another, from the first byte of the data to the last. */
static enum hypar_status check_places(struct checkpoint *c, struct hypar_error *err)
{
    struct extent *sorted = NEW(&c->arena, struct extent, c->n_tensors);
    int64_t at = 0, bytes = c->file.bytes - c->data;
    if (c->n_tensors)
        memcpy(sorted, c->extent, (size_t)c->n_tensors * sizeof *sorted);
    hp_sort(sorted, c->n_tensors, sizeof *sorted, by_place);
    for (int i = 0; i < c->n_tensors; i++) {
        if (sorted[i].begin != at)
            return hp_fail(err, HYPAR_INVALID,
                           "tensor '%.80s' begins at byte %lld of the data, expected %lld, "
                           "where the one before it ends",
                           c->tensor[sorted[i].tensor].name, (long long)sorted[i].begin,
                           (long long)at);
        at = sorted[i].end;
    }
    if (at != bytes)
        return hp_fail(err, HYPAR_INVALID,
                       "%lld bytes of data, expected %lld, where the last tensor ends",
                       (long long)bytes, (long long)at);
    return HYPAR_OK;
}

/* Checksums ------------------------------------------------------------------------------- */

/* Eight hexadecimal digits, as the writer prints them. */
static bool read_checksum(const char *text, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < CHECKSUM_DIGITS; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = memchr(digits, text[i], sizeof digits - 1);
        if (!digit)
            return false;
        *out = *out << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

/* Check the checksum of length and header before the header is parsed. No JSON string can
 * contain these quotes, so the match is a key and its value. */
static enum hypar_status check_header(struct checkpoint *c, const char *header, size_t n,
                                      struct hypar_error *err)
{
    static const char key[] = "\"" HEADER_CHECKSUM "\": \"";
    const char *at = header, *end = header + n;
    uint32_t expected, crc;
    while (at && (size_t)(end - at) >= sizeof key - 1 + CHECKSUM_DIGITS &&
           memcmp(at, key, sizeof key - 1) != 0)
        at = memchr(at + 1, '"', (size_t)(end - at - 1));
    if (!at || (size_t)(end - at) < sizeof key - 1 + CHECKSUM_DIGITS)
        return HYPAR_OK;
    at += sizeof key - 1;
    crc = hp_crc32(0, header, (size_t)(at - header));
    crc = hp_crc32(crc, CHECKSUM_BLANK, CHECKSUM_DIGITS);
    crc = hp_crc32(crc, at + CHECKSUM_DIGITS, (size_t)(end - at) - CHECKSUM_DIGITS);
    c->header_checked = read_checksum(at, &expected) && crc == expected;
    if (c->header_checked)
        return HYPAR_OK;
    return hp_in(err,
                 hp_fail(err, HYPAR_INVALID,
                         "the header is damaged: its checksum is %08" PRIx32 ", expected %.*s",
                         crc, CHECKSUM_DIGITS, at),
                 "%s", c->file.path);
}

/* A file that lacks some checksums has been changed. */
static enum hypar_status find_checksums(struct checkpoint *c, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    enum hypar_status status = HYPAR_OK;
    bool any = hp_checkpoint_metadata(c, HEADER_CHECKSUM);
    if (any && !c->header_checked)
        status = hp_fail(err, HYPAR_INVALID,
                         "the header was written anew, and " HEADER_CHECKSUM
                         " cannot be checked, expected the header as hypar wrote it, or no "
                         "checksums");
    for (int i = 0; i < c->n_metadata && !any && status == HYPAR_OK; i++)
        if (strncmp(c->metadata[i].key, TENSOR_CHECKSUM, strlen(TENSOR_CHECKSUM)) == 0)
            status = hp_fail(err, HYPAR_INVALID,
                             "the header has no checksum, expected " HEADER_CHECKSUM
                             " beside those of tensors");
    if (any)
        c->crc = NEW(&c->arena, uint32_t, c->n_tensors + 1);
    for (int t = 0; t < c->n_tensors && any && status == HYPAR_OK; t++) {
        const char *name = c->tensor[t].name;
        const char *text =
            hp_checkpoint_metadata(c, hp_arena_printf(&scratch, TENSOR_CHECKSUM "%s", name));
        if (!text || strlen(text) != CHECKSUM_DIGITS || !read_checksum(text, &c->crc[t]))
            status =
                hp_fail(err, HYPAR_INVALID,
                        "tensor '%.80s' has no checksum, expected one as the header has", name);
    }
    hp_arena_free(&scratch);
    return status;
}

bool hp_checkpoint_has_checksums(const struct checkpoint *c)
{
    return c->crc;
}

static enum hypar_status verify_tensor(const struct checkpoint *c, int t,
                                       struct hypar_error *err)
{
    char bytes[1 << 16];
    uint32_t crc = 0;
    for (int64_t at = c->extent[t].begin, n; at < c->extent[t].end; at += n) {
        n = c->extent[t].end - at;
        n = n < (int64_t)sizeof bytes ? n : (int64_t)sizeof bytes;
        TRY(hp_input_read(&c->file, c->data + at, n, bytes, err));
        crc = hp_crc32(crc, bytes, (size_t)n);
    }
    if (crc == c->crc[t])
        return HYPAR_OK;
    return hp_in(err,
                 hp_fail(err, HYPAR_INVALID,
                         "tensor '%.80s' is damaged: its checksum is %08" PRIx32
                         ", expected %08" PRIx32,
                         c->tensor[t].name, crc, c->crc[t]),
                 "%s", c->file.path);
}

enum hypar_status hp_checkpoint_verify(const struct checkpoint *c, int share, int n_shares,
                                       struct hypar_error *err)
{
    double bytes = (double)(c->file.bytes - c->data);
    for (int t = 0; c->crc && t < c->n_tensors; t++) {
        double begin = (double)c->extent[t].begin; /* an empty tensor may begin at the end */
        int of = begin < bytes ? (int)(begin / bytes * n_shares) : n_shares - 1;
        if (of == share)
            TRY(verify_tensor(c, t, err));
    }
    return HYPAR_OK;
}

/* Opening --------------------------------------------------------------------------------- */

static enum hypar_status read_members(struct checkpoint *c, const struct json *root,
                                      struct hypar_error *err)
{
    struct json member;
    TRY(hp_json_object(root, err));
    for (void *iter = NULL; hp_json_next(root, &iter, &member);)
        TRY(strcmp(member.key, METADATA) == 0 ? read_metadata(c, &member, err)
                                              : read_tensor(c, &member, err));
    TRY(hp_in(err, check_places(c, err), "%s", c->file.path));
    return hp_in(err, find_checksums(c, err), "%s", c->file.path);
}

static enum hypar_status not_one(const struct checkpoint *c, struct hypar_error *err,
                                 const char *why)
{
    enum hypar_status status =
        hp_fail(err, HYPAR_INVALID, "%s, expected a safetensors file", why);
    return hp_in(err, status, "%s", c->file.path);
}

/* The length of the header, which must lie in the file and begin with a brace. */
static enum hypar_status read_length(struct checkpoint *c, int64_t *out,
                                     struct hypar_error *err)
{
    unsigned char first[9];
    uint64_t length = 0;
    char why[96];
    if (c->file.bytes < (int64_t)sizeof first) {
        snprintf(why, sizeof why, "%lld bytes", (long long)c->file.bytes);
        return not_one(c, err, why);
    }
    TRY(hp_input_read(&c->file, 0, sizeof first, first, err));
    for (int i = 7; i >= 0; i--)
        length = length << 8 | first[i];
    if (first[8] != '{')
        return not_one(c, err, "the header does not begin with '{'");
    if (length > (uint64_t)MAX_HEADER_BYTES || (int64_t)length > c->file.bytes - 8) {
        snprintf(why, sizeof why, "a header of %llu bytes in a file of %lld",
                 (unsigned long long)length, (long long)c->file.bytes);
        return not_one(c, err, why);
    }
    *out = (int64_t)length;
    return HYPAR_OK;
}

static enum hypar_status read_header(struct checkpoint *c, struct hypar_error *err)
{
    int64_t length = 0;
    struct json_document *document;
    struct arena scratch = { 0 };
    TRY(read_length(c, &length, err));
    c->data = 8 + length;
    char *text = NEW(&scratch, char, c->data);
    enum hypar_status status = hp_input_read(&c->file, 0, c->data, text, err);
    if (status == HYPAR_OK)
        status = check_header(c, text, (size_t)c->data, err);
    if (status == HYPAR_OK)
        status = hp_json_read_text(&document, text + 8, (size_t)length, c->file.path, err);
    hp_arena_free(&scratch);
    if (status != HYPAR_OK)
        return status;
    struct json root = hp_json_root(document);
    status = read_members(c, &root, err);
    hp_json_free(document);
    return status;
}

enum hypar_status hp_checkpoint_open(struct checkpoint **out, const char *path,
                                     struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct checkpoint *c = NEW(&arena, struct checkpoint, 1);
    const char *name = hp_arena_strdup(&arena, path);
    c->arena = arena;
    *out = NULL;
    enum hypar_status status = hp_input_open(&c->file, name, err);
    if (status == HYPAR_OK)
        status = read_header(c, err);
    if (status == HYPAR_OK)
        *out = c;
    else
        hp_checkpoint_close(c);
    return status;
}

void hp_checkpoint_close(struct checkpoint *c)
{
    if (!c)
        return;
    hp_input_close(&c->file);
    hp_arena_free(&c->arena);
}

/* Contents ------------------------------------------------------------------------------ */

const char *hp_checkpoint_path(const struct checkpoint *c)
{
    return c->file.path;
}

int hp_checkpoint_count(const struct checkpoint *c)
{
    return c->n_tensors;
}

const struct checkpoint_tensor *hp_checkpoint_tensor(const struct checkpoint *c, int t)
{
    return &c->tensor[t];
}

int hp_checkpoint_find(const struct checkpoint *c, const char *name)
{
    return hp_table_get(&c->names, name, strlen(name));
}

const char *hp_checkpoint_metadata(const struct checkpoint *c, const char *key)
{
    int i = hp_table_get(&c->keys, key, strlen(key));
    return i < 0 ? NULL : c->metadata[i].value;
}

enum hypar_status hp_checkpoint_need(const struct checkpoint *c, const char *name,
                                     const struct hypar_shape *shape, int *t,
                                     struct hypar_error *err)
{
    char has[SHAPE_TEXT_BYTES], expected[SHAPE_TEXT_BYTES];
    enum hypar_status status = HYPAR_OK;
    *t = hp_checkpoint_find(c, name);
    if (*t < 0) {
        status = hp_fail(err, HYPAR_INVALID, "has no tensor '%.80s', expected one of shape %s",
                         name, hp_shape_text(shape, expected));
        return hp_in(err, status, "%s", c->file.path);
    }
    const struct hypar_shape *found = &c->tensor[*t].shape;
    bool same = found->n_dims == shape->n_dims;
    for (int d = 0; same && d < shape->n_dims; d++)
        same = found->dim[d] == shape->dim[d];
    if (!same)
        status = hp_fail(err, HYPAR_INVALID, "tensor '%.80s' has shape %s, expected %s", name,
                         hp_shape_text(found, has), hp_shape_text(shape, expected));
    return hp_in(err, status, "%s", c->file.path);
}

/* Values -------------------------------------------------------------------------------- */

enum { CHUNK = 4096 };

/* Receives a chunk of a run: elements, which are numbers `at`.. of the dense box. */
typedef void take_fn(const struct elements *chunk, int64_t at, void *who);

static enum hypar_status each_chunk(const struct checkpoint *c, int t, const struct box *box,
                                    take_fn *take, void *who, struct hypar_error *err)
{
    uint64_t bytes[CHUNK];
    const struct checkpoint_tensor *tensor = &c->tensor[t];
    int width = hp_element[tensor->type].bytes;
    struct runs r = hp_runs(&tensor->shape, box);
    while (hp_next_run(&r))
        for (int64_t i = 0; i < r.length; i += CHUNK) {
            int64_t n = r.length - i < CHUNK ? r.length - i : CHUNK;
            int64_t from = c->data + c->extent[t].begin + (r.in_array + i) * width;
            TRY(hp_input_read(&c->file, from, n * width, bytes, err));
            take(&(struct elements){ bytes, tensor->type, false, n }, r.in_box + i, who);
        }
    return HYPAR_OK;
}

static enum hypar_status wrong_type(const struct checkpoint *c, int t, const char *expected,
                                    struct hypar_error *err)
{
    enum hypar_status status =
        hp_fail(err, HYPAR_INVALID, "tensor '%.80s' has type %s, expected %s",
                c->tensor[t].name, hp_element[c->tensor[t].type].name, expected);
    return hp_in(err, status, "%s", c->file.path);
}

static void take_double(const struct elements *chunk, int64_t at, void *who)
{
    hp_elements_to_double(chunk, (double *)who + at);
}

static void take_float(const struct elements *chunk, int64_t at, void *who)
{
    double number[CHUNK];
    hp_elements_to_double(chunk, number);
    for (int64_t i = 0; i < chunk->n; i++)
        ((float *)who)[at + i] = (float)number[i];
}

static void take_int(const struct elements *chunk, int64_t at, void *who)
{
    hp_elements_to_int(chunk, (int64_t *)who + at);
}

enum hypar_status hp_checkpoint_read(const struct checkpoint *c, int t, const struct box *box,
                                     enum real real, void *dense, struct hypar_error *err)
{
    if (hp_element[c->tensor[t].type].kind != 'f')
        return wrong_type(c, t, "F32 or F64", err);
    return each_chunk(c, t, box, real == REAL_F32 ? take_float : take_double, dense, err);
}

enum hypar_status hp_checkpoint_read_int(const struct checkpoint *c, int t,
                                         const struct box *box, int64_t *dense,
                                         struct hypar_error *err)
{
    char kind = hp_element[c->tensor[t].type].kind;
    if (kind != 'u' && kind != 'i')
        return wrong_type(c, t, "I64", err);
    return each_chunk(c, t, box, take_int, dense, err);
}
