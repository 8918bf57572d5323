/* The loops of a generated kernel, and what they leave out. */
#include "run/backend/cuda/generator.h"

#include <assert.h>
#include <string.h>

#include "run/backend/cuda/affine.h"

/* Loops --------------------------------------------------------------------------------- */

static void say_variable(struct generator *g, const struct loop *loop)
{
    if (loop->kind == LOOP_WHOLE)
        hp_gen_say(g, "whole");
    else
        hp_gen_say(g, "%c%d", loop->kind == LOOP_AXIS ? 'a' : 'p', loop->i);
}

static bool has_loop(const struct loop *loop, int n, enum loop_kind kind, int i)
{
    for (int k = 0; k < n; k++)
        if (loop[k].kind == kind && loop[k].i == i)
            return true;
    return false;
}

static void add_loop(struct loop *loop, int *n, enum loop_kind kind, int i, struct range range)
{
    if (has_loop(loop, *n, kind, i))
        return;
    assert(*n < MOST_LOOPS);
    loop[(*n)++] = (struct loop){ kind, i, range };
}

static void add_outer_axis(struct generator *g, int axis)
{
    add_loop(g->outer, &g->n_outer, LOOP_AXIS, axis, g->call->range[axis]);
}

bool hp_gen_is_pair(const struct target *t)
{
    return t->formula && strstr(t->formula, "acc1");
}

/* How far apart the elements of two steps of a loop are; loops of one step come first. */
static int64_t step_of(const struct affine *f, const struct loop *loop)
{
    if (loop->range.hi - loop->range.lo == 1)
        return INT64_MAX;
    int64_t step = loop->kind == LOOP_AXIS       ? f->step[loop->i]
                   : loop->kind == LOOP_POSITION ? f->position[loop->i]
                                                 : f->whole;
    return step < 0 ? -step : step;
}

/* Loops whose steps are longer come first: consecutive threads, or terms, have elements that
 * lie next to each other. */
static void sort_loops(const struct generator *g, struct loop *loop, int n, int o, bool grad)
{
    const struct view *view = grad ? &g->call->grad[o] : &g->call->value[o];
    struct affine f = hp_cuda_affine_of(g->call, g->target, o, view);
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0; k--) {
            struct loop *before = &loop[k - 1], held = *before;
            if (step_of(&f, before) >= step_of(&f, &loop[k]) || step_of(&f, before) == 0)
                break;
            *before = loop[k];
            loop[k] = held;
        }
}

/* One thread, or column of threads, for each element of the target. */
void hp_gen_find_outer(struct generator *g)
{
    const struct target *t = g->target;
    const struct operand *o = &g->nest->operand[t->to];
    for (int d = 0; d < o->n_dims; d++) {
        const struct dim_map *dim = &o->dim[d];
        struct range box = hp_region_dim(g->nest, t->to, d, g->call->range);
        if (dim->kind == DIM_PRODUCT) {
            for (int f = 0; f < dim->n_axes; f++)
                add_outer_axis(g, dim->axis[f]);
        } else if (dim->kind == DIM_AXIS) {
            enum follows follows = hp_cuda_follows(g->nest, g->target, dim);
            if (follows == FOLLOWS_AXIS) {
                add_outer_axis(g, dim->axis[0]);
                g->out->leaves_out |= dim->stride != 1;
                continue;
            }
            add_loop(g->outer, &g->n_outer, LOOP_POSITION, d, box);
            if (follows != FOLLOWS_WINDOW)
                g->derived |= 1u << dim->axis[0];
        } else if (hp_cuda_is_whole(o, d) && !g->pair) {
            add_loop(g->outer, &g->n_outer, LOOP_WHOLE, 0, (struct range){ 0, o->size[d] });
        }
    }
    sort_loops(g, g->outer, g->n_outer, t->to, t->grad);
}

/* The first operand that the target reads. */
static void sort_inner(struct generator *g)
{
    for (int o = 0; o < g->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++)
            if (hp_gen_is_read(g, o, grad)) {
                sort_loops(g, g->inner, g->n_inner, o, grad);
                return;
            }
}

/* The sum goes over all other axes of the pass; a product also over a dimension without an
 * axis. */
void hp_gen_find_inner(struct generator *g)
{
    const struct target *t = g->target;
    for (int a = 0; a < g->nest->n_axes; a++)
        if (hp_gen_has_axis(t->axes & ~g->derived, a) &&
            !has_loop(g->outer, g->n_outer, LOOP_AXIS, a))
            add_loop(g->inner, &g->n_inner, LOOP_AXIS, a, g->call->range[a]);
    for (int i = 0; i < g->nest->n_operands && !t->formula; i++) {
        const struct operand *o = &g->nest->operand[i];
        for (int d = 0; d < o->n_dims; d++)
            if ((t->reads | t->reads_grad) >> i & 1 && hp_cuda_is_whole(o, d) &&
                !has_loop(g->outer, g->n_outer, LOOP_WHOLE, 0))
                add_loop(g->inner, &g->n_inner, LOOP_WHOLE, 0, (struct range){ 0, o->size[d] });
    }
    sort_inner(g);
}

int64_t hp_gen_steps_of(const struct loop *loop, int n)
{
    int64_t steps = 1;
    for (int i = 0; i < n; i++)
        steps *= loop[i].range.hi - loop[i].range.lo;
    return steps;
}

/* The indices of step `rest` of nested loops, the last one innermost. */
void hp_gen_say_indices(struct generator *g, const struct loop *loop, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        int lo = hp_gen_number(g, loop[i].range.lo);
        int extent = hp_gen_number(g, loop[i].range.hi - loop[i].range.lo);
        hp_gen_say(g, "const Index ");
        say_variable(g, &loop[i]);
        if (i > 0)
            hp_gen_say(g,
                       " = Index(p.v[%d]) + rest %% Index(p.v[%d]);\nrest /= Index(p.v[%d]);\n",
                       lo, extent, extent);
        else
            hp_gen_say(g, " = Index(p.v[%d]) + rest;\n", lo);
    }
}

/* The dimension of the target along which the outputs of axis `axis` have windows; -1: none. */
int hp_gen_window_dim(const struct generator *g, int axis)
{
    const struct operand *o = &g->nest->operand[g->target->to];
    for (int d = 0; d < o->n_dims; d++)
        if (o->dim[d].kind == DIM_AXIS && o->dim[d].axis[0] == axis &&
            hp_cuda_follows(g->nest, g->target, &o->dim[d]) == FOLLOWS_WINDOW)
            return d;
    return NONE;
}

/* The numbers of a window, in the order of struct window_numbers of generic.cu. Returns the
 * first. */
static int window_numbers(struct generator *g, const struct operand *x, int d)
{
    const struct dim_map *dim = &x->dim[d];
    const struct attrs *attrs = g->nest->attrs;
    int spatial = x->n_dims - 2;
    int first = hp_gen_number(g, dim->stride);
    hp_gen_number(g, dim->pad);
    hp_gen_number(g, dim->span);
    hp_gen_number(g, dim->divide);
    hp_gen_number(g, x->size[d]);
    hp_gen_number(g, hp_cuda_dilation(g->nest, d));
    hp_gen_number(g, hp_attr_int(attrs, ATTR_COUNT_PAD, 0, 1));
    hp_gen_number(g, hp_attr_int(attrs, ATTR_PAD, spatial + d - 2, 0));
    hp_gen_number(g, g->nest->kind == OP_RESIZE_LINEAR);
    return first;
}

/* Of an axis whose outputs have windows along the target: those that see its position. */
void hp_gen_say_nested_loop(struct generator *g, const struct loop *loop)
{
    int d = loop->kind == LOOP_AXIS ? hp_gen_window_dim(g, loop->i) : NONE;
    int lo = hp_gen_number(g, loop->range.lo), hi = hp_gen_number(g, loop->range.hi);
    hp_gen_say(g, "Index first%d_%d = Index(p.v[%d]), last%d_%d = Index(p.v[%d]);\n",
               loop->kind, loop->i, lo, loop->kind, loop->i, hi);
    if (d != NONE)
        hp_gen_say(g, "outputs_of(p%d, p.v + %d, first%d_%d, last%d_%d);\n", d,
                   window_numbers(g, &g->nest->operand[g->target->to], d), loop->kind, loop->i,
                   loop->kind, loop->i);
    hp_gen_say(g, "for (Index ");
    say_variable(g, loop);
    hp_gen_say(g, " = first%d_%d; ", loop->kind, loop->i);
    say_variable(g, loop);
    hp_gen_say(g, " < last%d_%d; ", loop->kind, loop->i);
    say_variable(g, loop);
    hp_gen_say(g, "++) {\n");
}

/* What is left out ---------------------------------------------------------------------- */

/* The axes of positions of the target: position = stride * axis - pad + dilation * tap. */
void hp_gen_say_derived(struct generator *g)
{
    const struct operand *o = &g->nest->operand[g->target->to];
    for (int d = 0; d < o->n_dims; d++) {
        const struct dim_map *dim = &o->dim[d];
        enum follows follows =
            dim->kind == DIM_AXIS ? hp_cuda_follows(g->nest, g->target, dim) : FOLLOWS_AXIS;
        if (follows != FOLLOWS_TAPS && follows != FOLLOWS_TRANSPOSED)
            continue;
        int a = dim->axis[0], dilation = hp_gen_number(g, hp_cuda_dilation(g->nest, d));
        bool taps = follows == FOLLOWS_TAPS;
        int64_t stride = hp_attr_int(g->nest->attrs, ATTR_STRIDE, d - 2, 1);
        int by = hp_gen_number(g, taps ? dim->stride : stride);
        int pad =
            hp_gen_number(g, taps ? dim->pad : hp_attr_int(g->nest->attrs, ATTR_PAD, d - 2, 0));
        if (taps)
            hp_gen_say(
                g,
                "Index a%d = p%d + Index(p.v[%d]) - a%d * Index(p.v[%d]);\n"
                "if (a%d < 0 || a%d %% Index(p.v[%d])) continue;\na%d /= Index(p.v[%d]);\n",
                a, d, pad, dim->taps, dilation, a, a, by, a, by);
        else
            hp_gen_say(
                g,
                "Index a%d = p%d * Index(p.v[%d]) - Index(p.v[%d]) + a%d * Index(p.v[%d]);\n",
                a, d, by, pad, dim->taps, dilation);
        hp_gen_say(g, "if (a%d < p.v[%d] || a%d >= p.v[%d]) continue;\n", a,
                   hp_gen_number(g, g->call->range[a].lo), a,
                   hp_gen_number(g, g->call->range[a].hi));
    }
}

void hp_gen_say_outside(struct generator *g, const struct operand *o, int d)
{
    const struct dim_map *dim = &o->dim[d];
    int stride = hp_gen_number(g, dim->stride), pad = hp_gen_number(g, dim->pad),
        size = hp_gen_number(g, o->size[d]);
    hp_gen_say(g, "is_outside(p.v[%d] * a%d - p.v[%d]", stride, dim->axis[0], pad);
    if (hp_cuda_follows(g->nest, g->target, dim) == FOLLOWS_TAPS)
        hp_gen_say(g, " + p.v[%d] * a%d", hp_gen_number(g, hp_cuda_dilation(g->nest, d)),
                   dim->taps);
    hp_gen_say(g, ", p.v[%d])", size);
}

/* Terms for which an operand that is read has no element are left out. */
void hp_gen_say_checks(struct generator *g, int i)
{
    const struct operand *o = &g->nest->operand[i];
    for (int d = 0; d < o->n_dims; d++) {
        const struct dim_map *dim = &o->dim[d];
        enum follows follows =
            dim->kind == DIM_AXIS ? hp_cuda_follows(g->nest, g->target, dim) : FOLLOWS_WINDOW;
        if (follows == FOLLOWS_TRANSPOSED) {
            const struct attrs *attrs = g->nest->attrs;
            int by = hp_gen_number(g, hp_attr_int(attrs, ATTR_STRIDE, d - 2, 1));
            hp_gen_say(g,
                       "Index p%d = a%d + Index(p.v[%d]) - a%d * Index(p.v[%d]);\n"
                       "if (p%d < 0 || p%d %% Index(p.v[%d])) continue;\n"
                       "p%d /= Index(p.v[%d]);\nif (p%d >= p.v[%d]) continue;\n",
                       d, dim->axis[0],
                       hp_gen_number(g, hp_attr_int(attrs, ATTR_PAD, d - 2, 0)), dim->taps,
                       hp_gen_number(g, hp_cuda_dilation(g->nest, d)), d, d, by, d, by, d,
                       hp_gen_number(g, o->size[d]));
        } else if (follows != FOLLOWS_WINDOW && hp_cuda_may_leave(g->nest, g->target, o, d)) {
            hp_gen_say(g, "if (");
            hp_gen_say_outside(g, o, d);
            hp_gen_say(g, ") continue;\n");
        }
    }
}

/* The windows of the current outputs, by dimension of the first operand. */
void hp_gen_say_windows(struct generator *g)
{
    const struct operand *x = &g->nest->operand[0];
    bool any = false;
    for (int d = 1; d < x->n_dims; d++) {
        if (x->dim[d].kind != DIM_AXIS ||
            hp_cuda_follows(g->nest, g->target, &x->dim[d]) != FOLLOWS_WINDOW)
            continue;
        if (!any)
            hp_gen_say(g, "window in[5] = { { 0, 1, 1, 1 }, { 0, 1, 1, 1 }, { 0, 1, 1, 1 }, "
                          "{ 0, 1, 1, 1 }, { 0, 1, 1, 1 } };\n");
        any = true;
        hp_gen_say(g, "in[%d] = window_of(a%d, p.v + %d);\n", d - 1, x->dim[d].axis[0],
                   window_numbers(g, x, d));
    }
}

/* Loops that are one ------------------------------------------------------------------ */

/* Do the indices of the axes of two loops lead along a view as one index does? */
static bool is_one_axis(const struct generator *g, int o, const struct view *view,
                        const struct loop *outer, const struct loop *inner)
{
    const struct operand *operand = &g->nest->operand[o];
    struct affine f = hp_cuda_affine_of(g->call, g->target, o, view);
    int a = outer->i, b = inner->i;
    for (int d = 0; d < operand->n_dims; d++) {
        const struct dim_map *dim = &operand->dim[d];
        bool here = dim->kind == DIM_AXIS && (dim->axis[0] == a || dim->axis[0] == b ||
                                              dim->taps == a || dim->taps == b);
        if (here && (hp_cuda_follows(g->nest, g->target, dim) != FOLLOWS_AXIS ||
                     hp_cuda_may_leave(g->nest, g->target, operand, d)))
            return false;
    }
    return f.step[a] == f.step[b] * (inner->range.hi - inner->range.lo);
}

static bool may_join(struct generator *g, const struct loop *a, const struct loop *b)
{
    const struct target *t = g->target;
    if (a->kind != LOOP_AXIS || b->kind != LOOP_AXIS || g->derived)
        return false;
    if (t->also) {
        g->target = t->also;
        bool others = may_join(g, a, b);
        g->target = t;
        if (!others)
            return false;
    }
    for (int o = 0; o < g->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            bool used = hp_gen_is_read(g, o, grad) || (o == t->to && grad == t->grad);
            const struct view *view = grad ? &g->call->grad[o] : &g->call->value[o];
            if (used && !is_one_axis(g, o, view, a, b))
                return false;
        }
    return true;
}

/* The axes whose indices a formula names ("@c", "$x[c=label]"); all of them, if it needs the
 * number of an element, a mask or a window. */
static axis_set axes_named(const struct generator *g, const struct target *t)
{
    axis_set named = t->also ? axes_named(g, t->also) : 0;
    for (const char *at = t->formula; at && *at; at++) {
        bool index = *at == '@', instead = *at == '[';
        const char *name = at + 1 + (index && strchr("<>#", at[1]) != NULL);
        if (*at == '%' || (index && *name == '=') || (instead && *name == '&'))
            return ~(axis_set)0;
        if ((index || instead) && *name != '*')
            named |= (axis_set)1 << hp_gen_axis_called(g, *name);
    }
    return named;
}

/* One loop for axes whose indices lead along all operands as one index does: finding one index
 * of a step takes a division. */
void hp_gen_join_loops(struct generator *g, struct loop *loop, int *n)
{
    axis_set named = axes_named(g, g->target);
    for (int i = *n - 2; i >= 0; i--) {
        struct range outer = loop[i].range, *inner = &loop[i + 1].range;
        axis_set both = (axis_set)1 << loop[i].i | (axis_set)1 << loop[i + 1].i;
        if (both & named || !may_join(g, &loop[i], &loop[i + 1]))
            continue;
        inner->hi = inner->lo + (inner->hi - inner->lo) * (outer.hi - outer.lo);
        g->joined |= (axis_set)1 << loop[i].i;
        memmove(loop + i, loop + i + 1, (size_t)(*n - i - 1) * sizeof *loop);
        (*n)--;
    }
}
