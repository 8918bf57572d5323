/* Updates against the formulas, step by step, in both precisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "run/data.h"
#include "run/optimizer.h"

enum { STEPS = 4 };

static const double gradients[STEPS] = { 0.5, -0.25, 2, 0 };

/* w after each step, written out. */
static double by_hand(enum hypar_optimizer kind, double w, int steps)
{
    struct optimizer o = hp_optimizer(kind);
    double first = 0, second = 0;
    for (int s = 1; s <= steps; s++) {
        double g = gradients[s - 1];
        switch (kind) {
        case HYPAR_MOMENTUM:
            first = 0.9 * first + g;
            w -= o.learning_rate * first;
            break;
        case HYPAR_ADAM:
            first = 0.9 * first + 0.1 * g;
            second = 0.999 * second + 0.001 * g * g;
            w -= o.learning_rate * (first / (1 - pow(0.9, s))) /
                 (sqrt(second / (1 - pow(0.999, s))) + 1e-8);
            break;
        default:
            w -= o.learning_rate * g;
        }
    }
    return w;
}

static void check(enum hypar_optimizer kind, enum real real)
{
    struct optimizer optimizer = hp_optimizer(kind);
    double w[2], g[2], state0[2] = { 0 }, state1[2] = { 0 }; /* room for either precision */
    struct optimizer_state state = { { state0, state1 } };
    hp_put(w, 0, 1, real);
    hp_put(w, 1, NAN, real);
    hp_put(g, 1, NAN, real);
    for (int s = 1; s <= STEPS; s++) {
        hp_put(g, 0, gradients[s - 1], real);
        hp_update(&optimizer, s, 2, real, w, g, &state);
        double expected = by_hand(kind, 1, s), digits = real == REAL_F32 ? 1e-6 : 1e-14;
        assert_true(fabs(hp_get(w, 0, real) - expected) <= digits);
        assert_true(isnan(hp_get(w, 1, real))); /* what is not known stays so */
    }
}

static void formulas(void **state)
{
    (void)state;
    for (int kind = 0; kind < HYPAR_OPTIMIZER_COUNT; kind++) {
        check((enum hypar_optimizer)kind, REAL_F32);
        check((enum hypar_optimizer)kind, REAL_F64);
        assert_true(hp_optimizer_states((enum hypar_optimizer)kind) <= HP_MAX_STATE);
    }
    assert_int_equal(hp_optimizer_states(HYPAR_SGD), 0);
    assert_int_equal(hp_optimizer_states(HYPAR_MOMENTUM), 1);
    assert_int_equal(hp_optimizer_states(HYPAR_ADAM), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas),
    };
    return cmocka_run_group_tests_name("run: optimizers", tests, NULL, NULL);
}
