/* The text of a kernel from the nest of an operator, and the numbers that it is called with. */
#include "run/backend/cuda/affine.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "run/backend/cuda/sources.h"
#include "run/backend/narrow.h"

/* Where an element of an operand lies: numbers of the call, -1 where there is none. */
struct place {
    int data, base;
    int axis[MAX_AXES], whole, position[MAX_DIMS];
};

/* A loop over an axis, over positions along a dimension of the target, or over a dimension that
 * no axis indexes. Its variable is called a2, p2, whole. */
enum loop_kind { LOOP_AXIS, LOOP_POSITION, LOOP_WHOLE };
struct loop {
    enum loop_kind kind;
    int i; /* of the axis, or of the dimension */
    struct range range;
};

enum { MOST_LOOPS = MAX_AXES + 1, NONE = -1 };

struct generator {
    struct generated *out;
    const struct kernel_call *call;
    const struct nest *nest;
    const struct target *target;
    bool pair; /* the target's last dimension are pairs, of which a thread has both */
    size_t length;
    int n_numbers, n_data;
    struct loop outer[MOST_LOOPS], inner[MOST_LOOPS];
    int n_outer, n_inner;
    axis_set derived; /* axes that follow from a position and a tap */
    axis_set joined;  /* axes whose loop is part of that of another axis */
    struct place value[MAX_OPERANDS], grad[MAX_OPERANDS], mask;
    operand_set has_value, has_grad;
};

/* Text and numbers ---------------------------------------------------------------------- */

static void say_text(struct generator *g, const char *text, size_t n)
{
    assert(g->length + n < GENERATED_BYTES);
    memcpy(g->out->text + g->length, text, n);
    g->length += n;
    g->out->text[g->length] = 0;
}

static void say_int(struct generator *g, int value)
{
    char digit[16];
    int at = sizeof digit;
    bool minus = value < 0;
    unsigned rest = minus ? -(unsigned)value : (unsigned)value;
    do
        digit[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (minus)
        digit[--at] = '-';
    say_text(g, digit + at, sizeof digit - (size_t)at);
}

/* As printf(), with %d, %s, %c and %% alone: a text is made for each launch. */
static void say(struct generator *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    for (const char *at = fmt; *at;) {
        size_t n = strcspn(at, "%");
        say_text(g, at, n);
        at += n;
        if (!*at)
            break;
        char letter = at[1];
        at += 2;
        if (letter == 'd') {
            say_int(g, va_arg(ap, int));
        } else if (letter == 's') {
            const char *text = va_arg(ap, const char *);
            say_text(g, text, strlen(text));
        } else {
            char c = letter == 'c' ? (char)va_arg(ap, int) : '%';
            say_text(g, &c, 1);
        }
    }
    va_end(ap);
}

static int number(struct generator *g, int64_t value)
{
    assert(g->n_numbers < CUDA_MOST_NUMBERS);
    g->out->call.v[g->n_numbers] = value;
    return g->n_numbers++;
}

static int new_data(struct generator *g, void *data)
{
    assert(g->n_data < CUDA_MOST_DATA);
    g->out->call.data[g->n_data] = data;
    return g->n_data++;
}

/* Dimensions ---------------------------------------------------------------------------- */

static bool has_axis(axis_set set, int axis)
{
    return set >> axis & 1;
}

static struct place new_place(struct generator *g, int o, const struct view *view)
{
    struct affine f = hp_cuda_affine_of(g->call, g->target, o, view);
    struct place p = { .data = new_data(g, view->data), .whole = NONE };
    for (int d = 0; d < MAX_DIMS; d++)
        p.position[d] = f.has_position[d] ? number(g, f.position[d]) : NONE;
    if (f.whole_extent)
        p.whole = number(g, f.whole);
    for (int a = 0; a < MAX_AXES; a++)
        p.axis[a] = has_axis(f.axes, a) ? number(g, f.step[a]) : NONE;
    p.base = number(g, f.base);
    return p;
}

static const struct place *place_of(struct generator *g, int o, bool grad)
{
    operand_set bit = (operand_set)1 << o, *has = grad ? &g->has_grad : &g->has_value;
    struct place *p = grad ? &g->grad[o] : &g->value[o];
    if (!(*has & bit))
        *p = new_place(g, o, grad ? &g->call->grad[o] : &g->call->value[o]);
    *has |= bit;
    return p;
}

/* Formulas ------------------------------------------------------------------------------ */

/* One index of an access that is another expression than its variable. */
struct instead {
    char what; /* '*': the dimension without an axis */
    int axis, length;
    const char *text;
};

static void expand(struct generator *g, const char *text, int n);

static void say_index(struct generator *g, const struct place *p, const struct instead *instead)
{
    say(g, "p.v[%d]", p->base);
    for (int a = 0; a < MAX_AXES; a++) {
        if (p->axis[a] == NONE)
            continue;
        say(g, " + p.v[%d] * (", p->axis[a]);
        if (instead->what && instead->axis == a)
            expand(g, instead->text, instead->length);
        else
            say(g, "a%d", a);
        say(g, ")");
    }
    for (int d = 0; d < MAX_DIMS; d++)
        if (p->position[d] != NONE)
            say(g, " + p.v[%d] * p%d", p->position[d], d);
    if (p->whole != NONE) {
        say(g, " + p.v[%d] * (", p->whole);
        if (instead->what == '*')
            expand(g, instead->text, instead->length);
        else
            say(g, "whole");
        say(g, ")");
    }
}

/* The type in memory. */
static const char *type_of(const struct generator *g, int o, bool grad)
{
    bool index = g->nest->operand[o].index && !grad;
    return index ? "int" : hp_call_real(g->call, o, grad) == REAL_BF16 ? "bf16" : "Real";
}

static void say_access(struct generator *g, int o, bool grad, const struct instead *instead)
{
    const struct place *p = place_of(g, o, grad);
    bool index = g->nest->operand[o].index && !grad;
    say(g, "%s(((const %s *)p.data[%d])[", index ? "Index" : "double", type_of(g, o, grad),
        p->data);
    say_index(g, p, instead);
    say(g, "])");
}

static int axis_called(const struct generator *g, char name)
{
    const struct operand *x = &g->nest->operand[0];
    if (name == '^') /* of the rows of a matrix */
        return x->dim[x->n_dims - 2].axis[0];
    if (name == '|') /* along which sums are cumulative */
        return (int)hp_attr_int(g->nest->attrs, ATTR_AXIS, 0, 0);
    return hp_nest_axis(g->nest, name);
}

static int operand_called(const struct generator *g, char name)
{
    for (int o = 0; o < g->nest->n_operands; o++)
        if (g->nest->operand[o].name[0] == name)
            return o;
    return NONE;
}

/* Does the pass read the operand, and is it there? */
static bool is_read(const struct generator *g, int o, bool grad)
{
    const struct target *t = g->target;
    const struct view *view = o < 0 ? NULL : grad ? &g->call->grad[o] : &g->call->value[o];
    return view && view->data && (grad ? t->reads_grad : t->reads) >> o & 1;
}

/* "x", "dx", "m1" (the second of a pair), "x[c=label]", behind a '$'. */
static const char *expand_operand(struct generator *g, const char *at)
{
    bool grad = at[0] == 'd' && islower((unsigned char)at[1]);
    char name = at[grad];
    int o = operand_called(g, name);
    struct instead instead = { 0, NONE, 0, NULL };
    at += grad + 1;
    if (isdigit((unsigned char)*at)) {
        instead = (struct instead){ '*', NONE, 1, at };
        at++;
    } else if (*at == '[') {
        const char *end = strchr(at, ']');
        int axis = at[1] == '*' ? NONE : axis_called(g, at[1]);
        instead = (struct instead){ at[1], axis, (int)(end - at) - 3, at + 3 };
        at = end + 1;
    }
    if (is_read(g, o, grad))
        say_access(g, o, grad, &instead);
    else
        say(g, name == 'w' ? "1" : "0"); /* an absent weight, an absent term */
    return at;
}

/* The row-major number of the target's element in its whole tensor. */
static void say_number(struct generator *g)
{
    const struct operand *o = &g->nest->operand[g->target->to];
    int64_t stride = 1;
    say(g, "(0");
    for (int d = o->n_dims - 1; d >= 0; stride *= o->size[d--])
        if (o->dim[d].n_axes)
            say(g, " + p.v[%d] * a%d", number(g, stride), o->dim[d].axis[0]);
    say(g, ")");
}

/* "c": the index of axis c; "<c", ">c": the part's range of it; "#c": its extent; "=": the
 * number of the element; behind an '@'. */
static const char *expand_axis(struct generator *g, const char *at)
{
    bool of_range = *at == '<' || *at == '>' || *at == '#';
    int axis = *at == '=' ? NONE : axis_called(g, at[of_range]);
    struct range r = axis < 0 ? (struct range){ 0, 0 } : g->call->range[axis];
    if (*at == '=')
        say_number(g);
    else if (*at == '#')
        say(g, "p.v[%d]", number(g, g->nest->axis[axis].extent));
    else if (of_range)
        say(g, "p.v[%d]", number(g, *at == '<' ? r.lo : r.hi));
    else
        say(g, "a%d", axis);
    return at + of_range + 1;
}

/* A text of the table of formulas. '%' is the mask of a dropout. */
static void expand(struct generator *g, const char *text, int n)
{
    const struct instead none = { 0, NONE, 0, NULL };
    for (const char *at = text, *end = text + n; at < end;) {
        if (*at == '$') {
            at = expand_operand(g, at + 1);
        } else if (*at == '@') {
            at = expand_axis(g, at + 1);
        } else if (*at == '%') {
            say(g, "((unsigned char *)p.data[%d])[", g->mask.data);
            say_index(g, &g->mask, &none);
            say(g, "]");
            at++;
        } else {
            say(g, "%c", *at++);
        }
    }
}

/* The product of all that is read. */
static void say_product(struct generator *g)
{
    const struct instead none = { 0, NONE, 0, NULL };
    say(g, g->target->constant[0] == 1 ? "acc += 1.0" : "acc += k0");
    for (int o = 0; o < g->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++)
            if (is_read(g, o, grad)) {
                say(g, " * ");
                say_access(g, o, grad, &none);
            }
    say(g, ";\n");
}

/* Loops --------------------------------------------------------------------------------- */

static void say_variable(struct generator *g, const struct loop *loop)
{
    if (loop->kind == LOOP_WHOLE)
        say(g, "whole");
    else
        say(g, "%c%d", loop->kind == LOOP_AXIS ? 'a' : 'p', loop->i);
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

static bool is_pair(const struct target *t)
{
    return t->formula && strstr(t->formula, "acc1");
}

/* One thread, or column of threads, for each element of the target. */
static void find_outer(struct generator *g)
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
}

/* The sum goes over all other axes of the pass; a product also over a dimension without an
 * axis. */
static void find_inner(struct generator *g)
{
    const struct target *t = g->target;
    for (int a = 0; a < g->nest->n_axes; a++)
        if (has_axis(t->axes & ~g->derived, a) && !has_loop(g->outer, g->n_outer, LOOP_AXIS, a))
            add_loop(g->inner, &g->n_inner, LOOP_AXIS, a, g->call->range[a]);
    for (int i = 0; i < g->nest->n_operands && !t->formula; i++) {
        const struct operand *o = &g->nest->operand[i];
        for (int d = 0; d < o->n_dims; d++)
            if ((t->reads | t->reads_grad) >> i & 1 && hp_cuda_is_whole(o, d) &&
                !has_loop(g->outer, g->n_outer, LOOP_WHOLE, 0))
                add_loop(g->inner, &g->n_inner, LOOP_WHOLE, 0, (struct range){ 0, o->size[d] });
    }
}

static int64_t steps_of(const struct loop *loop, int n)
{
    int64_t steps = 1;
    for (int i = 0; i < n; i++)
        steps *= loop[i].range.hi - loop[i].range.lo;
    return steps;
}

/* The indices of step `rest` of nested loops, the last one innermost. */
static void say_indices(struct generator *g, const struct loop *loop, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        int lo = number(g, loop[i].range.lo);
        int extent = number(g, loop[i].range.hi - loop[i].range.lo);
        say(g, "const Index ");
        say_variable(g, &loop[i]);
        if (i > 0)
            say(g, " = Index(p.v[%d]) + rest %% Index(p.v[%d]);\nrest /= Index(p.v[%d]);\n", lo,
                extent, extent);
        else
            say(g, " = Index(p.v[%d]) + rest;\n", lo);
    }
}

/* The dimension of the target along which the outputs of axis `axis` have windows; -1: none. */
static int window_dim(const struct generator *g, int axis)
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
    int first = number(g, dim->stride);
    number(g, dim->pad);
    number(g, dim->span);
    number(g, dim->divide);
    number(g, x->size[d]);
    number(g, hp_cuda_dilation(g->nest, d));
    number(g, hp_attr_int(attrs, ATTR_COUNT_PAD, 0, 1));
    number(g, hp_attr_int(attrs, ATTR_PAD, spatial + d - 2, 0));
    number(g, g->nest->kind == OP_RESIZE_LINEAR);
    return first;
}

/* Of an axis whose outputs have windows along the target: those that see its position. */
static void say_nested_loop(struct generator *g, const struct loop *loop)
{
    int d = loop->kind == LOOP_AXIS ? window_dim(g, loop->i) : NONE;
    int lo = number(g, loop->range.lo), hi = number(g, loop->range.hi);
    say(g, "Index first%d_%d = Index(p.v[%d]), last%d_%d = Index(p.v[%d]);\n", loop->kind,
        loop->i, lo, loop->kind, loop->i, hi);
    if (d != NONE)
        say(g, "outputs_of(p%d, p.v + %d, first%d_%d, last%d_%d);\n", d,
            window_numbers(g, &g->nest->operand[g->target->to], d), loop->kind, loop->i,
            loop->kind, loop->i);
    say(g, "for (Index ");
    say_variable(g, loop);
    say(g, " = first%d_%d; ", loop->kind, loop->i);
    say_variable(g, loop);
    say(g, " < last%d_%d; ", loop->kind, loop->i);
    say_variable(g, loop);
    say(g, "++) {\n");
}

/* What is left out ---------------------------------------------------------------------- */

/* The axes of positions of the target: position = stride * axis - pad + dilation * tap. */
static void say_derived(struct generator *g)
{
    const struct operand *o = &g->nest->operand[g->target->to];
    for (int d = 0; d < o->n_dims; d++) {
        const struct dim_map *dim = &o->dim[d];
        enum follows follows =
            dim->kind == DIM_AXIS ? hp_cuda_follows(g->nest, g->target, dim) : FOLLOWS_AXIS;
        if (follows != FOLLOWS_TAPS && follows != FOLLOWS_TRANSPOSED)
            continue;
        int a = dim->axis[0], dilation = number(g, hp_cuda_dilation(g->nest, d));
        bool taps = follows == FOLLOWS_TAPS;
        int64_t stride = hp_attr_int(g->nest->attrs, ATTR_STRIDE, d - 2, 1);
        int by = number(g, taps ? dim->stride : stride);
        int pad = number(g, taps ? dim->pad : hp_attr_int(g->nest->attrs, ATTR_PAD, d - 2, 0));
        if (taps)
            say(g,
                "Index a%d = p%d + Index(p.v[%d]) - a%d * Index(p.v[%d]);\n"
                "if (a%d < 0 || a%d %% Index(p.v[%d])) continue;\na%d /= Index(p.v[%d]);\n",
                a, d, pad, dim->taps, dilation, a, a, by, a, by);
        else
            say(g,
                "Index a%d = p%d * Index(p.v[%d]) - Index(p.v[%d]) + a%d * Index(p.v[%d]);\n",
                a, d, by, pad, dim->taps, dilation);
        say(g, "if (a%d < p.v[%d] || a%d >= p.v[%d]) continue;\n", a,
            number(g, g->call->range[a].lo), a, number(g, g->call->range[a].hi));
    }
}

static void say_outside(struct generator *g, const struct operand *o, int d)
{
    const struct dim_map *dim = &o->dim[d];
    int stride = number(g, dim->stride), pad = number(g, dim->pad),
        size = number(g, o->size[d]);
    say(g, "is_outside(p.v[%d] * a%d - p.v[%d]", stride, dim->axis[0], pad);
    if (hp_cuda_follows(g->nest, g->target, dim) == FOLLOWS_TAPS)
        say(g, " + p.v[%d] * a%d", number(g, hp_cuda_dilation(g->nest, d)), dim->taps);
    say(g, ", p.v[%d])", size);
}

/* Terms for which an operand that is read has no element are left out. */
static void say_checks(struct generator *g, int i)
{
    const struct operand *o = &g->nest->operand[i];
    for (int d = 0; d < o->n_dims; d++) {
        const struct dim_map *dim = &o->dim[d];
        enum follows follows =
            dim->kind == DIM_AXIS ? hp_cuda_follows(g->nest, g->target, dim) : FOLLOWS_WINDOW;
        if (follows == FOLLOWS_TRANSPOSED) {
            const struct attrs *attrs = g->nest->attrs;
            int by = number(g, hp_attr_int(attrs, ATTR_STRIDE, d - 2, 1));
            say(g,
                "Index p%d = a%d + Index(p.v[%d]) - a%d * Index(p.v[%d]);\n"
                "if (p%d < 0 || p%d %% Index(p.v[%d])) continue;\n"
                "p%d /= Index(p.v[%d]);\nif (p%d >= p.v[%d]) continue;\n",
                d, dim->axis[0], number(g, hp_attr_int(attrs, ATTR_PAD, d - 2, 0)), dim->taps,
                number(g, hp_cuda_dilation(g->nest, d)), d, d, by, d, by, d,
                number(g, o->size[d]));
        } else if (follows != FOLLOWS_WINDOW && hp_cuda_may_leave(g->nest, g->target, o, d)) {
            say(g, "if (");
            say_outside(g, o, d);
            say(g, ") continue;\n");
        }
    }
}

/* The windows of the current outputs, by dimension of the first operand. */
static void say_windows(struct generator *g)
{
    const struct operand *x = &g->nest->operand[0];
    bool any = false;
    for (int d = 1; d < x->n_dims; d++) {
        if (x->dim[d].kind != DIM_AXIS ||
            hp_cuda_follows(g->nest, g->target, &x->dim[d]) != FOLLOWS_WINDOW)
            continue;
        if (!any)
            say(g, "window in[5] = { { 0, 1, 1, 1 }, { 0, 1, 1, 1 }, { 0, 1, 1, 1 }, "
                   "{ 0, 1, 1, 1 }, { 0, 1, 1, 1 } };\n");
        any = true;
        say(g, "in[%d] = window_of(a%d, p.v + %d);\n", d - 1, x->dim[d].axis[0],
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
            bool used = is_read(g, o, grad) || (o == t->to && grad == t->grad);
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
            named |= (axis_set)1 << axis_called(g, *name);
    }
    return named;
}

/* One loop for axes whose indices lead along all operands as one index does: finding one index
 * of a step takes a division. */
static void join_loops(struct generator *g, struct loop *loop, int *n)
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

/* The kernel ---------------------------------------------------------------------------- */

static void say_body(struct generator *g)
{
    const struct target *t = g->target;
    say_derived(g);
    for (int o = 0; o < g->nest->n_operands; o++)
        if (is_read(g, o, false) || is_read(g, o, true))
            say_checks(g, o);
    say_windows(g);
    if (t->formula)
        expand(g, t->formula, (int)strlen(t->formula));
    else
        say_product(g);
    say(g, "\n");
}

static enum combine combine_of(const struct generator *g)
{
    return g->target->grad ? COMBINE_SUM : g->nest->operand[g->target->to].combine;
}

/* The end of the names of functions that combine so. */
static const char *const combine_name[] = {
    [COMBINE_SUM] = "sum", [COMBINE_MAX] = "max", [COMBINE_SOFTMAX] = "softmax"
};

/* Put acc, and acc1 of pairs, into the target. */
static void say_write(struct generator *g)
{
    const struct instead first = { '*', NONE, 1, "0" }, none = { 0, NONE, 0, NULL };
    const struct place *p = place_of(g, g->target->to, g->target->grad);
    bool fresh = g->target->fresh && !g->out->leaves_out;
    const char *type = type_of(g, g->target->to, g->target->grad);
    say(g, "%s *to = (%s *)p.data[%d] + (", type, type, p->data);
    say_index(g, p, g->pair ? &first : &none);
    say(g, ");\nput_%s%s<%s>(to, ", combine_name[combine_of(g)],
        g->pair && combine_of(g) == COMBINE_SUM ? "s" : "", fresh ? "true" : "false");
    if (g->pair)
        say(g, "p.v[%d], ", p->whole == NONE ? number(g, 0) : p->whole);
    say(g, g->pair ? "acc, acc1);\n" : "acc);\n");
}

static void say_inside(struct generator *g)
{
    const struct operand *o = &g->nest->operand[g->target->to];
    for (int d = 0; d < o->n_dims; d++)
        if (o->dim[d].kind == DIM_AXIS &&
            hp_cuda_follows(g->nest, g->target, &o->dim[d]) == FOLLOWS_AXIS &&
            hp_cuda_may_leave(g->nest, g->target, o, d)) {
            say(g, " && !");
            say_outside(g, o, d);
        }
}

static void say_beginning(struct generator *g)
{
    say(g, "double acc = %s, acc1 = 0;\n", combine_of(g) == COMBINE_SUM ? "0" : "p.least");
}

/* Constants of the formula, and indices of axes that have joined others. */
static void say_head(struct generator *g, const char *name)
{
    say(g,
        "extern \"C\" __global__ void %s(cuda_call p)\n{\n"
        "const double k0 = p.c[0], k1 = p.c[1], k2 = p.c[2], k3 = p.c[3];\n"
        "(void)k0, (void)k1, (void)k2, (void)k3;\n",
        name);
    for (int a = 0; a < g->nest->n_axes; a++)
        if (has_axis(g->joined, a))
            say(g, "const Index a%d = Index(p.v[%d]);\n", a, number(g, g->call->range[a].lo));
}

static void say_elements(struct generator *g, int outer)
{
    say(g,
        "for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.v[%d]; "
        "at += (long long)gridDim.x * blockDim.x) {\nIndex rest = Index(at);\n",
        outer);
    say_indices(g, g->outer, g->n_outer);
    say(g, "if (!(true");
    say_inside(g);
    say(g, ")) continue;\n");
}

/* From now on, of the target or of the others beside it. */
static void take(struct generator *g, const struct target *t)
{
    g->target = t;
    g->pair = is_pair(t);
}

/* The result of one element. A thread computes those of several before it writes any, so that
 * it waits for memory once. */
static void say_several(struct generator *g, int outer)
{
    say_head(g, "generated");
    say(g, "const auto find = [&](long long at, double &acc, double &acc1) {\n"
           "Index rest = Index(at);\n");
    say_indices(g, g->outer, g->n_outer);
    say(g, "if (!(true");
    say_inside(g);
    say(g, ")) return false;\nacc = %s;\nacc1 = 0;\n",
        combine_of(g) == COMBINE_SUM ? "0" : "p.least");
    say(g, "for (bool once = true; once; once = false) {\n");
    say_body(g);
    say(g, "}\nreturn true;\n};\n"
           "const auto put = [&](long long at, double acc, double acc1) {\n"
           "(void)acc1;\nIndex rest = Index(at);\n");
    say_indices(g, g->outer, g->n_outer);
    say_write(g);
    say(g,
        "};\nconst long long step = (long long)gridDim.x * blockDim.x;\n"
        "for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.v[%d]; "
        "at += %d * step) {\n"
        "double acc[%d], acc1[%d];\nbool there[%d];\n"
        "#pragma unroll\nfor (int i = 0; i < %d; i++)\n"
        "there[i] = at + i * step < p.v[%d] && find(at + i * step, acc[i], acc1[i]);\n"
        "#pragma unroll\nfor (int i = 0; i < %d; i++)\n"
        "if (there[i]) put(at + i * step, acc[i], acc1[i]);\n}\n}\n",
        outer, GENERATED_AT_ONCE, GENERATED_AT_ONCE, GENERATED_AT_ONCE, GENERATED_AT_ONCE,
        GENERATED_AT_ONCE, outer, GENERATED_AT_ONCE);
}

/* A thread for each element, whose terms it adds up. */
static void say_threads(struct generator *g, int outer)
{
    say_head(g, "generated");
    say_elements(g, outer);
    say_beginning(g);
    for (int i = 0; i < g->n_inner; i++)
        say_nested_loop(g, &g->inner[i]);
    say_body(g);
    for (int i = 0; i < g->n_inner; i++)
        say(g, "}\n");
    say_write(g);
    say(g, "}\n}\n");
}

static int count(const struct target *t)
{
    int n = 0;
    for (; t; t = t->also)
        n++;
    return n;
}

/* The second kernel of columns that go over several blocks. */
static void say_joining(struct generator *g, int outer)
{
    const struct target *first = g->target, *t = first;
    say_head(g, "joined");
    say_elements(g, outer);
    for (int i = 0; t; i++, t = t->also) {
        take(g, t);
        say(g, "{\n");
        say_beginning(g);
        say(g,
            "for (long long i = 0; i < p.n_slices; i++) {\n"
            "const double *found = p.slices + 2 * ((i * %d + %d) * p.v[%d] + at);\n"
            "join_two_%s(acc, acc1, found[0], found[1]);\n}\n",
            count(first), i, outer, combine_name[combine_of(g)]);
        say_write(g);
        say(g, "}\n");
    }
    take(g, first);
    say(g, "}\n}\n");
}

/* The sums of a column: of each target acc, and acc1 of pairs. */
static void say_sums(struct generator *g)
{
    const struct target *first = g->target, *t = first;
    int n = count(first);
    say(g, "double sum[%d], second[%d] = {};\n", n, n);
    for (int i = 0; t; i++, t = t->also) {
        take(g, t);
        say(g, "sum[%d] = %s;\n", i, combine_of(g) == COMBINE_SUM ? "0" : "p.least");
    }
    say(g,
        "for (Index step = Index(blockIdx.y * blockDim.y + threadIdx.y); mine && step < "
        "p.v[%d]; step += Index(gridDim.y * blockDim.y)) {\nIndex rest = step;\n",
        number(g, g->out->inner));
    say_indices(g, g->inner, g->n_inner);
    t = first;
    for (int i = 0; t; i++, t = t->also) {
        take(g, t);
        say(g, "{\ndouble &acc = sum[%d], &acc1 = second[%d];\n(void)acc1;\n", i, i);
        say_body(g);
        say(g, "}\n");
    }
    say(g, "}\n");
    take(g, first);
}

/* A column of threads for each element: the threads with the same threadIdx.x, of one block, or
 * of blocks that each have a slice of the terms. */
static void say_columns(struct generator *g, int outer)
{
    const struct target *first = g->target, *t = first;
    say_head(g, "generated");
    say(g,
        "const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "bool mine = at < p.v[%d];\nIndex rest = mine ? Index(at) : 0;\n",
        outer);
    say_indices(g, g->outer, g->n_outer);
    say(g, "mine = mine");
    say_inside(g);
    say(g, ";\n");
    say_sums(g);
    for (int i = 0; t; i++, t = t->also) {
        take(g, t);
        say(g,
            "{\njoin_column(sum[%d], second[%d], join_two_%s);\n"
            "const double acc = sum[%d], acc1 = second[%d];\n"
            "if (mine && !threadIdx.y && gridDim.y > 1) {\n"
            "double *found = p.slices + 2 * ((blockIdx.y * %d + %d) * p.v[%d] + at);\n"
            "found[0] = acc;\nfound[1] = acc1;\n} else if (mine && !threadIdx.y) {\n",
            i, i, combine_name[combine_of(g)], i, i, count(first), i, outer);
        say_write(g);
        say(g, "}\n__syncthreads();\n}\n");
    }
    take(g, first);
    say(g, "}\n");
    say_joining(g, outer);
}

/* Are the elements that consecutive threads of different elements read next to each other, in
 * more of the operands than those of consecutive terms? */
static bool is_along_outer(const struct generator *g)
{
    const struct loop *outer = g->n_outer ? &g->outer[g->n_outer - 1] : NULL;
    const struct loop *inner = g->n_inner ? &g->inner[g->n_inner - 1] : NULL;
    int score = 0;
    for (int o = 0; o < g->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            const struct place *p = grad ? &g->grad[o] : &g->value[o];
            if (!is_read(g, o, grad) || !((grad ? g->has_grad : g->has_value) >> o & 1))
                continue;
            if (outer && outer->kind == LOOP_AXIS && p->axis[outer->i] != NONE)
                score += g->out->call.v[p->axis[outer->i]] == 1;
            if (inner && inner->kind == LOOP_AXIS && p->axis[inner->i] != NONE)
                score -= g->out->call.v[p->axis[inner->i]] == 1;
        }
    return score > 0;
}

static bool reads_windows(const struct generator *g)
{
    for (int i = 0; i < g->n_inner; i++)
        if (g->inner[i].kind == LOOP_AXIS && window_dim(g, g->inner[i].i) != NONE)
            return true;
    return false;
}

static void find_mask(struct generator *g)
{
    const struct view *mask = &g->call->mask;
    if (mask->data && g->nest->kind == OP_DROPOUT)
        g->mask = new_place(g, operand_called(g, 'y'), mask);
}

void hp_cuda_generate(struct generated *out, const struct kernel_call *call,
                      const struct target *target, bool in_columns)
{
    struct generator generator = {
        .out = out, .call = call, .nest = call->nest, .target = target, .pair = is_pair(target)
    };
    struct generator *g = &generator;
    out->leaves_out = false;
    find_outer(g);
    find_inner(g);
    join_loops(g, g->outer, &g->n_outer);
    join_loops(g, g->inner, &g->n_inner);
    out->outer = steps_of(g->outer, g->n_outer);
    out->inner = steps_of(g->inner, g->n_inner);
    out->in_columns = in_columns && g->n_inner > 0 && !reads_windows(g);
    out->at_once = g->n_inner > 0 ? 1 : GENERATED_AT_ONCE;
    bool small = out->outer < INT32_MAX && out->inner < INT32_MAX;
    out->call.least = (double)-INFINITY;
    out->call.key = call->key;
    memcpy(out->call.c, target->constant, sizeof out->call.c);
    out->types = call->real == REAL_F32
                     ? small ? "typedef float Real;\ntypedef int Index;\n"
                             : "typedef float Real;\ntypedef long long Index;\n"
                 : small ? "typedef double Real;\ntypedef int Index;\n"
                         : "typedef double Real;\ntypedef long long Index;\n";
    find_mask(g);
    int outer = number(g, out->outer);
    if (out->in_columns)
        say_columns(g, outer);
    else if (out->at_once > 1)
        say_several(g, outer);
    else
        say_threads(g, outer);
    out->along_outer = is_along_outer(g);
}

char *hp_cuda_source(struct arena *arena, const struct generated *g)
{
    return hp_arena_printf(arena, "%s%s%s%s", g->types, hp_cuda_generic,
                           g->in_columns ? hp_cuda_columns : "", g->text);
}
