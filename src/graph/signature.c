/* Fitting a row by its texts: the index maps are matched against the given shapes, which
 * determines the extents of the axes; the shapes of outputs and of new parameters follow. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "graph/binding.h"

/* One dimension of an operand's index map, as parsed. */
struct pattern_dim {
    enum { PLAIN, WINDOW, TRANSPOSED, SCALED, PRODUCT, CONSTANT } form;
    char letter[MAX_FACTORS]; /* axes; of a window: the axis, then its taps */
    char scaled;              /* 'n' nearest, 'l' linear, 'a' all elements under an output */
    int n_letters;
    int64_t constant;
    int optional;   /* 1: "?"; 2: "??", present only if all "?" are */
    bool broadcast; /* "^": size 1 stands for the whole axis */
};

struct pattern {
    char name;
    enum operand_role role;
    enum combine combine;
    bool optional, index, star, exchanged;
    int n_dims;
    struct pattern_dim dim[MAX_DIMS + 2];
};

enum { MAX_PATTERNS = 16 };

struct signature {
    struct binding *b;
    struct pattern pattern[MAX_PATTERNS];
    int n_patterns;
    signed char axis_of[128]; /* letter -> axis, -1 */
    bool left_out[128];       /* optional letters beyond the rank */
};

bool hp_bind_fail(struct binding *b, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hp_fail(b->err, HYPAR_INVALID, "%s", text);
    return false;
}

/* Reading the texts ------------------------------------------------------------------- */

static const char *read_dim(const char *p, struct pattern_dim *dim)
{
    *dim = (struct pattern_dim){ .form = PLAIN };
    if (isdigit((unsigned char)*p)) {
        char *end;
        dim->form = CONSTANT;
        dim->constant = strtol(p, &end, 10);
        p = end;
    } else if (*p == '(') {
        dim->form = PRODUCT;
        for (p++; *p != ')'; p++)
            if (*p != ',')
                dim->letter[dim->n_letters++] = *p;
        p++;
    } else {
        dim->letter[dim->n_letters++] = *p++;
        if (*p == '~' || *p == '/') {
            dim->form = *p == '~' ? WINDOW : TRANSPOSED;
            dim->letter[dim->n_letters++] = p[1];
            p += 2;
        } else if (*p == '%') {
            dim->form = SCALED;
            dim->scaled = p[1];
            p += 2;
        }
    }
    for (; *p == '?'; p++)
        dim->optional++;
    dim->broadcast = *p == '^';
    return p + dim->broadcast;
}

static const char *read_map(struct signature *s, const char *p, struct pattern *pattern)
{
    for (p++; *p != ']'; p += *p == ',') {
        if (*p == '*') {
            pattern->star = true;
            p++;
        } else {
            p = read_dim(p, &pattern->dim[pattern->n_dims++]);
        }
    }
    p++;
    if (*p == '@') {
        size_t n = strcspn(++p, " ;");
        pattern->exchanged = hp_attr_int(s->b->attrs, ATTR_TRANSPOSED, 0, 0) != 0;
        p += n;
    }
    return p;
}

/* One operand: "x[..]", "b?[..]", "#l[..]", "m=softmax[..]". */
static const char *read_operand(struct signature *s, const char *p, enum operand_role role)
{
    struct pattern *pattern = &s->pattern[s->n_patterns++];
    *pattern = (struct pattern){ .role = role };
    if (*p == '#') {
        pattern->index = true;
        p++;
    }
    pattern->name = *p++;
    if (*p == '?') {
        pattern->optional = true;
        p++;
    }
    if (*p == '=') {
        pattern->combine = strncmp(p, "=softmax", 8) == 0 ? COMBINE_SOFTMAX : COMBINE_SUM;
        p += strcspn(p, "[");
    }
    p = read_map(s, p, pattern);
    if (pattern->exchanged) {
        struct pattern_dim last = pattern->dim[pattern->n_dims - 1];
        pattern->dim[pattern->n_dims - 1] = pattern->dim[pattern->n_dims - 2];
        pattern->dim[pattern->n_dims - 2] = last;
    }
    return p;
}

static void read_operands(struct signature *s)
{
    enum operand_role role = OPERAND_INPUT;
    for (const char *p = s->b->row->operands; *p;) {
        if (*p == ' ') {
            p++;
        } else if (*p == '|') {
            role = OPERAND_PARAM;
            p++;
        } else if (*p == '-') {
            role = OPERAND_OUTPUT;
            p += 2;
        } else if (*p == ';') {
            role = OPERAND_STAT;
            p++;
        } else {
            p = read_operand(s, p, role);
        }
    }
}

/* Leave out an optional dimension everywhere: its axis, and the taps of windows over it. */
static void leave_out(struct signature *s, char letter)
{
    for (int i = 0; i < s->n_patterns; i++)
        for (int d = 0; d < s->pattern[i].n_dims; d++) {
            const struct pattern_dim *dim = &s->pattern[i].dim[d];
            for (int k = 0; dim->letter[0] == letter && k < dim->n_letters; k++)
                s->left_out[(int)dim->letter[k]] = true;
        }
}

/* Keep as many optional dimensions as the rank of the first input requires. */
static bool fit_rank(struct signature *s)
{
    struct pattern *first = &s->pattern[0];
    int optional = 0, rank = s->b->input[0]->shape.n_dims;
    for (int d = 0; d < first->n_dims; d++)
        optional += first->dim[d].optional > 0;
    int required = first->n_dims - optional;
    s->b->beyond = rank < required || rank > first->n_dims;
    if (s->b->beyond)
        return hp_bind_fail(s->b, "input '%c' has %d dimensions, expected %d%s%.0d",
                            first->name, rank, required, optional ? " to " : "",
                            optional ? first->n_dims : 0);
    int room = rank - required;
    for (int turn = 1; turn <= 2; turn++)
        for (int d = 0; d < first->n_dims; d++)
            if (first->dim[d].optional == turn && room-- <= 0)
                leave_out(s, first->dim[d].letter[0]);

    for (int i = 0; i < s->n_patterns; i++) {
        struct pattern *p = &s->pattern[i];
        int kept = 0;
        for (int d = 0; d < p->n_dims; d++)
            if (!(p->dim[d].optional && s->left_out[(int)p->dim[d].letter[0]]))
                p->dim[kept++] = p->dim[d];
        p->n_dims = kept;
    }
    return true;
}

/* Axes -------------------------------------------------------------------------------- */

static enum hypar_role role_of(char letter)
{
    switch (letter) {
    case 'S':
        return HYPAR_SAMPLE;
    case 'A':
        return HYPAR_ATTRIBUTE;
    case 'P':
        return HYPAR_PARAMETER;
    case 'R':
        return HYPAR_REDUCTION;
    default:
        return HYPAR_INNER;
    }
}

static bool has_taps(const struct pattern_dim *dim)
{
    return dim->form == WINDOW || dim->form == TRANSPOSED;
}

/* The number of the window with taps `letter`, or along `letter` without taps, among the
 * windows of its operand; 0 for an axis without a window. */
static int window_place(const struct signature *s, char letter)
{
    for (int i = 0; i < s->n_patterns; i++)
        for (int d = 0, place = 0; d < s->pattern[i].n_dims; d++) {
            const struct pattern_dim *dim = &s->pattern[i].dim[d];
            if ((has_taps(dim) || dim->form == SCALED) && dim->letter[has_taps(dim)] == letter)
                return place;
            place += has_taps(dim) || dim->form == SCALED;
        }
    return 0;
}

/* "=out", "=kernel" (for taps: the value of their dimension), "=out/groups": 0 if the attribute
 * is not given, -1 on failure. */
static int64_t extent_from_attr(struct binding *b, const char *text, size_t length, int index)
{
    char name[32] = "", divisor[32] = "";
    memcpy(name, text, length);
    char *slash = strchr(name, '/');
    if (slash) {
        memcpy(divisor, slash + 1, strlen(slash + 1));
        *slash = '\0';
    }
    int64_t value = hp_attr_int(b->attrs, hp_attr_find(name), index, 0);
    if (!slash || !value)
        return value;
    int64_t by = hp_attr_int(b->attrs, hp_attr_find(divisor), 0, 1);
    if (value % by == 0)
        return value / by;
    hp_bind_fail(b, "attribute '%s' is %lld, expected a multiple of '%s', which is %lld", name,
                 (long long)value, divisor, (long long)by);
    return -1;
}

static bool read_axes(struct signature *s)
{
    struct binding *b = s->b;
    memset(s->axis_of, -1, sizeof s->axis_of);
    for (const char *p = b->row->axes; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if (!s->left_out[(int)p[0]]) {
            struct hypar_axis *axis = &b->axis[b->n_axes];
            *axis = (struct hypar_axis){ .name = { p[0] }, .role = role_of(p[1]) };
            if (n > 3)
                axis->extent = extent_from_attr(b, p + 3, n - 3, window_place(s, p[0]));
            if (axis->extent < 0)
                return false;
            s->axis_of[(int)p[0]] = (signed char)b->n_axes++;
        }
        p += n;
    }
    return true;
}

/* The sample axis is the one that indexes the samples of an input. If the samples are not at
 * the place of n (a sequence-first tensor), n swaps with the axis there. */
static void place_samples(struct signature *s)
{
    int n = s->axis_of['n'];
    for (int i = 0; i < s->b->n_inputs; i++) {
        const struct tensor *t = s->b->input[i];
        if (!t || t->sample_dim < 0)
            continue;
        char letter = s->pattern[i].dim[t->sample_dim].letter[0];
        if (letter == 'n')
            return;
        int other = letter ? s->axis_of[(int)letter] : -1;
        if (other >= 0 && s->b->axis[other].role == HYPAR_ATTRIBUTE &&
            s->pattern[i].dim[t->sample_dim].form == PLAIN) {
            s->axis_of['n'] = (signed char)other;
            s->axis_of[(int)letter] = (signed char)n;
            return;
        }
    }
    s->b->axis[n].role = HYPAR_ATTRIBUTE; /* no samples reach this operator */
}

/* Matching ---------------------------------------------------------------------------- */

static bool bind_extent(struct signature *s, int o, int axis, int64_t extent)
{
    struct hypar_axis *a = &s->b->axis[axis];
    if (!a->extent)
        a->extent = extent;
    if (a->extent == extent)
        return true;
    return hp_bind_fail(s->b, "'%s' has %lld along axis %s, expected %lld",
                        s->b->operand[o].name, (long long)extent, a->name,
                        (long long)a->extent);
}

/* The number of positions of a window over `size` elements; a row without padding keeps
 * them. */
static int64_t window_extent(struct binding *b, int64_t size, int place, struct dim_map *map,
                             int64_t taps)
{
    const struct attr *pad = hp_attr_get(b->attrs, ATTR_PAD);
    map->stride = hp_attr_int(b->attrs, ATTR_STRIDE, place, 1);
    map->span = hp_attr_int(b->attrs, ATTR_DILATION, place, 1) * (taps - 1) + 1;
    if (!pad) {
        map->pad = (taps - 1) / 2;
        return size;
    }
    int spatial = pad->n / 2;
    int64_t before = (int64_t)pad->v[place], after = (int64_t)pad->v[spatial + place];
    map->pad = before;
    int64_t room = size + before + after - map->span;
    if (room < 0)
        return 0;
    if (!hp_attr_int(b->attrs, ATTR_CEIL, 0, 0))
        return room / map->stride + 1;
    int64_t extent = (room + map->stride - 1) / map->stride + 1;
    return (extent - 1) * map->stride >= size + before ? extent - 1 : extent;
}

/* The outputs of a transposed convolution over `size` elements: element q adds to outputs q
 * stride - pad + tap dilation, so output o sees elements from (o + pad - (taps - 1) dilation) /
 * stride, rounded up, to (o + pad) / stride, rounded down. 0: there are none. */
static int64_t transposed_extent(struct binding *b, int64_t size, int place,
                                 struct dim_map *map, int64_t taps)
{
    const struct attr *pad = hp_attr_get(b->attrs, ATTR_PAD);
    int64_t stride = hp_attr_int(b->attrs, ATTR_STRIDE, place, 1);
    int64_t reach = hp_attr_int(b->attrs, ATTR_DILATION, place, 1) * (taps - 1);
    int64_t before = (int64_t)pad->v[place], after = (int64_t)pad->v[pad->n / 2 + place];
    int64_t more = hp_attr_int(b->attrs, ATTR_OUTPUT_PAD, place, 0);
    map->stride = 2;
    map->divide = 2 * stride;
    map->pad = 2 * (reach - before - stride + 1);
    map->span = 2 * (reach - stride) + 3;
    int64_t extent = (size - 1) * stride + reach + 1 + more - before - after;
    return extent < 1 ? 0 : extent;
}

/* Map `extent` outputs to `size` elements in proportion. */
static void scale(struct binding *b, int64_t size, int64_t extent, char how,
                  struct dim_map *map)
{
    bool corners = hp_attr_int(b->attrs, ATTR_ALIGN_CORNERS, 0, 0) != 0;
    map->stride = 2 * size;
    map->divide = 2 * extent;
    map->span = how == 'a' ? 2 * size - 1 : 1; /* up to where the next output begins */
    if (how == 'l' && corners) { /* the first and the last element keep their places */
        map->stride = extent > 1 ? 2 * (size - 1) : 0;
        map->divide = extent > 1 ? 2 * (extent - 1) : 2;
    } else if (how == 'l') { /* centres of elements: (o + 1/2) size / extent - 1/2 */
        map->pad = extent - size;
    }
    if (how == 'l')
        map->span = map->divide + 1;
}

/* A product of extents from files, cut to 2^50: no tensor may be larger. */
static int64_t bounded_product(int64_t a, int64_t b)
{
    const double most = 0x1p50;
    return (double)a * (double)b < most ? a * b : (int64_t)most;
}

static bool match_product(struct signature *s, int o, const struct pattern_dim *dim,
                          int64_t size)
{
    int64_t known = 1;
    int open = -1;
    for (int i = 0; i < dim->n_letters; i++) {
        int axis = s->axis_of[(int)dim->letter[i]];
        if (s->b->axis[axis].extent)
            known = bounded_product(known, s->b->axis[axis].extent);
        else
            open = axis;
    }
    if (open >= 0 && size % known == 0)
        return bind_extent(s, o, open, size / known);
    if (open < 0 && size == known)
        return true;
    return hp_bind_fail(s->b, "'%s' has a dimension of %lld, expected %s%lld",
                        s->b->operand[o].name, (long long)size,
                        open < 0 ? "" : "a multiple of ", (long long)known);
}

/* Match one dimension of a given tensor; `place` counts the windows of its operand. */
static bool match_dim(struct signature *s, int o, int d, const struct pattern_dim *dim,
                      int *place)
{
    struct binding *b = s->b;
    struct operand *operand = &b->operand[o];
    int64_t size = operand->size[d];
    if (dim->broadcast && size == 1)
        return true;
    if (dim->form == CONSTANT)
        return size == dim->constant ||
               hp_bind_fail(b, "'%s' has %lld in dimension %d, expected %lld", operand->name,
                            (long long)size, d, (long long)dim->constant);
    if (dim->form == PRODUCT)
        return match_product(s, o, dim, size);
    int axis = s->axis_of[(int)dim->letter[0]];
    if (dim->form == PLAIN)
        return bind_extent(s, o, axis, size);
    if (dim->form == SCALED)
        return true; /* an attribute determines the output */

    int64_t taps = b->axis[s->axis_of[(int)dim->letter[1]]].extent;
    struct dim_map map;
    int64_t extent = dim->form == WINDOW ? window_extent(b, size, (*place)++, &map, taps)
                                         : transposed_extent(b, size, (*place)++, &map, taps);
    if (extent < 1 && dim->form == TRANSPOSED)
        return hp_bind_fail(
            b, "attribute 'pad' leaves nothing of '%s', which has %lld, expected less",
            operand->name, (long long)size);
    if (extent < 1)
        return hp_bind_fail(b, "a window of %lld does not fit into '%s', which has %lld",
                            (long long)map.span, operand->name, (long long)size);
    return bind_extent(s, o, axis, extent);
}

static bool match_given(struct signature *s, int o)
{
    const struct pattern *pattern = &s->pattern[o];
    const struct tensor *t = s->b->input[o];
    struct operand *operand = &s->b->operand[o];
    int place = 0;
    if (t->shape.n_dims != pattern->n_dims)
        return hp_bind_fail(s->b, "'%s' (%s) has %d dimensions, expected %d", t->name,
                            operand->name, t->shape.n_dims, pattern->n_dims);
    if (t->index != pattern->index)
        return hp_bind_fail(s->b, "'%s' holds %s, expected %s", operand->name,
                            t->index ? "integers" : "numbers",
                            pattern->index ? "integers" : "numbers");
    for (int d = 0; d < pattern->n_dims; d++) {
        operand->size[d] = t->shape.dim[d];
        if (!match_dim(s, o, d, &pattern->dim[d], &place))
            return false;
    }
    return true;
}

/* The index map and size of one dimension, when all extents are known. */
static void map_dim(struct signature *s, struct operand *operand, int d,
                    const struct pattern_dim *dim, int *place)
{
    struct binding *b = s->b;
    struct dim_map *map = &operand->dim[d];
    int64_t size = 1;
    *map = hp_map_whole(DIM_WHOLE);
    if (dim->form == CONSTANT) {
        operand->size[d] = dim->constant;
        return;
    }
    map->kind = dim->form == PRODUCT ? DIM_PRODUCT : DIM_AXIS;
    map->n_axes = (int8_t)(has_taps(dim) ? 1 : dim->n_letters);
    for (int i = 0; i < map->n_axes; i++) {
        map->axis[i] = s->axis_of[(int)dim->letter[i]];
        size = bounded_product(size, b->axis[map->axis[i]].extent);
    }
    if (dim->broadcast && operand->size[d] == 1 && size > 1) {
        *map = hp_map_whole(DIM_BROADCAST);
        return;
    }
    if (has_taps(dim))
        map->taps = s->axis_of[(int)dim->letter[1]];
    if (dim->form == WINDOW) {
        window_extent(b, operand->size[d], (*place)++, map, b->axis[map->taps].extent);
    } else if (dim->form == TRANSPOSED) {
        transposed_extent(b, operand->size[d], (*place)++, map, b->axis[map->taps].extent);
    } else if (dim->form == SCALED) {
        scale(b, operand->size[d], size, dim->scaled, map);
    } else {
        operand->size[d] = size;
    }
}

static void map_operand(struct signature *s, int o)
{
    const struct pattern *pattern = &s->pattern[o];
    struct operand *operand = &s->b->operand[o];
    int place = 0;
    operand->n_dims = (int8_t)pattern->n_dims;
    for (int d = 0; d < pattern->n_dims; d++)
        map_dim(s, operand, d, &pattern->dim[d], &place);
}

/* Element-wise rows: numpy's broadcasting determines the output; its dimensions are the
 * axes. */
static bool bind_star(struct signature *s)
{
    struct binding *b = s->b;
    struct hypar_shape out = { 0 };
    int sample_dim = -1;
    for (int i = 0; i < b->n_inputs; i++)
        if (b->input[i]->shape.n_dims > out.n_dims)
            out.n_dims = b->input[i]->shape.n_dims;
    for (int d = 0; d < out.n_dims; d++)
        out.dim[d] = 1;
    for (int i = 0; i < b->n_inputs; i++) {
        const struct tensor *t = b->input[i];
        int shift = out.n_dims - t->shape.n_dims;
        for (int d = 0; d < t->shape.n_dims; d++) {
            int64_t size = t->shape.dim[d], *have = &out.dim[shift + d];
            if (size != 1 && *have != 1 && *have != size)
                return hp_bind_fail(b, "'%s' has %lld in dimension %d, expected 1 or %lld",
                                    b->operand[i].name, (long long)size, d, (long long)*have);
            *have = size != 1 ? size : *have;
        }
        if (t->sample_dim >= 0 && sample_dim < 0)
            sample_dim = shift + t->sample_dim;
    }
    return hp_bind_axes(b, out.n_dims, out.dim, sample_dim);
}

static void map_star(struct signature *s, int o)
{
    struct binding *b = s->b;
    struct operand *operand = &b->operand[o];
    int rank = b->input[o] ? b->input[o]->shape.n_dims : b->n_axes;
    operand->n_dims = (int8_t)rank;
    for (int d = 0; d < rank; d++) {
        int axis = b->n_axes - rank + d;
        operand->size[d] = b->input[o] ? b->input[o]->shape.dim[d] : b->axis[axis].extent;
        operand->dim[d] = hp_map_axis(axis);
        if (operand->size[d] != b->axis[axis].extent)
            operand->dim[d] = hp_map_whole(DIM_BROADCAST);
    }
}

static bool all_bound(struct signature *s)
{
    for (int a = 0; a < s->b->n_axes; a++)
        if (s->b->axis[a].extent < 1)
            return hp_bind_fail(s->b,
                                "nothing tells the extent of axis %s, expected a weight or "
                                "an attribute such as 'out'",
                                s->b->axis[a].name);
    return true;
}

static bool bind_signature(struct binding *b)
{
    struct signature s = { .b = b };
    read_operands(&s);
    for (int o = 0; o < s.n_patterns; o++) {
        struct operand *operand = hp_bind_operand(b, s.pattern[o].name, -1, s.pattern[o].role);
        operand->combine = s.pattern[o].combine;
        operand->index = s.pattern[o].index;
        bool needs = operand->role == OPERAND_INPUT || operand->role == OPERAND_PARAM;
        if (needs && !b->input[o] && !b->make[o] && !s.pattern[o].optional)
            return hp_bind_fail(b, "input '%s' is missing, expected a tensor's name",
                                operand->name);
    }
    if (s.pattern[0].star) {
        if (!bind_star(&s))
            return false;
    } else {
        if (!fit_rank(&s) || !read_axes(&s))
            return false;
        place_samples(&s);
        for (int o = 0; o < b->n_inputs; o++)
            if (b->input[o] && !match_given(&s, o))
                return false;
        if (!all_bound(&s))
            return false;
    }
    for (int o = 0; o < s.n_patterns; o++) {
        if (s.pattern[o].star)
            map_star(&s, o);
        else if (o >= b->n_inputs || b->input[o] || b->make[o])
            map_operand(&s, o);
    }
    return true;
}

bool hp_bind(struct binding *b)
{
    bool ok = b->row->bind ? b->row->bind(b) : bind_signature(b);
    return ok && hp_bind_passes(b);
}
