/* Reads the values of tensors from the ONNX file, or from the file beside it that holds
 * them. Values are read only on request. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/float_bits.h"
#include "model/beside.h"
#include "model/onnx/file/file.h"

static const struct {
    const char *name;
    int number, bytes;
    enum onnx_family family;
} types[] = {
#define X(name, number, bytes, family) { #name, number, bytes, family },
    ONNX_TYPE_MAP(X)
#undef X
};

enum { TYPE_COUNT = sizeof types / sizeof types[0] };

enum onnx_family hp_onnx_family(int type)
{
    return type >= 1 && type <= TYPE_COUNT ? types[type - 1].family : ONNX_OTHER;
}

const char *hp_onnx_type_name(int type)
{
    return type >= 1 && type <= TYPE_COUNT ? types[type - 1].name : "of an unknown number";
}

int hp_onnx_type_bytes(int type)
{
    return type >= 1 && type <= TYPE_COUNT ? types[type - 1].bytes : 0;
}

/* Attributes ---------------------------------------------------------------------------- */

const struct onnx_attr *hp_onnx_attr(const struct onnx_node *node, const char *name)
{
    for (int i = 0; i < node->n_attrs; i++)
        if (strcmp(node->attr[i].name, name) == 0)
            return &node->attr[i];
    return NULL;
}

int64_t hp_onnx_int(const struct onnx_node *node, const char *name, int64_t otherwise)
{
    const struct onnx_attr *attr = hp_onnx_attr(node, name);
    return attr ? attr->i : otherwise;
}

double hp_onnx_float(const struct onnx_node *node, const char *name, double otherwise)
{
    const struct onnx_attr *attr = hp_onnx_attr(node, name);
    return attr ? attr->f : otherwise;
}

const char *hp_onnx_string(const struct onnx_node *node, const char *name,
                           const char *otherwise)
{
    const struct onnx_attr *attr = hp_onnx_attr(node, name);
    return attr ? attr->s : otherwise;
}

double hp_onnx_number(const struct onnx_node *node, const char *name, double otherwise)
{
    const struct onnx_attr *attr = hp_onnx_attr(node, name);
    return !attr ? otherwise : attr->f != 0 ? attr->f : (double)attr->i;
}

bool hp_onnx_lists(const char *ops, const char *op)
{
    size_t n = strlen(op);
    for (const char *p = ops; n && (p = strstr(p, op)); p += n)
        if ((p == ops || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

/* Where the bytes are ------------------------------------------------------------------- */

/* Fields of a tensor that hold values: raw_data, or a list whose elements are this wide (0: a
 * varint each). */
enum { RAW = 9, FLOATS = 4, DOUBLES = 10 };

static int element_bytes(const struct onnx_tensor *t)
{
    return t->field == RAW       ? hp_onnx_type_bytes(t->type)
           : t->field == FLOATS  ? 4
           : t->field == DOUBLES ? 8
                                 : 0;
}

/* The file beside the model that holds the values. */
static enum hypar_status external_path(const struct onnx_file *file,
                                       const struct onnx_tensor *t, char path[PATH_MAX],
                                       struct hypar_error *err)
{
    return hp_file_beside(file->path, t->location, "external data", file->follow_links, path,
                          err);
}

static enum hypar_status check_external(const struct onnx_file *file,
                                        const struct onnx_tensor *t, struct hypar_error *err)
{
    char path[PATH_MAX];
    struct stat about;
    TRY(external_path(file, t, path, err));
    if (file->options && file->options->reads)
        TRY(file->options->reads(file->options->who, path, err));
    if (stat(path, &about) != 0)
        return hp_fail(err, HYPAR_UNREADABLE, "external data '%.200s': %s", path,
                       strerror(errno));
    if (!S_ISREG(about.st_mode))
        return hp_fail(err, HYPAR_UNREADABLE, "external data '%.200s': not a regular file",
                       path);
    if (t->size > (int64_t)about.st_size || t->offset > (int64_t)about.st_size - t->size)
        return hp_fail(err, HYPAR_INVALID,
                       "external data '%.200s' has %lld bytes, expected %lld from byte %lld on",
                       path, (long long)about.st_size, (long long)t->size,
                       (long long)t->offset);
    return HYPAR_OK;
}

bool hp_onnx_is_absent(const struct onnx_file *file, const struct onnx_tensor *t)
{
    char path[PATH_MAX];
    struct stat about;
    return t->external && hp_path_beside(file->path, t->location, path) &&
           lstat(path, &about) != 0 && errno == ENOENT;
}

enum hypar_status hp_onnx_check_data(const struct onnx_file *file, const struct onnx_tensor *t,
                                     struct hypar_error *err)
{
    int bytes = element_bytes(t);
    if (!t->field || (!t->size && !t->external))
        return HYPAR_OK;
    if (bytes ? t->size != t->elements * bytes : t->size < t->elements)
        return hp_fail(err, HYPAR_INVALID, "%lld bytes of values, expected %lld",
                       (long long)t->size, (long long)t->elements * (bytes ? bytes : 1));
    return t->external && !hp_onnx_is_absent(file, t) ? check_external(file, t, err) : HYPAR_OK;
}

/* Decoding ------------------------------------------------------------------------------ */

/* Little-endian, on every machine. */
static uint64_t bits_at(const unsigned char *p, int bytes)
{
    uint64_t bits = 0;
    for (int i = 0; i < bytes; i++)
        bits |= (uint64_t)p[i] << 8 * i;
    return bits;
}

static double value_of(uint64_t bits, int type)
{
    switch (type) {
    case ONNX_FLOAT:
        return hp_f32_number((uint32_t)bits);
    case ONNX_BFLOAT16:
        return hp_bf16_number((uint16_t)bits);
    case ONNX_FLOAT16:
        return hp_f16_number((uint16_t)bits);
    case ONNX_DOUBLE:
        return hp_f64_number(bits);
    case ONNX_INT8:
        return (double)(int8_t)bits;
    case ONNX_INT16:
        return (double)(int16_t)bits;
    case ONNX_INT32:
        return (double)(int32_t)bits;
    case ONNX_INT64:
        return (double)(int64_t)bits;
    case ONNX_BOOL:
        return bits & 0xff ? 1 : 0;
    default:
        return (double)bits;
    }
}

/* A run of bytes of a tensor's values, from memory or from a file. */
struct source {
    const unsigned char *memory; /* NULL: the stream */
    FILE *stream;
    int64_t left;
};

static bool take_bytes(struct source *from, unsigned char *to, int n)
{
    if (n > from->left)
        return false;
    from->left -= n;
    if (!from->memory)
        return fread(to, 1, (size_t)n, from->stream) == (size_t)n;
    memcpy(to, from->memory, (size_t)n);
    from->memory += n;
    return true;
}

static bool take_varint(struct source *from, uint64_t *out)
{
    unsigned char byte = 0x80;
    *out = 0;
    for (int shift = 0; byte >= 0x80; shift += 7) {
        if (shift > 63 || !take_bytes(from, &byte, 1))
            return false;
        *out |= (uint64_t)(byte & 0x7f) << shift;
    }
    return true;
}

/* Elements of a fixed width: the next `count`. */
static bool decode_fixed(struct source *from, int type, int width, int64_t count, double *out)
{
    enum { AT_ONCE = 1024 };
    unsigned char bytes[AT_ONCE * 8];
    while (count > 0) {
        int n = count < AT_ONCE ? (int)count : AT_ONCE;
        if (!take_bytes(from, bytes, n * width))
            return false;
        for (int i = 0; i < n; i++)
            *out++ = value_of(bits_at(bytes + i * width, width), type);
        count -= n;
    }
    return true;
}

static bool decode(struct source *from, const struct onnx_tensor *t, int64_t start,
                   int64_t count, double *out)
{
    int width = element_bytes(t);
    uint64_t bits;
    int type = t->field == FLOATS ? ONNX_FLOAT : t->field == DOUBLES ? ONNX_DOUBLE : t->type;
    if (width)
        return decode_fixed(from, type, width, count, out);
    for (int64_t i = 0; i < start + count; i++) {
        if (!take_varint(from, &bits))
            return false;
        if (i >= start)
            out[i - start] = value_of(bits, type);
    }
    return true;
}

enum hypar_status hp_onnx_read_data(const struct onnx_file *file, const struct onnx_tensor *t,
                                    int64_t start, int64_t count, double *out,
                                    struct hypar_error *err)
{
    char path[PATH_MAX];
    int64_t skipped = start * element_bytes(t);
    struct source from = { .left = t->size - skipped };
    if (!count)
        return HYPAR_OK;
    if (!t->field)
        return hp_fail(err, HYPAR_INVALID, "the file has no values of it");
    TRY(hp_onnx_check_data(file, t, err));
    if (t->copy) {
        from.memory = t->copy + skipped;
        return decode(&from, t, start, count, out)
                   ? HYPAR_OK
                   : hp_fail(err, HYPAR_INVALID, "its values are cut off");
    }
    FILE *other = NULL;
    if (t->external) {
        TRY(external_path(file, t, path, err));
        other = hypar_or_out_of_memory(fopen(path, "rb"));
        if (!other)
            return hp_fail(err, HYPAR_UNREADABLE, "external data '%.200s': %s", path,
                           strerror(errno));
    }
    from.stream = other ? other : file->stream;
    bool ok = fseeko(from.stream, (off_t)(t->offset + skipped), SEEK_SET) == 0 &&
              decode(&from, t, start, count, out);
    if (other)
        fclose(other);
    return ok ? HYPAR_OK : hp_fail(err, HYPAR_INVALID, "its values are cut off");
}
