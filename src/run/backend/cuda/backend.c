/* The back end of a card: memory, moving numbers and updates. Kernels of operators are in
 * compute.c. */
#include "run/backend/backend.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/launch.h"
#include "run/backend/cuda/sources.h"
#include "run/backend/narrow.h"
#include "run/optimizer/update.h"

static_assert((int)CUDA_MOST_DIMS >= (int)MAX_DIMS, "views have more dimensions");
static_assert(HP_MAX_STATE == 2, "struct cuda_update has as many");

/* Memory -------------------------------------------------------------------------------- */

/* What the text says is seen by the user: how much there is. */
static void *no_room(struct cuda *c, size_t bytes, const char *what)
{
    hp_cuda_fail(c, HYPAR_RUNTIME, "no room for %.0f bytes%s: %.0f of %.0f are free",
                 (double)bytes, what, hp_cuda_free_bytes(c), hp_cuda_card(c).memory_bytes);
    return NULL;
}

static void *new_array(const struct backend *b, size_t bytes)
{
    void *data = hp_cuda_alloc(b->card, bytes);
    return data ? data : no_room(b->card, bytes, "");
}

static void free_array(const struct backend *b, void *data)
{
    hp_cuda_free(b->card, data);
}

static void *new_staging(const struct backend *b, size_t bytes)
{
    void *area = hp_cuda_pinned_alloc(b->card, bytes);
    return area ? area : no_room(b->card, bytes, " of pinned memory");
}

static void free_staging(const struct backend *b, void *area)
{
    hp_cuda_pinned_free(b->card, area);
}

static void finish(const struct backend *b)
{
    hp_cuda_finish(b->card);
}

static enum hypar_status status(const struct backend *b, struct hypar_error *err)
{
    return hp_cuda_status(b->card, err);
}

/* Launches ------------------------------------------------------------------------------ */

struct cuda_function *hp_cuda_function_of(struct cuda *c, const char *module,
                                          const char *source, const char *name, enum real real)
{
    char full[64];
    static const char *const suffix[] = {
        [REAL_F32] = "f32", [REAL_F64] = "f64", [REAL_BF16] = "bf16"
    };
    snprintf(full, sizeof full, "%s_%s", name, suffix[real]);
    return hp_cuda_function(c, hp_cuda_module(c, module, source), full);
}

struct cuda_grid hp_cuda_grid(int64_t n)
{
    enum { THREADS = 256, MOST_BLOCKS = 1 << 16 };
    int64_t blocks = (n + THREADS - 1) / THREADS;
    return (struct cuda_grid){ .blocks = { (unsigned)(blocks < MOST_BLOCKS ? blocks
                                                                           : MOST_BLOCKS) },
                               .threads = { THREADS } };
}

static struct cuda_function *move_function(struct cuda *c, const char *name, enum real real)
{
    return hp_cuda_function_of(c, "move", hp_cuda_move, name, real);
}

/* Views --------------------------------------------------------------------------------- */

/* Add a dimension outside the others, merged with the one before where elements of both views
 * follow each other. Dimensions begin with the last. */
static void add_dimension(struct cuda_elements *e, int64_t extent, int64_t to, int64_t from)
{
    int k = e->n_dims - 1;
    e->n *= extent;
    if (extent == 1)
        return;
    if (k >= 0 && to == e->to_stride[k] * e->extent[k] &&
        from == e->from_stride[k] * e->extent[k]) {
        e->extent[k] *= extent;
        return;
    }
    e->n_dims++;
    e->extent[k + 1] = extent;
    e->to_stride[k + 1] = to;
    e->from_stride[k + 1] = from;
}

static void turn(long long *x, int n)
{
    for (int i = 0; i < n / 2; i++) {
        long long first = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = first;
    }
}

/* The first `n` dimensions, the longest strides first: consecutive threads write consecutive
 * elements. */
static void sort_dimensions(const struct view *view, int n, int order[MAX_DIMS])
{
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && view->stride[order[k - 1]] < view->stride[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

/* The elements of to->box, or its pairs; `from` may be NULL. */
static struct cuda_elements elements_of(const struct view *to, const struct view *from,
                                        bool pairs)
{
    const struct box *box = &to->box;
    struct cuda_elements e = { .to = to->data, .from = from ? from->data : NULL, .n = 1 };
    int last = box->n_dims - 1, order[MAX_DIMS];
    sort_dimensions(to, pairs ? last : last + 1, order);
    if (pairs)
        order[last] = last;
    for (int i = last; i >= 0; i--) {
        int d = order[i];
        int64_t extent = box->dim[d].hi - box->dim[d].lo, by = pairs && d == last ? 2 : 1;
        add_dimension(&e, extent / by, to->stride[d] * by, from ? from->stride[d] * by : 0);
    }
    if (pairs) {
        e.to_second = to->stride[last];
        e.from_second = from ? from->stride[last] : 0;
    }
    turn(e.extent, e.n_dims);
    turn(e.to_stride, e.n_dims);
    turn(e.from_stride, e.n_dims);
    return e;
}

static void copy(const struct backend *b, const struct view *to, const struct view *from,
                 size_t element_bytes)
{
    struct view piece = hp_view_piece(from, &to->box, element_bytes);
    if (hp_box_empty(&to->box))
        return;
    struct cuda_elements e = elements_of(to, &piece, false);
    struct cuda_grid grid = hp_cuda_grid(e.n);
    static const char *const name[] = {
        [1] = "copy_1", [2] = "copy_2", [4] = "copy_4", [8] = "copy_8"
    };
    struct cuda_module *module = hp_cuda_module(b->card, "move", hp_cuda_move);
    hp_cuda_launch(b->card, hp_cuda_function(b->card, module, name[element_bytes]), &grid,
                   (void *[]){ &e });
}

/* Between bf16 and fp32; between equal ones it is a copy. */
static void convert(const struct backend *b, const struct view *to, enum real to_real,
                    const struct view *from, enum real from_real)
{
    struct view piece = hp_view_piece(from, &to->box, hp_real_bytes(from_real));
    if (to_real == from_real) {
        copy(b, to, from, hp_real_bytes(to_real));
        return;
    }
    if (hp_box_empty(&to->box))
        return;
    assert(to_real != REAL_F64 && from_real != REAL_F64);
    struct cuda_elements e = elements_of(to, &piece, false);
    struct cuda_grid grid = hp_cuda_grid(e.n);
    hp_cuda_launch(b->card,
                   move_function(b->card, to_real == REAL_BF16 ? "narrow" : "widen", REAL_BF16),
                   &grid, (void *[]){ &e });
}

static void clear(const struct backend *b, const struct view *view, enum combine combine,
                  enum real real)
{
    double value = combine == COMBINE_SUM ? 0 : (double)-INFINITY;
    bool pairs = combine == COMBINE_SOFTMAX;
    if (hp_box_empty(&view->box))
        return;
    struct cuda_elements e = elements_of(view, NULL, pairs);
    struct cuda_grid grid = hp_cuda_grid(e.n);
    hp_cuda_launch(b->card, move_function(b->card, pairs ? "fill_pairs" : "fill", real), &grid,
                   (void *[]){ &e, &value });
}

static void combine_views(const struct backend *b, const struct view *to,
                          const struct view *from, enum combine combine, enum real real)
{
    static const char *const name[] = {
        [COMBINE_SUM] = "add", [COMBINE_MAX] = "larger", [COMBINE_SOFTMAX] = "join"
    };
    double least = (double)-INFINITY;
    struct box both = hp_box_intersect(&to->box, &from->box);
    if (hp_box_empty(&both))
        return;
    struct view t = hp_view_piece(to, &both, hp_real_bytes(real));
    struct view f = hp_view_piece(from, &both, hp_real_bytes(real));
    struct cuda_elements e = elements_of(&t, &f, combine == COMBINE_SOFTMAX);
    struct cuda_grid grid = hp_cuda_grid(e.n);
    hp_cuda_launch(b->card, move_function(b->card, name[combine], real), &grid,
                   (void *[]){ &e, &least });
}

/* Updates ------------------------------------------------------------------------------- */

static struct cuda_function *update_function(struct cuda *c, const char *name, enum real real)
{
    return hp_cuda_function_of(c, "update", hp_cuda_update, name, real);
}

static void update(const struct backend *b, const struct update_run *run)
{
    static const char *const name[HYPAR_OPTIMIZER_COUNT] = {
        [HYPAR_MOMENTUM] = "momentum", [HYPAR_ADAM] = "adam", [HYPAR_ADAMW] = "adam"
    };
    const char *own = name[run->optimizer->kind] ? name[run->optimizer->kind] : "sgd";
    struct update u = hp_update_of(run->optimizer, &run->step);
    void *master = run->state.array[HP_MASTER];
    struct cuda_update p = { .old = master ? master : run->old,
                             .gradient = run->gradient,
                             .param = master ? master : run->new,
                             .rounded = master ? run->new : NULL,
                             .state = { run->state.array[0], run->state.array[1] },
                             .n = run->n };
    struct cuda_grid grid = hp_cuda_grid(run->n);
    hp_cuda_launch(b->card, update_function(b->card, own, run->gradient_real), &grid,
                   (void *[]){ &p, &u });
}

static void square(const struct backend *b, const struct square_run *run, int n, enum real real,
                   void *sum)
{
    enum { EACH = 16 * CUDA_SQUARE_THREADS }; /* elements for a block, where they are few */
    struct cuda *c = b->card;
    struct box box = { .n_dims = 1, .dim = { { 0, CUDA_SQUARE_BLOCKS } } };
    struct view sums =
        hp_dense_view(hp_cuda_scratch(c, CUDA_SQUARE_BLOCKS * sizeof(double)), &box);
    struct cuda_grid grid = { { 1 }, { CUDA_SQUARE_THREADS }, 0 };
    clear(b, &sums, COMBINE_SUM, REAL_F64);
    for (int i = 0; i < n; i++) {
        const void *data = run[i].data;
        long long elements = run[i].n, blocks = (elements + EACH - 1) / EACH;
        grid.blocks[0] = (unsigned)(blocks < CUDA_SQUARE_BLOCKS ? blocks : CUDA_SQUARE_BLOCKS);
        hp_cuda_launch(c, update_function(c, "square", run[i].real), &grid,
                       (void *[]){ &data, &elements, &sums.data });
    }
    grid.blocks[0] = 1;
    hp_cuda_launch(c, update_function(c, "total", real), &grid, (void *[]){ &sums.data, &sum });
}

/* Passes -------------------------------------------------------------------------------- */

/* cuDNN's fast convolutions in two bytes and in tf32 want them so. */
static bool channels_last(const struct backend *b, bool narrow)
{
    const struct cuda_dnn *dnn;
    return (narrow || hp_cuda_has_tf32(b->card)) && hp_cuda_dnn(b->card, &dnn);
}

static pass_set joint(const struct backend *b, const struct nest *nest, int pass)
{
    (void)b;
    return hp_cuda_joint(nest, pass);
}

static size_t workspace(const struct backend *b, const struct kernel_call *call)
{
    (void)b;
    return hp_cuda_is_narrow(call) ? 0 : hp_narrow_room(call);
}

/* In the workspace are copies for kernels without bf16. */
static void compute(const struct backend *b, const struct kernel_call *call)
{
    if (hp_cuda_is_narrow(call))
        hp_cuda_compute(b, call);
    else
        hp_narrow_compute(b, call, call->workspace, hp_cuda_compute);
}

/* The back end -------------------------------------------------------------------------- */

enum hypar_status hp_cuda_backend(struct backend *out, int card, const struct kernels *kernels,
                                  struct hypar_error *err)
{
    *out = (struct backend){ .name = "card",
                             .kernels = kernels,
                             .array_new = new_array,
                             .array_free = free_array,
                             .staging_new = new_staging,
                             .staging_free = free_staging,
                             .finish = finish,
                             .status = status,
                             .copy = copy,
                             .convert = convert,
                             .clear = clear,
                             .combine = combine_views,
                             .channels_last = channels_last,
                             .joint = joint,
                             .workspace = workspace,
                             .compute = compute,
                             .move_running = hp_cuda_move_running,
                             .update = update,
                             .square = square };
    return hp_cuda_open(&out->card, card, err);
}

void hp_cuda_backend_tf32(struct backend *b)
{
    hp_cuda_allow_tf32(b->card);
}

void hp_cuda_backend_free(struct backend *b)
{
    hp_cuda_close(b->card);
    b->card = NULL;
}
