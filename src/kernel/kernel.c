/* Running a kernel: the row of an operator in a table, or the reference. */
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

bool hp_kernel_exists(enum op_kind kind)
{
    return hp_reference_f64.kernel[kind] != NULL;
}

static pass_set passes_of(const struct kernel_call *call)
{
    return call->passes ? call->passes : (pass_set)1 << call->pass;
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
    static const struct kernel_row none = { NULL, NULL, NULL };
    return kernels->table ? &kernels->table(call->real)->row[call->nest->kind] : &none;
}

pass_set hp_kernel_joint(const struct kernels *kernels, const struct nest *nest, int pass)
{
    const struct kernel_call call = { .nest = nest };
    const struct kernel_row *row = row_of(kernels, &call);
    pass_set alone = (pass_set)1 << pass;
    return row->joint ? row->joint(nest, pass) | alone : alone;
}

/* Whether the row does all passes of the call at once, as long as it does not refuse. */
static bool takes(const struct kernel_row *row, const struct kernel_call *call)
{
    pass_set passes = passes_of(call), alone = passes & (~passes + 1);
    if (!row->run)
        return false;
    return passes == alone || (row->joint && !(passes & ~row->joint(call->nest, call->pass)));
}

/* Among the threads that there are; for fewer elements none is worth waking. */
static struct division divide(const struct kernel_call *call)
{
    return hp_divide(call, hp_threads(), 8192);
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* What the row wants for a call that it takes, divided among threads. */
static size_t workspace_of(const struct kernel_row *row, const struct kernel_call *call)
{
    struct division division = divide(call);
    size_t most = 0;
    if (division.n == 1)
        return row->workspace(call);
    for (int i = 0; i < division.n; i += division.n - 1) { /* the largest and the least */
        struct kernel_call part;
        hp_division_part(&division, i, &part);
        size_t bytes = whole_lines(row->workspace(&part));
        most = bytes > most ? bytes : most;
    }
    return (size_t)division.n * most;
}

static bool is_single(pass_set passes)
{
    return (passes & (passes - 1)) == 0;
}

/* Whether all passes of the call are done at once: a row that does so, and if there are threads
 * an axis that divides all of them. */
static bool at_once(const struct kernel_row *row, const struct kernel_call *call)
{
    return is_single(passes_of(call)) ||
           (takes(row, call) && (hp_threads() == 1 || divide(call).n > 1));
}

/* A row may refuse several passes at once and then is asked for each. */
size_t hp_kernel_workspace(const struct kernels *kernels, const struct kernel_call *call)
{
    const struct kernel_row *row = row_of(kernels, call);
    pass_set passes = passes_of(call);
    if (!row->workspace)
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

/* Reference kernels add: what is fresh starts at the neutral element. */
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

/* The passes of one part, which the row does at once if it does not refuse. */
static void run_part(const struct kernel_row *row, const struct kernel_call *call)
{
    pass_set passes = passes_of(call);
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

/* A call divided among threads, each with its piece of the workspace. */
struct parallel_call {
    const struct kernel_row *row;
    struct division division;
    size_t workspace; /* of one part */
};

static void run_on_thread(void *arg, int i)
{
    const struct parallel_call *parallel = arg;
    struct kernel_call part;
    hp_division_part(&parallel->division, i, &part);
    if (part.workspace)
        part.workspace = (char *)part.workspace + (size_t)i * parallel->workspace;
    run_part(parallel->row, &part);
}

static void run_parts(const struct kernel_row *row, const struct kernel_call *call)
{
    struct parallel_call parallel = { row, divide(call), 0 };
    if (parallel.division.n == 1) {
        run_part(row, call);
        return;
    }
    if (row->workspace)
        parallel.workspace = workspace_of(row, call) / (size_t)parallel.division.n;
    hp_threads_run(parallel.division.n, run_on_thread, &parallel);
}

void hp_kernel(const struct kernels *kernels, const struct kernel_call *call)
{
    const struct kernel_row *row = row_of(kernels, call);
    pass_set passes = passes_of(call);
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
