/* Updates of parameters: the figures of an optimizer and a step become coefficients of the
 * loops (update.inc). */
#include "run/optimizer/optimizer.h"

#include <math.h>

#include "base/float_bits.h"
#include "run/optimizer/update.h"

struct optimizer hp_optimizer(enum hypar_optimizer kind)
{
    bool adam = kind == HYPAR_ADAM || kind == HYPAR_ADAMW;
    return (struct optimizer){ .kind = kind,
                               .learning_rate = adam ? 0.001 : 0.01,
                               .momentum = 0.9,
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-8,
                               .weight_decay = kind == HYPAR_ADAMW ? 0.01 : 0 };
}

/* Adam (Kingma and Ba, ICLR 2015), algorithm 1, with the corrections moved into the rate and
 * under the root; AdamW (Loshchilov and Hutter, ICLR 2019), algorithm 2. */
static struct update adam_update(const struct optimizer *o, const struct update_step *at)
{
    double step = (double)at->step, decoupled = o->kind == HYPAR_ADAMW ? o->weight_decay : 0;
    double correct1 = 1 - pow(o->beta1, step), correct2 = 1 - pow(o->beta2, step);
    return (struct update){ .scale = at->gradient_scale,
                            .decay = o->kind == HYPAR_ADAMW ? 0 : o->weight_decay,
                            .rate = at->learning_rate / correct1,
                            .beta1 = o->beta1,
                            .beta2 = o->beta2,
                            .epsilon = o->epsilon,
                            .keep = 1 - at->learning_rate * decoupled,
                            .root = 1 / sqrt(correct2) };
}

struct update hp_update_of(const struct optimizer *o, const struct update_step *at)
{
    if (o->kind == HYPAR_ADAM || o->kind == HYPAR_ADAMW)
        return adam_update(o, at);
    return (struct update){ .scale = at->gradient_scale,
                            .decay = o->weight_decay,
                            .rate = at->learning_rate,
                            .beta1 = o->momentum };
}

static const struct update_loops *loops_of(enum real real)
{
    return real == REAL_F32 ? &hp_update_f32 : &hp_update_f64;
}

void hp_update_at(const struct optimizer *optimizer, const struct update_step *at, int64_t n,
                  enum real real, void *w, const void *gradient,
                  const struct optimizer_state *state)
{
    const struct update_loops *loops = loops_of(real);
    const struct update update = hp_update_of(optimizer, at);
    switch (optimizer->kind) {
    case HYPAR_MOMENTUM:
        loops->momentum(&update, n, w, gradient, state->array[0]);
        break;
    case HYPAR_ADAM:
    case HYPAR_ADAMW:
        loops->adam(&update, n, w, gradient, state);
        break;
    default:
        loops->sgd(&update, n, w, gradient);
    }
}

double hp_sum_of_squares(int64_t n, enum real real, const void *gradient)
{
    double sum = 0;
    if (real != REAL_BF16)
        return loops_of(real)->sum_of_squares(n, gradient);
    for (int64_t i = 0; i < n; i++) {
        double x = hp_bf16_number(((const uint16_t *)gradient)[i]);
        sum += x * x;
    }
    return sum;
}

/* As torch.nn.utils.clip_grad_norm_(): a small number is added to the norm, which may be 0. A
 * norm that is NaN scales nothing: the fault then shows in the parameters. */
double hp_clip_scale(double sum_of_squares, double max_norm)
{
    double scale = max_norm / (sqrt(sum_of_squares) + 1e-6);
    return max_norm > 0 && scale < 1 ? scale : 1;
}
