/* The table of schedules with a few rows more, in place of the library's: whoever links this
 * file has these schedules everywhere, and no other file knows them. */
#include "plan/slots.h"

struct pipeline_size;
struct stages_time;
static int fill_eager(const struct pipeline_size *size, const int *stage, struct slot *slot);
static double eager_in_flight(const struct pipeline_size *size, int stage);
static int fill_last_first(const struct pipeline_size *size, const int *stage,
                           struct slot *slot);
static int fill_late(const struct pipeline_size *size, const int *stage, struct slot *slot);
static double late_seconds(const struct pipeline_size *size, const struct stages_time *t);
static int zigzag_group(const struct pipeline_size *size, int stage);
static int fill_zigzag(const struct pipeline_size *size, const int *stage, struct slot *slot);
static double zigzag_seconds(const struct pipeline_size *size, const struct stages_time *t);

/* clang-format off */
#define ADDED_SCHEDULES \
    [HYPAR_SCHEDULE_COUNT] = { .name = "eager", .fill = fill_eager, .in_flight = eager_in_flight, \
                               .seconds = flush_seconds }, \
    [HYPAR_SCHEDULE_COUNT + 1] = { .name = "last-first", .reorders = true, .fill = fill_last_first, \
                                   .seconds = flush_seconds }, \
    [HYPAR_SCHEDULE_COUNT + 2] = { .name = "late", .apart = true, .fill = fill_late, \
                                   .seconds = late_seconds }, \
    [HYPAR_SCHEDULE_COUNT + 3] = { .name = "zigzag", .interleaves = true, .group = zigzag_group, \
                                   .fill = fill_zigzag, .seconds = zigzag_seconds }, \
    [HYPAR_SCHEDULE_COUNT + 4] = { .name = "on-their-own", .delayed = true, .seconds = none_seconds },
/* clang-format on */

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

/* GPipe whose gradients of parameters come at the very end. */
static int fill_late(const struct pipeline_size *size, const int *stage, struct slot *slot)
{
    int m = (int)size->n_micro;
    fill_gpipe(size, stage, slot);
    for (int i = 0; i < m; i++)
        slot[2 * m + i] = (struct slot){ *stage, i, PHASE_GRADIENT };
    return 3 * m;
}

static double late_seconds(const struct pipeline_size *size, const struct stages_time *t)
{
    double gradients_s = (double)size->n_micro * t->gradient_part * t->most_s;
    return (1 - t->gradient_part) * flush_seconds(size, t) + gradients_s;
}

/* Stages go from the first group of devices to the last, and back again. */
static int zigzag_group(const struct pipeline_size *size, int stage)
{
    int turn = stage / size->groups, at = stage % size->groups;
    return turn % 2 ? size->groups - 1 - at : at;
}

/* All micro-batches forward through one stage of a device, then through its next; backward the
 * other way round. */
static int fill_zigzag(const struct pipeline_size *size, const int *stage, struct slot *slot)
{
    for (int c = 0; c < size->chunks; c++)
        for (int m = 0; m < size->n_micro; m++)
            *slot++ = forward(stage[c], m);
    for (int c = size->chunks - 1; c >= 0; c--)
        for (int m = 0; m < size->n_micro; m++)
            *slot++ = backward(stage[c], m);
    return 2 * (int)size->n_micro * size->chunks;
}

static double zigzag_seconds(const struct pipeline_size *size, const struct stages_time *t)
{
    return (double)size->n_micro * t->load_s + t->sum_s - size->chunks * t->most_s;
}
