/* Passes of operators on a card: each by the first of the ways that can compute it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "kernel/walk.h"
#include "run/backend/cuda/affine.h"
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/formulas.h"
#include "run/backend/cuda/launch.h"
#include "run/backend/cuda/multiply.h"
#include "run/backend/cuda/sources.h"
#include "run/running.h"

/* Of two operands. */
static bool is_product(const struct target *t)
{
    operand_set reads = t->reads | t->reads_grad;
    return !t->formula && reads & (reads - 1);
}

static void launch(void *who, const struct kernel_call *call, const struct target *target)
{
    const struct backend *b = who;
    bool product = is_product(target);
    if ((product && hp_cuda_convolve_dnn(b, call)) || hp_cuda_multiply(b->card, call, target) ||
        (product && hp_cuda_convolve(b, call)))
        return;
    hp_cuda_run_target(b, call, target);
}

/* Shapes without common factors --------------------------------------------------------- */

/* As reshape() of the reference kernels. */
static bool goes_by_number(const struct nest *nest)
{
    if (nest->kind != OP_RESHAPE && nest->kind != OP_FLATTEN && nest->kind != OP_SQUEEZE &&
        nest->kind != OP_UNSQUEEZE)
        return false;
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < nest->operand[o].n_dims; d++)
            if (!nest->operand[o].dim[d].n_axes && nest->operand[o].size[d] > 1)
                return true;
    return false;
}

static void reshape(const struct backend *b, const struct kernel_call *call)
{
    bool forward = call->nest->pass[call->pass].writes != 0;
    const struct view *to = forward ? &call->value[1] : &call->grad[0];
    const struct view *from = forward ? &call->value[0] : &call->grad[1];
    const int64_t *to_size = call->nest->operand[forward].size;
    const int64_t *from_size = call->nest->operand[!forward].size;
    struct box box = hp_region(call->nest, forward, call->range);
    struct cuda_reshape r = { .to = to->data,
                              .from = from->data,
                              .n = hp_box_elements(&box),
                              .to_dims = to->box.n_dims,
                              .from_dims = from->box.n_dims };
    for (int d = 0; d < r.to_dims; d++) {
        r.to_lo[d] = box.dim[d].lo;
        r.to_extent[d] = box.dim[d].hi - box.dim[d].lo;
        r.to_size[d] = to_size[d];
        r.to_stride[d] = to->stride[d];
        r.to_base -= to->box.dim[d].lo * to->stride[d];
    }
    for (int d = 0; d < r.from_dims; d++) {
        r.from_size[d] = from_size[d];
        r.from_stride[d] = from->stride[d];
        r.from_base -= from->box.dim[d].lo * from->stride[d];
    }
    struct cuda_grid grid = hp_cuda_grid(r.n);
    hp_cuda_launch(
        b->card,
        hp_cuda_function_of(b->card, "reshape", hp_cuda_reshape, "reshape", call->real), &grid,
        (void *[]){ &r });
}

/* Tables that ids look up --------------------------------------------------------------- */

static bool is_table_gradient(const struct kernel_call *call)
{
    return call->nest->kind == OP_EMBEDDING && call->nest->pass[call->pass].writes_grad;
}

static void add_rows(const struct backend *b, const struct kernel_call *call)
{
    enum { I, W, Y, MOST_BLOCKS = 65535, THREADS = 128, COLUMNS = 8 * THREADS };
    const struct nest *nest = call->nest;
    const struct target t = { .axes = nest->pass[call->pass].axes };
    const char letters[] = "ntu";
    int v = hp_nest_axis(nest, 'v'), k = hp_nest_axis(nest, 'k');
    struct affine ids, to, from;
    hp_cuda_affine(call, &t, I, false, &ids);
    hp_cuda_affine(call, &t, W, true, &to);
    hp_cuda_affine(call, &t, Y, true, &from);
    struct cuda_lookup l = { .extent = { 1, 1, 1 },
                             .lo = call->range[v].lo,
                             .hi = call->range[v].hi,
                             .width = call->range[k].hi - call->range[k].lo,
                             .to_row = to.step[v],
                             .to_column = to.step[k],
                             .from_column = from.step[k] };
    to.base += to.step[k] * call->range[k].lo;
    from.base += from.step[k] * call->range[k].lo;
    for (int i = 0; i < 3; i++) {
        int a = hp_nest_axis(nest, letters[i]);
        if (a < 0)
            continue;
        l.extent[i] = call->range[a].hi - call->range[a].lo;
        l.id_step[i] = ids.step[a];
        l.from_step[i] = from.step[a];
        ids.base += ids.step[a] * call->range[a].lo;
        from.base += from.step[a] * call->range[a].lo;
    }
    enum real real = hp_call_real(call, W, true);
    int64_t size = (int64_t)hp_real_bytes(real), n = l.extent[0] * l.extent[1] * l.extent[2];
    if (n == 0 || l.width == 0)
        return;
    l.ids = (const int *)call->value[I].data + ids.base;
    l.to = (char *)call->grad[W].data + to.base * size;
    l.from = (const char *)call->grad[Y].data + from.base * size;
    struct cuda_grid grid = { { (unsigned)(n < MOST_BLOCKS ? n : MOST_BLOCKS),
                                (unsigned)((l.width + COLUMNS - 1) / COLUMNS) },
                              { THREADS },
                              0 };
    hp_cuda_launch(b->card,
                   hp_cuda_function_of(b->card, "lookup", hp_cuda_lookup, "add_rows", real),
                   &grid, (void *[]){ &l });
}

/* bf16 ---------------------------------------------------------------------------------- */

/* Products of cuDNN and cuBLAS have one precision in memory. */
static bool is_mixed(const struct kernel_call *call)
{
    operand_set all = ((operand_set)1 << call->nest->n_operands) - 1, there = 0, there_grad = 0;
    const struct pass *pass = &call->nest->pass[call->pass];
    for (int o = 0; o < call->nest->n_operands; o++) {
        bool index = call->nest->operand[o].index;
        there |= call->value[o].data && !index ? (operand_set)1 << o : 0;
        there_grad |= call->grad[o].data ? (operand_set)1 << o : 0;
    }
    operand_set values = (pass->reads | pass->writes) & there & all,
                grads = (pass->reads_grad | pass->writes_grad) & there_grad & all;
    return (values & ~call->narrow) | (grads & ~call->narrow_grad);
}

bool hp_cuda_is_narrow(const struct kernel_call *call)
{
    enum op_kind kind = call->nest->kind;
    bool recurrent =
        kind == OP_LSTM || kind == OP_LSTM_CELL || kind == OP_GRU || kind == OP_GRU_CELL;
    return !hp_is_narrow_call(call) ||
           !(recurrent || goes_by_number(call->nest) ||
             ((kind == OP_CONV || is_table_gradient(call)) && is_mixed(call)));
}

/* Passes -------------------------------------------------------------------------------- */

static void clear_fresh(const struct backend *b, const struct kernel_call *call)
{
    const struct pass *pass = &call->nest->pass[call->pass];
    for (int o = 0; o < call->nest->n_operands; o++) {
        if (hp_in_set(pass->writes & call->fresh, o))
            hp_cuda_clear(b, call, o, false);
        if (hp_in_set(pass->writes_grad & call->fresh_grad, o))
            hp_cuda_clear(b, call, o, true);
    }
}

static void run_pass(const struct backend *b, const struct kernel_call *call)
{
    bool recurrent = hp_cuda_is_recurrent(call), by_number = goes_by_number(call->nest);
    bool table = is_table_gradient(call);
    if (recurrent || by_number || table)
        clear_fresh(b, call);
    if (table)
        add_rows(b, call);
    else if (recurrent)
        hp_cuda_recurrent_pass(b, call);
    else if (by_number)
        reshape(b, call);
    else
        hp_cuda_targets(call, launch, (void *)(uintptr_t)b);
}

/* Sums of norms ------------------------------------------------------------------------- */

/* Targets of several passes that read the same operands. */
enum { MOST_SUMS = 4 };
struct sums {
    struct target t[MOST_SUMS];
    char formula[MOST_SUMS][FORMULA_BYTES];
    bool begun[MOST_SUMS];
    int n;
};

static void collect(void *who, const struct kernel_call *call, const struct target *t)
{
    struct sums *s = who;
    (void)call;
    assert(s->n < MOST_SUMS);
    s->t[s->n] = *t;
    if (t->formula) {
        snprintf(s->formula[s->n], FORMULA_BYTES, "%s", t->formula);
        s->t[s->n].formula = s->formula[s->n];
    }
    s->n++;
}

/* Have they the same elements and terms, and the same constants? */
static bool is_beside(const struct nest *nest, const struct target *a, const struct target *b)
{
    return nest->operand[a->to].axes == nest->operand[b->to].axes && a->axes == b->axes &&
           ((!b->formula && b->constant[0] == 1) ||
            memcmp(a->constant, b->constant, sizeof a->constant) == 0);
}

/* What is read is read once for all sums over the same elements. */
static void run_sums(const struct backend *b, const struct kernel_call *call, pass_set passes)
{
    struct sums s = { .n = 0 };
    struct kernel_call one = *call;
    for (one.pass = 0; one.pass < call->nest->n_passes; one.pass++)
        if (passes >> one.pass & 1)
            hp_cuda_targets(&one, collect, &s);
    for (int i = 0; i < s.n; i++) {
        struct target *last = &s.t[i];
        for (int j = i + 1; j < s.n && !s.begun[i]; j++)
            if (!s.begun[j] && is_beside(call->nest, &s.t[i], &s.t[j])) {
                last->also = &s.t[j];
                last = &s.t[j];
                s.begun[j] = true;
            }
        if (!s.begun[i])
            hp_cuda_run_target(b, call, &s.t[i]);
    }
}

/* Several passes ------------------------------------------------------------------------ */

/* The passes that are computed together: of an attention all but those of t, which is written
 * before, and of a bias; the backward sums of a norm. */
static pass_set together(const struct nest *nest, pass_set passes)
{
    pass_set set = 0;
    bool attention = nest->kind == OP_ATTENTION;
    bool norm = nest->kind == OP_BATCH_NORM || nest->kind == OP_LAYER_NORM;
    int t = hp_operand(nest, 't'), bias = hp_operand(nest, 'b');
    for (int p = 0; p < nest->n_passes && (attention || norm); p++) {
        const struct pass *pass = &nest->pass[p];
        bool other = attention ? hp_in_set(pass->writes, t) ||
                                     (bias >= 0 && hp_in_set(pass->writes_grad, bias))
                               : !pass->backward || hp_in_set(pass->writes_grad, 0);
        if (passes >> p & 1 && !other)
            set |= (pass_set)1 << p;
    }
    return set;
}

void hp_cuda_compute(const struct backend *b, const struct kernel_call *call)
{
    pass_set passes = call->passes ? call->passes : (pass_set)1 << call->pass, done = 0;
    pass_set several = together(call->nest, passes);
    bool attention = call->nest->kind == OP_ATTENTION;
    struct kernel_call one = *call;
    for (one.pass = 0; one.pass < call->nest->n_passes; one.pass++) {
        pass_set this = (pass_set)1 << one.pass;
        one.passes = several;
        if (several & this && !(done & this)) {
            bool is_done = !attention || hp_cuda_attend(b, &one);
            if (!attention)
                run_sums(b, &one, several);
            done |= is_done ? several : 0;
        }
        one.passes = 0;
        if (passes & this & ~done)
            run_pass(b, &one);
        done |= this;
    }
}

pass_set hp_cuda_joint(const struct nest *nest, int pass)
{
    pass_set joint = (pass_set)1 << pass;
    bool joins = nest->kind == OP_ATTENTION || nest->kind == OP_BATCH_NORM ||
                 nest->kind == OP_LAYER_NORM;
    for (int p = pass + 1; p < nest->n_passes && joins; p++)
        if (nest->pass[p].backward == nest->pass[pass].backward)
            joint |= (pass_set)1 << p;
    return joint;
}

void hp_cuda_move_running(const struct backend *b, const struct kernel_call *call, int operand,
                          const struct view *running)
{
    const struct view *sums = &call->value[operand];
    struct box box = hp_region(call->nest, operand, call->range);
    size_t size = hp_real_bytes(call->real);
    int64_t lo = box.dim[0].lo;
    struct cuda_running r = {
        .sums = (const char *)sums->data +
                (size_t)((lo - sums->box.dim[0].lo) * sums->stride[0]) * size,
        .running = (char *)running->data +
                   (size_t)((lo - running->box.dim[0].lo) * running->stride[0]) * size,
        .n = box.dim[0].hi - lo,
        .sums_stride = sums->stride[0],
        .sums_second = sums->stride[1],
        .running_stride = running->stride[0],
        .running_second = running->stride[1],
        .count = hp_running_numbers(call, operand),
    };
    struct cuda_grid grid = hp_cuda_grid(r.n);
    hp_cuda_launch(
        b->card, hp_cuda_function_of(b->card, "update", hp_cuda_update, "running", call->real),
        &grid, (void *[]){ &r });
}
