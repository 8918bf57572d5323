/* Updates against the formulas, step by step, in both precisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/random.h"
#include "run/data.h"
#include "run/optimizer/optimizer.h"

enum { STEPS = 4 };

static const double gradients[STEPS] = { 0.5, -0.25, 2, 0 };

/* w after each step, written out as PyTorch's documentation does. */
static double by_hand(const struct optimizer *o, double w, int steps)
{
    double first = 0, second = 0, l2 = o->kind == HYPAR_ADAMW ? 0 : o->weight_decay;
    for (int s = 1; s <= steps; s++) {
        double g = gradients[s - 1] + l2 * w;
        switch (o->kind) {
        case HYPAR_MOMENTUM:
            first = 0.9 * first + g;
            w -= o->learning_rate * first;
            break;
        case HYPAR_ADAMW:
            w -= o->learning_rate * o->weight_decay * w;
            /* fall through */
        case HYPAR_ADAM:
            first = 0.9 * first + 0.1 * g;
            second = 0.999 * second + 0.001 * g * g;
            w -= o->learning_rate * (first / (1 - pow(0.9, s))) /
                 (sqrt(second / (1 - pow(0.999, s))) + 1e-8);
            break;
        default:
            w -= o->learning_rate * g;
        }
    }
    return w;
}

/* At the optimizer's own rate, with an unscaled gradient. */
static void plain_update(const struct optimizer *optimizer, int step, int64_t n, enum real real,
                         void *w, const void *gradient, const struct optimizer_state *state)
{
    hp_update_at(optimizer, &(struct update_step){ step, optimizer->learning_rate, 1 }, n, real,
                 w, gradient, state);
}

static void check(enum hypar_optimizer kind, enum real real, double decay)
{
    struct optimizer optimizer = hp_optimizer(kind);
    double w[2], g[2], state0[2] = { 0 }, state1[2] = { 0 }; /* room for either precision */
    struct optimizer_state state = { { state0, state1 } };
    if (decay > 0)
        optimizer.weight_decay = decay;
    hp_put(w, 0, 1, real);
    hp_put(w, 1, NAN, real);
    hp_put(g, 1, NAN, real);
    for (int s = 1; s <= STEPS; s++) {
        hp_put(g, 0, gradients[s - 1], real);
        plain_update(&optimizer, s, 2, real, w, g, &state);
        double expected = by_hand(&optimizer, 1, s), digits = real == REAL_F32 ? 1e-6 : 1e-14;
        assert_true(fabs(hp_get(w, 0, real) - expected) <= digits);
        assert_true(isnan(hp_get(w, 1, real))); /* what is not known stays so */
    }
}

static void formulas(void **state)
{
    (void)state;
    for (int kind = 0; kind < HYPAR_OPTIMIZER_COUNT; kind++) {
        for (int decayed = 0; decayed < 2; decayed++) {
            check((enum hypar_optimizer)kind, REAL_F32, 0.125 * decayed);
            check((enum hypar_optimizer)kind, REAL_F64, 0.125 * decayed);
        }
        assert_true(hp_optimizer_moments((enum hypar_optimizer)kind) <= HP_MAX_STATE);
    }
    assert_int_equal(hp_optimizer_moments(HYPAR_SGD), 0);
    assert_int_equal(hp_optimizer_moments(HYPAR_MOMENTUM), 1);
    assert_int_equal(hp_optimizer_moments(HYPAR_ADAM), 2);
    assert_int_equal(hp_optimizer_moments(HYPAR_ADAMW), 2);
    assert_true(hp_optimizer(HYPAR_ADAMW).weight_decay == 0.01);
    assert_true(hp_optimizer(HYPAR_ADAM).weight_decay == 0);
}

/* Arrays of one element more than vectors have, updated whole and in pieces of every length. */
enum { N = 37 };

struct arrays {
    double w[N], g[N], state[2][N]; /* room for either precision */
};

static struct arrays fill(enum real real)
{
    struct arrays a = { 0 };
    struct random random = { 7 };
    for (int i = 0; i < N; i++) {
        hp_put(a.w, i, hp_random_unit(&random) - 0.5, real);
        hp_put(a.g, i, hp_random_unit(&random) - 0.5, real);
    }
    return a;
}

static void update(struct arrays *a, enum hypar_optimizer kind, enum real real, int from, int n)
{
    struct optimizer optimizer = hp_optimizer(kind);
    struct update_step at = { 3, 0.25, 0.5 };
    size_t skip = (size_t)from * hp_real_bytes(real);
    struct optimizer_state state = { { (char *)a->state[0] + skip,
                                       (char *)a->state[1] + skip } };
    optimizer.weight_decay = 0.1;
    hp_update_at(&optimizer, &at, n, real, (char *)a->w + skip, (char *)a->g + skip, &state);
}

static void pieces(void **state)
{
    (void)state;
    for (int kind = 0; kind < HYPAR_OPTIMIZER_COUNT; kind++)
        for (int real = REAL_F32; real <= REAL_F64; real++)
            for (int length = 1; length <= N; length++) {
                struct arrays whole = fill((enum real)real), cut = whole;
                update(&whole, (enum hypar_optimizer)kind, (enum real)real, 0, N);
                for (int from = 0; from < N; from += length)
                    update(&cut, (enum hypar_optimizer)kind, (enum real)real, from,
                           from + length < N ? length : N - from);
                assert_memory_equal(&whole, &cut, sizeof whole);
            }
}

/* A rate and a scale that are given are as a rate of the optimizer and a scaled gradient. */
static void rate_and_scale(void **state)
{
    (void)state;
    for (int kind = 0; kind < HYPAR_OPTIMIZER_COUNT; kind++) {
        struct optimizer optimizer = hp_optimizer((enum hypar_optimizer)kind), other;
        struct arrays a = fill(REAL_F64), b = a;
        struct optimizer_state in_a = { { a.state[0], a.state[1] } };
        struct optimizer_state in_b = { { b.state[0], b.state[1] } };
        other = optimizer;
        other.learning_rate = 0.125;
        for (int i = 0; i < N; i++)
            b.g[i] *= 0.25;
        hp_update_at(&optimizer, &(struct update_step){ 1, 0.125, 0.25 }, N, REAL_F64, a.w, a.g,
                     &in_a);
        plain_update(&other, 1, N, REAL_F64, b.w, b.g, &in_b);
        assert_memory_equal(a.w, b.w, sizeof a.w);
    }
}

static void clipping(void **state)
{
    (void)state;
    for (int real = REAL_F32; real <= REAL_F64; real++) {
        double x[N];
        for (int i = 0; i < N; i++)
            hp_put(x, i, i - 3, (enum real)real);
        for (int n = 0; n <= N; n++) {
            double expected = 0; /* of integers: exact in any order */
            for (int i = 0; i < n; i++)
                expected += (i - 3) * (i - 3);
            assert_true(hp_sum_of_squares(n, (enum real)real, x) == expected);
        }
    }
    float large[2] = { 1e30f, 1e30f }; /* their squares are beyond a float */
    assert_true(fabs(hp_sum_of_squares(2, REAL_F32, large) / 2e60 - 1) < 1e-6);

    assert_true(fabs(hp_clip_scale(25, 1) - 1 / 5.000001) < 1e-15);
    assert_true(hp_clip_scale(25, 10) == 1);
    assert_true(hp_clip_scale(0, 1) == 1);
    assert_true(hp_clip_scale(25, 0) == 1);
    assert_true(hp_clip_scale(NAN, 1) == 1);
    assert_true(hp_clip_scale(INFINITY, 1) == 0);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

static void rates(void **state)
{
    (void)state;
    struct rate_schedule constant = { 0 };
    assert_true(hp_learning_rate(&constant, 0.5, 1) == 0.5);
    assert_true(hp_learning_rate(&constant, 0.5, INT64_MAX) == 0.5);

    struct rate_schedule warm = { .warm_up = 4 };
    for (int s = 1; s <= 4; s++)
        assert_true(near(hp_learning_rate(&warm, 0.5, s), 0.125 * s));
    assert_true(hp_learning_rate(&warm, 0.5, 5) == 0.5);

    struct rate_schedule cosine = { RATE_COSINE, .warm_up = 2, .steps = 10, .last = 0.1 };
    assert_true(near(hp_learning_rate(&cosine, 1, 1), 0.5));
    assert_true(near(hp_learning_rate(&cosine, 1, 2), 1));
    assert_true(near(hp_learning_rate(&cosine, 1, 3), 1));
    assert_true(near(hp_learning_rate(&cosine, 1, 7), 0.55));
    assert_true(near(hp_learning_rate(&cosine, 1, 11), 0.1));
    assert_true(near(hp_learning_rate(&cosine, 1, 1000), 0.1));
    for (int s = 3; s < 11; s++)
        assert_true(hp_learning_rate(&cosine, 1, s + 1) < hp_learning_rate(&cosine, 1, s));

    struct rate_schedule step = { RATE_STEP, .every = 3, .factor = 0.1 };
    static const double expected[] = { 1, 1, 1, 0.1, 0.1, 0.1, 0.01 };
    for (int s = 1; s <= 7; s++)
        assert_true(near(hp_learning_rate(&step, 1, s), expected[s - 1]));

    assert_int_equal(hp_rate_find("constant"), RATE_CONSTANT);
    assert_int_equal(hp_rate_find("cosine"), RATE_COSINE);
    assert_int_equal(hp_rate_find("step"), RATE_STEP);
    assert_int_equal(hp_rate_find("cosinus"), RATE_KIND_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas), cmocka_unit_test(pieces), cmocka_unit_test(rate_and_scale),
        cmocka_unit_test(clipping), cmocka_unit_test(rates),
    };
    return cmocka_run_group_tests_name("run: optimizers", tests, NULL, NULL);
}
