/* Copies the structure of an ONNX file without the values of its tensors. The file is one
 * protobuf message of up to 2 GB, nearly all of it weights, which protobuf-c would copy.
 * This file walks over the message: it copies the fields that describe the network, and
 * notes where the values of each tensor begin. */
#include <limits.h>
#include <string.h>

#include "model/onnx/file/file.h"

enum {
    MAX_COPIED = 1 << 28, /* bytes of structure */
    MAX_FIELDS = 1 << 21, /* each takes memory once it is unpacked, and a list is one */
    MAX_LISTED = 1 << 24, /* bytes in lists of numbers, which take eight times that */
    SMALL = 4096,         /* values of fewer bytes are copied */
    FIELD_BYTES = 8 * 10, /* the numbers of a field, at most: a note of values has eight */
    LENGTH_BYTES = 5,     /* a length that is filled in later: a varint of fixed width */
};

enum message {
    MODEL,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    ENTRY,
    METADATA,
    FUNCTION,
    INFO,
    TYPE,
    TENSOR_TYPE,
    SHAPE,
    DIMENSION,
    OPERATOR_SET,
    NONE
};

/* LIST: numbers, COPY: whatever else is no message, ONLY: a message that comes once. Protobuf
 * would merge a second one into the first, each time anew; no exporter writes one. KNOWN: an
 * entry of metadata, kept if its key is one that is read; the others are long. */
enum action { DROP, COPY, LIST, VALUES, NEST, ONLY, KNOWN };

/* The handling of known fields; all others are skipped. */
static const struct field {
    enum message of;
    uint64_t number;
    enum action action;
    enum message as; /* NEST, ONLY: what it is */
} fields[] = {
    { MODEL, 1, COPY, NONE },         { MODEL, 7, ONLY, GRAPH },
    { MODEL, 8, NEST, OPERATOR_SET }, { OPERATOR_SET, 1, COPY, NONE },
    { OPERATOR_SET, 2, COPY, NONE },  { GRAPH, 1, NEST, NODE },
    { GRAPH, 5, NEST, TENSOR },       { GRAPH, 11, NEST, INFO },
    { GRAPH, 12, NEST, INFO },        { GRAPH, 13, NEST, INFO },
    { NODE, 1, COPY, NONE },          { NODE, 2, COPY, NONE },
    { NODE, 3, COPY, NONE },          { NODE, 4, COPY, NONE },
    { NODE, 5, NEST, ATTRIBUTE },     { NODE, 7, COPY, NONE },
    { ATTRIBUTE, 1, COPY, NONE },     { ATTRIBUTE, 2, COPY, NONE },
    { ATTRIBUTE, 3, COPY, NONE },     { ATTRIBUTE, 4, COPY, NONE },
    { ATTRIBUTE, 5, ONLY, TENSOR },   { ATTRIBUTE, 7, LIST, NONE },
    { ATTRIBUTE, 8, LIST, NONE },     { ATTRIBUTE, 20, COPY, NONE },
    { TENSOR, 1, LIST, NONE },        { TENSOR, 2, COPY, NONE },
    { TENSOR, 8, COPY, NONE },        { TENSOR, 13, NEST, ENTRY },
    { TENSOR, 14, COPY, NONE },       { TENSOR, 4, VALUES, NONE },
    { TENSOR, 5, VALUES, NONE },      { TENSOR, 7, VALUES, NONE },
    { TENSOR, 9, VALUES, NONE },      { TENSOR, 10, VALUES, NONE },
    { TENSOR, 11, VALUES, NONE },     { ENTRY, 1, COPY, NONE },
    { ENTRY, 2, COPY, NONE },         { INFO, 1, COPY, NONE },
    { INFO, 2, ONLY, TYPE },          { TYPE, 1, ONLY, TENSOR_TYPE },
    { TENSOR_TYPE, 1, COPY, NONE },   { TENSOR_TYPE, 2, ONLY, SHAPE },
    { SHAPE, 1, NEST, DIMENSION },    { DIMENSION, 1, COPY, NONE },
    { DIMENSION, 2, COPY, NONE },     { MODEL, 25, NEST, FUNCTION },
    { FUNCTION, 1, COPY, NONE },      { FUNCTION, 4, COPY, NONE },
    { FUNCTION, 5, COPY, NONE },      { FUNCTION, 7, NEST, NODE },
    { FUNCTION, 10, COPY, NONE },     { FUNCTION, 11, NEST, ATTRIBUTE },
    { ATTRIBUTE, 21, COPY, NONE },    { NODE, 9, KNOWN, METADATA },
    { GRAPH, 16, KNOWN, METADATA },   { INFO, 4, KNOWN, METADATA },
    { METADATA, 1, COPY, NONE },      { METADATA, 2, COPY, NONE },
};

enum wire { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };

struct skimming {
    struct arena *arena;
    FILE *stream;
    int64_t at, end; /* in the file */
    unsigned char *out;
    size_t size, capacity;
    int fields;
    int64_t listed;
    struct hypar_error *err;
};

static const struct field *find_field(enum message of, uint64_t number)
{
    static const struct field unknown = { NONE, 0, DROP, NONE };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].of == of && fields[i].number == number)
            return &fields[i];
    return &unknown;
}

static enum hypar_status broken(const struct skimming *s, const char *what)
{
    return hp_fail(s->err, HYPAR_SYNTAX, "not an ONNX file: %s at byte %lld", what,
                   (long long)s->at);
}

/* Writing ------------------------------------------------------------------------------ */

static enum hypar_status reserve(struct skimming *s, size_t more)
{
    if (s->size + more > MAX_COPIED)
        return hp_fail(s->err, HYPAR_UNSUPPORTED,
                       "more than %d MB that are not values of tensors", MAX_COPIED >> 20);
    if (s->size + more <= s->capacity)
        return HYPAR_OK;
    size_t larger = 2 * s->capacity;
    while (larger < s->size + more)
        larger *= 2;
    unsigned char *copy = NEW(s->arena, unsigned char, larger);
    memcpy(copy, s->out, s->size);
    s->out = copy;
    s->capacity = larger;
    return HYPAR_OK;
}

/* Numbers: there is room for those of a field, which skim_message() makes. */
static void put_varint(struct skimming *s, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        s->out[s->size++] = (unsigned char)(value | 0x80);
    s->out[s->size++] = (unsigned char)value;
}

static void put_tag(struct skimming *s, uint64_t number, enum wire wire)
{
    put_varint(s, number << 3 | (uint64_t)wire);
}

static void put_number(struct skimming *s, uint64_t number, uint64_t value)
{
    put_tag(s, number, VARINT);
    put_varint(s, value);
}

/* Reading ------------------------------------------------------------------------------ */

static enum hypar_status get_varint(struct skimming *s, int64_t limit, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        int byte = s->at < limit ? getc_unlocked(s->stream) : EOF;
        if (byte == EOF)
            return broken(s, "it is cut off");
        s->at++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return HYPAR_OK;
    }
    return broken(s, "a number without end");
}

/* The next `n` bytes of the file, which are known to be within their message. */
static enum hypar_status copy_bytes(struct skimming *s, int64_t n)
{
    TRY(reserve(s, (size_t)n));
    if (fread(s->out + s->size, 1, (size_t)n, s->stream) != (size_t)n)
        return broken(s, "it is cut off");
    s->size += (size_t)n;
    s->at += n;
    return HYPAR_OK;
}

static enum hypar_status skip_bytes(struct skimming *s, int64_t n)
{
    if (n < SMALL) { /* a seek would throw the stream's buffer away */
        for (int64_t i = 0; i < n; i++)
            if (getc_unlocked(s->stream) == EOF)
                return broken(s, "it is cut off");
    } else if (fseeko(s->stream, (off_t)(s->at + n), SEEK_SET) != 0) {
        return broken(s, "cannot seek");
    }
    s->at += n;
    return HYPAR_OK;
}

/* Values of `n` bytes: copied if they are few, else noted. */
static enum hypar_status note_values(struct skimming *s, uint64_t number, int64_t n)
{
    put_number(s, 1000, number);
    put_number(s, 1001, (uint64_t)s->at);
    put_number(s, 1002, (uint64_t)n);
    put_tag(s, 1003, DELIMITED);
    put_varint(s, n <= SMALL ? (uint64_t)n : 0);
    return n <= SMALL ? copy_bytes(s, n) : skip_bytes(s, n);
}

static enum hypar_status skim_message(struct skimming *s, enum message of, int64_t end);

static enum hypar_status nest(struct skimming *s, const struct field *field, int64_t n)
{
    put_tag(s, field->number, DELIMITED);
    size_t length_at = s->size;
    s->size += LENGTH_BYTES;
    TRY(skim_message(s, field->as, s->at + n));
    uint64_t length = s->size - length_at - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        s->out[length_at + (size_t)i] =
            (unsigned char)((length & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
    return HYPAR_OK;
}

/* An entry of metadata; what has been written of one that nobody reads is taken back. */
static enum hypar_status nest_known(struct skimming *s, const struct field *field, int64_t n)
{
    size_t before = s->size, key_at = before;
    TRY(nest(s, field, n));
    while (key_at < s->size && s->out[key_at] >= 0x80)
        key_at++; /* the tag */
    key_at += 1 + LENGTH_BYTES;
    size_t length = s->size > key_at + 1 ? s->out[key_at + 1] : 0;
    if (s->size < key_at + 2 + length || s->out[key_at] != (1 << 3 | DELIMITED) ||
        !hp_onnx_is_metadata((const char *)s->out + key_at + 2, length))
        s->size = before;
    return HYPAR_OK;
}

static enum hypar_status skim_delimited(struct skimming *s, const struct field *field,
                                        int64_t end)
{
    uint64_t n;
    TRY(get_varint(s, end, &n));
    if (n > (uint64_t)(end - s->at))
        return broken(s, "it is cut off");
    switch (field->action) {
    case NEST:
    case ONLY:
        return nest(s, field, (int64_t)n);
    case KNOWN:
        return nest_known(s, field, (int64_t)n);
    case VALUES:
        return note_values(s, field->number, (int64_t)n);
    case LIST:
    case COPY:
        if (field->action == LIST && (s->listed += (int64_t)n) > MAX_LISTED)
            return hp_fail(s->err, HYPAR_UNSUPPORTED,
                           "more than %d MB in lists of numbers that are not values of tensors",
                           MAX_LISTED >> 20);
        put_tag(s, field->number, DELIMITED);
        put_varint(s, n);
        return copy_bytes(s, (int64_t)n);
    default:
        return skip_bytes(s, (int64_t)n);
    }
}

/* A field that is no message, of a number, as it is. */
static enum hypar_status skim_number(struct skimming *s, uint64_t tag, bool keep, int64_t end)
{
    uint64_t value;
    enum wire wire = (enum wire)(tag & 7);
    int64_t width = wire == FIXED64 ? 8 : 4;
    if (wire == VARINT) {
        TRY(get_varint(s, end, &value));
        if (!keep)
            return HYPAR_OK;
        put_varint(s, tag);
        put_varint(s, value);
        return HYPAR_OK;
    }
    if (wire != FIXED32 && wire != FIXED64)
        return broken(s, "a field of an unknown kind");
    if (width > end - s->at)
        return broken(s, "it is cut off");
    if (!keep)
        return skip_bytes(s, width);
    put_varint(s, tag);
    return copy_bytes(s, width);
}

static enum hypar_status skim_message(struct skimming *s, enum message of, int64_t end)
{
    bool had = false; /* no message has more than one ONLY */
    while (s->at < end) {
        uint64_t tag;
        TRY(reserve(s, FIELD_BYTES));
        TRY(get_varint(s, end, &tag));
        const struct field *field = find_field(of, tag >> 3);
        bool message = (tag & 7) == DELIMITED;
        bool keep =
            message ? field->action != DROP : field->action == COPY || field->action == LIST;
        if (++s->fields > MAX_FIELDS)
            return hp_fail(s->err, HYPAR_UNSUPPORTED, "more than %d fields", MAX_FIELDS);
        bool only = keep && field->action == ONLY;
        if (only && had)
            return broken(s, "a second message where one is expected");
        had |= only;
        TRY(message ? skim_delimited(s, field, end) : skim_number(s, tag, keep, end));
    }
    return HYPAR_OK;
}

enum hypar_status hp_onnx_skim(struct arena *arena, FILE *stream, int64_t bytes,
                               const unsigned char **out, size_t *size, struct hypar_error *err)
{
    struct skimming s = { .arena = arena, .stream = stream, .capacity = 1 << 16, .err = err };
    s.out = NEW(arena, unsigned char, s.capacity);
    TRY(skim_message(&s, MODEL, bytes));
    *out = s.out;
    *size = s.size;
    return HYPAR_OK;
}
