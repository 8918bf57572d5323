/* A stand-in for cuDNN's graphs of one convolution, in the queue of the driver's stand-in. The
 * first engine that it proposes is not deterministic, and wrong; the second one rounds factors
 * to tf32, the third one is right. */
#include "tests/cuda/dnn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "run/backend/cuda/driver.h"
#include "tests/cuda/numbers.h"

enum { DONE, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
enum { F32, F64, BF16 = 9, MOST = 5, WORKSPACE = 1000 };
enum { WRONG, ROUGH, RIGHT, ENGINES };
enum { UNITS = 0, NOT_DETERMINISTIC = 4 };
enum { MOST_ATTRIBUTES = 12, MOST_VALUES = 8 };

struct attribute {
    int name, type;
    int64_t n;
    union {
        int i[MOST_VALUES];
        int64_t l[MOST_VALUES];
        float f[MOST_VALUES];
        double d[MOST_VALUES];
        struct descriptor *at[MOST_VALUES];
        void *p[MOST_VALUES];
    } value;
};
struct descriptor {
    int kind, n;
    struct attribute attribute[MOST_ATTRIBUTES];
    bool is_final;
    int engine;               /* of an engine or a config */
    struct descriptor *graph; /* of a config */
};

struct tensor {
    int type, n_dims;
    int64_t size[MOST], stride[MOST];
};
struct convolution {
    int64_t n, before[3], stride[3], dilation[3];
};

/* What is computed: 0 the output, 1 dx, 2 dw. */
struct work {
    int pass, engine;
    struct tensor x, w, y;
    struct convolution how;
    void *data[3]; /* of x, w, y */
    char *workspace;
};

static begin_later *later;

int stand_in_convolutions; /* that were begun */

int cudnnCreate(void **handle)
{
    later = find_later((void *)(size_t)cudnnCreate);
    *handle = &later;
    return later ? DONE : NOT_SUPPORTED;
}

int cudnnDestroy(void *handle)
{
    return handle == &later ? DONE : BAD_PARAM;
}

int cudnnSetStream(void *handle, void *stream)
{
    return handle == &later && stream ? DONE : BAD_PARAM;
}

/* Descriptors --------------------------------------------------------------------------- */

int cudnnBackendCreateDescriptor(int kind, void **out)
{
    struct descriptor *d = calloc(1, sizeof *d);
    *out = d;
    if (d)
        d->kind = kind;
    return d ? DONE : NOT_SUPPORTED;
}

int cudnnBackendDestroyDescriptor(void *descriptor)
{
    free(descriptor);
    return DONE;
}

static size_t bytes_of(int type)
{
    bool is_int = type == DNN_DATA_TYPE || type == DNN_MODE ||
                  type == DNN_PROPOSALS_MODE_TYPE || type == DNN_NOTE;
    return is_int ? sizeof(int) : type == DNN_F32 ? sizeof(float) : sizeof(int64_t);
}

int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n, const void *value)
{
    struct descriptor *d = descriptor;
    if (d->is_final || d->n == MOST_ATTRIBUTES || n < 1 || n > MOST_VALUES)
        return BAD_PARAM;
    struct attribute *a = &d->attribute[d->n++];
    *a = (struct attribute){ .name = name, .type = type, .n = n };
    memcpy(&a->value, value, (size_t)n * bytes_of(type));
    return DONE;
}

static const struct attribute *find(const struct descriptor *d, int name, int type)
{
    static const struct attribute none = { .n = 0 };
    for (int i = 0; i < d->n; i++)
        if (d->attribute[i].name == name && d->attribute[i].type == type)
            return &d->attribute[i];
    return &none;
}

static struct descriptor *descriptor_at(const struct descriptor *d, int name)
{
    return find(d, name, DNN_DESCRIPTOR)->value.at[0];
}

int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t most, int64_t *n,
                             void *value)
{
    struct descriptor *d = descriptor;
    if (name == DNN_PROPOSALS_RESULTS && type == DNN_DESCRIPTOR && d->is_final) {
        for (*n = 0; *n < ENGINES && *n < most; ++*n) {
            struct descriptor *config = ((struct descriptor **)value)[*n];
            config->engine = (int)*n;
            config->graph = descriptor_at(d, DNN_PROPOSALS_GRAPH);
        }
    } else if (name == DNN_CONFIG_ENGINE && type == DNN_DESCRIPTOR && most == 1) {
        (*(struct descriptor **)value)->engine = d->engine;
        *n = 1;
    } else if (name == DNN_ENGINE_NOTES && type == DNN_NOTE && most >= 1) {
        *n = d->engine != RIGHT;
        *(int *)value = d->engine == WRONG ? NOT_DETERMINISTIC : UNITS;
    } else if (name == DNN_PLAN_WORKSPACE && type == DNN_INT64 && d->is_final) {
        *n = 1;
        *(int64_t *)value = WORKSPACE;
    } else {
        return BAD_PARAM;
    }
    return DONE;
}

/* Shapes -------------------------------------------------------------------------------- */

static bool is_tensor(const struct descriptor *d, struct tensor *t)
{
    const struct attribute *type = find(d, DNN_TENSOR_DATA_TYPE, DNN_DATA_TYPE),
                           *size = find(d, DNN_TENSOR_DIMENSIONS, DNN_INT64),
                           *stride = find(d, DNN_TENSOR_STRIDES, DNN_INT64);
    *t = (struct tensor){ .type = type->value.i[0], .n_dims = (int)size->n };
    bool right = d->kind == DNN_TENSOR && type->n == 1 && size->n == stride->n &&
                 size->n >= 4 && size->n <= MOST && find(d, DNN_TENSOR_NUMBER, DNN_INT64)->n &&
                 find(d, DNN_TENSOR_ALIGNMENT, DNN_INT64)->n &&
                 (t->type == F32 || t->type == F64 || t->type == BF16);
    for (int i = 0; right && i < t->n_dims; i++) {
        t->size[i] = size->value.l[i];
        t->stride[i] = stride->value.l[i];
        right = t->size[i] >= 1 && t->stride[i] >= 1;
    }
    return right;
}

static bool is_convolution(const struct descriptor *d, int type, struct convolution *c)
{
    int64_t n = find(d, DNN_CONVOLUTION_DIMENSIONS, DNN_INT64)->value.l[0];
    const struct attribute *before = find(d, DNN_CONVOLUTION_PADDING_BEFORE, DNN_INT64),
                           *after = find(d, DNN_CONVOLUTION_PADDING_AFTER, DNN_INT64),
                           *stride = find(d, DNN_CONVOLUTION_STRIDES, DNN_INT64),
                           *dilation = find(d, DNN_CONVOLUTION_DILATIONS, DNN_INT64);
    *c = (struct convolution){ .n = n };
    bool right = d->kind == DNN_CONVOLUTION && before->n == n && after->n == n &&
                 stride->n == n && dilation->n == n &&
                 find(d, DNN_CONVOLUTION_MODE, DNN_MODE)->value.i[0] == 1 &&
                 find(d, DNN_CONVOLUTION_SUM_TYPE, DNN_DATA_TYPE)->value.i[0] ==
                     (type == F64 ? F64 : F32);
    for (int i = 0; right && i < n; i++) {
        c->before[i] = before->value.l[i];
        c->stride[i] = stride->value.l[i];
        c->dilation[i] = dilation->value.l[i];
        right = before->value.l[i] >= 0 && before->value.l[i] == after->value.l[i] &&
                c->stride[i] >= 1 && c->dilation[i] >= 1;
    }
    return right;
}

/* Do the shapes belong together? cuDNN is fast where weights have the order of images. */
static bool fits(const struct tensor *x, const struct tensor *w, const struct tensor *y,
                 const struct convolution *c)
{
    bool last = x->stride[1] == 1 && y->stride[1] == 1 && (x->size[1] > 1 || y->size[1] > 1);
    bool right = x->type == w->type && x->type == y->type && x->n_dims == c->n + 2 &&
                 y->n_dims == x->n_dims && w->n_dims == x->n_dims && x->size[0] == y->size[0] &&
                 x->size[1] == w->size[1] && y->size[1] == w->size[0] &&
                 (!last || w->stride[1] == 1);
    for (int d = 0; right && d < c->n; d++)
        right =
            (x->size[d + 2] + 2 * c->before[d] - (c->dilation[d] * (w->size[d + 2] - 1) + 1)) /
                    c->stride[d] +
                1 ==
            y->size[d + 2];
    return right;
}

/* The operation of a graph. */
static bool find_work(const struct descriptor *graph, struct work *work)
{
    static const struct {
        int kind, factor, kept, how, x, w, y;
    } pass[] = { { DNN_FORWARD, 700, 701, 702, 704, 703, 705 },
                 { DNN_GRADIENT_OF_X, 706, 707, 708, 710, 709, 711 },
                 { DNN_GRADIENT_OF_W, 712, 713, 714, 716, 715, 717 } };
    const struct descriptor *operation = descriptor_at(graph, DNN_GRAPH_OPERATIONS);
    int p = 0;
    while (p < 3 && operation->kind != pass[p].kind)
        p++;
    if (p == 3 || !is_tensor(descriptor_at(operation, pass[p].x), &work->x) ||
        !is_tensor(descriptor_at(operation, pass[p].w), &work->w) ||
        !is_tensor(descriptor_at(operation, pass[p].y), &work->y))
        return false;
    bool f64 = work->x.type == F64;
    const struct attribute *factor = find(operation, pass[p].factor, f64 ? DNN_F64 : DNN_F32),
                           *kept = find(operation, pass[p].kept, f64 ? DNN_F64 : DNN_F32);
    work->pass = p;
    return is_convolution(descriptor_at(operation, pass[p].how), work->x.type, &work->how) &&
           factor->n == 1 && kept->n == 1 &&
           (f64 ? factor->value.d[0] == 1 && kept->value.d[0] == 0
                : factor->value.f[0] == 1 && kept->value.f[0] == 0) &&
           fits(&work->x, &work->w, &work->y, &work->how);
}

int cudnnBackendFinalize(void *descriptor)
{
    struct descriptor *d = descriptor;
    struct work ignored;
    bool right = !d->is_final;
    if (d->kind == DNN_GRAPH)
        right = right && find_work(d, &ignored) &&
                find(d, DNN_GRAPH_HANDLE, DNN_HANDLE)->value.p[0] == &later;
    if (d->kind == DNN_PLAN)
        right = right && descriptor_at(d, DNN_PLAN_CONFIG) &&
                find(d, DNN_PLAN_HANDLE, DNN_HANDLE)->value.p[0] == &later;
    d->is_final = true;
    return right ? DONE : BAD_PARAM;
}

/* Computing ----------------------------------------------------------------------------- */

/* The type as the other libraries number it. */
static int type_of(const struct tensor *t)
{
    return t->type == BF16 ? NUMBER_BF16 : t->type;
}

static int64_t place(const struct tensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < t->n_dims; d++)
        at += index[d] * t->stride[d];
    return at;
}

static bool next(const struct tensor *t, int64_t *index)
{
    for (int d = t->n_dims - 1; d >= 0; d--) {
        if (++index[d] < t->size[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static double factor_at(const struct work *w, int of, int64_t at)
{
    double x = number_at(w->data[of], at, type_of(&w->x));
    float rough = (float)x;
    uint32_t bits;
    if (w->engine != ROUGH || w->x.type != F32)
        return x;
    memcpy(&bits, &rough, sizeof bits);
    bits &= 0xffffe000;
    memcpy(&rough, &bits, sizeof bits);
    return (double)rough;
}

/* The results lie beside their places until they are all known. */
static void run(void *arg)
{
    struct work *w = arg;
    const struct tensor *to = w->pass == 0 ? &w->y : w->pass == 1 ? &w->x : &w->w;
    void *data = w->data[w->pass == 0 ? 2 : w->pass == 1 ? 0 : 1];
    int64_t y[MOST] = { 0 }, most = 1;
    for (int d = 0; d < to->n_dims; d++)
        most += (to->size[d] - 1) * to->stride[d];
    double *sum = calloc((size_t)most, sizeof *sum);
    memset(w->workspace, 7, WORKSPACE);
    do {
        int64_t tap[MOST] = { 0 }; /* the first index stays 0 */
        struct tensor taps = w->w;
        taps.size[0] = 1;
        do {
            int64_t x[MOST] = { y[0], tap[1] }, filter[MOST] = { y[1] };
            bool inside = true;
            for (int d = 1; d < w->w.n_dims; d++)
                filter[d] = tap[d];
            for (int d = 2; d < w->x.n_dims; d++) {
                x[d] = y[d] * w->how.stride[d - 2] - w->how.before[d - 2] +
                       tap[d] * w->how.dilation[d - 2];
                inside = inside && x[d] >= 0 && x[d] < w->x.size[d];
            }
            if (!inside)
                continue;
            int64_t at[3] = { place(&w->x, x), place(&w->w, filter), place(&w->y, y) };
            int a = w->pass == 1 ? 1 : 0, b = w->pass == 0 ? 1 : 2, t = 3 - a - b;
            sum[at[t]] += factor_at(w, a, at[a]) * factor_at(w, b, at[b]);
        } while (next(&taps, tap));
    } while (next(&w->y, y));
    int64_t index[MOST] = { 0 };
    do
        put_number(data, place(to, index), type_of(to), sum[place(to, index)]);
    while (next(to, index));
    free(sum);
    free(w);
}

int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
    const struct descriptor *config = descriptor_at(plan, DNN_PLAN_CONFIG);
    const struct attribute *number = find(pack, DNN_PACK_NUMBERS, DNN_INT64),
                           *data = find(pack, DNN_PACK_DATA, DNN_POINTER);
    struct work *w = calloc(1, sizeof *w);
    bool right = w && handle == &later && ((struct descriptor *)pack)->is_final &&
                 find_work(config->graph, w) && number->n == 3 && data->n == 3 &&
                 config->engine != WRONG;
    if (right)
        w->workspace = find(pack, DNN_PACK_WORKSPACE, DNN_POINTER)->value.p[0];
    if (!right || !w->workspace) {
        free(w);
        return BAD_PARAM;
    }
    w->engine = config->engine;
    for (int i = 0; i < 3; i++)
        w->data[number->value.l[i] - 1] = data->value.p[i];
    stand_in_convolutions++;
    later(run, w);
    return DONE;
}
