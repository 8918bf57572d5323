/* Every operator kind under every split: the parts, each with only its own regions, together
 * give the result of the unsplit operator. Statistics are combined between passes. */
#include "tests/kernel/harness.h"

static const uint64_t seed = 20250611;

static double draw(const struct subject *s, int o, int64_t e, bool grad)
{
    struct random random = { seed + (uint64_t)(o * 2 + grad) * 1000003u + (uint64_t)e };
    double unit = hp_random_unit(&random);
    return positive(s->c->kind) && !grad ? 0.5 + 1.5 * unit : 3 * unit - 1.5;
}

static void describe(const struct nest *nest, const struct split *split, char *text,
                     size_t room)
{
    size_t n = 0;
    text[0] = '\0';
    for (int a = 0; a < nest->n_axes; a++)
        if (split->degree[a] > 1)
            n += (size_t)snprintf(text + n, room - n, " %c:%d", nest->axis[a].name[0],
                                  split->degree[a]);
}

static void compare(const struct subject *parts, const struct subject *whole, int o, bool grad,
                    const struct split *split)
{
    const struct view *x = grad ? &parts->grad[o] : &parts->value[o];
    const struct view *y = grad ? &whole->grad[o] : &whole->value[o];
    char text[128];
    int64_t n = x->data ? hp_box_elements(&x->box) : 0;
    for (int64_t e = 0; e < n; e++) {
        double have = get(x, e, parts->real), want = get(y, e, whole->real);
        if (fabs(have - want) <= 1e-10 * (1 + fabs(want)))
            continue;
        describe(parts->nest, split, text, sizeof text);
        fail_msg("%s (%s), split%s: %s%s[%lld] is %.15g, expected %.15g",
                 hp_op[parts->c->kind].name, parts->c->label, text, grad ? "d" : "",
                 parts->nest->operand[o].name, (long long)e, have, want);
    }
}

static void check_split(const struct subject *parts, const struct subject *whole,
                        const struct split *split, enum cut cut)
{
    const struct nest *nest = parts->nest;
    for (int p = 0; p < nest->n_passes; p++)
        run_parts(parts, p, split, cut);
    for (int o = 0; o < nest->n_operands; o++) {
        if (nest->operand[o].index)
            continue;
        compare(parts, whole, o, false, split);
        compare(parts, whole, o, true, split);
    }
}

/* Degrees 2 and 3 on one axis, on every pair, and one more than there is of it. */
static int check_axis(const struct subject *parts, const struct subject *whole, int a)
{
    static const int degrees[][2] = { { 2, 3 }, { 3, 2 } };
    const struct nest *nest = parts->nest;
    int splits = 0;
    for (int b = a; b < nest->n_axes; b++) {
        if (!nest->axis[b].splittable)
            continue;
        for (int i = 0; i < 2; i++, splits++) {
            struct split split = { .degree = { 0 } };
            split.degree[a] = degrees[i][0];
            if (b != a)
                split.degree[b] = degrees[i][1];
            check_split(parts, whole, &split, i == 0 ? CUT_EXACT : CUT_ROOMY);
        }
    }
    struct split above = { .degree = { 0 } };
    above.degree[a] = (int)nest->axis[a].extent + 1;
    check_split(parts, whole, &above, CUT_EXACT);
    return splits + 1;
}

static void test_every_split_computes_the_same(void **state)
{
    (void)state;
    int splits = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        if (!hp_kernel_exists(op_cases[i].kind))
            continue;
        struct subject whole = subject_new(&op_cases[i], REAL_F64);
        struct subject parts = subject_new(&op_cases[i], REAL_F64);
        fill(&whole, draw);
        fill(&parts, draw);
        for (int p = 0; p < whole.nest->n_passes; p++)
            run_whole(&whole, p);
        for (int a = 0; a < whole.nest->n_axes; a++)
            if (whole.nest->axis[a].splittable)
                splits += check_axis(&parts, &whole, a);
        subject_free(&whole);
        subject_free(&parts);
    }
    printf("%d splits\n", splits);
}

/* All axes at once, at random. */
static void test_random_splits(void **state)
{
    (void)state;
    struct random random = { seed };
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        if (!hp_kernel_exists(op_cases[i].kind))
            continue;
        struct subject whole = subject_new(&op_cases[i], REAL_F64);
        struct subject parts = subject_new(&op_cases[i], REAL_F64);
        fill(&whole, draw);
        fill(&parts, draw);
        for (int p = 0; p < whole.nest->n_passes; p++)
            run_whole(&whole, p);
        for (int round = 0; round < 3; round++) {
            struct split split = { .degree = { 0 } };
            for (int a = 0; a < whole.nest->n_axes; a++)
                if (whole.nest->axis[a].splittable && hp_part_count(whole.nest, &split) < 60)
                    split.degree[a] = 1 + (int)hp_random_below(&random, 3);
            check_split(&parts, &whole, &split, round ? CUT_STRIDED : CUT_EXACT);
        }
        subject_free(&whole);
        subject_free(&parts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split_computes_the_same),
        cmocka_unit_test(test_random_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
