/* Running a kernel call: by the row of a table, divided among threads, or by the reference
 * kernel. */
#include "kernel/kernel.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "kernel/blas.h"
#include "kernel/divide.h"
#include "kernel/fast/fast.h"
#include "kernel/reference.h"
#include "kernel/threads.h"

static const struct reference *reference(enum real real)
{
    return real == REAL_F32 ? &hp_reference_f32 : &hp_reference_f64;
}

/* For fewer elements waking a thread is not worth it. */
static const int few_elements = 8192;

static const struct kernels tables[] = {
#ifdef HYPAR_WITH_BLAS
    { "fast", hp_fast_table },
#endif
    { "reference", NULL },
};

enum hypar_status hp_kernels_open(const struct kernels **out, const char *name,
                                  struct hypar_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!name || strcmp(tables[i].name, name) == 0) {
            if (tables[i].table)
                TRY(hp_blas_load(err));
            *out = &tables[i];
            return HYPAR_OK;
        }
    return hp_fail(err, HYPAR_USAGE, "there are no kernels '%s' in this build", name);
}

const struct kernels *hp_kernels_find(const char *name)
{
    const struct kernels *found;
    hp_kernels_open(&found, name, NULL);
    return found;
}

void hp_kernels_threads(int threads)
{
    hp_threads_set(threads);
}

/* Pieces of whole cache lines, if the array begins with one. */
struct shared_loop {
    int64_t n;
    int threads;
    void (*job)(void *arg, int64_t lo, int64_t hi);
    void *arg;
};

static void run_piece(void *arg, int i)
{
    enum { LINE = 16 };
    const struct shared_loop *loop = arg;
    struct range lines = hp_even_part((loop->n + LINE - 1) / LINE, loop->threads, i);
    int64_t hi = lines.hi * LINE;
    loop->job(loop->arg, lines.lo * LINE, hi < loop->n ? hi : loop->n);
}

void hp_kernels_share(int64_t n, void (*job)(void *arg, int64_t lo, int64_t hi), void *arg)
{
    int64_t worth = n / few_elements;
    struct shared_loop loop = { n, hp_threads(), job, arg };
    if (worth < loop.threads)
        loop.threads = worth < 1 ? 1 : (int)worth;
    hp_threads_run(loop.threads, run_piece, &loop);
}

bool hp_kernel_exists(enum op_kind kind)
{
    return hp_reference_f64.kernel[kind] != NULL;
}

/* The same call for pass `p` alone. */
static struct kernel_call one_pass(const struct kernel_call *call, int p)
{
    struct kernel_call one = *call;
    one.pass = p;
    one.passes = 0;
    return one;
}

static const struct kernel_row *row_of(const struct kernels *kernels,
                                       const struct kernel_call *call)
{
    static const struct kernel_row none = { NULL, NULL, NULL, NULL };
    return kernels->table ? &kernels->table(call->real)->row[call->nest->kind] : &none;
}

pass_set hp_kernel_joint(const struct kernels *kernels, const struct nest *nest, int pass)
{
    const struct kernel_call call = { .nest = nest };
    const struct kernel_row *row = row_of(kernels, &call);
    pass_set alone = (pass_set)1 << pass;
    return row->joint ? row->joint(nest, pass) | alone : alone;
}

/* Does the row run all passes of the call at once, unless it refuses? */
static bool takes(const struct kernel_row *row, const struct kernel_call *call)
{
    pass_set passes = hp_passes_of(call), alone = passes & (~passes + 1);
    if (!row->run)
        return false;
    return passes == alone || (row->joint && !(passes & ~row->joint(call->nest, call->pass)));
}

/* Divide a call among the threads. A row that uses the threads itself gets the whole call. */
static struct division divide(const struct kernel_row *row, const struct kernel_call *call)
{
    bool itself = row->threads && takes(row, call) && row->threads(call);
    return hp_divide(call, itself ? 1 : hp_threads(), few_elements);
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Bytes of the separate partial sums of part i: all but the first of each sum. */
static size_t sums_bytes(const struct division *d, int i, const struct range *range)
{
    size_t bytes = 0;
    for (int o = 0; o < d->call->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++)
            if (hp_division_turn(d, i, o, grad) > 0) {
                struct box box = hp_region(d->call->nest, o, range);
                bytes +=
                    whole_lines((size_t)hp_box_elements(&box) * hp_real_bytes(d->call->real));
            }
    return bytes;
}

/* A call divided among threads, each with its piece of the workspace: first the row's, then
 * partial sums. */
struct parallel_call {
    const struct kernel_row *row;
    struct division division;
    size_t row_bytes, sums_bytes; /* of one part */
};

/* Parts differ by at most one in the extents of two axes, so the corners have all sizes. */
static struct parallel_call parallel_call(const struct kernel_row *row,
                                          const struct kernel_call *call)
{
    struct parallel_call p = { row, divide(row, call), 0, 0 };
    const struct division *d = &p.division;
    for (int corner = 0; corner < 4; corner++) {
        int i = (corner & 1 ? d->n[0] - 1 : 0) * d->n[1] + (corner & 2 ? d->n[1] - 1 : 0);
        struct kernel_call part;
        hp_division_part(d, i, &part);
        size_t bytes = row->workspace ? whole_lines(row->workspace(&part)) : 0;
        p.row_bytes = bytes > p.row_bytes ? bytes : p.row_bytes;
        bytes = sums_bytes(d, i, part.range);
        p.sums_bytes = bytes > p.sums_bytes ? bytes : p.sums_bytes;
        if (d->parts == 1)
            break;
    }
    return p;
}

static size_t workspace_of(const struct kernel_row *row, const struct kernel_call *call)
{
    struct parallel_call p = parallel_call(row, call);
    return (size_t)p.division.parts * (p.row_bytes + p.sums_bytes);
}

static bool is_single(pass_set passes)
{
    return (passes & (passes - 1)) == 0;
}

/* Do all passes of the call run at once? They do with a row that allows it and, if there are
 * threads, an axis that divides all of them. */
static bool at_once(const struct kernel_row *row, const struct kernel_call *call)
{
    return is_single(hp_passes_of(call)) ||
           (takes(row, call) && (hp_threads() == 1 || divide(row, call).parts > 1));
}

/* A row may refuse several passes at once; then it is asked for each. */
size_t hp_kernel_workspace(const struct kernels *kernels, const struct kernel_call *call)
{
    const struct kernel_row *row = row_of(kernels, call);
    pass_set passes = hp_passes_of(call);
    if (!kernels->table)
        return 0;
    size_t most = at_once(row, call) ? workspace_of(row, call) : 0;
    for (int p = 0; p < call->nest->n_passes && !is_single(passes); p++) {
        struct kernel_call one = one_pass(call, p);
        size_t bytes = passes >> p & 1 ? workspace_of(row, &one) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void clear_fresh(const struct kernel_call *call, const struct view *view, int o,
                        enum combine combine)
{
    if (!view->data)
        return;
    struct box box = hp_region(call->nest, o, call->range);
    struct view piece = hp_view_piece(view, &box, hp_real_bytes(call->real));
    hp_view_clear(&piece, combine, call->real);
}

/* Reference kernels add: fresh outputs start at the neutral element. */
static void run_reference(const struct kernel_call *call)
{
    const struct pass *pass = &call->nest->pass[call->pass];
    kernel_function *kernel = reference(call->real)->kernel[call->nest->kind];
    operand_set fresh = pass->writes & call->fresh, grad = pass->writes_grad & call->fresh_grad;
    assert(kernel);
    for (int o = 0; o < call->nest->n_operands && (fresh | grad) >> o; o++) {
        if (fresh >> o & 1)
            clear_fresh(call, &call->value[o], o, call->nest->operand[o].combine);
        if (grad >> o & 1)
            clear_fresh(call, &call->grad[o], o, COMBINE_SUM);
    }
    kernel(call);
    if (call->add_after)
        reference(call->real)->add_after(call);
}

/* Run the passes of one part: at once if the row does not refuse. */
static void run_part(const struct kernel_row *row, const struct kernel_call *call)
{
    pass_set passes = hp_passes_of(call);
    if (takes(row, call) && row->run(call))
        return;
    if (is_single(passes)) {
        run_reference(call);
        return;
    }
    for (int p = 0; p < call->nest->n_passes; p++) {
        struct kernel_call one = one_pass(call, p);
        if (passes >> p & 1)
            run_part(row, &one);
    }
}

/* The separate partial sum of operand `o` of part i, stored from `*at` on. */
static void keep_apart(struct kernel_call *part, int o, bool grad, char **at)
{
    struct view *view = grad ? &part->grad[o] : &part->value[o];
    struct box box = hp_region(part->nest, o, part->range);
    *(grad ? &part->fresh_grad : &part->fresh) |= (operand_set)1 << o;
    if (view->data)
        *view = hp_dense_view(*at, &box);
    *at += whole_lines((size_t)hp_box_elements(&box) * hp_real_bytes(part->real));
}

static struct kernel_call part_at(const struct parallel_call *p, int i)
{
    const struct division *d = &p->division;
    struct kernel_call part;
    hp_division_part(d, i, &part);
    char *at = NULL; /* separate sums of the part, if it has any */
    if (part.workspace) {
        part.workspace = (char *)part.workspace + (size_t)i * (p->row_bytes + p->sums_bytes);
        at = (char *)part.workspace + p->row_bytes;
    }
    for (int o = 0; p->sums_bytes && o < part.nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++)
            if (hp_division_turn(d, i, o, grad) > 0)
                keep_apart(&part, o, grad, &at);
    return part;
}

static void run_on_thread(void *arg, int i)
{
    const struct parallel_call *parallel = arg;
    struct kernel_call part = part_at(parallel, i);
    run_part(parallel->row, &part);
}

/* Thread `thread`'s piece of a box: a range of its longest dimension. */
static struct box piece_of(struct box box, int threads, int thread)
{
    int longest = 0;
    for (int d = 1; d < box.n_dims; d++)
        if (box.dim[d].hi - box.dim[d].lo > box.dim[longest].hi - box.dim[longest].lo)
            longest = d;
    struct range *dim = &box.dim[longest];
    if (box.n_dims == 0)
        return box;
    struct range part = hp_even_part(dim->hi - dim->lo, threads, thread);
    *dim = (struct range){ dim->lo + part.lo, dim->lo + part.hi };
    return box;
}

/* Combine the thread's piece of every partial sum, in the order of parts. */
static void sum_on_thread(void *arg, int thread)
{
    const struct parallel_call *p = arg;
    const struct kernel_call *call = p->division.call;
    for (int i = 0; i < p->division.parts; i++) {
        struct kernel_call part = part_at(p, i);
        for (int o = 0; o < call->nest->n_operands; o++)
            for (int grad = 0; grad < 2; grad++) {
                const struct view *from = grad ? &part.grad[o] : &part.value[o];
                const struct view *to = grad ? &call->grad[o] : &call->value[o];
                if (hp_division_turn(&p->division, i, o, grad) == 0 || !from->data)
                    continue;
                if (from->box.n_dims == 0 && thread > 0)
                    continue;
                struct box box = piece_of(from->box, p->division.parts, thread);
                struct view piece = hp_view_piece(to, &box, hp_real_bytes(call->real));
                hp_view_combine(&piece, from, COMBINE_SUM, call->real);
            }
    }
}

static void run_parts(const struct kernel_row *row, const struct kernel_call *call)
{
    struct parallel_call parallel = parallel_call(row, call);
    if (parallel.division.parts == 1) {
        run_part(row, call);
        return;
    }
    hp_threads_run(parallel.division.parts, run_on_thread, &parallel);
    if (parallel.sums_bytes)
        hp_threads_run(parallel.division.parts, sum_on_thread, &parallel);
}

void hp_kernel(const struct kernels *kernels, const struct kernel_call *call)
{
    const struct kernel_row *row = row_of(kernels, call);
    pass_set passes = hp_passes_of(call);
    if (hp_threads() == 1 || !kernels->table) {
        run_part(row, call);
        return;
    }
    if (at_once(row, call)) {
        run_parts(row, call);
        return;
    }
    for (int p = 0; p < call->nest->n_passes; p++) {
        struct kernel_call one = one_pass(call, p);
        if (passes >> p & 1)
            run_parts(row, &one);
    }
}

void hp_kernel_add_after(const struct kernels *kernels, const struct kernel_call *call)
{
    bool (*add)(const struct kernel_call *) =
        kernels->table ? kernels->table(call->real)->add_after : NULL;
    if (!add || !add(call))
        reference(call->real)->add_after(call);
}

void hp_view_clear(const struct view *view, enum combine combine, enum real real)
{
    reference(real)->clear(view, combine);
}

void hp_view_combine(const struct view *to, const struct view *from, enum combine combine,
                     enum real real)
{
    reference(real)->combine(to, from, combine);
}
