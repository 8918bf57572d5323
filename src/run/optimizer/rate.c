/* The learning rate of each step. After the warm-up the schedules count from 0, as PyTorch's
 * CosineAnnealingLR and StepLR do behind a SequentialLR. */
#include <math.h>
#include <string.h>

#include "run/optimizer/optimizer.h"

static const char *const names[RATE_KIND_COUNT] = {
    [RATE_CONSTANT] = "constant",
    [RATE_COSINE] = "cosine",
    [RATE_STEP] = "step",
};

enum rate_kind hp_rate_find(const char *name)
{
    int kind = 0;
    while (kind < RATE_KIND_COUNT && strcmp(names[kind], name) != 0)
        kind++;
    return (enum rate_kind)kind;
}

/* (Loshchilov and Hutter, ICLR 2017, equation 5, without restarts) */
static double cosine(const struct rate_schedule *s, int64_t done)
{
    static const double pi = 3.14159265358979323846;
    int64_t all = s->steps - s->warm_up;
    if (done >= all)
        return s->last;
    return s->last + (1 - s->last) * 0.5 * (1 + cos(pi * (double)done / (double)all));
}

double hp_learning_rate(const struct rate_schedule *schedule, double rate, int64_t step)
{
    int64_t done = step - 1 - schedule->warm_up; /* since the warm-up ended */
    if (done < 0)
        return rate * (double)step / (double)schedule->warm_up;
    switch (schedule->kind) {
    case RATE_COSINE:
        return rate * cosine(schedule, done);
    case RATE_STEP:
        return rate * pow(schedule->factor, (double)(done / schedule->every));
    default:
        return rate;
    }
}
