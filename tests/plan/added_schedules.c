/* The table of schedules with two rows more, in place of the library's: whoever links this file
 * has these schedules everywhere, and no other file knows them. */
#include "plan/slots.h"

struct pipeline_size;
static int fill_eager(const struct pipeline_size *size, const int *stage, struct slot *slot);
static double eager_in_flight(const struct pipeline_size *size, int stage);
static int fill_last_first(const struct pipeline_size *size, const int *stage,
                           struct slot *slot);

#define ADDED_SCHEDULES                                      \
    [HYPAR_SCHEDULE_COUNT] = { .name = "eager",              \
                               .fill = fill_eager,           \
                               .in_flight = eager_in_flight, \
                               .seconds = flush_seconds },   \
    [HYPAR_SCHEDULE_COUNT + 1] = { .name = "last-first",     \
                                   .reorders = true,         \
                                   .fill = fill_last_first,  \
                                   .seconds = flush_seconds },

#include "plan/schedules.c"

/* 1F1B that begins with one micro-batch more at each stage, which hides messages. */
static double eager_in_flight(const struct pipeline_size *size, int stage)
{
    return stages_from(size, stage) + 1;
}

static int fill_eager(const struct pipeline_size *size, const int *stage, struct slot *slot)
{
    hp_alternate(slot, *stage, (int)size->n_micro, stages_from(size, *stage) + 1);
    return 2 * (int)size->n_micro;
}

/* All forward, then all backward, from the last micro-batch to the first. */
static int fill_last_first(const struct pipeline_size *size, const int *stage,
                           struct slot *slot)
{
    for (int m = 0; m < size->n_micro; m++)
        *slot++ = forward(*stage, m);
    for (int m = (int)size->n_micro - 1; m >= 0; m--)
        *slot++ = backward(*stage, m);
    return 2 * (int)size->n_micro;
}
