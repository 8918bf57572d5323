/* Sums of products of two operands as products of matrices, by cuBLAS. */
#include "run/backend/cuda/multiply.h"

#include "kernel/fast/loops.h"
#include "run/backend/cuda/cuda.h"
#include "run/backend/cuda/driver.h"
#include "run/backend/cuda/sources.h"
#include "run/backend/narrow.h"

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

static const struct view *view_of(const struct kernel_call *call, int o, bool grad)
{
    return grad ? &call->grad[o] : &call->value[o];
}

/* The loops of the target over itself and both factors; false: some element does not follow
 * from the axes alone. */
static bool find_loops(const struct kernel_call *call, const struct target *t,
                       const struct factor f[2], struct loops *out)
{
    struct walk w;
    hp_walk_begin(&w, call, t->axes | (axis_set)1 << WALK_WHOLE);
    hp_walk_add(&w, t->to, view_of(call, t->to, t->grad));
    for (int i = 0; i < 2; i++)
        hp_walk_add(&w, f[i].o, view_of(call, f[i].o, f[i].grad));
    for (int m = 0; m < w.n_maps; m++)
        if (w.map[m].n_edges || w.map[m].has_windows)
            return false;
    return hp_loops(out, &w) && !out->empty;
}

/* The steps of a product (kernel/fast/loops.h), of which loop `each` is a batch. */
static struct hp_cuda_product in_steps(const struct product *p, int each)
{
    const struct loops *outer = &p->outer;
    int first = p->swapped ? 2 : 1;
    return (struct hp_cuda_product){
        .rows = p->m,
        .columns = p->n,
        .summed = p->k,
        .each = outer->extent[each],
        .to_row = p->ldc,
        .to_column = 1,
        .to_each = outer->step[0][each],
        .from_row = p->a_transposed ? 1 : p->lda,
        .from_summed = { p->a_transposed ? p->lda : 1, p->b_transposed ? 1 : p->ldb },
        .from_column = p->b_transposed ? p->ldb : 1,
        .from_each = { outer->step[first][each], outer->step[3 - first][each] },
    };
}

/* The longest loop over products whose results lie apart; the last one has one index. */
static int longest_apart(const struct product *p)
{
    int longest = p->outer.n - 1;
    for (int i = 0; i < p->outer.n; i++)
        if (!p->sums[i] && p->outer.extent[i] > p->outer.extent[longest])
            longest = i;
    return longest;
}

/* Is this the first of the products that are added up in one result? */
static bool begins_sum(const struct product *p)
{
    for (int i = 0; i < p->outer.n; i++)
        if (p->sums[i] && p->outer.index[i] > 0)
            return false;
    return true;
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

/* Of matrices that fit. */
static bool begin_product(struct cuda *c, const struct hp_cuda_product *given)
{
    enum { PLAIN, TRANSPOSED, COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_TF32 = 77 };
    static const int type[] = { [REAL_F32] = 0, [REAL_F64] = 1, [REAL_BF16] = 14 };
    struct hp_cuda_product p = *given;
    const struct cuda_blas *blas;
    void *handle = hp_cuda_blas(c, &blas);
    /* it sums bf16 in fp32, and has no other sums of two precisions */
    if (!handle || (p.real != p.from_real && p.from_real != REAL_BF16))
        return false;
    bool f32 = p.from_real != REAL_F64;
    float one_f = (float)p.factor, kept_f = p.fresh ? 0 : 1;
    double one_d = p.factor, kept_d = p.fresh ? 0 : 1;
    /* its matrices have columns one after the other: the product of the transposed ones */
    bool second_plain = p.from_column == 1 || p.columns == 1;
    bool first_plain = p.from_summed[0] == 1 || p.summed == 1;
    int64_t second = second_plain ? p.from_summed[1] : p.from_column;
    int64_t first = first_plain ? p.from_row : p.from_summed[0];
    hp_cuda_blas_done(
        c,
        blas->cublasGemmStridedBatchedEx(
            handle, second_plain ? PLAIN : TRANSPOSED, first_plain ? PLAIN : TRANSPOSED,
            (int)p.columns, (int)p.rows, (int)p.summed, f32 ? (void *)&one_f : &one_d,
            p.from[1], type[p.from_real],
            second_plain ? leading(second, p.summed, p.columns)
                         : leading(second, p.columns, p.summed),
            p.from_each[1], p.from[0], type[p.from_real],
            first_plain ? leading(first, p.rows, p.summed) : leading(first, p.summed, p.rows),
            p.from_each[0], f32 ? (void *)&kept_f : &kept_d, p.to, type[p.real],
            leading(p.to_row, p.rows, p.columns), p.to_each, (int)p.each,
            !f32                  ? COMPUTE_F64
            : hp_cuda_has_tf32(c) ? COMPUTE_TF32
                                  : COMPUTE_F32,
            -1));
    return true;
}

/* cuBLAS takes three times as long for matrices of bf16 whose extents, or rows in memory, are
 * no multiples of eight numbers (50,257 columns, on an H200): large products are computed on
 * copies, which are filled up with zeros. */
enum { UNIT = 8 }; /* numbers */

struct matrix {
    void *data;
    int64_t rows, columns; /* columns are contiguous */
    int64_t step, *copy_step;
    bool is_apart;
};

static int64_t filled_up(int64_t n)
{
    return (n + UNIT - 1) / UNIT * UNIT;
}

static struct matrix matrix_of(const void *data, int64_t *row, int64_t rows, int64_t *column,
                               int64_t columns)
{
    bool by_rows = *column == 1 || columns == 1;
    struct matrix m = { .data = (void *)(uintptr_t)data,
                        .rows = by_rows ? rows : columns,
                        .columns = by_rows ? columns : rows,
                        .step = by_rows ? *row : *column,
                        .copy_step = by_rows ? row : column };
    m.is_apart = m.rows % UNIT || m.columns % UNIT || m.step % UNIT ||
                 (uintptr_t)m.data % (UNIT * sizeof(uint16_t));
    return m;
}

/* Rows and columns beyond those of `from` become 0. */
static void copy_rows(struct cuda *c, void *to, int64_t to_step, int64_t rows, int64_t columns,
                      const void *from, int64_t from_step, const struct matrix *m)
{
    enum { THREADS = 256, EACH = 8, MOST = 65535 };
    struct cuda_rows r = { .to = to,
                           .from = from,
                           .rows = rows,
                           .columns = columns,
                           .from_rows = m->rows,
                           .from_columns = m->columns,
                           .to_step = to_step,
                           .from_step = from_step };
    int64_t blocks = (columns + THREADS * EACH - 1) / (THREADS * EACH);
    struct cuda_grid grid = { { (unsigned)(blocks < MOST ? blocks : MOST),
                                (unsigned)(rows < MOST ? rows : MOST) },
                              { THREADS },
                              0 };
    hp_cuda_launch(c, hp_cuda_function(c, hp_cuda_module(c, "move", hp_cuda_move), "rows_2"),
                   &grid, (void *[]){ &r });
}

/* False: nothing is done, as no copies are needed, or they are not worth it. */
static bool multiply_copies(struct cuda *c, const struct hp_cuda_product *given)
{
    static const double least = 1e8, most = 1e9; /* multiply-adds; elements */
    struct hp_cuda_product p = *given;
    struct matrix m[3] = {
        matrix_of(p.to, &p.to_row, p.rows, &p.to_column, p.columns),
        matrix_of(p.from[0], &p.from_row, p.rows, &p.from_summed[0], p.summed),
        matrix_of(p.from[1], &p.from_summed[1], p.summed, &p.from_column, p.columns),
    };
    int64_t used = 0;
    if (p.real != REAL_BF16 || p.each != 1 ||
        (double)p.rows * (double)p.columns * (double)p.summed < least)
        return false;
    for (int i = 0; i < 3; i++)
        used += m[i].is_apart ? filled_up(m[i].rows) * filled_up(m[i].columns) : 0;
    if (used == 0 || (double)used > most)
        return false;
    uint16_t *room = hp_cuda_product_scratch(c, (size_t)used * sizeof *room);
    if (!room) /* the card's status tells */
        return true;
    for (int i = 0; i < 3; i++) {
        int64_t rows = filled_up(m[i].rows), columns = filled_up(m[i].columns);
        if (!m[i].is_apart)
            continue;
        if (i > 0 || !p.fresh)
            copy_rows(c, room, columns, rows, columns, m[i].data, m[i].step, &m[i]);
        *(i == 0 ? (const void **)&p.to : &p.from[i - 1]) = room;
        *m[i].copy_step = columns;
        room += rows * columns;
    }
    p.rows = filled_up(p.rows);
    p.columns = filled_up(p.columns);
    p.summed = filled_up(p.summed);
    bool done = begin_product(c, &p);
    if (done && m[0].is_apart)
        copy_rows(c, m[0].data, m[0].step, m[0].rows, m[0].columns, p.to, *m[0].copy_step,
                  &m[0]);
    return done;
}

bool hp_cuda_multiply_matrices(struct cuda *c, const struct hp_cuda_product *given)
{
    struct hp_cuda_product p = *given;
    if (!fits(&p))
        exchange(&p);
    return fits(&p) && (multiply_copies(c, &p) || begin_product(c, &p));
}

bool hp_cuda_multiply(struct cuda *c, const struct kernel_call *call, const struct target *t)
{
    enum { LEAST = 4096, MOST_PRODUCTS = 256 };
    struct factor f[2];
    struct loops loops;
    struct product p;
    if (t->formula || !find_factors(call, t, f) ||
        hp_call_real(call, f[0].o, f[0].grad) != hp_call_real(call, f[1].o, f[1].grad) ||
        !find_loops(call, t, f, &loops) || !hp_product(&p, &loops) || p.m * p.n * p.k < LEAST)
        return false;
    int each = longest_apart(&p), first = p.swapped ? 1 : 0;
    struct hp_cuda_product steps = in_steps(&p, each);
    steps.real = hp_call_real(call, t->to, t->grad);
    steps.from_real = hp_call_real(call, f[0].o, f[0].grad);
    int64_t size = (int64_t)hp_real_bytes(steps.real);
    int64_t from_size = (int64_t)hp_real_bytes(steps.from_real);
    bool done = true;
    p.outer.extent[each] = 1;
    if (hp_loops_points(&p.outer) > MOST_PRODUCTS)
        return false;
    steps.factor = t->constant[0];
    while (done && hp_loops_next(&p.outer)) {
        steps.fresh = t->fresh && begins_sum(&p);
        steps.to = (char *)view_of(call, t->to, t->grad)->data + p.outer.at[0] * size;
        for (int i = 0; i < 2; i++) {
            int from = i ^ first;
            steps.from[i] = (const char *)view_of(call, f[from].o, f[from].grad)->data +
                            p.outer.at[1 + from] * from_size;
        }
        done = hp_cuda_multiply_matrices(c, &steps);
    }
    return done;
}
