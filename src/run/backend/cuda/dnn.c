/* Convolutions by cuDNN's graphs. */
#include "run/backend/cuda/convolution.h"

#include <string.h>

#include "kernel/walk.h"
#include "run/backend/cuda/driver.h"

static const size_t most_workspace = (size_t)1 << 30; /* bytes */

/* Types; bf16 is summed in fp32. */
enum { F32 = 0, F64 = 1, BF16 = 9 };

/* Numbers of a graph's tensors. */
enum { NUMBER_X = 1, NUMBER_W, NUMBER_Y, TENSORS = 3 };

/* What a plan follows from. */
enum { MOST = 5 };
struct shape {
    int64_t pass; /* 0: forward, 1: dx, 2: dw */
    int64_t type, tf32, alignment, n_dims;
    int64_t x[MOST], x_stride[MOST], y[MOST], y_stride[MOST], w[MOST], w_stride[MOST];
    int64_t before[3], after[3], stride[3], dilation[3];
};

struct choice {
    void *plan; /* NULL: cuDNN has none */
    size_t bytes;
};

/* Shapes -------------------------------------------------------------------------------- */

/* A window of one element, and positions between windows: for arrays whose channels are not
 * innermost cuDNN takes three times as long as gathering the elements and one product, forward
 * and for dx (resnet50 on an H200). */
static bool skips_positions(const struct convolution *v)
{
    bool skips = false;
    for (int i = 0; i < 3; i++) {
        if (v->args.taps[i] > 1)
            return false;
        skips |= v->args.stride[i] > 1;
    }
    return skips;
}

/* Are channels innermost in images, so that they must be in weights? */
static bool has_channels_last(const struct convolution *v)
{
    return v->args.x_channel == 1 && v->args.dy_channel == 1 &&
           (v->args.channels > 1 || v->features > 1);
}

static int64_t positive(int64_t stride)
{
    return stride > 0 ? stride : 1;
}

/* The strides of weights in the order of dimensions, or with channels innermost. */
static void set_filter_strides(struct shape *s, bool channels_last)
{
    int64_t stride = 1;
    if (channels_last) {
        s->w_stride[1] = 1;
        stride = s->w[1];
    }
    for (int d = (int)s->n_dims - 1; d >= 0; d--) {
        if (channels_last && d == 1)
            continue;
        s->w_stride[d] = stride;
        stride *= s->w[d];
    }
}

static int64_t alignment_of(const struct convolution *v)
{
    const uintptr_t all = (uintptr_t)v->x | (uintptr_t)v->w | (uintptr_t)v->y;
    int64_t alignment = 16;
    while (all % (uintptr_t)alignment)
        alignment /= 2;
    return alignment;
}

/* Dimensions are samples, channels, and the last two or three of three spatial ones. False:
 * cuDNN has no such convolution. */
static bool find_shape(const struct convolution *v, struct shape *s)
{
    static const int type[] = { [REAL_F32] = F32, [REAL_F64] = F64, [REAL_BF16] = BF16 };
    const struct cuda_convolution *a = &v->args;
    int n_dims = v->call->nest->operand[0].n_dims > 4 ? 5 : 4;
    bool channels_last = has_channels_last(v);
    memset(s, 0, sizeof *s); /* it is a key: no unknown bytes */
    s->n_dims = n_dims;
    s->type = type[v->real];
    s->tf32 = hp_cuda_has_tf32(v->b->card);
    s->alignment = alignment_of(v);
    s->pass = hp_call_writes(v->call, "y") ? 0 : hp_call_writes(v->call, "dx") ? 1 : 2;
    if ((s->pass < 2 && !channels_last && skips_positions(v)) || v->w_feature != v->rows)
        return false;
    s->x[0] = s->y[0] = v->samples;
    s->x[1] = s->w[1] = a->channels;
    s->y[1] = s->w[0] = v->features;
    s->x_stride[0] = a->x_sample;
    s->x_stride[1] = a->x_channel;
    s->y_stride[0] = a->dy_sample;
    s->y_stride[1] = a->dy_channel;
    int64_t y_step = v->y_step;
    for (int d = n_dims - 1; d >= 2; d--) {
        int i = 3 - n_dims + d; /* of the three */
        int64_t span = a->dilation[i] * (a->taps[i] - 1) + 1;
        /* cuDNN is faster with contiguous arrays, even if no window sees the last positions */
        int64_t size = v->x_whole ? a->size[i] : a->positions[i];
        int64_t most = size + 2 * a->pad[i] - span; /* the last window's begin */
        if (a->pad[i] < 0 || a->first_output[i] || a->first_position[i] || most < 0 ||
            most / a->stride[i] + 1 != a->outputs[i])
            return false;
        s->x[d] = size;
        s->x_stride[d] = positive(a->x_step[i]);
        s->y[d] = a->outputs[i];
        s->y_stride[d] = positive(y_step);
        y_step *= s->y[d];
        s->w[d] = a->taps[i];
        s->before[d - 2] = s->after[d - 2] = a->pad[i];
        s->stride[d - 2] = a->stride[i];
        s->dilation[d - 2] = a->dilation[i];
    }
    set_filter_strides(s, channels_last);
    return true;
}

/* Plans --------------------------------------------------------------------------------- */

/* Descriptors that belong to one plan. */
enum { MOST_MADE = 16 };
struct maker {
    struct cuda *c;
    const struct cuda_dnn *dnn;
    void *made[MOST_MADE];
    int n;
    bool works;
};

static void *new_descriptor(struct maker *m, enum dnn_descriptor kind)
{
    void *descriptor = NULL;
    m->works = m->works && m->n < MOST_MADE &&
               m->dnn->cudnnBackendCreateDescriptor(kind, &descriptor) == 0;
    if (!m->works)
        return NULL;
    return m->made[m->n++] = descriptor;
}

static void set(struct maker *m, void *descriptor, int name, enum dnn_type type, int64_t n,
                const void *value)
{
    m->works =
        m->works && m->dnn->cudnnBackendSetAttribute(descriptor, name, type, n, value) == 0;
}

static void finish(struct maker *m, void *descriptor)
{
    m->works = m->works && m->dnn->cudnnBackendFinalize(descriptor) == 0;
}

static void *tensor(struct maker *m, const struct shape *s, int64_t number, const int64_t *size,
                    const int64_t *stride)
{
    void *t = new_descriptor(m, DNN_TENSOR);
    int type = (int)s->type;
    set(m, t, DNN_TENSOR_DATA_TYPE, DNN_DATA_TYPE, 1, &type);
    set(m, t, DNN_TENSOR_DIMENSIONS, DNN_INT64, s->n_dims, size);
    set(m, t, DNN_TENSOR_STRIDES, DNN_INT64, s->n_dims, stride);
    set(m, t, DNN_TENSOR_NUMBER, DNN_INT64, 1, &number);
    set(m, t, DNN_TENSOR_ALIGNMENT, DNN_INT64, 1, &s->alignment);
    finish(m, t);
    return t;
}

static void *convolution(struct maker *m, const struct shape *s)
{
    void *c = new_descriptor(m, DNN_CONVOLUTION);
    int type = s->type == F64 ? F64 : F32, correlation = 1;
    int64_t n = s->n_dims - 2;
    set(m, c, DNN_CONVOLUTION_SUM_TYPE, DNN_DATA_TYPE, 1, &type);
    set(m, c, DNN_CONVOLUTION_MODE, DNN_MODE, 1, &correlation);
    set(m, c, DNN_CONVOLUTION_DIMENSIONS, DNN_INT64, 1, &n);
    set(m, c, DNN_CONVOLUTION_DILATIONS, DNN_INT64, n, s->dilation);
    set(m, c, DNN_CONVOLUTION_STRIDES, DNN_INT64, n, s->stride);
    set(m, c, DNN_CONVOLUTION_PADDING_BEFORE, DNN_INT64, n, s->before);
    set(m, c, DNN_CONVOLUTION_PADDING_AFTER, DNN_INT64, n, s->after);
    finish(m, c);
    return c;
}

/* The graph of one operation: names of its attributes. */
static void *graph(struct maker *m, const struct shape *s, void *handle)
{
    static const struct {
        enum dnn_descriptor kind;
        int factor, kept, how, x, w, y;
    } pass[] = { { DNN_FORWARD, 700, 701, 702, 704, 703, 705 },
                 { DNN_GRADIENT_OF_X, 706, 707, 708, 710, 709, 711 },
                 { DNN_GRADIENT_OF_W, 712, 713, 714, 716, 715, 717 } };
    const float one_f = 1, no_f = 0;
    const double one_d = 1, no_d = 0;
    bool f64 = s->type == F64;
    enum dnn_type type = f64 ? DNN_F64 : DNN_F32;
    void *x = tensor(m, s, NUMBER_X, s->x, s->x_stride),
         *w = tensor(m, s, NUMBER_W, s->w, s->w_stride),
         *y = tensor(m, s, NUMBER_Y, s->y, s->y_stride), *how = convolution(m, s);
    void *operation = new_descriptor(m, pass[s->pass].kind);
    set(m, operation, pass[s->pass].factor, type, 1, f64 ? (const void *)&one_d : &one_f);
    set(m, operation, pass[s->pass].kept, type, 1, f64 ? (const void *)&no_d : &no_f);
    set(m, operation, pass[s->pass].how, DNN_DESCRIPTOR, 1, &how);
    set(m, operation, pass[s->pass].x, DNN_DESCRIPTOR, 1, &x);
    set(m, operation, pass[s->pass].w, DNN_DESCRIPTOR, 1, &w);
    set(m, operation, pass[s->pass].y, DNN_DESCRIPTOR, 1, &y);
    finish(m, operation);
    void *all = new_descriptor(m, DNN_GRAPH);
    set(m, all, DNN_GRAPH_OPERATIONS, DNN_DESCRIPTOR, 1, &operation);
    set(m, all, DNN_GRAPH_HANDLE, DNN_HANDLE, 1, &handle);
    finish(m, all);
    return all;
}

/* Does an engine give the same numbers in every run, in the precision that is allowed? */
static bool is_allowed(struct maker *m, const struct shape *s, void *config)
{
    enum { PRODUCT_UNITS = 0, NARROWS_INPUTS = 1, NOT_DETERMINISTIC = 4, MOST_NOTES = 16 };
    int note[MOST_NOTES];
    int64_t n = 0;
    void *engine = NULL;
    bool allowed = m->dnn->cudnnBackendCreateDescriptor(DNN_ENGINE, &engine) == 0 &&
                   m->dnn->cudnnBackendGetAttribute(config, DNN_CONFIG_ENGINE, DNN_DESCRIPTOR,
                                                    1, &n, &engine) == 0 &&
                   m->dnn->cudnnBackendGetAttribute(engine, DNN_ENGINE_NOTES, DNN_NOTE,
                                                    MOST_NOTES, &n, note) == 0;
    for (int64_t i = 0; allowed && i < n && i < MOST_NOTES; i++)
        allowed = note[i] != NOT_DETERMINISTIC &&
                  (s->type != F32 || s->tf32 ||
                   (note[i] != PRODUCT_UNITS && note[i] != NARROWS_INPUTS));
    if (engine)
        m->dnn->cudnnBackendDestroyDescriptor(engine);
    return allowed;
}

/* A plan by an engine; NULL: it has none, or needs too much memory. */
static void *plan_of(struct maker *m, void *handle, void *config, size_t *bytes)
{
    void *plan = NULL;
    int64_t need = 0, n = 0;
    const struct cuda_dnn *dnn = m->dnn;
    if (dnn->cudnnBackendCreateDescriptor(DNN_PLAN, &plan) != 0)
        return NULL;
    bool works =
        dnn->cudnnBackendSetAttribute(plan, DNN_PLAN_HANDLE, DNN_HANDLE, 1, &handle) == 0 &&
        dnn->cudnnBackendSetAttribute(plan, DNN_PLAN_CONFIG, DNN_DESCRIPTOR, 1, &config) == 0 &&
        dnn->cudnnBackendFinalize(plan) == 0 &&
        dnn->cudnnBackendGetAttribute(plan, DNN_PLAN_WORKSPACE, DNN_INT64, 1, &n, &need) == 0;
    if (!works || need < 0 || (size_t)need > most_workspace) {
        dnn->cudnnBackendDestroyDescriptor(plan);
        return NULL;
    }
    *bytes = (size_t)need;
    return plan;
}

/* The first plan that is allowed: cuDNN has sorted its engines by the time that it expects. */
static struct choice choose(struct maker *m, const struct shape *s, void *handle)
{
    enum { MOST_CONFIGS = 24, EXPECTED = 0, ANY = 2 };
    struct choice choice = { .plan = NULL };
    void *operations = graph(m, s, handle);
    static const int mode[] = { EXPECTED, ANY };
    for (int i = 0; i < 2 && m->works && !choice.plan; i++) {
        void *config[MOST_CONFIGS] = { NULL }, *proposals = new_descriptor(m, DNN_PROPOSALS);
        int64_t n = 0;
        set(m, proposals, DNN_PROPOSALS_GRAPH, DNN_DESCRIPTOR, 1, &operations);
        set(m, proposals, DNN_PROPOSALS_MODE, DNN_PROPOSALS_MODE_TYPE, 1, &mode[i]);
        finish(m, proposals);
        for (int k = 0; k < MOST_CONFIGS && m->works; k++)
            m->works = m->dnn->cudnnBackendCreateDescriptor(DNN_CONFIG, &config[k]) == 0;
        if (m->works &&
            m->dnn->cudnnBackendGetAttribute(proposals, DNN_PROPOSALS_RESULTS, DNN_DESCRIPTOR,
                                             MOST_CONFIGS, &n, config) != 0)
            n = 0;
        for (int k = 0; k < MOST_CONFIGS; k++) {
            bool tried = m->works && k < n && !choice.plan && is_allowed(m, s, config[k]);
            if (tried)
                choice.plan = plan_of(m, handle, config[k], &choice.bytes);
            if (tried && choice.plan)
                hp_cuda_own_descriptor(m->c, config[k]);
            else if (config[k])
                m->dnn->cudnnBackendDestroyDescriptor(config[k]);
        }
    }
    return choice;
}

/* The plan's descriptors are kept with it. */
static struct choice make(struct cuda *c, const struct cuda_dnn *dnn, void *handle,
                          const struct shape *s)
{
    struct maker m = { .c = c, .dnn = dnn, .works = true };
    struct choice choice = choose(&m, s, handle);
    for (int i = 0; i < m.n; i++)
        if (choice.plan)
            hp_cuda_own_descriptor(c, m.made[i]);
        else
            dnn->cudnnBackendDestroyDescriptor(m.made[i]);
    if (choice.plan)
        hp_cuda_own_descriptor(c, choice.plan);
    return choice;
}

static int execute(const struct cuda_dnn *dnn, void *handle, const struct choice *choice,
                   void *const data[TENSORS], void *workspace)
{
    static const int64_t number[TENSORS] = { NUMBER_X, NUMBER_W, NUMBER_Y };
    void *pack = NULL;
    int result = dnn->cudnnBackendCreateDescriptor(DNN_PACK, &pack);
    if (result == 0)
        result =
            dnn->cudnnBackendSetAttribute(pack, DNN_PACK_NUMBERS, DNN_INT64, TENSORS, number);
    if (result == 0)
        result = dnn->cudnnBackendSetAttribute(pack, DNN_PACK_DATA, DNN_POINTER, TENSORS, data);
    if (result == 0)
        result =
            dnn->cudnnBackendSetAttribute(pack, DNN_PACK_WORKSPACE, DNN_POINTER, 1, &workspace);
    if (result == 0)
        result = dnn->cudnnBackendFinalize(pack);
    if (result == 0)
        result = dnn->cudnnBackendExecute(handle, choice->plan, pack);
    if (pack)
        dnn->cudnnBackendDestroyDescriptor(pack);
    return result;
}

/* Running ------------------------------------------------------------------------------- */

/* What a plan reads or writes in scratch memory instead of its place: weights in another order,
 * and results that are added to what is there. */
struct apart {
    bool is_apart;
    struct view there, here;
    size_t bytes;
};

static struct view view_of(void *data, const int64_t *size, const int64_t *stride, int n_dims)
{
    struct view view = { .data = data, .box = { .n_dims = n_dims } };
    for (int d = 0; d < n_dims; d++) {
        view.box.dim[d] = (struct range){ 0, size[d] };
        view.stride[d] = stride[d];
    }
    return view;
}

static int64_t elements_of(const int64_t *size, int n_dims)
{
    int64_t n = 1;
    for (int d = 0; d < n_dims; d++)
        n *= size[d];
    return n;
}

/* Weights at their place. */
static struct view weights_of(const struct convolution *v, const struct shape *s)
{
    struct shape plain = *s;
    set_filter_strides(&plain, false);
    return view_of(v->w, s->w, plain.w_stride, (int)s->n_dims);
}

static void set_apart(struct apart *a, struct view there, const int64_t *size,
                      const int64_t *stride, int64_t element_bytes)
{
    int n_dims = there.box.n_dims;
    int64_t n = 1;
    for (int d = 0; d < n_dims; d++)
        n += (size[d] - 1) * stride[d];
    a->is_apart = true;
    a->there = there;
    a->here = view_of(NULL, size, stride, n_dims);
    a->bytes = ((size_t)(n * element_bytes) + 255) / 256 * 256;
}

static bool run(const struct convolution *v, const struct cuda_dnn *dnn, void *handle,
                const struct shape *s, const struct choice *choice)
{
    const struct backend *b = v->b;
    struct shape plain = *s;
    struct apart w = { false, .bytes = 0 }, to = { false, .bytes = 0 };
    void *data[TENSORS] = { v->x, v->w, v->y };
    int result_at = s->pass == 0 ? 2 : s->pass == 1 ? 0 : 1;
    set_filter_strides(&plain, false);
    bool turned = memcmp(plain.w_stride, s->w_stride, sizeof plain.w_stride) != 0 &&
                  elements_of(s->w + 2, (int)s->n_dims - 2) > 1;
    if (turned || (s->pass == 2 && !v->fresh))
        set_apart(&w, weights_of(v, s), s->w, s->w_stride, v->size);
    if (s->pass < 2 && !v->fresh) {
        const int64_t *size = s->pass == 0 ? s->y : s->x,
                      *stride = s->pass == 0 ? s->y_stride : s->x_stride;
        set_apart(&to, view_of(data[result_at], size, stride, (int)s->n_dims), size, stride,
                  v->size);
    }
    size_t bytes = w.bytes + to.bytes + choice->bytes;
    char *scratch = bytes ? hp_cuda_scratch(b->card, bytes) : NULL;
    if (bytes && !scratch) /* the card's status tells */
        return true;
    if (w.is_apart)
        data[1] = w.here.data = scratch;
    if (to.is_apart)
        data[result_at] = to.here.data = scratch + w.bytes;
    if (w.is_apart && s->pass < 2)
        b->copy(b, &w.here, &w.there, (size_t)v->size);
    if (execute(dnn, handle, choice, data,
                choice->bytes ? scratch + w.bytes + to.bytes : NULL) != 0)
        return false;
    if (to.is_apart)
        b->combine(b, &to.there, &to.here, COMBINE_SUM, v->real);
    if (w.is_apart && s->pass == 2 && v->fresh)
        b->copy(b, &w.there, &w.here, (size_t)v->size);
    else if (w.is_apart && s->pass == 2)
        b->combine(b, &w.there, &w.here, COMBINE_SUM, v->real);
    return true;
}

bool hp_cuda_convolve_dnn(const struct backend *b, const struct kernel_call *call)
{
    const struct cuda_dnn *dnn;
    struct convolution convolution, *v = &convolution;
    struct shape shape;
    if (!hp_cuda_convolution_of(v, b, call))
        return false;
    void *handle = hp_cuda_dnn(b->card, &dnn);
    if (!handle || !find_shape(v, &shape))
        return false;
    void **kept = hp_cuda_kept(b->card, &shape, sizeof shape);
    if (!*kept) {
        struct choice *made = NEW(hp_cuda_kept_arena(b->card), struct choice, 1);
        *made = make(b->card, dnn, handle, &shape);
        *kept = made;
    }
    struct choice *choice = *kept;
    if (choice->plan && !run(v, dnn, handle, &shape, choice))
        choice->plan = NULL;
    return choice->plan != NULL;
}
