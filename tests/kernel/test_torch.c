/* The kernels against PyTorch: values recorded by tests/kernel/torch_reference.py, which fills
 * the operands of a case by the same formulas. */
#include "tests/kernel/harness.h"

#include "tests/kernel/torch_values.h"

enum { N_VALUES = sizeof torch_values / sizeof torch_values[0] };

static double number(const struct subject *s, int o, int64_t e, bool grad)
{
    if (grad)
        return cos(0.5 + o + 0.3 * (double)e);
    double value = sin(1 + 0.7 * o + (0.9 + 0.1 * o) * (double)e);
    return positive(s->c->kind) ? 1.5 + value : value;
}

static const struct op_case *find_case(const struct torch_value *v)
{
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (op_cases[i].kind == v->kind && strcmp(op_cases[i].label, v->label) == 0)
            return &op_cases[i];
    fail_msg(
        "%s: no case '%s' in tests/op_cases.h, which tests/kernel/torch_reference.py names",
        hp_op[v->kind].name, v->label);
    return NULL;
}

/* "y" or "dx"; "2" or "d2": the operand of that number. */
static const struct view *find_tensor(const struct subject *s, const char *name)
{
    bool grad = name[0] == 'd' && name[1];
    char letter = name[grad];
    for (int o = 0; o < s->nest->n_operands; o++)
        if (letter == '0' + o || s->nest->operand[o].name[0] == letter)
            return grad ? &s->grad[o] : &s->value[o];
    fail_msg("no tensor '%s' in '%s'", name, hp_op[s->c->kind].name);
    return NULL;
}

static void check_number(const struct torch_value *v, const char *what, double have,
                         double want)
{
    if (!(fabs(have - want) <= 1e-12 * (10 + fabs(want))))
        fail_msg("%s (%s): %s of %s is %.16g, PyTorch's is %.16g", hp_op[v->kind].name,
                 v->label, what, v->tensor, have, want);
}

static void check_value(const struct subject *s, const struct torch_value *v)
{
    const struct view *view = find_tensor(s, v->tensor);
    int64_t n = hp_box_elements(&view->box);
    double checksum = 0;
    for (int64_t e = 0; e < n; e++)
        checksum += get(view, e, s->real) * cos((double)e);
    check_number(v, "the first", get(view, 0, s->real), v->number[1]);
    check_number(v, "the middle", get(view, n / 2, s->real), v->number[2]);
    check_number(v, "the last", get(view, n - 1, s->real), v->number[3]);
    check_number(v, "the checksum", checksum, v->number[0]);
}

static void test_values_are_those_of_pytorch(void **state)
{
    (void)state;
    for (int i = 0; i < N_VALUES;) {
        const struct op_case *c = find_case(&torch_values[i]);
        struct subject s = subject_new(c, REAL_F64);
        fill(&s, number);
        run_phase(&s, false);
        run_phase(&s, true);
        for (; i < N_VALUES && find_case(&torch_values[i]) == c; i++)
            check_value(&s, &torch_values[i]);
        subject_free(&s);
    }
    printf("%d tensors\n", N_VALUES);
}

/* Nothing to compare: an opaque operator, and dropout, whose mask is drawn. */
static void test_every_kind_is_compared(void **state)
{
    (void)state;
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        int values = 0;
        for (int i = 0; i < N_VALUES; i++)
            values += (int)torch_values[i].kind == kind;
        if (!values && kind != OP_OPAQUE && kind != OP_DROPOUT)
            fail_msg("operator '%s' is not in tests/kernel/torch_values.h: add a case to "
                     "tests/kernel/torch_reference.py, which writes that file",
                     hp_op[kind].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_is_compared),
        cmocka_unit_test(test_values_are_those_of_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
