/* A parameter is updated from its gradient, element by element. */
#include "run/optimizer.h"

#include <math.h>

#include "run/data.h"

struct optimizer hp_optimizer(enum hypar_optimizer kind)
{
    return (struct optimizer){ .kind = kind,
                               .learning_rate = kind == HYPAR_ADAM ? 0.001 : 0.01,
                               .momentum = 0.9,
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-8 };
}

int hp_optimizer_states(enum hypar_optimizer kind)
{
    static const int states[HYPAR_OPTIMIZER_COUNT] = { [HYPAR_MOMENTUM] = 1, [HYPAR_ADAM] = 2 };
    return states[kind];
}

static void sgd(const struct optimizer *o, int64_t n, enum real real, void *w, const void *g)
{
    for (int64_t i = 0; i < n; i++)
        hp_put(w, i, hp_get(w, i, real) - o->learning_rate * hp_get(g, i, real), real);
}

/* v = momentum v + g; w -= rate v */
static void momentum(const struct optimizer *o, int64_t n, enum real real, void *w,
                     const void *g, void *velocity)
{
    for (int64_t i = 0; i < n; i++) {
        double v = o->momentum * hp_get(velocity, i, real) + hp_get(g, i, real);
        hp_put(velocity, i, v, real);
        hp_put(w, i, hp_get(w, i, real) - o->learning_rate * v, real);
    }
}

/* Adam (Kingma and Ba, ICLR 2015), algorithm 1. */
static void adam(const struct optimizer *o, int step, int64_t n, enum real real, void *w,
                 const void *g, const struct optimizer_state *state)
{
    double correct1 = 1 - pow(o->beta1, step), correct2 = 1 - pow(o->beta2, step);
    for (int64_t i = 0; i < n; i++) {
        double gradient = hp_get(g, i, real);
        double m = o->beta1 * hp_get(state->array[0], i, real) + (1 - o->beta1) * gradient;
        double v =
            o->beta2 * hp_get(state->array[1], i, real) + (1 - o->beta2) * gradient * gradient;
        hp_put(state->array[0], i, m, real);
        hp_put(state->array[1], i, v, real);
        double change = o->learning_rate * (m / correct1) / (sqrt(v / correct2) + o->epsilon);
        hp_put(w, i, hp_get(w, i, real) - change, real);
    }
}

void hp_update(const struct optimizer *optimizer, int step, int64_t n, enum real real, void *w,
               const void *gradient, const struct optimizer_state *state)
{
    switch (optimizer->kind) {
    case HYPAR_MOMENTUM:
        momentum(optimizer, n, real, w, gradient, state->array[0]);
        break;
    case HYPAR_ADAM:
        adam(optimizer, step, n, real, w, gradient, state);
        break;
    default:
        sgd(optimizer, n, real, w, gradient);
    }
}
