/* Array elements in files: any type, either byte order, any alignment. */
#include "run/elements.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/float_bits.h"

const struct element_traits hp_element[ELEMENT_COUNT] = {
#define X(id, bytes, name, npy, kind) [ELEMENT_##id] = { bytes, name, npy, kind },
    ELEMENT_MAP(X)
#undef X
};

static bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static uint16_t turned_16(uint16_t x)
{
    return (uint16_t)(x >> 8 | x << 8);
}

static uint32_t turned_32(uint32_t x)
{
    return (uint32_t)turned_16((uint16_t)x) << 16 | turned_16((uint16_t)(x >> 16));
}

static uint64_t turned_64(uint64_t x)
{
    return (uint64_t)turned_32((uint32_t)x) << 32 | turned_32((uint32_t)(x >> 32));
}

static uint16_t load_16(const unsigned char *p, bool turn)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return turn ? turned_16(x) : x;
}

static uint32_t load_32(const unsigned char *p, bool turn)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return turn ? turned_32(x) : x;
}

static uint64_t load_64(const unsigned char *p, bool turn)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return turn ? turned_64(x) : x;
}

/* out[i] is what `value` makes of the bytes at p. */
#define EACH(width, value)                                                         \
    for (int64_t i = 0; i < from->n; i++) {                                        \
        const unsigned char *p = (const unsigned char *)from->bytes + i * (width); \
        out[i] = (value);                                                          \
    }                                                                              \
    break

/* The cases of integers that both int64_t and double represent exactly. */
/* clang-format off */
#define EACH_OF_INTEGERS                                    \
    case ELEMENT_U8: EACH(1, *p);                           \
    case ELEMENT_I8: EACH(1, (int8_t)*p);                   \
    case ELEMENT_U16: EACH(2, load_16(p, turn));            \
    case ELEMENT_I16: EACH(2, (int16_t)load_16(p, turn));   \
    case ELEMENT_U32: EACH(4, load_32(p, turn));            \
    case ELEMENT_I32: EACH(4, (int32_t)load_32(p, turn));
/* clang-format on */

void hp_elements_to_double(const struct elements *from, double *out)
{
    const bool turn = from->big_endian != host_is_big_endian();
    assert(hp_element[from->type].kind != ' ');
    switch (from->type) {
        EACH_OF_INTEGERS
    case ELEMENT_U64:
        EACH(8, (double)load_64(p, turn));
    case ELEMENT_I64:
        EACH(8, (double)(int64_t)load_64(p, turn));
    case ELEMENT_F16:
        EACH(2, hp_f16_number(load_16(p, turn)));
    case ELEMENT_BF16:
        EACH(2, hp_bf16_number(load_16(p, turn)));
    case ELEMENT_F32:
        EACH(4, hp_f32_number(load_32(p, turn)));
    case ELEMENT_F64:
        EACH(8, hp_f64_number(load_64(p, turn)));
    default: /* no numbers */
        break;
    }
}

static int64_t at_most_int64(uint64_t x)
{
    return x > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)x;
}

void hp_elements_to_int(const struct elements *from, int64_t *out)
{
    const bool turn = from->big_endian != host_is_big_endian();
    assert(hp_element[from->type].kind == 'u' || hp_element[from->type].kind == 'i');
    switch (from->type) {
        EACH_OF_INTEGERS
    case ELEMENT_U64:
        EACH(8, at_most_int64(load_64(p, turn)));
    case ELEMENT_I64:
        EACH(8, (int64_t)load_64(p, turn));
    default: /* no integers */
        break;
    }
}
#undef EACH_OF_INTEGERS
#undef EACH

void hp_elements_to_file(const void *from, enum element type, int64_t n, void *bytes)
{
    const int width = hp_element[type].bytes;
    memcpy(bytes, from, (size_t)(n * width));
    if (!host_is_big_endian())
        return;
    for (int64_t i = 0; i < n; i++) {
        unsigned char *p = (unsigned char *)bytes + i * width;
        uint64_t x = width == 8 ? load_64(p, true) : 0;
        uint32_t y = width == 4 ? load_32(p, true) : 0;
        memcpy(p, width == 8 ? (const void *)&x : (const void *)&y, (size_t)width);
    }
}

const char *hp_shape_text(const struct hypar_shape *shape, char text[SHAPE_TEXT_BYTES])
{
    int n = snprintf(text, SHAPE_TEXT_BYTES, "[");
    for (int d = 0; d < shape->n_dims; d++)
        n += snprintf(text + n, (size_t)(SHAPE_TEXT_BYTES - n), "%s%lld", d ? ", " : "",
                      (long long)shape->dim[d]);
    snprintf(text + n, (size_t)(SHAPE_TEXT_BYTES - n), "]");
    return text;
}

/* Runs ---------------------------------------------------------------------------------- */

static int64_t extent(const struct box *box, int d)
{
    return box->dim[d].hi - box->dim[d].lo;
}

/* Inner dimensions that the box covers completely form one run, together with the next
 * dimension. */
struct runs hp_runs(const struct hypar_shape *shape, const struct box *box)
{
    struct runs r = { .length = 1, .left = !hp_box_empty(box), .box = *box };
    bool whole = true;
    int64_t stride = 1;
    for (int d = box->n_dims - 1; d >= 0; d--) {
        r.stride[d] = stride;
        r.index[d] = box->dim[d].lo;
        stride *= shape->dim[d];
        if (whole)
            r.length *= extent(box, d);
        else
            r.left *= extent(box, d);
        if (whole)
            r.outer = d;
        whole = whole && extent(box, d) == shape->dim[d];
    }
    r.in_box = -r.length; /* before the first */
    return r;
}

bool hp_next_run(struct runs *r)
{
    if (r->left <= 0)
        return false;
    r->left--;
    r->in_box += r->length;
    r->in_array = 0;
    for (int d = 0; d < r->box.n_dims; d++)
        r->in_array += r->index[d] * r->stride[d];
    for (int d = r->outer - 1; d >= 0 && ++r->index[d] == r->box.dim[d].hi; d--)
        r->index[d] = r->box.dim[d].lo;
    return true;
}
