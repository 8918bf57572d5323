/* Every operator kind: backward passes against finite differences of the forward passes, and
 * fp32 against fp64. */
#include "kernel/scalar.h"
#include "tests/kernel/harness.h"

/* The same for every run: drawn from the operand and the element. */
static double draw(const struct subject *s, int o, int64_t e, bool grad)
{
    struct random random = { (uint64_t)(o * 2 + grad) * 1000003u + (uint64_t)e };
    double unit = hp_random_unit(&random);
    return positive(s->c->kind) && !grad ? 0.5 + 1.5 * unit : 3 * unit - 1.5;
}

/* What is differentiated: the sum of the outputs, weighted with their gradients. */
static double weighted_outputs(const struct subject *s)
{
    double sum = 0;
    run_phase(s, false);
    for (int o = 0; o < s->nest->n_operands; o++) {
        if (s->nest->operand[o].role != OPERAND_OUTPUT)
            continue;
        int64_t n = hp_box_elements(&s->value[o].box);
        for (int64_t e = 0; e < n; e++)
            sum += get(&s->value[o], e, s->real) * get(&s->grad[o], e, s->real);
    }
    return sum;
}

static double difference(const struct subject *s, int o, int64_t e)
{
    const double step = 1e-5;
    double x = get(&s->value[o], e, s->real);
    put(&s->value[o], e, s->real, x + step);
    double above = weighted_outputs(s);
    put(&s->value[o], e, s->real, x - step);
    double below = weighted_outputs(s);
    put(&s->value[o], e, s->real, x);
    return (above - below) / (2 * step);
}

static operand_set gradients_of(const struct nest *nest)
{
    operand_set set = 0;
    for (int p = 0; p < nest->n_passes; p++)
        set |= nest->pass[p].writes_grad;
    return set;
}

static void check_gradients(const struct subject *s)
{
    fill(s, draw);
    run_phase(s, false);
    run_phase(s, true);
    for (int o = 0; o < s->nest->n_operands; o++) {
        if (!in(gradients_of(s->nest), o))
            continue;
        int64_t n = hp_box_elements(&s->grad[o].box), every = n / 60 + 1;
        for (int64_t e = 0; e < n; e += every) {
            double have = get(&s->grad[o], e, s->real), want = difference(s, o, e);
            if (!(fabs(have - want) <= 1e-6 * (1 + fabs(want))))
                fail_msg("%s (%s): d%s[%lld] is %.12g, expected %.12g", hp_op[s->c->kind].name,
                         s->c->label, s->nest->operand[o].name, (long long)e, have, want);
        }
    }
}

static void test_backward_is_the_derivative_of_forward(void **state)
{
    (void)state;
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        if (!hp_kernel_exists(op_cases[i].kind))
            continue;
        struct subject s = subject_new(&op_cases[i], REAL_F64);
        check_gradients(&s);
        subject_free(&s);
    }
}

static void check_same(const struct subject *a, const struct subject *b, int o, bool grad)
{
    const struct view *x = grad ? &a->grad[o] : &a->value[o];
    const struct view *y = grad ? &b->grad[o] : &b->value[o];
    int64_t n = x->data ? hp_box_elements(&x->box) : 0;
    for (int64_t e = 0; e < n; e++) {
        double have = get(x, e, a->real), want = get(y, e, b->real);
        if (!(fabs(have - want) <= 1e-4 * (1 + fabs(want))))
            fail_msg("%s (%s): %s%s[%lld] is %.9g in fp32 and %.9g in fp64",
                     hp_op[a->c->kind].name, a->c->label, grad ? "d" : "",
                     a->nest->operand[o].name, (long long)e, have, want);
    }
}

static void test_fp32_is_close_to_fp64(void **state)
{
    (void)state;
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        if (!hp_kernel_exists(op_cases[i].kind))
            continue;
        struct subject s[2] = { subject_new(&op_cases[i], REAL_F32),
                                subject_new(&op_cases[i], REAL_F64) };
        for (int k = 0; k < 2; k++) {
            fill(&s[k], draw);
            run_phase(&s[k], false);
            run_phase(&s[k], true);
        }
        for (int o = 0; o < s[0].nest->n_operands; o++) {
            if (s[0].nest->operand[o].index)
                continue;
            check_same(&s[0], &s[1], o, false);
            check_same(&s[0], &s[1], o, true);
        }
        subject_free(&s[0]);
        subject_free(&s[1]);
    }
}

/* Every kind has a kernel and a case above; of an opaque operator nothing is known. */
static void test_every_kind_has_a_kernel(void **state)
{
    (void)state;
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        int cases = 0;
        for (int i = 0; i < OP_CASE_COUNT; i++)
            cases += (int)op_cases[i].kind == kind;
        if (!cases)
            fail_msg("operator '%s' has no case: add one to tests/op_cases.h",
                     hp_op[kind].name);
        if (kind == OP_OPAQUE)
            assert_false(hp_kernel_exists(OP_OPAQUE));
        else if (!hp_kernel_exists((enum op_kind)kind))
            fail_msg(NO_KERNEL, hp_op[kind].name);
        bool unary = strcmp(hp_op[kind].operands, hp_op[OP_RELU].operands) == 0 &&
                     kind != OP_DROPOUT && kind != OP_IDENTITY; /* with kernels of their own */
        if (unary && !hp_unary[kind].value)
            fail_msg("operator '%s' has no function: add its row to hp_unary in "
                     "src/kernel/scalar.c",
                     hp_op[kind].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_has_a_kernel),
        cmocka_unit_test(test_backward_is_the_derivative_of_forward),
        cmocka_unit_test(test_fp32_is_close_to_fp64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
