/* Kernel cases outside the tables: corner cases of functions, ties, integers out of range,
 * micro-batches, random masks, and joined views. */
#include "tests/kernel/harness.h"

#include "kernel/scalar.h"

static const struct op_case *case_of(enum op_kind kind, const char *label)
{
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (op_cases[i].kind == kind && strcmp(op_cases[i].label, label) == 0)
            return &op_cases[i];
    fail_msg("no case '%s' of '%s'", label, hp_op[kind].name);
    return NULL;
}

static double wave(const struct subject *s, int o, int64_t e, bool grad)
{
    (void)s;
    return grad ? cos(0.5 + o + 0.3 * (double)e) : sin(1 + 0.7 * o + 0.9 * (double)e);
}

static void check_close(double have, double want)
{
    if (!(fabs(have - want) <= 1e-12 * (1 + fabs(want))))
        fail_msg("%.17g, expected %.17g", have, want);
}

/* Functions --------------------------------------------------------------------------- */

/* x, y and the slope there; the constants are those of the row, or as named. */
static const struct corner {
    enum op_kind kind;
    struct constants c;
    double x, y, slope;
} corners[] = {
    { OP_RELU, { 0, 0 }, 0, 0, 0 },
    { OP_RELU, { 0, 0 }, -2, 0, 0 },
    { OP_RELU, { 0, 0 }, 2, 2, 1 },
    { OP_LEAKY_RELU, { 0.1, 0 }, 0, 0, 0.1 },
    { OP_LEAKY_RELU, { 0.1, 0 }, -2, -0.2, 0.1 },
    { OP_ELU, { 2, 0 }, 3, 3, 1 },
    { OP_ELU, { 2, 0 }, -800, -2, 0 },
    { OP_SOFTPLUS, { 0, 0 }, 800, 800, 1 },
    { OP_SOFTPLUS, { 0, 0 }, -800, 0, 0 },
    { OP_SOFTPLUS, { 0, 0 }, 0, 0.69314718055994530942, 0.5 },
    { OP_SIGMOID, { 0, 0 }, 800, 1, 0 },
    { OP_SIGMOID, { 0, 0 }, -800, 0, 0 },
    { OP_SILU, { 0, 0 }, -800, 0, 0 },
    { OP_HARD_SIGMOID, { 0.2, 0.5 }, 2.5, 1, 0 },
    { OP_HARD_SIGMOID, { 0.2, 0.5 }, -9, 0, 0 },
    { OP_HARD_SIGMOID, { 0.2, 0.5 }, 1, 0.7, 0.2 },
    { OP_HARD_SWISH, { 0, 0 }, -4, 0, 0 },
    { OP_HARD_SWISH, { 0, 0 }, 3, 3, 1.5 },
    { OP_HARD_SWISH, { 0, 0 }, 4, 4, 1 },
    { OP_CLIP, { -1, 2 }, 2, 2, 1 },
    { OP_CLIP, { -1, 2 }, 2.5, 2, 0 },
    { OP_CLIP, { -1, 2 }, -3, -1, 0 },
    { OP_POW, { 0, 0 }, 0, 1, 0 },
    { OP_POW, { 3, 0 }, -2, -8, 12 },
    { OP_ABS, { 0, 0 }, 0, 0, 0 },
    { OP_ABS, { 0, 0 }, -3, 3, -1 },
};

static void test_corners_of_functions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        const struct corner *k = &corners[i];
        const struct unary *f = &hp_unary[k->kind];
        bool from_y = k->kind == OP_RELU || k->kind == OP_SIGMOID;
        double y = f->value(k->x, k->c), slope = f->slope(from_y ? y : k->x, k->c);
        if (fabs(y - k->y) > 1e-15 || fabs(slope - k->slope) > 1e-15)
            fail_msg("%s at %g: %g with slope %g, expected %g with slope %g",
                     hp_op[k->kind].name, k->x, y, slope, k->y, k->slope);
    }
    assert_true(isnan(hp_unary[OP_RELU].value(NAN, (struct constants){ 0, 0 })));
    assert_true(hp_binary[OP_MAXIMUM].slope_x(1, 1) == 0.5);
    assert_true(hp_binary[OP_MINIMUM].slope_y(1, 1) == 0.5);
}

/* Windows ----------------------------------------------------------------------------- */

static double constant(const struct subject *s, int o, int64_t e, bool grad)
{
    (void)s, (void)o, (void)e, (void)grad;
    return 1;
}

/* Of equals the first of a window gets the gradient; windows of 2x2 do not overlap here. */
static void test_ties_of_max_pool(void **state)
{
    (void)state;
    struct subject s = subject_new(case_of(OP_MAX_POOL, "halving"), REAL_F64);
    fill(&s, constant);
    run_phase(&s, false);
    run_phase(&s, true);
    for (int64_t e = 0; e < hp_box_elements(&s.grad[0].box); e++) {
        int64_t row = e / 6 % 8, column = e % 6;
        check_close(get(&s.grad[0], e, REAL_F64), row % 2 == 0 && column % 2 == 0);
    }
    subject_free(&s);
}

/* The largest of all positions: every one that equals it, so that parts agree. */
static void test_ties_of_global_max_pool(void **state)
{
    (void)state;
    struct subject s = subject_new(case_of(OP_GLOBAL_MAX_POOL, "n c h w"), REAL_F64);
    fill(&s, constant);
    run_phase(&s, false);
    run_phase(&s, true);
    for (int64_t e = 0; e < hp_box_elements(&s.grad[0].box); e++)
        check_close(get(&s.grad[0], e, REAL_F64), 1);
    subject_free(&s);
}

/* Windows that see nothing but padding, of every kind: 0 forward, and no gradient. */
static void test_windows_of_padding(void **state)
{
    (void)state;
    const struct op_case cases[] = {
        { OP_MAX_POOL,
          "max",
          { { CASE_ACT, { 3, { 1, 1, 2 } } } },
          1,
          ATTRS({ ATTR_KERNEL, 1, V(2) }, { ATTR_PAD, 2, V(3, 3) }),
          0 },
        { OP_AVG_POOL,
          "counted",
          { { CASE_ACT, { 3, { 1, 1, 2 } } } },
          1,
          ATTRS({ ATTR_KERNEL, 1, V(2) }, { ATTR_PAD, 2, V(3, 3) }),
          0 },
        { OP_AVG_POOL,
          "not counted",
          { { CASE_ACT, { 3, { 1, 1, 2 } } } },
          1,
          ATTRS({ ATTR_KERNEL, 1, V(2) }, { ATTR_PAD, 2, V(3, 3) },
                { ATTR_COUNT_PAD, 1, V(0) }),
          0 },
    };
    static const double want[3][7] = { { 0, 0, 1, 1, 1, 0, 0 },
                                       { 0, 0, 0.5, 1, 0.5, 0, 0 },
                                       { 0, 0, 1, 1, 1, 0, 0 } };
    static const double gradient[3] = { 3, 2, 3 }; /* of both elements together */
    for (int i = 0; i < 3; i++) {
        struct subject s = subject_new(&cases[i], REAL_F64);
        fill(&s, constant);
        run_phase(&s, false);
        run_phase(&s, true);
        for (int e = 0; e < 7; e++)
            check_close(get(&s.value[1], e, REAL_F64), want[i][e]);
        check_close(get(&s.grad[0], 0, REAL_F64) + get(&s.grad[0], 1, REAL_F64), gradient[i]);
        subject_free(&s);
    }
}

/* Integers ---------------------------------------------------------------------------- */

/* An id that the table does not have gives 0 and gets no gradient. */
static void test_ids_out_of_range(void **state)
{
    (void)state;
    struct subject s = subject_new(case_of(OP_EMBEDDING, "n"), REAL_F64);
    fill(&s, constant);
    int32_t *id = s.value[0].data;
    id[0] = -1;
    id[1] = 9;
    id[2] = INT32_MIN;
    id[3] = INT32_MAX;
    run_phase(&s, false);
    run_phase(&s, true);
    double sum = 0, grad = 0;
    for (int64_t e = 0; e < hp_box_elements(&s.value[2].box); e++)
        sum += get(&s.value[2], e, REAL_F64);
    for (int64_t e = 0; e < hp_box_elements(&s.grad[1].box); e++)
        grad += get(&s.grad[1], e, REAL_F64);
    check_close(sum, 2 * 4);
    check_close(grad, 2 * 4);
    subject_free(&s);
}

/* A label that is no class: no loss and no gradient for its row; the others as before. */
static void test_labels_out_of_range(void **state)
{
    (void)state;
    struct subject s = subject_new(case_of(OP_CROSS_ENTROPY, "n c"), REAL_F64);
    fill(&s, wave);
    put(&s.grad[2], 0, REAL_F64, 1);
    run_phase(&s, false);
    run_phase(&s, true);
    double loss = get(&s.value[2], 0, REAL_F64), before = get(&s.grad[0], 7, REAL_F64);
    double rest = loss, row = 0;
    for (int c = 0; c < 7; c++)
        row += exp(get(&s.value[0], c, REAL_F64));
    rest -= (log(row) - get(&s.value[0], ((int32_t *)s.value[1].data)[0], REAL_F64)) / 5;
    ((int32_t *)s.value[1].data)[0] = -100;
    run_phase(&s, false);
    run_phase(&s, true);
    check_close(get(&s.value[2], 0, REAL_F64), rest);
    for (int c = 0; c < 7; c++)
        check_close(get(&s.grad[0], c, REAL_F64), 0);
    check_close(get(&s.grad[0], 7, REAL_F64), before);
    subject_free(&s);
}

/* Numbers far from 0: no overflow, and -inf has probability 0. */
static void test_softmax_of_large_numbers(void **state)
{
    (void)state;
    struct subject s = subject_new(case_of(OP_SOFTMAX, "n c"), REAL_F32);
    fill(&s, wave);
    static const double x[7] = { -INFINITY, 3e38, -3e38, 3e38, 0, -INFINITY, 1 };
    static const double y[7] = { 0, 0.5, 0, 0.5, 0, 0, 0 };
    for (int c = 0; c < 7; c++)
        put(&s.value[0], c, REAL_F32, x[c]);
    run_phase(&s, false);
    for (int c = 0; c < 7; c++)
        check_close(get(&s.value[1], c, REAL_F32), y[c]);
    subject_free(&s);
}

/* A bias of -inf hides a key: from all queries here the last of 7, from query 0 of 5 all. As if
 * by a very low bias; what sees nothing gets 0 and sends no gradient. */
static void check_hidden_keys(const char *kernels, enum real real, double tolerance)
{
    const struct op_case *c = case_of(OP_ATTENTION, "bias of heads");
    struct subject hidden = subject_new(c, real), low = subject_new(c, real);
    struct subject *both[2] = { &hidden, &low };
    for (int i = 0; i < 2; i++) {
        if (hp_kernels_find(kernels)) /* not in a build without BLAS */
            both[i]->kernels = hp_kernels_find(kernels);
        fill(both[i], wave);
        for (int64_t e = 0; e < 4 * 5 * 7; e++)
            if (e % 7 == 6 || (e / 7 % 5 == 0 && i == 0))
                put(&both[i]->value[3], e, real, i == 0 ? -INFINITY : -1e9);
        for (int64_t e = 0; e < 3 * 5 * 12; e++)
            if (e / 12 % 5 == 0)
                put(&both[i]->grad[4], e, real, 0);
        run_phase(both[i], false);
        run_phase(both[i], true);
    }
    for (int64_t e = 0; e < 3 * 5 * 12; e++)
        if (fabs(get(&hidden.value[4], e, real) -
                 (e / 12 % 5 ? get(&low.value[4], e, real) : 0)) > tolerance)
            fail_msg("%s: y of %lld", kernels, (long long)e);
    for (int o = 0; o < 4; o++)
        for (int64_t e = 0, n = hp_box_elements(&hidden.grad[o].box); e < n; e++)
            if (!(fabs(get(&hidden.grad[o], e, real) - get(&low.grad[o], e, real)) <=
                  tolerance))
                fail_msg("%s: gradient %lld of operand %d", kernels, (long long)e, o);
    subject_free(&hidden);
    subject_free(&low);
}

static void test_hidden_keys(void **state)
{
    (void)state;
    check_hidden_keys("reference", REAL_F64, 1e-14);
    check_hidden_keys("reference", REAL_F32, 1e-6);
    check_hidden_keys("fast", REAL_F64, 1e-14);
    check_hidden_keys("fast", REAL_F32, 1e-6);
}

/* Samples ----------------------------------------------------------------------------- */

/* Run all forward passes on samples [lo, hi), adding to what is there. */
static void run_samples(const struct subject *s, int64_t lo, int64_t hi)
{
    for (int p = 0; p < s->nest->n_passes; p++) {
        if (s->nest->pass[p].backward)
            continue;
        struct kernel_call call = call_of(s, p);
        call.samples = call.range[hp_nest_axis(s->nest, 'n')] = (struct range){ lo, hi };
        memcpy(call.value, s->value, sizeof call.value);
        hp_kernel(s->kernels, &call);
    }
}

/* Losses of micro-batches are shares of the loss of the batch. */
static void test_losses_of_micro_batches(void **state)
{
    (void)state;
    static const enum op_kind kinds[] = { OP_CROSS_ENTROPY, OP_MSE_LOSS };
    for (int i = 0; i < 2; i++) {
        struct subject s = subject_new(case_of(kinds[i], "n c"), REAL_F64);
        fill(&s, wave);
        run_phase(&s, false);
        double loss = get(&s.value[2], 0, REAL_F64);
        for (int p = 0; p < s.nest->n_passes; p++)
            if (!s.nest->pass[p].backward)
                clear_written(&s, &s.nest->pass[p]);
        run_samples(&s, 0, 2);
        run_samples(&s, 2, 5);
        check_close(get(&s.value[2], 0, REAL_F64), loss);
        subject_free(&s);
    }
}

/* Batch norm of one micro-batch: mean 0 and variance 1 over its own samples. */
static void test_batch_norm_of_a_micro_batch(void **state)
{
    (void)state;
    struct subject s = subject_new(case_of(OP_BATCH_NORM, "n c, nothing trained"), REAL_F64);
    int y = 3;
    assert_int_equal(s.nest->operand[y].name[0], 'y');
    fill(&s, wave);
    run_samples(&s, 1, 4);
    for (int c = 0; c < 6; c++) {
        double sum = 0, squares = 0;
        for (int n = 1; n < 4; n++) {
            double v = get(&s.value[y], n * 6 + c, REAL_F64);
            sum += v;
            squares += v * v;
        }
        assert_true(fabs(sum) < 1e-12);
        assert_true(fabs(squares / 3 - 1) < 1e-3); /* eps */
    }
    subject_free(&s);
}

/* Where nobody needs an output, its gradient is not there and counts as 0. */
static void test_absent_gradients_of_outputs(void **state)
{
    (void)state;
    static const struct {
        enum op_kind kind;
        const char *label;
        int first_output, n_outputs;
    } cases[] = { { OP_LSTM, "with states and biases", 7, 3 },
                  { OP_LSTM_CELL, "with states and biases", 7, 2 },
                  { OP_SPLIT, "unequal", 1, 3 } };
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < cases[i].n_outputs; k++) {
            struct subject zero = subject_new(case_of(cases[i].kind, cases[i].label), REAL_F64);
            struct subject none = subject_new(case_of(cases[i].kind, cases[i].label), REAL_F64);
            int o = cases[i].first_output + k;
            fill(&zero, wave);
            fill(&none, wave);
            hp_view_clear(&zero.grad[o], COMBINE_SUM, REAL_F64);
            free(none.grad[o].data);
            none.grad[o].data = NULL;
            struct subject *both[2] = { &zero, &none };
            for (int b = 0; b < 2; b++) {
                run_phase(both[b], false);
                run_phase(both[b], true);
            }
            for (int64_t e = 0; e < hp_box_elements(&zero.grad[0].box); e++)
                check_close(get(&none.grad[0], e, REAL_F64), get(&zero.grad[0], e, REAL_F64));
            subject_free(&zero);
            subject_free(&none);
        }
}

/* Dropout ----------------------------------------------------------------------------- */

static void test_dropout(void **state)
{
    (void)state;
    const struct op_case c = { OP_DROPOUT,
                               "many",
                               { { CASE_ACT, { 2, { 100, 100 } } } },
                               1,
                               ATTRS({ ATTR_RATE, 1, V(0.3) }),
                               0 };
    struct subject s = subject_new(&c, REAL_F64);
    int64_t n = 100 * 100, kept = 0, differ = 0;
    fill(&s, constant);
    run_phase(&s, false);
    run_phase(&s, true);
    for (int64_t e = 0; e < n; e++) {
        double y = get(&s.value[1], e, REAL_F64);
        kept += y != 0;
        check_close(y, y != 0 ? 1 / 0.7 : 0);
        check_close(get(&s.grad[0], e, REAL_F64), y);
    }
    assert_in_range(kept, 6862, 7138); /* three standard deviations around 7000 */
    s.key++;
    run_phase(&s, false);
    for (int64_t e = 0; e < n; e++)
        differ += (get(&s.value[1], e, REAL_F64) != 0) != (get(&s.grad[0], e, REAL_F64) != 0);
    assert_in_range(differ, 4000, 4400); /* 2 * 0.3 * 0.7 of them */
    subject_free(&s);
}

/* What is kept is what would be drawn; and the backward pass takes it from there. */
static void check_mask(const struct op_case *c, const char *kernels, enum real real)
{
    struct subject drawn = subject_new(c, real), kept = subject_new(c, real);
    struct subject *both[2] = { &drawn, &kept };
    if (!hp_kernels_find(kernels)) /* a build without BLAS */
        kernels = "reference";
    kept.mask = new_view(hp_operand_box(kept.nest, 1), 1);
    for (int b = 0; b < 2; b++) {
        both[b]->kernels = hp_kernels_find(kernels);
        fill(both[b], wave);
        run_phase(both[b], false);
    }
    kept.key++; /* of no use to the backward pass */
    for (int b = 0; b < 2; b++)
        run_phase(both[b], true);
    for (int64_t e = 0; e < hp_box_elements(&kept.mask.box); e++) {
        double y = get(&drawn.value[1], e, real);
        assert_int_equal(((unsigned char *)kept.mask.data)[e], y != 0);
        assert_true(get(&kept.value[1], e, real) == y);
        check_close(get(&kept.grad[0], e, real), get(&drawn.grad[0], e, real));
    }
    free(kept.mask.data);
    subject_free(&drawn);
    subject_free(&kept);
}

static void test_dropout_masks(void **state)
{
    (void)state;
    const struct op_case c = { OP_DROPOUT,
                               "many",
                               { { CASE_ACT, { 3, { 5, 7, 90 } } } },
                               1,
                               ATTRS({ ATTR_RATE, 1, V(0.3) }),
                               0 };
    for (int real = 0; real < 2; real++) {
        check_mask(&c, "reference", real ? REAL_F64 : REAL_F32);
        check_mask(&c, "fast", real ? REAL_F64 : REAL_F32);
    }
}

/* Views ------------------------------------------------------------------------------- */

static struct view row_view(double *data, int64_t lo, int64_t hi)
{
    return hp_dense_view(data, &(struct box){ 1, { { lo, hi } } });
}

static void test_combinations(void **state)
{
    (void)state;
    static const struct {
        enum combine combine;
        double from[4], want[4]; /* combined with 1, 2 */
    } cases[] = {
        { COMBINE_SUM, { 3, 5, 7, 9 }, { 3, 6, 9, 9 } },
        { COMBINE_MAX, { 3, 0.5, 7, 9 }, { 3, 1, 7, 9 } },
    };
    for (int i = 0; i < 2; i++) {
        double data[4], more[2] = { 1, 2 };
        memcpy(data, cases[i].from, sizeof data);
        struct view to = row_view(data, 0, 4), from = row_view(more, 1, 3);
        hp_view_combine(&to, &from, cases[i].combine, REAL_F64);
        for (int e = 0; e < 4; e++)
            check_close(data[e], cases[i].want[e]);
    }
    double a[2] = { 5, 2 }, b[2] = { 7, 3 }, empty[2];
    struct view one = row_view(a, 0, 2), other = row_view(b, 0, 2);
    struct view neutral = row_view(empty, 0, 2);
    hp_view_clear(&neutral, COMBINE_SOFTMAX, REAL_F64);
    hp_view_combine(&one, &neutral, COMBINE_SOFTMAX, REAL_F64);
    assert_true(a[0] == 5 && a[1] == 2);
    hp_view_combine(&neutral, &one, COMBINE_SOFTMAX, REAL_F64);
    assert_true(empty[0] == 5 && empty[1] == 2);
    hp_view_combine(&one, &other, COMBINE_SOFTMAX, REAL_F64);
    check_close(a[0], 7);
    check_close(a[1], 3 + 2 * exp(-2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corners_of_functions),
        cmocka_unit_test(test_ties_of_max_pool),
        cmocka_unit_test(test_ties_of_global_max_pool),
        cmocka_unit_test(test_windows_of_padding),
        cmocka_unit_test(test_ids_out_of_range),
        cmocka_unit_test(test_labels_out_of_range),
        cmocka_unit_test(test_softmax_of_large_numbers),
        cmocka_unit_test(test_hidden_keys),
        cmocka_unit_test(test_losses_of_micro_batches),
        cmocka_unit_test(test_batch_norm_of_a_micro_batch),
        cmocka_unit_test(test_absent_gradients_of_outputs),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_dropout_masks),
        cmocka_unit_test(test_combinations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
