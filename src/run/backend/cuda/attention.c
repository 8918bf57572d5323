/* Attention by products of matrices: the scores of all queries and keys of a sample are stored
 * for a moment. */
#include "run/backend/cuda/attention.h"

#include <math.h>
#include <string.h>

#include "kernel/walk.h"
#include "run/backend/cuda/affine.h"
#include "run/backend/cuda/multiply.h"
#include "run/backend/cuda/sources.h"
#include "run/backend/narrow.h"

/* The view of an operand that one of the passes reads or writes; NULL: there is none. */
static const struct view *view_of(const struct kernel_call *call, const char *name)
{
    struct kernel_call one = *call;
    pass_set passes = hp_passes_of(call);
    for (one.pass = 0; passes >> one.pass; one.pass++)
        if (passes >> one.pass & 1 && hp_call_view(&one, name))
            return name[1] ? &call->grad[hp_operand(call->nest, name[1])]
                           : &call->value[hp_operand(call->nest, name[0])];
    return NULL;
}

bool hp_attention_writes(const struct kernel_call *call, const char *name)
{
    struct kernel_call one = *call;
    pass_set passes = hp_passes_of(call);
    for (one.pass = 0; passes >> one.pass; one.pass++)
        if (passes >> one.pass & 1 && hp_call_writes(&one, name))
            return view_of(call, name) != NULL;
    return false;
}

bool hp_attention_fresh(const struct kernel_call *call, const char *name)
{
    bool grad = name[1];
    return (grad ? call->fresh_grad : call->fresh) >> hp_operand(call->nest, name[grad]) & 1;
}

static struct attention_place place_of(const struct kernel_call *call, const char *name,
                                       bool *fits)
{
    const struct nest *nest = call->nest;
    const struct target target = { .axes = nest->pass[call->pass].axes };
    const struct view *view = view_of(call, name);
    bool grad = name[1];
    int o = hp_operand(nest, name[grad]);
    struct attention_place p = { .is_there = view != NULL, .real = call->real };
    struct affine f;
    if (!view)
        return p;
    p.real = hp_call_real(call, o, grad);
    *fits &= hp_cuda_affine(call, &target, o, grad, &f);
    for (int a = 0; a < nest->n_axes; a++) {
        p.step[a] = f.step[a];
        f.base += f.step[a] * call->range[a].lo;
    }
    p.data = (char *)view->data + f.base * (int64_t)hp_real_bytes(p.real);
    p.second = f.whole;
    return p;
}

int64_t hp_attention_extent(const struct attention *at, int axis)
{
    return axis < 0 ? 1 : at->call->range[axis].hi - at->call->range[axis].lo;
}

/* Are vectors along the axis contiguous, and numbers of the precision of all operands? */
static bool is_dense(const struct attention *at, const struct attention_place *p, int axis)
{
    return !p->is_there || (p->step[axis] == 1 && p->real == at->real);
}

static bool prepare(struct attention *at, const struct backend *b,
                    const struct kernel_call *call)
{
    const struct nest *nest = call->nest;
    const struct attrs *attrs = nest->attrs;
    bool fits = true;
    *at = (struct attention){ .b = b,
                              .call = call,
                              .real = hp_call_real(call, hp_operand(nest, 'x'), false) };
    int *const axis[] = { &at->n, &at->w, &at->a, &at->q, &at->s, &at->g, &at->d, &at->e };
    for (int i = 0; i < 8; i++)
        *axis[i] = hp_nest_axis(nest, "nwaqsgde"[i]);
    at->x = place_of(call, "x", &fits);
    at->k = place_of(call, "k", &fits);
    at->v = place_of(call, "v", &fits);
    at->bias = place_of(call, "b", &fits);
    at->m = place_of(call, "m", &fits);
    at->t = place_of(call, "t", &fits);
    at->y = place_of(call, "y", &fits);
    at->dy = place_of(call, "dy", &fits);
    at->dx = place_of(call, "dx", &fits);
    at->dk = place_of(call, "dk", &fits);
    at->dv = place_of(call, "dv", &fits);
    double scale = hp_attr(attrs, ATTR_SCALE, 0, 0);
    at->args = (struct cuda_attention){
        .heads = hp_attention_extent(at, at->a),
        .queries = hp_attention_extent(at, at->q),
        .keys = hp_attention_extent(at, at->s),
        .first_query = call->range[at->q].lo,
        .first_key = call->range[at->s].lo,
        .m_second = at->m.second,
        .scale = scale != 0 ? scale : 1 / sqrt((double)nest->axis[at->d].extent),
        .cap = hp_attr(attrs, ATTR_SOFT_CAP, 0, 0),
        .least = (double)-INFINITY,
        .causal = hp_attr_int(attrs, ATTR_CAUSAL, 0, 0) != 0,
    };
    bool bias = !at->bias.is_there || at->bias.real == at->real;
    return fits && bias && at->m.real == call->real && at->t.real == call->real &&
           is_dense(at, &at->x, at->d) && is_dense(at, &at->k, at->d) &&
           is_dense(at, &at->v, at->e) && is_dense(at, &at->dy, at->e) &&
           is_dense(at, &at->y, at->e) && is_dense(at, &at->dx, at->d) &&
           is_dense(at, &at->dk, at->d) && is_dense(at, &at->dv, at->e);
}

/* Products ------------------------------------------------------------------------------ */

/* A matrix for each head: rows and columns by axes, or scores. */
struct matrix {
    enum real real;
    void *data;
    int64_t row, column, each;
};

static struct matrix matrix_of(const struct attention *at, const struct attention_place *p,
                               int row, int column)
{
    return (struct matrix){ at->real, p->data, p->step[row], p->step[column], p->step[at->a] };
}

static struct matrix scores_of(const struct attention *at, void *data)
{
    return (struct matrix){ at->call->real, data, at->args.keys, 1,
                            at->args.queries * at->args.keys };
}

/* What a kernel makes of scores: numbers of the operands' precision, each row where that of the
 * scores begins. */
static struct matrix factors_of(const struct attention *at, void *data)
{
    struct matrix m = scores_of(at, data);
    int64_t in_one = (int64_t)(hp_real_bytes(m.real) / hp_real_bytes(at->real));
    return (struct matrix){ at->real, data, m.row * in_one, 1, m.each * in_one };
}

static struct matrix transposed(struct matrix m)
{
    return (struct matrix){ m.real, m.data, m.column, m.row, m.each };
}

static void multiply(const struct attention *at, struct matrix to, struct matrix first,
                     struct matrix second, const int64_t extents[3], double factor, bool fresh)
{
    const struct hp_cuda_product p = {
        .real = to.real,
        .from_real = first.real,
        .fresh = fresh,
        .factor = factor,
        .to = to.data,
        .from = { first.data, second.data },
        .rows = extents[0],
        .columns = extents[1],
        .summed = extents[2],
        .each = at->args.heads,
        .to_row = to.row,
        .to_column = to.column,
        .to_each = to.each,
        .from_row = first.row,
        .from_summed = { first.column, second.row },
        .from_column = second.column,
        .from_each = { first.each, second.each },
    };
    if (!hp_cuda_multiply_matrices(at->b->card, &p))
        hp_cuda_fail(at->b->card, HYPAR_RUNTIME, "attention: a product cannot be computed");
}

static void launch(const struct attention *at, const char *kernel, struct cuda_grid grid)
{
    struct cuda_attention args = at->args;
    hp_cuda_launch(
        at->b->card,
        hp_cuda_function_of(at->b->card, "attention", hp_cuda_attention, kernel, at->real),
        &grid, (void *[]){ &args });
}

/* Passes -------------------------------------------------------------------------------- */

/* A warp for each query. */
static struct cuda_grid queries(const struct attention *at)
{
    enum { EACH = CUDA_ATTENTION_THREADS / 32 };
    int64_t rows = at->args.heads * at->args.queries;
    return (struct cuda_grid){ { (unsigned)((rows + EACH - 1) / EACH) },
                               { CUDA_ATTENTION_THREADS },
                               0 };
}

/* Forward: the statistics m, or y, or both. */
static void attend_forward(const struct attention *at)
{
    const struct kernel_call *call = at->call;
    bool m = hp_attention_writes(call, "m"), y = hp_attention_writes(call, "y");
    int64_t q = at->args.queries, s = at->args.keys;
    struct matrix scores = scores_of(at, at->args.scores);
    multiply(at, scores, matrix_of(at, &at->x, at->q, at->d),
             transposed(matrix_of(at, &at->k, at->s, at->d)),
             (int64_t[]){ q, s, hp_attention_extent(at, at->d) }, at->args.scale, true);
    launch(at, m && y ? "statistics_weigh" : m ? "statistics" : "weigh", queries(at));
    if (y)
        multiply(at, matrix_of(at, &at->y, at->q, at->e), factors_of(at, at->args.scores),
                 matrix_of(at, &at->v, at->s, at->e),
                 (int64_t[]){ q, hp_attention_extent(at, at->e), s }, 1,
                 hp_attention_fresh(call, "y"));
}

/* Backward: some of dv, dx, dk. `first`: nothing has been added to gradients of keys and values
 * yet. */
static void attend_backward(const struct attention *at, bool first)
{
    const struct kernel_call *call = at->call;
    const struct cuda_attention *a = &at->args;
    bool dv = hp_attention_writes(call, "dv"), dx = hp_attention_writes(call, "dx"),
         dk = hp_attention_writes(call, "dk");
    int64_t q = a->queries, s = a->keys, d = hp_attention_extent(at, at->d),
            e = hp_attention_extent(at, at->e);
    struct matrix x = matrix_of(at, &at->x, at->q, at->d);
    struct matrix k = matrix_of(at, &at->k, at->s, at->d);
    struct matrix dy = matrix_of(at, &at->dy, at->q, at->e);
    struct matrix weights = factors_of(at, a->scores), errors = factors_of(at, a->dp);
    multiply(at, scores_of(at, a->scores), x, transposed(k), (int64_t[]){ q, s, d }, a->scale,
             true);
    if (dx || dk)
        multiply(at, scores_of(at, a->dp), dy, transposed(matrix_of(at, &at->v, at->s, at->e)),
                 (int64_t[]){ q, s, e }, 1, true);
    launch(at, !(dx || dk) ? "weigh" : dv ? "weigh_errors" : "errors", queries(at));
    if (dv)
        multiply(at, matrix_of(at, &at->dv, at->s, at->e), transposed(weights), dy,
                 (int64_t[]){ s, e, q }, 1, hp_attention_fresh(call, "dv") && first);
    if (dx)
        multiply(at, matrix_of(at, &at->dx, at->q, at->d), errors, k, (int64_t[]){ q, d, s }, 1,
                 hp_attention_fresh(call, "dx"));
    if (dk)
        multiply(at, matrix_of(at, &at->dk, at->s, at->d), transposed(errors), x,
                 (int64_t[]){ s, d, q }, 1, hp_attention_fresh(call, "dk") && first);
}

static void move_to(const struct attention *from, struct attention *at, const int64_t index[3])
{
    struct attention_place *const place[] = { &at->x,  &at->k,  &at->v, &at->bias,
                                              &at->m,  &at->t,  &at->y, &at->dy,
                                              &at->dx, &at->dk, &at->dv };
    *at = *from;
    const int axis[] = { at->n, at->w, at->g };
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 3; j++)
            if (axis[j] >= 0 && place[i]->is_there)
                place[i]->data +=
                    place[i]->step[axis[j]] * index[j] * (int64_t)hp_real_bytes(place[i]->real);
    at->args.bias = at->bias.data;
    at->args.m = at->m.data;
    at->args.t = at->t.data;
    for (int j = 0; j < 3; j++) {
        const int of[] = { at->a, at->q, at->s };
        at->args.bias_step[j] = at->bias.step[of[j]];
        if (j < 2) {
            at->args.m_step[j] = at->m.step[of[j]];
            at->args.t_step[j] = at->t.step[of[j]];
        }
    }
}

bool hp_cuda_attend(const struct backend *b, const struct kernel_call *call)
{
    struct attention whole, at;
    const struct cuda_blas *blas;
    if (call->nest->kind != OP_ATTENTION || hp_attention_writes(call, "t") ||
        hp_attention_writes(call, "db") || !prepare(&whole, b, call))
        return false;
    if (hp_cuda_flash_attend(&whole))
        return true;
    if (!hp_cuda_blas(b->card, &blas))
        return false;
    size_t bytes = (size_t)(whole.args.heads * whole.args.queries * whole.args.keys) *
                   hp_real_bytes(call->real);
    bytes = (bytes + 255) / 256 * 256;
    char *scratch = hp_cuda_scratch(b->card, 2 * bytes);
    if (!scratch)
        return true;
    whole.args.scores = scratch;
    whole.args.dp = scratch + bytes;
    whole.args.fresh = hp_attention_fresh(call, "m");
    for (int64_t n = 0; n < hp_attention_extent(&whole, whole.n); n++)
        for (int64_t w = 0; w < hp_attention_extent(&whole, whole.w); w++)
            for (int64_t g = 0; g < hp_attention_extent(&whole, whole.g); g++) {
                move_to(&whole, &at, (int64_t[]){ n, w, g });
                if (call->nest->pass[call->pass].backward)
                    attend_backward(&at, g == 0);
                else
                    attend_forward(&at);
            }
    return true;
}
