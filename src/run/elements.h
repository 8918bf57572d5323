/* run/elements.h - array elements in files, and boxes of arrays as runs. Internal.
 *
 * Numbers of many types and either byte order are converted to the chosen precision; a box of a
 * row-major array is processed run by run. */
#ifndef RUN_ELEMENTS_H
#define RUN_ELEMENTS_H

#include "kernel/kernel.h"

/* Types: enum, bytes, name in safetensors, code in .npy, kind (u unsigned, i signed, f
 * floating-point, ' ': only its size is known here). */
/* clang-format off */
#define ELEMENT_MAP(X) \
    X(U8, 1, "U8", "u1", 'u') \
    X(I8, 1, "I8", "i1", 'i') \
    X(U16, 2, "U16", "u2", 'u') \
    X(I16, 2, "I16", "i2", 'i') \
    X(U32, 4, "U32", "u4", 'u') \
    X(I32, 4, "I32", "i4", 'i') \
    X(U64, 8, "U64", "u8", 'u') \
    X(I64, 8, "I64", "i8", 'i') \
    X(F16, 2, "F16", "f2", 'f') \
    X(BF16, 2, "BF16", "", 'f') \
    X(F32, 4, "F32", "f4", 'f') \
    X(F64, 8, "F64", "f8", 'f') \
    X(BOOL, 1, "BOOL", "b1", ' ') \
    X(F8_E4M3, 1, "F8_E4M3", "", ' ') \
    X(F8_E5M2, 1, "F8_E5M2", "", ' ')
/* clang-format on */

enum element {
#define X(name, ...) ELEMENT_##name,
    ELEMENT_MAP(X)
#undef X
        ELEMENT_COUNT
};

struct element_traits {
    int bytes;
    const char *name, *npy;
    char kind;
};

extern const struct element_traits hp_element[ELEMENT_COUNT];

static inline enum element hp_real_element(enum real real)
{
    return real == REAL_F32 ? ELEMENT_F32 : ELEMENT_F64;
}

/* Consecutive elements of a file. */
struct elements {
    const void *bytes; /* of any alignment */
    enum element type;
    bool big_endian;
    int64_t n;
};

/* Convert all elements to numbers (kinds u, i, f), or to integers (kinds u, i); values beyond
 * an int64_t become the nearest. */
void hp_elements_to_double(const struct elements *from, double *out);
void hp_elements_to_int(const struct elements *from, int64_t *out);

/* The reverse: n numbers of `type`, which has 4 or 8 bytes, in little-endian form. */
void hp_elements_to_file(const void *from, enum element type, int64_t n, void *bytes);

/* "[3, 32, 32]", for messages; returns `text`. */
enum { SHAPE_TEXT_BYTES = 160 };
const char *hp_shape_text(const struct hypar_shape *shape, char text[SHAPE_TEXT_BYTES]);

/* A box of a row-major array, run by run:
 *
 *     struct runs r = hp_runs(&shape, &box);
 *     while (hp_next_run(&r))
 *         elements r.in_array .. + r.length of the array are
 *         elements r.in_box .. + r.length of a dense array of the box */
struct runs {
    int64_t in_array, in_box, length;
    int64_t left; /* runs */
    int outer;    /* dimensions that are counted; the others form one run */
    int64_t index[MAX_DIMS], stride[MAX_DIMS];
    struct box box;
};

struct runs hp_runs(const struct hypar_shape *shape, const struct box *box);
bool hp_next_run(struct runs *runs);

#endif /* RUN_ELEMENTS_H */
