/* Convolutions by oneDNN, each call on one thread: calls are divided before they come here, by
 * threads that are not OpenMP's. Primitives are made once for each shape and kept. A primitive
 * wants its arrays in a layout of its own, so views are reordered into the workspace and back,
 * but for convolutions of one tap over large images, which are as fast where the arrays lie. */
#include "kernel/fast/dnnl.h"

#ifdef HYPAR_WITH_DNNL

#include <dnnl.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "kernel/walk.h"

enum { X, W, Y, ARRAYS };                     /* of a convolution */
enum pass_kind { VALUES, ERRORS, GRADIENTS }; /* writes y, dx, dw */

/* All that a primitive follows from. */
struct shape {
    enum pass_kind pass;
    dnnl_dim_t groups;
    dnnl_dims_t x, w, y; /* n c h w; (g) k c i j; n k h w */
    dnnl_dims_t stride, dilation, before, after;
};

/* A change of layout from one array to another; `next` is for other layouts. */
struct reorder {
    struct reorder *next;
    dnnl_primitive_t primitive; /* NULL: oneDNN has none */
    dnnl_memory_desc_t from, to;
    bool add;
};

struct conv_primitive {
    struct shape shape;
    struct conv_primitive *next; /* with the same hash */
    dnnl_primitive_t primitive;  /* NULL: oneDNN has none */
    dnnl_memory_desc_t dense[ARRAYS], wanted[ARRAYS], scratchpad;
    struct reorder *reorders;
    size_t at[ARRAYS], bias_at, scratchpad_at, bytes; /* in the workspace */
    bool room[ARRAYS];
};

/* Threads ask at the same time. What was made stays: another thread may use it. */
static struct {
    pthread_mutex_t lock;
    dnnl_engine_t engine;
    struct conv_primitive *bucket[256];
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int output_of(enum pass_kind pass)
{
    return pass == VALUES ? Y : pass == ERRORS ? X : W;
}

/* Shapes ---------------------------------------------------------------------------- */

static int64_t length(struct range r)
{
    return r.hi - r.lo;
}

static bool writes_o(const struct kernel_call *call, int o)
{
    const struct pass *pass = &call->nest->pass[call->pass];
    return (pass->writes | pass->writes_grad) >> o & 1;
}

/* The boxes of x, w and y that the call touches. */
static void boxes_of(const struct kernel_call *call, struct box box[ARRAYS])
{
    const int operand[ARRAYS] = { 0, hp_operand(call->nest, 'w'), hp_operand(call->nest, 'y') };
    for (int i = 0; i < ARRAYS; i++)
        box[i] = hp_region(call->nest, operand[i], call->range);
}

/* One dimension of the windows; false: the part sees its inputs as no convolution does. */
static bool window_of(const struct kernel_call *call, const struct box *box, int d,
                      struct shape *s)
{
    const struct dim_map *map = &call->nest->operand[0].dim[d + 2];
    struct range in = box[X].dim[d + 2], out = box[Y].dim[d + 2];
    int64_t size = call->nest->operand[0].size[d + 2], taps = length(box[W].dim[d + 2]);
    int64_t dilation = hp_attr_int(call->nest->attrs, ATTR_DILATION, d, 1);
    int64_t first = out.lo * map->stride - map->pad;
    int64_t end = (out.hi - 1) * map->stride - map->pad + (taps - 1) * dilation + 1;
    s->stride[d] = map->stride;
    s->dilation[d] = dilation - 1;
    s->before[d] = first < 0 ? -first : 0;
    s->after[d] = end > size ? end - size : 0;
    int64_t padded = length(in) + s->before[d] + s->after[d];
    return in.lo == (first > 0 ? first : 0) && padded >= (taps - 1) * dilation + 1 &&
           (padded - (taps - 1) * dilation - 1) / map->stride + 1 == length(out);
}

static void set_dims(dnnl_dims_t dims, const struct box *box)
{
    for (int d = 0; d < box->n_dims; d++)
        dims[d] = length(box->dim[d]);
}

/* False: no convolution that oneDNN is asked for. */
static bool shape_of(const struct kernel_call *call, struct shape *s)
{
    const struct nest *nest = call->nest;
    struct box box[ARRAYS];
    int g = hp_nest_axis(nest, 'g'), b = hp_operand(nest, 'b');
    bool grouped = nest->kind == OP_GROUP_CONV;
    memset(s, 0, sizeof *s);
    if (call->real != REAL_F32 || (nest->kind != OP_CONV && !grouped) ||
        nest->operand[0].n_dims != 4 || (b >= 0 && writes_o(call, b)))
        return false;
    boxes_of(call, box);
    for (int i = 0; i < ARRAYS; i++)
        if (hp_box_empty(&box[i]))
            return false;
    s->pass = writes_o(call, 0)                       ? ERRORS
              : call->nest->pass[call->pass].backward ? GRADIENTS
                                                      : VALUES;
    set_dims(s->x, &box[X]);
    set_dims(s->w, &box[W]);
    set_dims(s->y, &box[Y]);
    if (grouped) { /* all of some groups */
        int k = hp_nest_axis(nest, 'k'), c = hp_nest_axis(nest, 'c');
        if (length(call->range[k]) != nest->axis[k].extent ||
            length(call->range[c]) != nest->axis[c].extent)
            return false;
        s->groups = length(call->range[g]);
        memmove(s->w + 1, s->w, 4 * sizeof *s->w);
        s->w[0] = s->groups;
        s->w[1] /= s->groups;
    }
    return window_of(call, box, 0, s) && window_of(call, box, 1, s);
}

/* Primitives ------------------------------------------------------------------------ */

/* One tap over images so large that products of their planes fill a processor. */
static bool stays_dense(const struct shape *s)
{
    dnnl_dim_t points = s->y[2] * s->y[3];
    return !s->groups && s->w[2] == 1 && s->w[3] == 1 &&
           points >= (s->pass == GRADIENTS ? 28 * 28 : 14 * 14);
}

static dnnl_status_t describe(const struct shape *s, enum pass_kind pass,
                              const dnnl_memory_desc_t md[ARRAYS], dnnl_primitive_desc_t hint,
                              dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t d;
    dnnl_memory_desc_t bias;
    const dnnl_dims_t channels = { s->y[1] };
    dnnl_primitive_attr_t attr;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&bias, 1, channels, dnnl_f32, dnnl_a);
    if (pass == VALUES)
        status = dnnl_dilated_convolution_forward_desc_init(
            &d, dnnl_forward_training, dnnl_convolution_direct, &md[X], &md[W], &bias, &md[Y],
            s->stride, s->dilation, s->before, s->after);
    else if (pass == ERRORS)
        status = dnnl_dilated_convolution_backward_data_desc_init(
            &d, dnnl_convolution_direct, &md[X], &md[W], &md[Y], s->stride, s->dilation,
            s->before, s->after);
    else
        status = dnnl_dilated_convolution_backward_weights_desc_init(
            &d, dnnl_convolution_direct, &md[X], &md[W], NULL, &md[Y], s->stride, s->dilation,
            s->before, s->after);
    if (status != dnnl_success || dnnl_primitive_attr_create(&attr) != dnnl_success)
        return dnnl_unimplemented;
    dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    status = dnnl_primitive_desc_create(out, &d, attr, cache.engine, hint);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

/* The layouts that the primitive of `pd` wants. */
static void ask_layouts(struct conv_primitive *p, const_dnnl_primitive_desc_t pd)
{
    static const dnnl_query_t query[][ARRAYS] = {
        [VALUES] = { dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md },
        [ERRORS] = { dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md },
        [GRADIENTS] = { dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md },
    };
    for (int i = 0; i < ARRAYS; i++)
        p->wanted[i] = *dnnl_primitive_desc_query_md(pd, query[p->shape.pass][i], 0);
    p->scratchpad = *dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
}

static size_t place(struct conv_primitive *p, size_t bytes)
{
    size_t at = p->bytes;
    p->bytes += (bytes + 63) / 64 * 64;
    return at;
}

/* What it writes has room always: it may have to be added to what is there. */
static void lay_out(struct conv_primitive *p)
{
    for (int i = 0; i < ARRAYS; i++) {
        p->room[i] = i == output_of(p->shape.pass) ||
                     !dnnl_memory_desc_equal(&p->wanted[i], &p->dense[i]);
        if (p->room[i])
            p->at[i] = place(p, dnnl_memory_desc_get_size(&p->wanted[i]));
    }
    p->bias_at = place(p, (size_t)p->shape.y[1] * sizeof(float));
    p->scratchpad_at = place(p, dnnl_memory_desc_get_size(&p->scratchpad));
}

static void make_primitive(struct conv_primitive *p)
{
    const struct shape *s = &p->shape;
    dnnl_memory_desc_t md[ARRAYS];
    const dnnl_dim_t *dims[ARRAYS] = { s->x, s->w, s->y };
    bool dense = stays_dense(s);
    for (int i = 0; i < ARRAYS; i++) {
        bool grouped = i == W && s->groups;
        dnnl_format_tag_t tag = grouped ? dnnl_abcde : dnnl_abcd;
        dnnl_memory_desc_init_by_tag(&p->dense[i], grouped ? 5 : 4, dims[i], dnnl_f32, tag);
        dnnl_memory_desc_init_by_tag(&md[i], grouped ? 5 : 4, dims[i], dnnl_f32,
                                     dense ? tag : dnnl_format_tag_any);
    }
    dnnl_primitive_desc_t forward = NULL, pd = NULL;
    if (describe(s, VALUES, md, NULL, &forward) == dnnl_success &&
        describe(s, s->pass, md, s->pass == VALUES ? NULL : forward, &pd) == dnnl_success &&
        dnnl_primitive_create(&p->primitive, pd) == dnnl_success) {
        ask_layouts(p, pd);
        lay_out(p);
    }
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_desc_destroy(forward);
}

static unsigned hash_of(const struct shape *s)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < sizeof *s; i++)
        hash = (hash ^ p[i]) * 16777619u;
    return hash % (sizeof cache.bucket / sizeof *cache.bucket);
}

/* The primitive for a call, made if it is the first of its shape; NULL: there is none. */
static struct conv_primitive *primitive_for(const struct kernel_call *call)
{
    struct shape s;
    if (!shape_of(call, &s))
        return NULL;
    omp_set_num_threads(1); /* of this thread's OpenMP, which oneDNN asks */
    pthread_mutex_lock(&cache.lock);
    struct conv_primitive **at = &cache.bucket[hash_of(&s)], *p = *at;
    while (p && memcmp(&p->shape, &s, sizeof s) != 0)
        p = p->next;
    if (!p &&
        (cache.engine || dnnl_engine_create(&cache.engine, dnnl_cpu, 0) == dnnl_success)) {
        p = hp_array_new(sizeof *p);
        *p = (struct conv_primitive){ .next = *at };
        memcpy(&p->shape, &s, sizeof s);
        make_primitive(p);
        *at = p;
    }
    pthread_mutex_unlock(&cache.lock);
    return p && p->primitive ? p : NULL;
}

bool hp_dnnl_takes(const struct kernel_call *call)
{
    return primitive_for(call) != NULL;
}

size_t hp_dnnl_workspace(const struct kernel_call *call)
{
    const struct conv_primitive *p = primitive_for(call);
    return p ? p->bytes : 0;
}

/* Running --------------------------------------------------------------------------- */

/* How a view's box lies in memory; weights of groups have a dimension for them. */
static dnnl_memory_desc_t layout_of(const struct shape *s, int array, const struct view *view)
{
    const dnnl_dim_t *dims[ARRAYS] = { s->x, s->w, s->y };
    bool grouped = array == W && s->groups;
    dnnl_dims_t strides = { 0 };
    dnnl_memory_desc_t md;
    for (int d = 0; d < 4; d++)
        strides[d + grouped] = view->stride[d];
    if (grouped)
        strides[0] = s->w[1] * view->stride[0];
    dnnl_memory_desc_init_by_strides(&md, 4 + grouped, dims[array], dnnl_f32, strides);
    return md;
}

/* It must not want room: oneDNN would take it from the thread that made it. */
static dnnl_primitive_t make_reorder(const struct reorder *r)
{
    dnnl_primitive_t primitive = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    if (dnnl_primitive_attr_create(&attr) == dnnl_success &&
        dnnl_post_ops_create(&ops) == dnnl_success) {
        if (r->add)
            dnnl_post_ops_append_sum(ops, 1);
        dnnl_primitive_attr_set_post_ops(attr, ops);
        dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
        if (dnnl_reorder_primitive_desc_create(&pd, &r->from, cache.engine, &r->to,
                                               cache.engine, attr) == dnnl_success &&
            dnnl_memory_desc_get_size(
                dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0)) == 0 &&
            dnnl_primitive_create(&primitive, pd) != dnnl_success)
            primitive = NULL;
    }
    dnnl_primitive_desc_destroy(pd);
    dnnl_post_ops_destroy(ops);
    dnnl_primitive_attr_destroy(attr);
    return primitive;
}

/* The change of layout, made if it is the first of its kind; the cache is locked. */
static dnnl_primitive_t reorder_for(struct conv_primitive *p, const dnnl_memory_desc_t *from,
                                    const dnnl_memory_desc_t *to, bool add)
{
    struct reorder *r = p->reorders;
    while (r && !(r->add == add && dnnl_memory_desc_equal(&r->from, from) &&
                  dnnl_memory_desc_equal(&r->to, to)))
        r = r->next;
    if (!r) {
        r = hp_array_new(sizeof *r);
        *r = (struct reorder){ p->reorders, NULL, *from, *to, add };
        r->primitive = make_reorder(r);
        p->reorders = r;
    }
    return r->primitive;
}

/* What a call takes: where its arrays lie, as they are and as the primitive has them. */
struct conv_run {
    struct conv_primitive *p;
    dnnl_stream_t stream;
    void *user[ARRAYS], *own[ARRAYS];
    dnnl_memory_desc_t layout[ARRAYS];
    dnnl_primitive_t reorder[ARRAYS]; /* NULL: lies as it is wanted */
    float *bias;
    char *workspace;
};

static bool must(dnnl_status_t status)
{
    return status == dnnl_success;
}

static void run_reorder(const struct conv_run *r, int i, bool back)
{
    dnnl_memory_t user = NULL, own = NULL;
    dnnl_memory_create(&user, &r->layout[i], cache.engine, r->user[i]);
    dnnl_memory_create(&own, &r->p->wanted[i], cache.engine, r->own[i]);
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, back ? own : user },
                                     { DNNL_ARG_TO, back ? user : own } };
    dnnl_primitive_execute(r->reorder[i], r->stream, 2, args);
    dnnl_stream_wait(r->stream);
    dnnl_memory_destroy(user);
    dnnl_memory_destroy(own);
}

static void run_primitive(const struct conv_run *r)
{
    static const int name[][ARRAYS] = {
        [VALUES] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST },
        [ERRORS] = { DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST },
        [GRADIENTS] = { DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST },
    };
    const struct conv_primitive *p = r->p;
    const dnnl_dims_t channels = { p->shape.y[1] };
    dnnl_memory_desc_t bias;
    dnnl_exec_arg_t args[ARRAYS + 2];
    dnnl_memory_desc_init_by_tag(&bias, 1, channels, dnnl_f32, dnnl_a);
    for (int i = 0; i < ARRAYS; i++) {
        args[i].arg = name[p->shape.pass][i];
        dnnl_memory_create(&args[i].memory, &p->wanted[i], cache.engine, r->own[i]);
    }
    args[ARRAYS].arg = DNNL_ARG_SCRATCHPAD;
    dnnl_memory_create(&args[ARRAYS].memory, &p->scratchpad, cache.engine,
                       r->workspace + p->scratchpad_at);
    args[ARRAYS + 1].arg = DNNL_ARG_BIAS;
    dnnl_memory_create(&args[ARRAYS + 1].memory, &bias, cache.engine, r->bias);
    dnnl_primitive_execute(p->primitive, r->stream, ARRAYS + (p->shape.pass == VALUES ? 2 : 1),
                           args);
    dnnl_stream_wait(r->stream);
    for (int i = 0; i < ARRAYS + 2; i++)
        dnnl_memory_destroy(args[i].memory);
}

/* Where array i lies, and how it gets to where the primitive wants it. */
static bool open_array(struct conv_run *r, int i, const struct view *view,
                       const struct box *box, bool fresh)
{
    struct conv_primitive *p = r->p;
    bool output = i == output_of(p->shape.pass);
    struct view piece = hp_view_piece(view, box, sizeof(float));
    r->user[i] = r->own[i] = piece.data;
    r->layout[i] = layout_of(&p->shape, i, &piece);
    if (dnnl_memory_desc_equal(&r->layout[i], &p->wanted[i]) && (fresh || !output))
        return true;
    if (!p->room[i])
        return false;
    r->own[i] = r->workspace + p->at[i];
    r->reorder[i] = output ? reorder_for(p, &p->wanted[i], &r->layout[i], !fresh)
                           : reorder_for(p, &r->layout[i], &p->wanted[i], false);
    return r->reorder[i] != NULL;
}

static void set_bias(struct conv_run *r, const struct view *bias, const struct box *y)
{
    r->bias = (float *)(void *)(r->workspace + r->p->bias_at);
    for (int64_t k = 0; k < length(y->dim[1]); k++)
        r->bias[k] =
            bias ? ((const float *)
                        bias->data)[(y->dim[1].lo + k - bias->box.dim[0].lo) * bias->stride[0]]
                 : 0;
}

bool hp_dnnl_conv(const struct kernel_call *call, const struct view *bias)
{
    struct conv_run r = { .p = primitive_for(call), .workspace = call->workspace };
    struct box box[ARRAYS];
    bool done = r.p && call->workspace &&
                must(dnnl_stream_create(&r.stream, cache.engine, dnnl_stream_default_flags));
    if (!done)
        return false;
    const int operand[ARRAYS] = { 0, hp_operand(call->nest, 'w'), hp_operand(call->nest, 'y') };
    enum pass_kind pass = r.p->shape.pass;
    int out = output_of(pass);
    boxes_of(call, box);
    pthread_mutex_lock(&cache.lock); /* of the reorders */
    for (int i = 0; i < ARRAYS && done; i++) {
        int o = operand[i];
        bool grad = (i == out && pass != VALUES) || (i == Y && pass != VALUES);
        const struct view *view = grad ? &call->grad[o] : &call->value[o];
        bool fresh = (grad ? call->fresh_grad : call->fresh) >> o & 1;
        done = view->data && open_array(&r, i, view, &box[i], fresh);
    }
    pthread_mutex_unlock(&cache.lock);
    if (done) {
        set_bias(&r, bias, &box[Y]);
        for (int i = 0; i < ARRAYS; i++)
            if (i != out && r.reorder[i])
                run_reorder(&r, i, false);
        run_primitive(&r);
        if (r.reorder[out])
            run_reorder(&r, out, true);
    }
    dnnl_stream_destroy(r.stream);
    return done;
}

#endif
