/* The expressions of a generated kernel: where elements lie, and what formulas become. */
#include "run/backend/cuda/generator.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "run/backend/cuda/affine.h"
#include "run/backend/narrow.h"

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
void hp_gen_say(struct generator *g, const char *fmt, ...)
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

int hp_gen_number(struct generator *g, int64_t value)
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

struct place hp_gen_new_place(struct generator *g, int o, const struct view *view)
{
    struct affine f = hp_cuda_affine_of(g->call, g->target, o, view);
    struct place p = { .data = new_data(g, view->data), .whole = NONE };
    for (int d = 0; d < MAX_DIMS; d++)
        p.position[d] = f.has_position[d] ? hp_gen_number(g, f.position[d]) : NONE;
    if (f.whole_extent)
        p.whole = hp_gen_number(g, f.whole);
    for (int a = 0; a < MAX_AXES; a++)
        p.axis[a] = hp_gen_has_axis(f.axes, a) ? hp_gen_number(g, f.step[a]) : NONE;
    p.base = hp_gen_number(g, f.base);
    return p;
}

const struct place *hp_gen_place_of(struct generator *g, int o, bool grad)
{
    operand_set bit = (operand_set)1 << o, *has = grad ? &g->has_grad : &g->has_value;
    struct place *p = grad ? &g->grad[o] : &g->value[o];
    if (!(*has & bit))
        *p = hp_gen_new_place(g, o, grad ? &g->call->grad[o] : &g->call->value[o]);
    *has |= bit;
    return p;
}

/* Formulas ------------------------------------------------------------------------------ */

void hp_gen_say_index(struct generator *g, const struct place *p, const struct instead *instead)
{
    hp_gen_say(g, "p.v[%d]", p->base);
    for (int a = 0; a < MAX_AXES; a++) {
        if (p->axis[a] == NONE)
            continue;
        hp_gen_say(g, " + p.v[%d] * (", p->axis[a]);
        if (instead->what && instead->axis == a)
            hp_gen_expand(g, instead->text, instead->length);
        else
            hp_gen_say(g, "a%d", a);
        hp_gen_say(g, ")");
    }
    for (int d = 0; d < MAX_DIMS; d++)
        if (p->position[d] != NONE)
            hp_gen_say(g, " + p.v[%d] * p%d", p->position[d], d);
    if (p->whole != NONE) {
        hp_gen_say(g, " + p.v[%d] * (", p->whole);
        if (instead->what == '*')
            hp_gen_expand(g, instead->text, instead->length);
        else
            hp_gen_say(g, "whole");
        hp_gen_say(g, ")");
    }
}

/* The type in memory. */
const char *hp_gen_type_of(const struct generator *g, int o, bool grad)
{
    bool index = g->nest->operand[o].index && !grad;
    return index ? "int" : hp_call_real(g->call, o, grad) == REAL_BF16 ? "bf16" : "Real";
}

static void say_access(struct generator *g, int o, bool grad, const struct instead *instead)
{
    const struct place *p = hp_gen_place_of(g, o, grad);
    bool index = g->nest->operand[o].index && !grad;
    if (hp_gen_is_pairs(g, o, grad) && instead->what == '*') {
        hp_gen_say(g, "double(value%d.at[2 * lane + ", o);
        hp_gen_expand(g, instead->text, instead->length);
        hp_gen_say(g, "])");
        return;
    }
    if (hp_gen_is_chunk(g, o, grad) && p->whole == NONE && !instead->what) {
        hp_gen_say(g, "%s(%s%d.at[lane])", index ? "Index" : "double", grad ? "grad" : "value",
                   o);
        return;
    }
    hp_gen_say(g, "%s(((const %s *)p.data[%d])[", index ? "Index" : "double",
               hp_gen_type_of(g, o, grad), p->data);
    hp_gen_say_index(g, p, instead);
    hp_gen_say(g, "])");
}

int hp_gen_axis_called(const struct generator *g, char name)
{
    const struct operand *x = &g->nest->operand[0];
    if (name == '^') /* of the rows of a matrix */
        return x->dim[x->n_dims - 2].axis[0];
    if (name == '|') /* along which sums are cumulative */
        return (int)hp_attr_int(g->nest->attrs, ATTR_AXIS, 0, 0);
    return hp_nest_axis(g->nest, name);
}

int hp_gen_operand_called(const struct generator *g, char name)
{
    for (int o = 0; o < g->nest->n_operands; o++)
        if (g->nest->operand[o].name[0] == name)
            return o;
    return NONE;
}

/* Does the pass read the operand, and is it there? */
bool hp_gen_is_read(const struct generator *g, int o, bool grad)
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
    int o = hp_gen_operand_called(g, name);
    struct instead instead = { 0, NONE, 0, NULL };
    at += grad + 1;
    if (isdigit((unsigned char)*at)) {
        instead = (struct instead){ '*', NONE, 1, at };
        at++;
    } else if (*at == '[') {
        const char *end = strchr(at, ']');
        int axis = at[1] == '*' ? NONE : hp_gen_axis_called(g, at[1]);
        instead = (struct instead){ at[1], axis, (int)(end - at) - 3, at + 3 };
        at = end + 1;
    }
    if (hp_gen_is_read(g, o, grad))
        say_access(g, o, grad, &instead);
    else
        hp_gen_say(g, name == 'w' ? "1" : "0"); /* an absent weight, an absent term */
    return at;
}

/* The row-major number of the target's element in its whole tensor. */
static void say_number(struct generator *g)
{
    const struct operand *o = &g->nest->operand[g->target->to];
    int64_t stride = 1;
    hp_gen_say(g, "(0");
    for (int d = o->n_dims - 1; d >= 0; stride *= o->size[d--])
        if (o->dim[d].n_axes)
            hp_gen_say(g, " + p.v[%d] * a%d", hp_gen_number(g, stride), o->dim[d].axis[0]);
    hp_gen_say(g, ")");
}

/* "c": the index of axis c; "<c", ">c": the part's range of it; "#c": its extent; "=": the
 * number of the element; behind an '@'. */
static const char *expand_axis(struct generator *g, const char *at)
{
    bool of_range = *at == '<' || *at == '>' || *at == '#';
    int axis = *at == '=' ? NONE : hp_gen_axis_called(g, at[of_range]);
    struct range r = axis < 0 ? (struct range){ 0, 0 } : g->call->range[axis];
    if (*at == '=')
        say_number(g);
    else if (*at == '#')
        hp_gen_say(g, "p.v[%d]", hp_gen_number(g, g->nest->axis[axis].extent));
    else if (of_range)
        hp_gen_say(g, "p.v[%d]", hp_gen_number(g, *at == '<' ? r.lo : r.hi));
    else
        hp_gen_say(g, "a%d", axis);
    return at + of_range + 1;
}

/* A text of the table of formulas. '%' is the mask of a dropout. */
void hp_gen_expand(struct generator *g, const char *text, int n)
{
    const struct instead none = { 0, NONE, 0, NULL };
    for (const char *at = text, *end = text + n; at < end;) {
        if (*at == '$') {
            at = expand_operand(g, at + 1);
        } else if (*at == '@') {
            at = expand_axis(g, at + 1);
        } else if (*at == '%') {
            hp_gen_say(g, "((unsigned char *)p.data[%d])[", g->mask.data);
            hp_gen_say_index(g, &g->mask, &none);
            hp_gen_say(g, "]");
            at++;
        } else {
            hp_gen_say(g, "%c", *at++);
        }
    }
}

/* The product of all that is read. */
void hp_gen_say_product(struct generator *g)
{
    const struct instead none = { 0, NONE, 0, NULL };
    hp_gen_say(g, g->target->constant[0] == 1 ? "acc += double(1)" : "acc += k0");
    for (int o = 0; o < g->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++)
            if (hp_gen_is_read(g, o, grad)) {
                hp_gen_say(g, " * ");
                say_access(g, o, grad, &none);
            }
    hp_gen_say(g, ";\n");
}
