/* PipeDream: the number of minibatches in flight, and the version of the weights that each
 * uses. */
#include "program/pipedream.h"

int hp_pipedream_in_flight(int workers_from_here, int replicas)
{
    return (workers_from_here + replicas - 1) / replicas;
}

int hp_pipedream_stage_in_flight(const struct pipedream *p, int s)
{
    int workers = 0;
    for (int t = s; t < p->n_stages; t++)
        workers += p->replicas[t];
    return hp_pipedream_in_flight(workers, p->replicas[s]);
}

/* A period is updated before its replicas begin the next forward pass. So period u sees the
 * updates of all periods before u - in flight + 1. */
static int64_t own_version(const struct pipedream *p, int s, int64_t b)
{
    int64_t version = b / p->replicas[s] - hp_pipedream_stage_in_flight(p, s) + 1;
    return version > 0 ? version : 0;
}

int64_t hp_pipedream_version(const struct pipedream *p, int s, int64_t b, bool vertical_sync)
{
    if (!vertical_sync)
        return own_version(p, s, b);
    return own_version(p, 0, b) * p->replicas[0] / p->replicas[s];
}

int64_t hp_pipedream_newest(const struct pipedream *p, int s, int64_t b)
{
    return b / p->replicas[s];
}

/* With vertical sync the last minibatch of a period of the input stage has the oldest weights;
 * how old they are in stage `s` repeats after at most as many such periods as it has replicas.
 */
int hp_pipedream_delay(const struct pipedream *p, int s, bool vertical_sync)
{
    int64_t most = 0, full = hp_pipedream_stage_in_flight(p, 0);
    for (int64_t u = full; u < full + p->replicas[s]; u++) {
        int64_t b = (u + 1) * p->replicas[0] - 1;
        int64_t late =
            hp_pipedream_newest(p, s, b) - hp_pipedream_version(p, s, b, vertical_sync);
        most = late > most ? late : most;
    }
    return (int)most;
}
