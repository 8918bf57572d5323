/* NumPy arrays in files, versions 1 to 3 (numpy.lib.format): a magic number, a version, the
 * length of the header, the header as a Python dictionary, the elements. */
#include <string.h>

#include "run/data/column.h"

static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, MAX_HEADER_BYTES = 1 << 16 };

static bool begins(const unsigned char *first, int64_t n)
{
    return n >= MAGIC_BYTES && memcmp(first, MAGIC, MAGIC_BYTES) == 0;
}

/* The header while it is parsed; the first failure is kept. */
struct header {
    const char *at;
    const char *wrong; /* what was expected; NULL: no error */
    char type[16];     /* "<f4" */
    bool fortran, seen_type, seen_order, seen_shape;
    struct hypar_shape shape;
};

static void expected(struct header *h, const char *what)
{
    if (!h->wrong)
        h->wrong = what;
}

static void skip_blanks(struct header *h)
{
    h->at += strspn(h->at, " \t\r\n");
}

static bool take(struct header *h, char c)
{
    skip_blanks(h);
    if (*h->at != c)
        return false;
    h->at++;
    return true;
}

/* Parse a string in either kind of quotes, without escapes. */
static void read_string(struct header *h, char *out, size_t size)
{
    skip_blanks(h);
    char quote[] = { *h->at, '\0' };
    size_t n = *quote == '\'' || *quote == '"' ? strcspn(h->at + 1, quote) : 0;
    out[0] = '\0';
    if (!*quote || n >= size || h->at[n + 1] != *quote || n == 0) {
        expected(h, "a string in quotes");
        return;
    }
    memcpy(out, h->at + 1, n);
    out[n] = '\0';
    h->at += n + 2;
}

static void read_bool(struct header *h, bool *out)
{
    skip_blanks(h);
    *out = strncmp(h->at, "True", 4) == 0;
    if (!*out && strncmp(h->at, "False", 5) != 0)
        expected(h, "True or False");
    else
        h->at += *out ? 4 : 5;
}

static int64_t read_size(struct header *h)
{
    int64_t value = 0;
    skip_blanks(h);
    if (*h->at < '0' || *h->at > '9')
        expected(h, "a size");
    for (; *h->at >= '0' && *h->at <= '9' && !h->wrong; h->at++) {
        if (value >= (int64_t)1 << 55)
            expected(h, "a smaller size");
        value = 10 * value + (*h->at - '0');
    }
    if (*h->at == 'L') /* written by Python 2 */
        h->at++;
    return value;
}

/* (), (3,), (3, 4), (3, 4,) */
static void read_shape(struct header *h)
{
    h->shape = (struct hypar_shape){ 0 };
    if (!take(h, '('))
        expected(h, "a shape in parentheses");
    while (!h->wrong && !take(h, ')')) {
        if (h->shape.n_dims == HYPAR_MAX_DIMS)
            expected(h, "at most 6 dimensions");
        else
            h->shape.dim[h->shape.n_dims++] = read_size(h);
        if (!h->wrong && !take(h, ',')) {
            if (!take(h, ')'))
                expected(h, "',' or ')'");
            break;
        }
    }
}

static void read_member(struct header *h)
{
    char key[16];
    read_string(h, key, sizeof key);
    if (!h->wrong && !take(h, ':'))
        expected(h, "':'");
    if (h->wrong)
        return;
    if (strcmp(key, "descr") == 0) {
        read_string(h, h->type, sizeof h->type);
        h->seen_type = true;
    } else if (strcmp(key, "fortran_order") == 0) {
        read_bool(h, &h->fortran);
        h->seen_order = true;
    } else if (strcmp(key, "shape") == 0) {
        read_shape(h);
        h->seen_shape = true;
    } else {
        expected(h, "descr, fortran_order or shape before it");
    }
}

static void read_dictionary(struct header *h)
{
    if (!take(h, '{'))
        expected(h, "'{'");
    while (!h->wrong && !take(h, '}')) {
        read_member(h);
        if (!h->wrong && !take(h, ',')) {
            if (!take(h, '}'))
                expected(h, "',' or '}'");
            break;
        }
    }
    skip_blanks(h);
    if (!h->wrong && *h->at)
        expected(h, "the end of the header");
    if (!h->wrong && !(h->seen_type && h->seen_order && h->seen_shape))
        expected(h, "all of descr, fortran_order and shape");
}

/* "<f4": byte order, then kind and bytes. */
static bool read_type(struct column *out, const char *text)
{
    int type = 0;
    if (!strchr("<>|=", text[0]))
        return false;
    while (type < ELEMENT_COUNT && strcmp(hp_element[type].npy, text + 1) != 0)
        type++;
    if (type == ELEMENT_COUNT || hp_element[type].kind == ' ')
        return false;
    if (text[0] == '|' && hp_element[type].bytes > 1)
        return false;
    out->type = (enum element)type;
    out->big_endian = text[0] == '>';
    return true;
}

/* Find where the header begins, and its length. */
static enum hypar_status find_header(const struct input_file *file, int64_t *begin,
                                     int64_t *length, struct hypar_error *err)
{
    unsigned char first[12] = { 0 };
    TRY(hp_input_read(file, 0, file->bytes < 12 ? file->bytes : 12, first, err));
    int version = first[MAGIC_BYTES];
    if (version < 1 || version > 3)
        return hp_bad_file(file, err, "version %d of the .npy format, expected 1, 2 or 3",
                           version);
    *begin = version == 1 ? 10 : 12;
    *length = first[8] | first[9] << 8;
    if (version > 1)
        *length |= (int64_t)first[10] << 16 | (int64_t)first[11] << 24;
    if (*length > MAX_HEADER_BYTES || *begin + *length > file->bytes)
        return hp_bad_file(file, err,
                           "a header of %lld bytes in a file of %lld, expected a .npy file of "
                           "NumPy",
                           (long long)*length, (long long)file->bytes);
    return HYPAR_OK;
}

static enum hypar_status read_npy(struct column *out, struct arena *arena,
                                  const struct input_file *file, struct hypar_error *err)
{
    int64_t begin = 0, length = 0;
    TRY(find_header(file, &begin, &length, err));
    char *text = NEW(arena, char, length + 1);
    TRY(hp_input_read(file, begin, length, text, err));
    struct header h = { .at = text };
    read_dictionary(&h);
    if (h.wrong)
        return hp_bad_file(file, err, "header, byte %lld: expected %s",
                           (long long)(h.at - text), h.wrong);
    if (!read_type(out, h.type))
        return hp_bad_file(file, err,
                           "elements of type '%s', expected f4, f8, i4, i8, u1 or another "
                           "number of at most 8 bytes",
                           h.type);
    if (h.fortran && h.shape.n_dims > 1)
        return hp_bad_file(file, err,
                           "Fortran order, expected C order "
                           "(numpy.ascontiguousarray)");
    return hp_array_column(out, arena, file, begin + length, &h.shape, err);
}

const struct array_format hp_npy_format = { "npy", begins, read_npy };
