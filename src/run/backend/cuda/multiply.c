/* Sums of products of two operands as products of matrices, by cuBLAS. */
#include "run/backend/cuda/multiply.h"

#include <string.h>

#include "run/backend/cuda/cuda.h"
#include "run/backend/cuda/driver.h"

/* Axes that the same operands have, merged where their elements follow each other. */
struct group {
    int n;
    struct merged {
        int64_t extent, step[3]; /* of the target and of both factors */
    } axis[MAX_AXES + 1];
};

enum {
    ROWS,
    COLUMNS,
    SUMMED,
    EACH,
    GROUPS
}; /* axes of target and first, target and second, ... */

static void add_axis(struct group *g, int64_t extent, const int64_t step[3])
{
    struct merged new = { extent, { step[0], step[1], step[2] } };
    int at = g->n;
    if (extent == 1)
        return;
    while (at > 0 &&
           (g->axis[at - 1].step[0] + g->axis[at - 1].step[1] + g->axis[at - 1].step[2] <
            step[0] + step[1] + step[2])) {
        g->axis[at] = g->axis[at - 1];
        at--;
    }
    g->axis[at] = new;
    g->n++;
}

static bool follows(const struct merged *outer, const struct merged *inner)
{
    for (int i = 0; i < 3; i++)
        if (outer->step[i] != inner->step[i] * inner->extent)
            return false;
    return true;
}

/* Merge neighbours; the largest comes last. */
static void merge(struct group *g)
{
    int n = 0, largest = 0;
    for (int i = 0; i < g->n; i++)
        if (n > 0 && follows(&g->axis[n - 1], &g->axis[i])) {
            g->axis[i].extent *= g->axis[n - 1].extent;
            g->axis[n - 1] = g->axis[i];
        } else {
            g->axis[n++] = g->axis[i];
        }
    g->n = n;
    for (int i = 0; i < n; i++)
        if (g->axis[i].extent > g->axis[largest].extent)
            largest = i;
    if (n > 0) {
        struct merged last = g->axis[n - 1];
        g->axis[n - 1] = g->axis[largest];
        g->axis[largest] = last;
    }
}

struct factor {
    int o;
    bool grad;
};

/* The two operands that are multiplied. */
static bool find_factors(const struct kernel_call *call, const struct target *t,
                         struct factor f[2])
{
    int n = 0;
    for (int o = 0; o < call->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++)
            if ((grad ? t->reads_grad : t->reads) >> o & 1 &&
                (grad ? call->grad[o].data : call->value[o].data)) {
                if (n == 2)
                    return false;
                f[n++] = (struct factor){ o, grad };
            }
    return n == 2;
}

static void *data_of(const struct kernel_call *call, int o, bool grad)
{
    return grad ? call->grad[o].data : call->value[o].data;
}

/* The groups of the axes; false: this is no product of matrices. */
static bool find_groups(const struct kernel_call *call, const struct target *t,
                        const struct factor f[2], struct group group[GROUPS],
                        struct hp_cuda_product *p)
{
    struct affine a[3];
    if (!hp_cuda_affine(call, t, t->to, t->grad, &a[0]) ||
        !hp_cuda_affine(call, t, f[0].o, f[0].grad, &a[1]) ||
        !hp_cuda_affine(call, t, f[1].o, f[1].grad, &a[2]))
        return false;
    memset(group, 0, GROUPS * sizeof *group);
    for (int x = 0; x <= MAX_AXES; x++) {
        struct range r = { 0, 1 };
        int64_t step[3] = { 0 };
        int has = 0;
        for (int i = 0; i < 3; i++) {
            bool whole = x == MAX_AXES;
            if (whole ? a[i].whole_extent == 0 : !(a[i].axes >> x & 1))
                continue;
            has |= 1 << i;
            step[i] = whole ? a[i].whole : a[i].step[x];
            r = whole ? (struct range){ 0, a[i].whole_extent } : call->range[x];
        }
        for (int i = 0; i < 3; i++)
            a[i].base += step[i] * r.lo;
        int kind = has == 3 ? ROWS : has == 5 ? COLUMNS : has == 6 ? SUMMED : EACH;
        if (r.hi - r.lo != 1 && has != 0 && has != 3 && has != 5 && has != 6 && has != 7)
            return false;
        add_axis(&group[kind], r.hi - r.lo, step);
    }
    size_t size = hp_real_bytes(call->real);
    p->to = (char *)data_of(call, t->to, t->grad) + a[0].base * (int64_t)size;
    for (int i = 0; i < 2; i++)
        p->from[i] =
            (const char *)data_of(call, f[i].o, f[i].grad) + a[1 + i].base * (int64_t)size;
    for (int i = 0; i < GROUPS; i++)
        merge(&group[i]);
    return true;
}

/* Take the last axis of a group as a dimension of the matrices. */
static struct merged take(struct group *g)
{
    static const struct merged none = { 1, { 0, 0, 0 } };
    return g->n ? g->axis[--g->n] : none;
}

static void set_dims(struct hp_cuda_product *p, const struct merged *rows,
                     const struct merged *columns, const struct merged *summed,
                     const struct merged *each)
{
    p->rows = rows->extent;
    p->columns = columns->extent;
    p->summed = summed->extent;
    p->each = each->extent;
    p->to_row = rows->step[0];
    p->to_column = columns->step[0];
    p->from_row = rows->step[1];
    p->from_summed[0] = summed->step[1];
    p->from_summed[1] = summed->step[2];
    p->from_column = columns->step[2];
    p->to_each = each->step[0];
    p->from_each[0] = each->step[1];
    p->from_each[1] = each->step[2];
}

/* A leading dimension, where there is more than one column. */
static int leading(int64_t step, int64_t n, int64_t least)
{
    return (int)(n > 1 && step > least ? step : least > 0 ? least : 1);
}

/* One of two steps must be 1, or belong to one element. */
static bool is_matrix(int64_t step, int64_t extent, int64_t other, int64_t other_extent)
{
    return (step == 1 || extent == 1)
               ? other >= extent || other_extent == 1
               : (other == 1 || other_extent == 1) && step >= other_extent;
}

static bool fits(const struct hp_cuda_product *p)
{
    return p->rows < INT32_MAX && p->columns < INT32_MAX && p->summed < INT32_MAX &&
           (p->to_column == 1 || p->columns == 1) &&
           (p->to_row >= p->columns || p->rows == 1) &&
           is_matrix(p->from_summed[0], p->summed, p->from_row, p->rows) &&
           is_matrix(p->from_column, p->columns, p->from_summed[1], p->summed);
}

static void exchange(struct hp_cuda_product *p)
{
    struct hp_cuda_product q = *p;
    p->rows = q.columns;
    p->columns = q.rows;
    p->to_row = q.to_column;
    p->to_column = q.to_row;
    p->from[0] = q.from[1];
    p->from[1] = q.from[0];
    p->from_row = q.from_column;
    p->from_column = q.from_row;
    for (int i = 0; i < 2; i++) {
        p->from_summed[i] = q.from_summed[1 - i];
        p->from_each[i] = q.from_each[1 - i];
    }
}

bool hp_cuda_multiply_matrices(struct cuda *c, const struct hp_cuda_product *given)
{
    enum {
        PLAIN,
        TRANSPOSED,
        F32 = 0,
        F64 = 1,
        COMPUTE_F32 = 68,
        COMPUTE_F64 = 70,
        COMPUTE_TF32 = 77
    };
    struct hp_cuda_product p = *given;
    const struct cuda_blas *blas;
    void *handle = hp_cuda_blas(c, &blas);
    if (!fits(&p))
        exchange(&p);
    if (!handle || !fits(&p))
        return false;
    bool f32 = p.real == REAL_F32;
    float one_f = (float)p.factor, kept_f = p.fresh ? 0 : 1;
    double one_d = p.factor, kept_d = p.fresh ? 0 : 1;
    int type = f32 ? F32 : F64;
    /* its matrices have columns one after the other: the product of the transposed ones */
    bool second_plain = p.from_column == 1 || p.columns == 1;
    bool first_plain = p.from_summed[0] == 1 || p.summed == 1;
    int64_t second = second_plain ? p.from_summed[1] : p.from_column;
    int64_t first = first_plain ? p.from_row : p.from_summed[0];
    hp_cuda_blas_done(c, blas->cublasGemmStridedBatchedEx(
                             handle, second_plain ? PLAIN : TRANSPOSED,
                             first_plain ? PLAIN : TRANSPOSED, (int)p.columns, (int)p.rows,
                             (int)p.summed, f32 ? (void *)&one_f : &one_d, p.from[1], type,
                             second_plain ? leading(second, p.summed, p.columns)
                                          : leading(second, p.columns, p.summed),
                             p.from_each[1], p.from[0], type,
                             first_plain ? leading(first, p.rows, p.summed)
                                         : leading(first, p.summed, p.rows),
                             p.from_each[0], f32 ? (void *)&kept_f : &kept_d, p.to, type,
                             leading(p.to_row, p.rows, p.columns), p.to_each, (int)p.each,
                             !f32                  ? COMPUTE_F64
                             : hp_cuda_has_tf32(c) ? COMPUTE_TF32
                                                   : COMPUTE_F32,
                             -1));
    return true;
}

/* Products over the axes that no matrix has, one after the other. */
static bool multiply_all(struct cuda *c, struct hp_cuda_product p, struct group rest[GROUPS],
                         int g)
{
    size_t size = hp_real_bytes(p.real);
    while (g < GROUPS && rest[g].n == 0)
        g++;
    if (g == GROUPS)
        return hp_cuda_multiply_matrices(c, &p);
    struct merged axis = rest[g].axis[--rest[g].n];
    bool done = true, fresh = p.fresh;
    for (int64_t i = 0; i < axis.extent && done; i++) {
        p.fresh = fresh && (g != SUMMED || i == 0);
        done = multiply_all(c, p, rest, g);
        p.to = (char *)p.to + axis.step[0] * (int64_t)size;
        for (int k = 0; k < 2; k++)
            p.from[k] = (const char *)p.from[k] + axis.step[1 + k] * (int64_t)size;
    }
    rest[g].n++;
    return done;
}

bool hp_cuda_multiply(struct cuda *c, const struct kernel_call *call, const struct target *t)
{
    enum { LEAST = 4096, MOST_PRODUCTS = 256 };
    struct factor f[2];
    struct group group[GROUPS];
    struct hp_cuda_product p = { .real = call->real,
                                 .fresh = t->fresh,
                                 .factor = t->constant[0] };
    if (t->formula || !find_factors(call, t, f) || !find_groups(call, t, f, group, &p))
        return false;
    struct merged rows = take(&group[ROWS]), columns = take(&group[COLUMNS]);
    struct merged summed = take(&group[SUMMED]), each = take(&group[EACH]);
    set_dims(&p, &rows, &columns, &summed, &each);
    int64_t products = 1;
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < group[g].n; i++)
            products *= group[g].axis[i].extent;
    struct hp_cuda_product other = p;
    exchange(&other);
    if (p.rows * p.columns * p.summed < LEAST || products > MOST_PRODUCTS ||
        (!fits(&p) && !fits(&other)))
        return false;
    return multiply_all(c, p, group, 0);
}
