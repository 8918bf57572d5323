/* The host: memory of the process, and the kernels of src/kernel. Work is done when it is
 * begun. */
#include "run/backend/backend.h"

#include <string.h>

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

static void clear(const struct backend *b, const struct view *view, enum combine combine,
                  enum real real)
{
    (void)b;
    hp_view_clear(view, combine, real);
}

static void combine_views(const struct backend *b, const struct view *to,
                          const struct view *from, enum combine combine, enum real real)
{
    (void)b;
    hp_view_combine(to, from, combine, real);
}

static pass_set joint(const struct backend *b, const struct nest *nest, int pass)
{
    return hp_kernel_joint(b->kernels, nest, pass);
}

static size_t workspace(const struct backend *b, const struct kernel_call *call)
{
    return hp_kernel_workspace(b->kernels, call);
}

static void compute(const struct backend *b, const struct kernel_call *call)
{
    hp_kernel(b->kernels, call);
}

static void move_running(const struct backend *b, const struct kernel_call *call, int operand,
                         const struct view *running)
{
    (void)b;
    hp_move_running(call, operand, running);
}

static void *element_of(void *data, int64_t i, enum real real)
{
    return data ? (char *)data + (size_t)i * hp_real_bytes(real) : NULL;
}

/* The elements lo .. hi - 1 of a run, on one thread. */
static void update_piece(void *arg, int64_t lo, int64_t hi)
{
    const struct update_run *u = arg;
    size_t size = hp_real_bytes(u->real), at = (size_t)lo * size;
    struct optimizer_state state = u->state;
    for (int k = 0; k < HP_MAX_STATE; k++)
        state.array[k] = element_of(state.array[k], lo, u->real);
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
        all += hp_sum_of_squares(run[i].n, real, run[i].data);
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
                             .clear = clear,
                             .combine = combine_views,
                             .joint = joint,
                             .workspace = workspace,
                             .compute = compute,
                             .move_running = move_running,
                             .update = update,
                             .square = square };
}
