/* Generated kernels, made when a pass first runs over the same elements at the same places:
 * then a launch is a search for what was made. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "run/backend/cuda/launch.h"
#include "run/backend/cuda/sources.h"

/* Texts --------------------------------------------------------------------------------- */

/* Sums of this many terms are shared among a column of threads, where elements are few; each
 * thread has this many of them. */
enum { MANY_TERMS = 64, FEW_ELEMENTS = 1 << 17, EACH = 16, WARP = 32 };

/* Threads that join the slices of an element. */
enum { JOINING = 16 };

static void generate(struct generated *g, const struct kernel_call *call,
                     const struct target *target)
{
    hp_cuda_generate(g, call, target, false);
    if (g->inner >= MANY_TERMS && g->outer <= FEW_ELEMENTS)
        hp_cuda_generate(g, call, target, true);
}

/* Several blocks have slices of a sum where its elements are few: as many as follows from its
 * extents. */
static unsigned slices_of(const struct generated *g, const struct cuda_grid *grid)
{
    enum { MOST = 256, THREADS = 1 << 19, LEAST = 4 };
    int64_t threads = (int64_t)grid->blocks[0] * grid->threads[0] * grid->threads[1];
    int64_t slices = THREADS / threads, most = g->terms / (LEAST * (int64_t)grid->threads[1]);
    slices = slices < most ? slices : most;
    return (unsigned)(slices < 1 ? 1 : slices > MOST ? MOST : slices);
}

static struct cuda_grid grid_of(const struct generated *g)
{
    struct cuda_grid grid = { .threads = { g->along_outer ? WARP : 1, 1 } };
    if (!g->in_columns)
        return hp_cuda_grid(g->items);
    unsigned most = g->along_outer ? CUDA_COLUMN_THREADS : CUDA_COLUMN_THREADS / 4;
    int64_t each = g->inner == g->terms ? EACH : EACH / 4; /* terms are read in chunks */
    while (grid.threads[0] > 1 && grid.threads[0] / 2 >= g->items)
        grid.threads[0] /= 2;
    while (2 * grid.threads[0] * grid.threads[1] <= most && each * grid.threads[1] <= g->terms)
        grid.threads[1] *= 2;
    while (grid.threads[0] * grid.threads[1] < WARP)
        grid.threads[0] *= 2;
    grid.blocks[0] = (unsigned)((g->items + grid.threads[0] - 1) / grid.threads[0]);
    grid.blocks[1] = slices_of(g, &grid);
    return grid;
}

/* The kernel of a text, compiled when the text first comes. */
static struct cuda_module *module_of(struct cuda *c, const struct kernel_call *call,
                                     const struct generated *g)
{
    char name[64];
    uint64_t key =
        hp_hash(hp_hash(HP_HASH_START, g->types, strlen(g->types)), g->text, strlen(g->text));
    snprintf(name, sizeof name, "%.32s_%016" PRIx64, hp_op[call->nest->kind].name, key);
    struct cuda_module *m = hp_cuda_find(c, name);
    if (!m) {
        struct arena scratch = { 0 };
        m = hp_cuda_module(c, name, hp_cuda_source(&scratch, g));
        hp_arena_free(&scratch);
    }
    return m;
}

/* What was made ------------------------------------------------------------------------- */

struct made {
    struct cuda_call call;
    struct cuda_function *function, *joined; /* the second is for slices */
    struct cuda_grid grid, elements;
    size_t slices_bytes; /* 0: there are none */
    bool nothing;        /* there are no elements */
    bool apart;          /* the other targets need kernels of their own */
    bool clears;         /* fresh elements that the kernel leaves out */
};

/* Everything that a kernel and its numbers follow from, except the key of drawn numbers. */
struct key {
    size_t n;
    bool too_long;
    unsigned char bytes[1 << 13];
};

static void add(struct key *key, const void *bytes, size_t n)
{
    key->too_long |= n > sizeof key->bytes - key->n;
    if (key->too_long)
        return;
    memcpy(key->bytes + key->n, bytes, n);
    key->n += n;
}

static void add_view(struct key *key, const struct view *view)
{
    int n = view->box.n_dims;
    add(key, &view->data, sizeof view->data);
    add(key, view->box.dim, (size_t)n * sizeof *view->box.dim);
    add(key, view->stride, (size_t)n * sizeof *view->stride);
}

static void add_nest(struct key *key, const struct nest *nest)
{
    add(key, &nest->kind, sizeof nest->kind);
    add(key, &nest->n_axes, sizeof nest->n_axes);
    for (int a = 0; a < nest->n_axes; a++) {
        add(key, &nest->axis[a].name, sizeof nest->axis[a].name);
        add(key, &nest->axis[a].extent, sizeof nest->axis[a].extent);
    }
    for (int i = 0; nest->attrs && i < nest->attrs->n; i++) {
        const struct attr *attr = &nest->attrs->attr[i];
        add(key, &attr->id, sizeof attr->id);
        add(key, attr->v, (size_t)attr->n * sizeof *attr->v);
    }
}

static void add_target(struct key *key, const struct target *t)
{
    add(key, &t->to, sizeof t->to);
    add(key, &t->grad, sizeof t->grad);
    add(key, &t->fresh, sizeof t->fresh);
    add(key, &t->reads, sizeof t->reads);
    add(key, &t->reads_grad, sizeof t->reads_grad);
    add(key, &t->axes, sizeof t->axes);
    add(key, t->constant, sizeof t->constant);
    if (t->formula)
        add(key, t->formula, strlen(t->formula) + 1);
    if (t->also)
        add_target(key, t->also);
}

static void fill_key(struct key *key, const struct kernel_call *call, const struct target *t)
{
    const struct nest *nest = call->nest;
    key->n = 0;
    key->too_long = false;
    add_target(key, t);
    add_nest(key, nest);
    add(key, &call->pass, sizeof call->pass);
    add(key, &call->real, sizeof call->real);
    add(key, &call->narrow, sizeof call->narrow);
    add(key, &call->narrow_grad, sizeof call->narrow_grad);
    add(key, call->range, (size_t)nest->n_axes * sizeof *call->range);
    for (int o = 0; o < nest->n_operands; o++) {
        operand_set both = t->reads | t->reads_grad | (operand_set)1 << t->to;
        if (!(both >> o & 1) && nest->n_operands > 8)
            continue;
        add(key, &o, sizeof o);
        add(key, &nest->operand[o], sizeof nest->operand[o]);
        add_view(key, &call->value[o]);
        add_view(key, &call->grad[o]);
    }
    add_view(key, &call->mask);
}

static struct cuda_function *function_of(struct cuda *c, struct cuda_module *module,
                                         const char *prefix, const struct kernel_call *call,
                                         const struct target *t)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s_%s%c", prefix, hp_op[call->nest->kind].name,
             t->grad ? "d" : "", call->nest->operand[t->to].name[0]);
    return hp_cuda_function(c, module, name);
}

static void make(struct made *m, struct cuda *c, const struct kernel_call *call,
                 const struct target *target)
{
    enum { PAIR = 2 * sizeof(double) };
    char text[GENERATED_BYTES];
    struct generated g = { .text = text };
    generate(&g, call, target);
    *m = (struct made){ .call = g.call,
                        .nothing = g.outer == 0,
                        .apart = target->also && !g.in_columns,
                        .clears = g.leaves_out && target->fresh };
    if (m->nothing || m->apart)
        return;
    struct cuda_module *module = module_of(c, call, &g);
    m->grid = grid_of(&g);
    m->elements =
        (struct cuda_grid){ { (unsigned)((g.outer + WARP - 1) / WARP) }, { WARP, JOINING }, 0 };
    m->function = function_of(c, module, GENERATED_PREFIX, call, target);
    m->call.slices = NULL;
    m->call.n_slices = m->grid.blocks[1];
    if (m->grid.blocks[1] > 1) {
        m->joined = function_of(c, module, JOINED_PREFIX, call, target);
        for (const struct target *t = target; t; t = t->also)
            m->slices_bytes += m->grid.blocks[1] * (size_t)g.outer * PAIR;
    }
}

void hp_cuda_clear(const struct backend *b, const struct kernel_call *call, int o, bool grad)
{
    const struct view *view = grad ? &call->grad[o] : &call->value[o];
    if (!view->data)
        return;
    struct box box = hp_region(call->nest, o, call->range);
    enum real real = hp_call_real(call, o, grad);
    struct view piece = hp_view_piece(view, &box, hp_real_bytes(real));
    b->clear(b, &piece, grad ? COMBINE_SUM : call->nest->operand[o].combine, real);
}

static void run(const struct backend *b, struct made *m, const struct kernel_call *call,
                const struct target *target)
{
    struct cuda *c = b->card;
    for (const struct target *t = target; t && m->apart; t = t->also) {
        struct target alone = *t;
        alone.also = NULL;
        hp_cuda_run_target(b, call, &alone);
    }
    if (m->nothing || m->apart)
        return;
    if (m->clears)
        hp_cuda_clear(b, call, target->to, target->grad);
    m->call.key = call->key;
    if (m->slices_bytes)
        m->call.slices = hp_cuda_scratch(c, m->slices_bytes);
    hp_cuda_launch(c, m->function, &m->grid, (void *[]){ &m->call });
    if (m->slices_bytes)
        hp_cuda_launch(c, m->joined, &m->elements, (void *[]){ &m->call });
}

void hp_cuda_run_target(const struct backend *b, const struct kernel_call *call,
                        const struct target *target)
{
    struct cuda *c = b->card;
    struct key key;
    struct made once;
    fill_key(&key, call, target);
    if (key.too_long) {
        make(&once, c, call, target);
        run(b, &once, call, target);
        return;
    }
    void **kept = hp_cuda_kept(c, key.bytes, key.n);
    if (!*kept) {
        struct made *m = NEW(hp_cuda_kept_arena(c), struct made, 1);
        make(m, c, call, target);
        *kept = m;
    }
    once = **(struct made **)kept;
    run(b, &once, call, target);
}
