/* The passes of a fitted row: the operands that each reads and writes, and its operations. */
#include <ctype.h>
#include <string.h>

#include "graph/binding.h"

static bool present(const struct binding *b, int o)
{
    enum operand_role role = b->operand[o].role;
    return role == OPERAND_OUTPUT || role == OPERAND_STAT || b->input[o] || b->make[o];
}

/* All present operands called `letter`: one, or every x of "x...". */
static operand_set named(const struct binding *b, char letter)
{
    operand_set set = 0;
    for (int o = 0; o < b->n_operands; o++)
        if (b->operand[o].name[0] == letter && present(b, o))
            set |= (operand_set)1 << o;
    return set;
}

static axis_set axes_of(const struct binding *b, operand_set set)
{
    axis_set axes = 0;
    for (int o = 0; o < b->n_operands; o++)
        if (set >> o & 1)
            axes |= b->operand[o].axes;
    return axes;
}

/* "x w +b dy" up to "->", or "dx" up to ':', '/' or ';'. */
static const char *read_names(const struct binding *b, const char *p, operand_set *values,
                              operand_set *grads, operand_set *adds)
{
    for (;; p++) {
        if (*p == ' ')
            continue;
        bool add = *p == '+';
        p += add;
        if (!islower((unsigned char)*p))
            return p;
        bool grad = *p == 'd' && islower((unsigned char)p[1]);
        operand_set set = named(b, p[grad]);
        if (add)
            *adds |= set;
        *(grad ? grads : values) |= set;
        p += grad;
    }
}

static double read_number(const char **p)
{
    double number = 0;
    for (; isdigit((unsigned char)**p); (*p)++)
        number = number * 10 + (**p - '0');
    return number;
}

/* "3*", "nb|m|k|c+4ntk": sums of products of axis extents; an axis that the pass lacks counts
 * once. In a term with bars the last three fields describe a matrix product (struct
 * matrix_product), stored in `product` (NULL: not allowed). */
static const char *read_count(const struct binding *b, const char *p, axis_set axes,
                              double *out, struct matrix_product *product, int *n_products)
{
    struct matrix_product fields = { .times = { 1, 1, 1 }, .macs = 1 };
    bool any = false, bars = false;
    for (;; p++) {
        if (*p == ' ')
            continue;
        if (*p == '|') {
            fields.each |= fields.axes[0];
            memmove(fields.axes, fields.axes + 1, 2 * sizeof *fields.axes);
            memmove(fields.times, fields.times + 1, 2 * sizeof *fields.times);
            fields.axes[2] = 0;
            fields.times[2] = 1;
            bars = true;
        } else if (*p == '+' || *p == '\0' || *p == '/' || *p == ';') {
            *out += any ? fields.macs : 0;
            if (bars && product)
                product[(*n_products)++] = fields;
            fields = (struct matrix_product){ .times = { 1, 1, 1 }, .macs = 1 };
            any = bars = false;
            if (*p != '+')
                return p;
        } else if (isdigit((unsigned char)*p)) {
            double number = read_number(&p);
            p--;
            fields.macs *= number;
            fields.times[2] *= number;
            any = true;
        } else {
            any = true;
            for (int a = 0; a < b->n_axes; a++)
                if (*p == '*' ? (axes >> a & 1) != 0 : b->axis[a].name[0] == *p) {
                    fields.macs *= (double)b->axis[a].extent;
                    fields.axes[2] |= (axis_set)1 << a;
                }
        }
    }
}

/* Only one in `stride` taps of a transposed convolution meets an element. */
static void leave_out_taps(const struct binding *b, struct pass *pass)
{
    double share = 1;
    for (int d = 0; d < b->operand[0].n_dims; d++) {
        const struct dim_map *map = &b->operand[0].dim[d];
        if (map->divide && map->taps && pass->axes >> map->taps & 1)
            share *= (double)map->stride / (double)map->divide;
    }
    pass->macs *= share;
    for (int i = 0; i < pass->n_products; i++) {
        pass->product[i].macs *= share;
        pass->product[i].times[PRODUCT_SUMMED] *= share;
    }
}

static const char *read_pass(struct binding *b, const char *p)
{
    struct pass pass = { 0 };
    operand_set no_adds = 0;
    p = read_names(b, p, &pass.reads, &pass.reads_grad, &pass.adds);
    p = read_names(b, p + 2, &pass.writes, &pass.writes_grad, &no_adds); /* after "->" */
    pass.axes = axes_of(b, (pass.reads & ~pass.adds) | pass.reads_grad | pass.writes |
                               pass.writes_grad);
    if (*p == ':') {
        p = read_count(b, p + 1, pass.axes, &pass.macs, pass.product, &pass.n_products);
        leave_out_taps(b, &pass);
    }
    if (*p == '/')
        p = read_count(b, p + 1, pass.axes, &pass.other, NULL, NULL);
    pass.backward = pass.reads_grad || pass.writes_grad;
    if (pass.writes || pass.writes_grad)
        b->pass[b->n_passes++] = pass;
    return p + (*p == ';');
}

bool hp_bind_passes(struct binding *b)
{
    for (int o = 0; o < b->n_operands; o++)
        for (int d = 0; d < b->operand[o].n_dims; d++)
            for (int i = 0; i < b->operand[o].dim[d].n_axes; i++)
                b->operand[o].axes |= (axis_set)1 << b->operand[o].dim[d].axis[i];
    for (const char *p = b->row->passes; *p;) {
        p = read_pass(b, p);
        p += strspn(p, " ");
    }
    if (b->row->flags &
        ROW_OPAQUE) { /* given by the user; backward is taken as twice forward */
        double macs = hp_attr(b->attrs, ATTR_FLOPS, 0, 0) / 2;
        for (int i = 0; i < b->n_passes; i++)
            b->pass[i].macs = b->pass[i].backward ? 2 * macs : macs;
    }
    return true;
}
