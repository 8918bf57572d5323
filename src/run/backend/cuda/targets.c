/* What a pass writes, and by which formulas. */
#include <string.h>

#include "run/backend/cuda/formulas.h"
#include "run/backend/cuda/generate.h"

/* Copies of operand `from`, times `scale`, are added to `to`. */
static struct target copy_of(const struct kernel_call *call, int to, int from, bool grad,
                             double scale)
{
    const struct operand *operand = call->nest->operand;
    operand_set bit = (operand_set)1 << from;
    return (struct target){ .to = to,
                            .grad = grad,
                            .reads = grad ? 0 : bit,
                            .reads_grad = grad ? bit : 0,
                            .axes = operand[to].axes | operand[from].axes,
                            .constant = { scale } };
}

/* Nothing is added. */
static struct target nothing_for(const struct kernel_call *call, const struct target *t)
{
    struct target none = *t;
    none.formula = "";
    none.reads = none.reads_grad = 0;
    none.axes = call->nest->operand[t->to].axes;
    return none;
}

/* A bias that is added to the product, and not only after partial sums: there are none. */
static operand_set bias_of(const struct nest *nest, const struct pass *pass)
{
    for (int o = 0; o < nest->n_operands && !pass->backward; o++)
        if (nest->operand[o].name[0] == 'b' && hp_in_set(pass->reads & ~pass->adds, o))
            return (operand_set)1 << o;
    return 0;
}

static void add_terms(const struct kernel_call *call, int to, operand_set terms, each_target *f,
                      void *who)
{
    for (int o = 0; o < call->nest->n_operands; o++)
        if (hp_in_set(terms, o) && call->value[o].data) {
            struct target add = copy_of(call, to, o, false, 1);
            f(who, call, &add);
        }
}

static void product(const struct kernel_call *call, struct target *t, each_target *f, void *who)
{
    operand_set bias = bias_of(call->nest, &call->nest->pass[call->pass]);
    t->reads &= ~bias;
    t->constant[0] = 1;
    f(who, call, t);
    add_terms(call, t->to, bias, f, who);
}

static void copies(const struct kernel_call *call, const struct target *t, each_target *f,
                   void *who)
{
    const struct pass *pass = &call->nest->pass[call->pass];
    operand_set reads = pass->backward ? pass->reads_grad : pass->reads & ~pass->adds;
    bool fresh = t->fresh,
         mean = call->nest->kind == OP_REDUCE_MEAN || call->nest->kind == OP_GLOBAL_AVG_POOL;
    for (int o = 0; o < call->nest->n_operands; o++) {
        if (!hp_in_set(reads, o) || !(t->grad ? call->grad[o].data : call->value[o].data))
            continue;
        struct target copy = copy_of(call, t->to, o, t->grad, mean ? t->constant[0] : 1);
        copy.fresh = fresh;
        fresh = false;
        f(who, call, &copy);
    }
    if (fresh) {
        struct target none = nothing_for(call, t);
        f(who, call, &none);
    }
}

static axis_set axes_called(const struct nest *nest, const char *letters)
{
    axis_set axes = 0;
    for (; *letters; letters++)
        if (hp_nest_axis(nest, *letters) >= 0)
            axes |= (axis_set)1 << hp_nest_axis(nest, *letters);
    return axes;
}

static void write_one(const struct kernel_call *call, int o, bool grad, each_target *f,
                      void *who)
{
    const struct nest *nest = call->nest;
    const struct pass *pass = &nest->pass[call->pass];
    char room[FORMULA_BYTES];
    struct formula formula = hp_cuda_formula(call, o, grad, room);
    struct target t = { .to = o,
                        .grad = grad,
                        .fresh = hp_in_set(grad ? call->fresh_grad : call->fresh, o),
                        .formula = formula.text,
                        .reads = pass->reads & ~pass->adds,
                        .reads_grad = pass->reads_grad,
                        .axes = pass->axes & ~axes_called(nest, formula.left_out) };
    hp_cuda_constants(call, t.constant);
    if (formula.kind == FORMULA_PRODUCT)
        product(call, &t, f, who);
    else if (formula.kind == FORMULA_COPIES)
        copies(call, &t, f, who);
    else if (formula.kind == FORMULA_NONE)
        t = nothing_for(call, &t);
    if (formula.kind == FORMULA_TEXT || formula.kind == FORMULA_NONE)
        f(who, call, &t);
    if (!grad && call->add_after)
        add_terms(call, o, pass->adds, f, who);
}

void hp_cuda_targets(const struct kernel_call *call, each_target *f, void *who)
{
    const struct pass *pass = &call->nest->pass[call->pass];
    for (int o = 0; o < call->nest->n_operands; o++) {
        if (hp_in_set(pass->writes, o) && call->value[o].data)
            write_one(call, o, false, f, who);
        if (hp_in_set(pass->writes_grad, o) && call->grad[o].data)
            write_one(call, o, true, f, who);
    }
}
