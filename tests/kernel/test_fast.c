/* The fast kernels against the reference kernels: every operator kind, whole and in random
 * parts, with views of every layout, adding and overwriting, one pass at a time and several. */
#include "kernel/divide.h"
#include "kernel/fast/fast.h"

#include "tests/kernel/fast_cases.h"
#include "tests/kernel/harness.h"
#include "tests/length.h"

static const uint64_t seed = 20251115;

static double draw(const struct subject *s, int o, int64_t e, bool grad)
{
    struct random random = { seed + (uint64_t)(o * 2 + grad) * 1000003u + (uint64_t)e };
    double unit = hp_random_unit(&random);
    return positive(s->c->kind) && !grad ? 0.5 + 1.5 * unit : 3 * unit - 1.5;
}

/* The distance of two tensors beside the norm of the second. */
static double distance(const struct view *x, const struct view *y, enum real real)
{
    double difference = 0, norm = 0;
    for (int64_t e = 0, n = hp_box_elements(&x->box); e < n; e++) {
        double have = get(x, e, real), want = get(y, e, real);
        if (have == want)
            continue; /* infinite ones too */
        difference += (have - want) * (have - want);
        norm += want * want;
    }
    return difference == 0 ? 0 : sqrt(difference) / (sqrt(norm) + 1e-3);
}

static void compare(const struct subject *fast, const struct subject *whole, const char *how)
{
    double most = fast->real == REAL_F32 ? 1e-5 : 1e-12;
    for (int o = 0; o < fast->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            const struct view *x = grad ? &fast->grad[o] : &fast->value[o];
            const struct view *y = grad ? &whole->grad[o] : &whole->value[o];
            if (!x->data || fast->nest->operand[o].index)
                continue;
            double far = distance(x, y, fast->real);
            if (!(far <= most))
                fail_msg("%s (%s), %s, %s: %s%s is off by %g", hp_op[fast->c->kind].name,
                         fast->c->label, fast->real == REAL_F32 ? "f32" : "f64", how,
                         grad ? "d" : "", fast->nest->operand[o].name, far);
        }
}

static void forget(const struct subject *s)
{
    for (int p = 0; p < s->nest->n_passes; p++)
        clear_written(s, &s->nest->pass[p]);
}

/* All that there are, small ones and those that fill vectors and blocks. */
static const struct op_case *case_at(int i)
{
    return i < OP_CASE_COUNT ? &op_cases[i] : &fast_cases[i - OP_CASE_COUNT];
}

enum { CASES = OP_CASE_COUNT + FAST_CASE_COUNT };

/* What the reference kernels make of each case in each type. They take most of the time, and
 * all tests compare with the same numbers, so each is done once. */
static struct subject reference[CASES][2];

static const struct subject *reference_of(int i, int real)
{
    struct subject *s = &reference[i][real];
    if (s->nest)
        return s;
    *s = subject_new(case_at(i), real ? REAL_F64 : REAL_F32);
    fill(s, draw);
    for (int p = 0; p < s->nest->n_passes; p++)
        run_whole(s, p);
    return s;
}

static int free_references(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * CASES; i++)
        if (reference[i / 2][i % 2].nest)
            subject_free(&reference[i / 2][i % 2]);
    return 0;
}

/* Two subjects of one case with the same numbers, the second done by the reference. */
struct pair {
    struct subject fast;
    const struct subject *whole;
};

static struct pair pair_new(int i, int real)
{
    struct pair pair = { subject_new(case_at(i), real ? REAL_F64 : REAL_F32),
                         reference_of(i, real) };
    pair.fast.kernels = hp_kernels_find("fast");
    fill(&pair.fast, draw);
    return pair;
}

static void for_all(void (*check)(struct pair *pair, struct random *random))
{
    struct random random = { seed };
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < CASES; i++)
        for (int real = 0; real < 2; real++) {
            if (!hp_kernel_exists(case_at(i)->kind) || !in_length(i + real, 2, 1))
                continue; /* short: each case in one precision */
            struct pair pair = pair_new(i, real);
            check(&pair, &random);
            subject_free(&pair.fast);
        }
}

/* Whole ------------------------------------------------------------------------------- */

static void check_whole(struct pair *pair, struct random *random)
{
    (void)random;
    for (int p = 0; p < pair->fast.nest->n_passes; p++)
        run_whole(&pair->fast, p);
    compare(&pair->fast, pair->whole, "whole");
}

static void test_whole_operators(void **state)
{
    (void)state;
    for_all(check_whole);
}

/* Parts ------------------------------------------------------------------------------- */

static struct split random_split(const struct nest *nest, struct random *random)
{
    struct split split = { .degree = { 0 } };
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].splittable && hp_part_count(nest, &split) < 30)
            split.degree[a] = 1 + (int)hp_random_below(random, 3);
    return split;
}

static void check_parts(struct pair *pair, struct random *random)
{
    static const char *const how[] = { "exact parts", "parts of larger views",
                                       "parts with gaps, fresh", "exact parts, fresh",
                                       "parts of larger views, fresh" };
    for (int cut = 0; cut <= CUT_ROOMY_FRESH; cut++) {
        struct split split = random_split(pair->fast.nest, random);
        if (!full_length() && hp_random_below(random, 3))
            continue;
        forget(&pair->fast);
        for (int p = 0; p < pair->fast.nest->n_passes; p++)
            run_parts(&pair->fast, p, &split, (enum cut)cut);
        compare(&pair->fast, pair->whole, how[cut]);
    }
}

static void test_parts(void **state)
{
    (void)state;
    for_all(check_parts);
}

/* Several passes at once -------------------------------------------------------------- */

/* Passes of one phase in as few calls as the table says, on all of the operator. */
static void check_joint(struct pair *pair, struct random *random)
{
    const struct subject *s = &pair->fast;
    pass_set done = 0;
    forget(s);
    for (int p = 0; p < s->nest->n_passes; p++) {
        pass_set joint = hp_kernel_joint(s->kernels, s->nest, p);
        assert_true(joint >> p & 1);
        assert_int_equal(joint & (((pass_set)1 << p) - 1), 0);
        if (done >> p & 1)
            continue;
        for (int q = p + 1; q < s->nest->n_passes; q++) /* any of them may be left out */
            if (hp_random_below(random, 4) == 0)
                joint &= ~((pass_set)1 << q);
        struct kernel_call call = call_of(s, p);
        memcpy(call.value, s->value, sizeof call.value);
        memcpy(call.grad, s->grad, sizeof call.grad);
        call.passes = joint & ~done;
        call.add_after = true;
        for (int q = p; q < s->nest->n_passes; q++) {
            call.fresh |= joint >> q & 1 ? s->nest->pass[q].writes : 0;
            call.fresh_grad |= joint >> q & 1 ? s->nest->pass[q].writes_grad : 0;
        }
        run_call(s, &call);
        done |= joint;
    }
    compare(s, pair->whole, "several passes at once");
}

static void test_joint_passes(void **state)
{
    (void)state;
    for_all(check_joint);
}

/* Threads ----------------------------------------------------------------------------- */

/* What threads would do, one after the other; small calls are divided too. */
static void check_division(struct pair *pair, struct random *random)
{
    const struct subject *s = &pair->fast;
    for (int p = 0; p < s->nest->n_passes; p++) {
        const struct pass *pass = &s->nest->pass[p];
        struct kernel_call call = call_of(s, p), part;
        memcpy(call.value, s->value, sizeof call.value);
        memcpy(call.grad, s->grad, sizeof call.grad);
        call.add_after = true;
        call.fresh = pass->writes;
        call.fresh_grad = pass->writes_grad;
        struct division division = hp_divide(&call, 2 + (int)hp_random_below(random, 4), 0);
        for (int i = 0; i < division.parts; i++) {
            hp_division_part(&division, i, &part);
            run_call(s, &part);
        }
    }
    compare(s, pair->whole, "divided");
}

static void test_divided_calls(void **state)
{
    (void)state;
    for_all(check_division);
}

/* Several threads give what one gives up to rounding, and the same again the next time. */
static void check_threads(struct pair *pair, struct random *random)
{
    struct subject *s = &pair->fast;
    struct subject again = subject_new(s->c, s->real);
    again.kernels = s->kernels;
    fill(&again, draw);
    hp_kernels_threads(2 + (int)hp_random_below(random, 5));
    struct subject *both[2] = { s, &again };
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < s->nest->n_passes; p++)
            run_whole(both[i], p);
    compare(s, pair->whole, "threads");
    for (int o = 0; o < s->nest->n_operands; o++)
        if (s->value[o].data) {
            size_t bytes = (size_t)hp_box_elements(&s->value[o].box) * element_bytes(s, o);
            assert_memory_equal(s->value[o].data, again.value[o].data, bytes);
            assert_memory_equal(s->grad[o].data, again.grad[o].data, bytes);
        }
    check_joint(pair, random);
    hp_kernels_threads(1);
    subject_free(&again);
}

static void test_threads(void **state)
{
    (void)state;
    for_all(check_threads);
}

/* Coverage ---------------------------------------------------------------------------- */

/* Kinds whose calls are all left to the reference kernels. */
static bool left_out(enum op_kind kind)
{
    return !hp_fast_table(REAL_F32)->row[kind].run;
}

/* What the reference does: pooling in three dimensions, a reshape element by element; of an
 * LSTM one step's errors, and gradients that are not there. */
static bool may_refuse(const struct op_case *c, const struct pass *pass)
{
    if (c->kind == OP_MAX_POOL || c->kind == OP_AVG_POOL)
        return c->input[0].shape.n_dims > 4;
    if (c->kind == OP_RESHAPE)
        return strcmp(c->label, "factors that do not meet") == 0;
    return (c->kind == OP_LSTM || c->kind == OP_LSTM_CELL || c->kind == OP_GRU ||
            c->kind == OP_GRU_CELL) &&
           pass->backward;
}

/* Dense views are not refused. */
static void check_taken(struct pair *pair, struct random *random)
{
    (void)random;
    const struct subject *s = &pair->fast;
    for (int p = 0; p < s->nest->n_passes && !left_out(s->c->kind); p++) {
        struct kernel_call call = call_of(s, p);
        memcpy(call.value, s->value, sizeof call.value);
        memcpy(call.grad, s->grad, sizeof call.grad);
        call.fresh = s->nest->pass[p].writes;
        call.fresh_grad = s->nest->pass[p].writes_grad;
        call.add_after = true;
        size_t bytes = hp_kernel_workspace(s->kernels, &call);
        call.workspace = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
        bool taken = hp_fast_table(s->real)->row[s->c->kind].run(&call);
        free(call.workspace);
        if (!taken && !may_refuse(s->c, &s->nest->pass[p]))
            fail_msg("%s (%s): pass %d is left to the reference", hp_op[s->c->kind].name,
                     s->c->label, p);
    }
}

static void test_what_is_taken(void **state)
{
    (void)state;
    for (int k = 0; k < OP_KIND_COUNT; k++)
        if (hp_kernel_exists((enum op_kind)k) && left_out((enum op_kind)k))
            printf("%s: left to the reference\n", hp_op[k].name);
    for_all(check_taken);
}

int main(void)
{
    if (!hp_kernels_find("fast"))
        return 77; /* built without BLAS */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_operators), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_joint_passes),    cmocka_unit_test(test_divided_calls),
        cmocka_unit_test(test_threads),         cmocka_unit_test(test_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, free_references);
}
