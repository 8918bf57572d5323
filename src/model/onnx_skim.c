/* An ONNX file is one protobuf message of up to 2 GB, nearly all of it weights, which
 * protobuf-c would copy. So the file is walked first: what describes the network is copied,
 * values of tensors are stepped over and leave a note of where they lie. */
#include <limits.h>
#include <string.h>

#include "model/onnx_file.h"

enum {
    MAX_COPIED = 1 << 28,   /* bytes of structure */
    MAX_MESSAGES = 1 << 22, /* each takes memory once it is unpacked */
    SMALL = 4096,           /* values of fewer bytes are copied */
    LENGTH_BYTES = 5,       /* a length that is filled in later: a varint of fixed width */
};

enum message { MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, PLAIN };
enum action { DROP, COPY, VALUES, NEST };

/* What is done with the fields that are known; all others are left out. */
static const struct field {
    enum message of;
    uint64_t number;
    enum action action;
    enum message as; /* NEST: what it is */
} fields[] = {
    { MODEL, 1, COPY, PLAIN },      { MODEL, 7, NEST, GRAPH },
    { MODEL, 8, COPY, PLAIN },      { GRAPH, 1, NEST, NODE },
    { GRAPH, 5, NEST, TENSOR },     { GRAPH, 11, COPY, PLAIN },
    { GRAPH, 12, COPY, PLAIN },     { GRAPH, 13, COPY, PLAIN },
    { NODE, 1, COPY, PLAIN },       { NODE, 2, COPY, PLAIN },
    { NODE, 3, COPY, PLAIN },       { NODE, 4, COPY, PLAIN },
    { NODE, 5, NEST, ATTRIBUTE },   { NODE, 7, COPY, PLAIN },
    { ATTRIBUTE, 1, COPY, PLAIN },  { ATTRIBUTE, 2, COPY, PLAIN },
    { ATTRIBUTE, 3, COPY, PLAIN },  { ATTRIBUTE, 4, COPY, PLAIN },
    { ATTRIBUTE, 5, NEST, TENSOR }, { ATTRIBUTE, 7, COPY, PLAIN },
    { ATTRIBUTE, 8, COPY, PLAIN },  { ATTRIBUTE, 20, COPY, PLAIN },
    { TENSOR, 1, COPY, PLAIN },     { TENSOR, 2, COPY, PLAIN },
    { TENSOR, 8, COPY, PLAIN },     { TENSOR, 13, COPY, PLAIN },
    { TENSOR, 14, COPY, PLAIN },    { TENSOR, 4, VALUES, PLAIN },
    { TENSOR, 5, VALUES, PLAIN },   { TENSOR, 7, VALUES, PLAIN },
    { TENSOR, 9, VALUES, PLAIN },   { TENSOR, 10, VALUES, PLAIN },
    { TENSOR, 11, VALUES, PLAIN },
};

enum wire { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };

struct skimming {
    struct arena *arena;
    FILE *stream;
    int64_t at, end; /* in the file */
    unsigned char *out;
    size_t size, capacity;
    int messages;
    struct hypar_error *err;
};

static const struct field *find_field(enum message of, uint64_t number)
{
    static const struct field unknown = { PLAIN, 0, DROP, PLAIN };
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
    if (more > MAX_COPIED || s->size + more > MAX_COPIED)
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

static enum hypar_status put_varint(struct skimming *s, uint64_t value)
{
    TRY(reserve(s, 10));
    for (; value >= 0x80; value >>= 7)
        s->out[s->size++] = (unsigned char)(value | 0x80);
    s->out[s->size++] = (unsigned char)value;
    return HYPAR_OK;
}

static enum hypar_status put_tag(struct skimming *s, uint64_t number, enum wire wire)
{
    return put_varint(s, number << 3 | (uint64_t)wire);
}

/* Reading ------------------------------------------------------------------------------ */

static enum hypar_status get_varint(struct skimming *s, int64_t limit, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        int byte = s->at < limit ? getc(s->stream) : EOF;
        if (byte == EOF)
            return broken(s, "it is cut off");
        s->at++;
        if (shift < 64)
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
            if (getc(s->stream) == EOF)
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
    TRY(put_tag(s, 1000, VARINT));
    TRY(put_varint(s, number));
    TRY(put_tag(s, 1001, VARINT));
    TRY(put_varint(s, (uint64_t)s->at));
    TRY(put_tag(s, 1002, VARINT));
    TRY(put_varint(s, (uint64_t)n));
    TRY(put_tag(s, 1003, DELIMITED));
    TRY(put_varint(s, n <= SMALL ? (uint64_t)n : 0));
    return n <= SMALL ? copy_bytes(s, n) : skip_bytes(s, n);
}

static enum hypar_status skim_message(struct skimming *s, enum message of, int64_t end);

static enum hypar_status nest(struct skimming *s, const struct field *field, int64_t n)
{
    TRY(put_tag(s, field->number, DELIMITED));
    TRY(reserve(s, LENGTH_BYTES));
    size_t length_at = s->size;
    s->size += LENGTH_BYTES;
    TRY(skim_message(s, field->as, s->at + n));
    uint64_t length = s->size - length_at - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        s->out[length_at + (size_t)i] =
            (unsigned char)((length & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
    return HYPAR_OK;
}

static enum hypar_status skim_delimited(struct skimming *s, const struct field *field,
                                        int64_t end)
{
    uint64_t n;
    TRY(get_varint(s, end, &n));
    if (n > (uint64_t)(end - s->at))
        return broken(s, "it is cut off");
    if (field->action != DROP && ++s->messages > MAX_MESSAGES)
        return hp_fail(s->err, HYPAR_UNSUPPORTED, "more than %d parts", MAX_MESSAGES);
    switch (field->action) {
    case NEST:
        return nest(s, field, (int64_t)n);
    case VALUES:
        return note_values(s, field->number, (int64_t)n);
    case COPY:
        TRY(put_tag(s, field->number, DELIMITED));
        TRY(put_varint(s, n));
        return copy_bytes(s, (int64_t)n);
    default:
        return skip_bytes(s, (int64_t)n);
    }
}

static enum hypar_status skim_field(struct skimming *s, enum message of, int64_t end)
{
    uint64_t tag, value;
    TRY(get_varint(s, end, &tag));
    const struct field *field = find_field(of, tag >> 3);
    enum wire wire = (enum wire)(tag & 7);
    int64_t width = wire == FIXED64 ? 8 : 4;
    switch (wire) {
    case DELIMITED:
        return skim_delimited(s, field, end);
    case VARINT:
        TRY(get_varint(s, end, &value));
        if (field->action != COPY)
            return HYPAR_OK;
        TRY(put_varint(s, tag));
        return put_varint(s, value);
    case FIXED32:
    case FIXED64:
        if (width > end - s->at)
            return broken(s, "it is cut off");
        if (field->action != COPY)
            return skip_bytes(s, width);
        TRY(put_varint(s, tag));
        return copy_bytes(s, width);
    default:
        return broken(s, "a field of an unknown kind");
    }
}

static enum hypar_status skim_message(struct skimming *s, enum message of, int64_t end)
{
    while (s->at < end)
        TRY(skim_field(s, of, end));
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
