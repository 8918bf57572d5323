/* The host: memory of the process, and the kernels of src/kernel. Work is done when it is
 * begun. */
#include "run/backend/backend.h"

#include <string.h>

#include "run/backend/narrow.h"
#include "run/running.h"

static void *new_array(const struct backend *b, size_t bytes)
{
    (void)b;
    return hp_array_new(bytes);
}

static void free_array(const struct backend *b, void *data)
{
    (void)b;
    hp_array_free(data);
}

static void finish(const struct backend *b)
{
    (void)b;
}

static enum hypar_status status(const struct backend *b, struct hypar_error *err)
{
    (void)b;
    (void)err;
    return HYPAR_OK;
}

static void copy(const struct backend *b, const struct view *to, const struct view *from,
                 size_t element_bytes)
{
    (void)b;
    hp_view_copy(to, from, &to->box, element_bytes);
}

static void convert(const struct backend *b, const struct view *to, enum real to_real,
                    const struct view *from, enum real from_real)
{
    size_t n = (size_t)hp_box_elements(&to->box);
    struct view dense = hp_dense_view(hp_array_new((n + 1) * sizeof(double)), &to->box);
    (void)b;
    hp_view_copy(&dense, from, &to->box, hp_real_bytes(from_real));
    hp_convert(dense.data, to_real, dense.data, from_real, (int64_t)n);
    hp_view_copy(to, &dense, &to->box, hp_real_bytes(to_real));
    hp_array_free(dense.data);
}

/* A copy of a view in fp32, to be freed. */
static struct view widened(const struct backend *b, const struct view *view)
{
    size_t n = (size_t)hp_box_elements(&view->box);
    struct view wide = hp_dense_view(hp_array_new((n + 1) * sizeof(float)), &view->box);
    convert(b, &wide, REAL_F32, view, REAL_BF16);
    return wide;
}

static void clear(const struct backend *b, const struct view *view, enum combine combine,
                  enum real real)
{
    if (real != REAL_BF16) {
        hp_view_clear(view, combine, real);
        return;
    }
    struct view wide = widened(b, view);
    hp_view_clear(&wide, combine, REAL_F32);
    convert(b, view, REAL_BF16, &wide, REAL_F32);
    hp_array_free(wide.data);
}

static void combine_views(const struct backend *b, const struct view *to,
                          const struct view *from, enum combine combine, enum real real)
{
    if (real != REAL_BF16) {
        hp_view_combine(to, from, combine, real);
        return;
    }
    struct view sum = widened(b, to), other = widened(b, from);
    hp_view_combine(&sum, &other, combine, REAL_F32);
    convert(b, to, REAL_BF16, &sum, REAL_F32);
    hp_array_free(sum.data);
    hp_array_free(other.data);
}

static pass_set joint(const struct backend *b, const struct nest *nest, int pass)
{
    return hp_kernel_joint(b->kernels, nest, pass);
}

static size_t workspace(const struct backend *b, const struct kernel_call *call)
{
    struct kernel_call wide = *call;
    wide.narrow = wide.narrow_grad = 0;
    return hp_narrow_room(call) + hp_kernel_workspace(b->kernels, &wide);
}

static void run(const struct backend *b, const struct kernel_call *call)
{
    hp_kernel(b->kernels, call);
}

/* Copies of operands in bf16 come first in the workspace. */
static void compute(const struct backend *b, const struct kernel_call *call)
{
    struct kernel_call own = *call;
    if (!hp_is_narrow_call(call)) {
        run(b, call);
        return;
    }
    own.workspace = (char *)call->workspace + hp_narrow_room(call);
    hp_narrow_compute(b, &own, call->workspace, run);
}

static void move_running(const struct backend *b, const struct kernel_call *call, int operand,
                         const struct view *running)
{
    (void)b;
    hp_move_running(call, operand, running);
}

/* The same of a parameter in bf16: its master copy is updated, and rounded. */
static void update_master(const struct update_run *u, const struct optimizer_state *at,
                          int64_t lo, int64_t hi)
{
    enum { MOST = 512 };
    float gradient[MOST];
    for (int64_t i = lo, n; i < hi; i += n) {
        struct optimizer_state state = *at;
        n = hi - i < MOST ? hi - i : MOST;
        for (int k = 0; k < HP_STATE_ARRAYS; k++)
            state.array[k] = hp_real_at(at->array[k], i - lo, u->real);
        hp_convert(gradient, REAL_F32,
                   (const char *)u->gradient + (size_t)i * hp_real_bytes(u->gradient_real),
                   u->gradient_real, n);
        hp_update_at(u->optimizer, &u->step, n, REAL_F32, state.array[HP_MASTER], gradient,
                     &state);
        hp_convert((uint16_t *)u->new + i, REAL_BF16, state.array[HP_MASTER], REAL_F32, n);
    }
}

/* The elements lo .. hi - 1 of a run, on one thread. */
static void update_piece(void *arg, int64_t lo, int64_t hi)
{
    const struct update_run *u = arg;
    size_t size = hp_real_bytes(u->real), at = (size_t)lo * size;
    struct optimizer_state state = u->state;
    for (int k = 0; k < HP_STATE_ARRAYS; k++)
        state.array[k] = hp_real_at(state.array[k], lo, u->real);
    if (state.array[HP_MASTER]) {
        update_master(u, &state, lo, hi);
        return;
    }
    if (u->new != u->old)
        memcpy((char *)u->new + at, (const char *)u->old + at, (size_t)(hi - lo) * size);
    hp_update_at(u->optimizer, &u->step, hi - lo, u->real, (char *)u->new + at,
                 (const char *)u->gradient + at, &state);
}

static void update(const struct backend *b, const struct update_run *run)
{
    struct update_run shared = *run;
    (void)b;
    hp_kernels_share(run->n, update_piece, &shared);
}

static void square(const struct backend *b, const struct square_run *run, int n, enum real real,
                   void *sum)
{
    double all = 0;
    (void)b;
    for (int i = 0; i < n; i++)
        all += hp_sum_of_squares(run[i].n, run[i].real, run[i].data);
    hp_put(sum, 0, all, real);
}

struct backend hp_host_backend(const struct kernels *kernels)
{
    return (struct backend){ .name = "host",
                             .kernels = kernels,
                             .visible = true,
                             .array_new = new_array,
                             .array_free = free_array,
                             .staging_new = new_array,
                             .staging_free = free_array,
                             .finish = finish,
                             .status = status,
                             .copy = copy,
                             .convert = convert,
                             .clear = clear,
                             .combine = combine_views,
                             .joint = joint,
                             .workspace = workspace,
                             .compute = compute,
                             .move_running = move_running,
                             .update = update,
                             .square = square };
}
