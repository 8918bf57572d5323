/* The schedules of a pipeline: slots, micro-batches in flight, the time of a step. */
#include "plan/schedules.h"

#include <assert.h>
#include <math.h>
#include <strings.h>

#include "base/names.h"

static struct slot forward(int stage, int micro)
{
    return (struct slot){ stage, micro, PHASE_FORWARD };
}

static struct slot backward(int stage, int micro)
{
    return (struct slot){ stage, micro, PHASE_BACKWARD };
}

static int stages_from(const struct pipeline_size *size, int stage)
{
    return size->groups * size->chunks - stage;
}

/* No pipeline: micro-batches one after another, gradients accumulate ------------------------
 */

static int fill_none(const struct pipeline_size *size, const int *stage, struct slot *slot)
{
    for (int m = 0; m < size->n_micro; m++) {
        *slot++ = forward(*stage, m);
        *slot++ = backward(*stage, m);
    }
    return 2 * (int)size->n_micro;
}

static double one_in_flight(const struct pipeline_size *size, int stage)
{
    (void)size;
    (void)stage;
    return 1;
}

static double none_seconds(const struct pipeline_size *size, const struct stages_time *t)
{
    return (double)size->n_micro * t->most_s;
}

/* GPipe (Huang et al., NeurIPS 2019): all forward, all backward -----------------------------
 */

static int fill_gpipe(const struct pipeline_size *size, const int *stage, struct slot *slot)
{
    for (int m = 0; m < size->n_micro; m++)
        *slot++ = forward(*stage, m);
    for (int m = 0; m < size->n_micro; m++)
        *slot++ = backward(*stage, m);
    return 2 * (int)size->n_micro;
}

/* The first micro-batch passes all stages, the others follow at the pace of the slowest one. */
static double flush_seconds(const struct pipeline_size *size, const struct stages_time *t)
{
    return t->sum_s + ((double)size->n_micro - 1) * t->most_s;
}

/* 1F1B (PipeDream-Flush; Narayanan et al., ICML 2021) ---------------------------------------
 */

void hp_alternate(struct slot *slot, int stage, int n_micro, int in_flight)
{
    int ahead = in_flight < n_micro ? in_flight : n_micro, back = 0;
    for (int m = 0; m < ahead; m++)
        *slot++ = forward(stage, m);
    while (back < n_micro) {
        *slot++ = backward(stage, back++);
        if (ahead < n_micro)
            *slot++ = forward(stage, ahead++);
    }
}

static int fill_1f1b(const struct pipeline_size *size, const int *stage, struct slot *slot)
{
    hp_alternate(slot, *stage, (int)size->n_micro, stages_from(size, *stage));
    return 2 * (int)size->n_micro;
}

static double stages_in_flight(const struct pipeline_size *size, int stage)
{
    return stages_from(size, stage);
}

/* Interleaved (Megatron-LM; Narayanan et al., SC 2021, section 2.2) -------------------------
 */

/* Micro-batches go `groups` at a time through all chunks of a device: the k-th slot forward, or
 * backward, of the device. */
static struct slot interleaved_slot(const struct pipeline_size *size, const int *stage, int k,
                                    bool back)
{
    int p = size->groups, v = size->chunks;
    int chunk = k % (p * v) / p, micro = k / (p * v) * p + k % p;
    return back ? backward(stage[v - 1 - chunk], micro) : forward(stage[chunk], micro);
}

static int fill_interleaved(const struct pipeline_size *size, const int *stage,
                            struct slot *slot)
{
    int n = (int)size->n_micro * size->chunks;
    int ahead = 2 * (size->groups - 1 - stage[0]) + (size->chunks - 1) * size->groups;
    ahead = ahead < n ? ahead : n;
    for (int k = 0; k < ahead; k++)
        *slot++ = interleaved_slot(size, stage, k, false);
    for (int k = 0; k < n; k++) {
        if (ahead + k < n)
            *slot++ = interleaved_slot(size, stage, ahead + k, false);
        *slot++ = interleaved_slot(size, stage, k, true);
    }
    return 2 * n;
}

/* The sum over all chunks of the first device, in whole micro-batches. */
static double interleaved_in_flight(const struct pipeline_size *size, int stage)
{
    (void)stage;
    return size->groups + (size->groups - 1.0) / size->chunks;
}

static double interleaved_seconds(const struct pipeline_size *size, const struct stages_time *t)
{
    return fmax(t->sum_s, (double)size->n_micro * t->load_s + (size->groups - 1) * t->most_s);
}

/* Zero bubble (Qi et al., ICLR 2024, section 2) ---------------------------------------------
 */

/* 1F1B with `in_flight` micro-batches forward at first. The gradients of parameters come `late`
 * micro-batches after the errors. So every device keeps as many micro-batches as the first
 * device does, counting those whose gradients are not computed yet, and gradients are left for
 * the time in which 1F1B waits for the last errors. */
static int delay_gradients(struct slot *slot, int stage, int n_micro, int in_flight, int late)
{
    int ahead = in_flight < n_micro ? in_flight : n_micro, done = 0;
    for (int m = 0; m < ahead; m++)
        *slot++ = forward(stage, m);
    for (int back = 1; back <= n_micro; back++) {
        *slot++ = backward(stage, back - 1);
        if (back - done > late)
            *slot++ = (struct slot){ stage, done++, PHASE_GRADIENT };
        if (ahead < n_micro)
            *slot++ = forward(stage, ahead++);
    }
    while (done < n_micro)
        *slot++ = (struct slot){ stage, done++, PHASE_GRADIENT };
    return 3 * n_micro;
}

static int fill_zb_h1(const struct pipeline_size *size, const int *stage, struct slot *slot)
{
    return delay_gradients(slot, *stage, (int)size->n_micro, stages_from(size, *stage), *stage);
}

static int fill_zb_h2(const struct pipeline_size *size, const int *stage, struct slot *slot)
{
    return delay_gradients(slot, *stage, (int)size->n_micro, 2 * stages_from(size, *stage) - 1,
                           2 * *stage);
}

static double zb_h1_in_flight(const struct pipeline_size *size, int stage)
{
    (void)stage;
    return stages_from(size, 0);
}

static double zb_h2_in_flight(const struct pipeline_size *size, int stage)
{
    (void)stage;
    return 2 * stages_from(size, 0) - 1;
}

/* Gradients W fill the bubbles: of F + B + W, a bubble of F + B - W is left (h1), or of
 * F + B - 2 W (h2). With few micro-batches the first forward pass and the last error take
 * longer to pass all stages. The time in which the last stage waits for the first micro-batch
 * is left out: under h2 the next step could fill it. */
static double zero_bubble_seconds(const struct pipeline_size *size, const struct stages_time *t,
                                  double filled)
{
    double m = (double)size->n_micro, others_s = t->sum_s - t->most_s, w = t->gradient_part;
    double bubble = fmax(0, 1 - w - filled * w);
    double steady_s = m * t->most_s + bubble * others_s;
    double way_s = (1 - w) * others_s + (m * (1 - w) + w) * t->most_s;
    return fmax(steady_s, way_s);
}

static double zb_h1_seconds(const struct pipeline_size *size, const struct stages_time *t)
{
    return zero_bubble_seconds(size, t, 1);
}

static double zb_h2_seconds(const struct pipeline_size *size, const struct stages_time *t)
{
    return zero_bubble_seconds(size, t, 2);
}

/* The rows ----------------------------------------------------------------------------------
 */

#ifndef ADDED_SCHEDULES /* those of a test */
#define ADDED_SCHEDULES
#endif

const struct schedule_row hp_schedule[] = {
    [HYPAR_SCHEDULE_NONE] = { .name = "none",
                              .fill = fill_none,
                              .in_flight = one_in_flight,
                              .seconds = none_seconds },
    [HYPAR_SCHEDULE_GPIPE] = { .name = "gpipe", .fill = fill_gpipe, .seconds = flush_seconds },
    [HYPAR_SCHEDULE_1F1B] = { .name = "1f1b",
                              .fill = fill_1f1b,
                              .in_flight = stages_in_flight,
                              .seconds = flush_seconds },
    /* Replicas take minibatches in turn, and decide how many are in flight:
     * program/pipedream.h. Without a flush the slowest stage sets the pace. */
    [HYPAR_SCHEDULE_PIPEDREAM] = { .name = "pipedream",
                                   .delayed = true,
                                   .seconds = none_seconds },
    [HYPAR_SCHEDULE_INTERLEAVED] = { .name = "interleaved",
                                     .interleaves = true,
                                     .rounds = true,
                                     .fill = fill_interleaved,
                                     .in_flight = interleaved_in_flight,
                                     .seconds = interleaved_seconds },
    [HYPAR_SCHEDULE_ZB_H1] = { .name = "zb-h1",
                               .synonym = "zbh1",
                               .apart = true,
                               .fill = fill_zb_h1,
                               .in_flight = zb_h1_in_flight,
                               .seconds = zb_h1_seconds },
    [HYPAR_SCHEDULE_ZB_H2] = { .name = "zb-h2",
                               .synonym = "zbh2",
                               .apart = true,
                               .fill = fill_zb_h2,
                               .in_flight = zb_h2_in_flight,
                               .seconds = zb_h2_seconds },
    [HYPAR_SCHEDULE_SLOTS] = { .name = "slots", .listed = true, .seconds = flush_seconds },
    ADDED_SCHEDULES
};
const int hp_n_schedules = sizeof hp_schedule / sizeof *hp_schedule;
static_assert(sizeof hp_schedule / sizeof *hp_schedule <= HP_MOST_SCHEDULES, "too many rows");

const char *hypar_schedule_text(enum hypar_schedule_kind kind)
{
    return (int)kind >= 0 && (int)kind < hp_n_schedules ? hp_schedule[kind].name : NULL;
}

static int find_schedule(const char *name)
{
    for (int i = 0; i < hp_n_schedules; i++) {
        const char *synonym = hp_schedule[i].synonym;
        if (strcasecmp(hp_schedule[i].name, name) == 0 ||
            (synonym && strcasecmp(synonym, name) == 0))
            return i;
    }
    return -1;
}

int hypar_name_find(enum hypar_name kind, const char *name)
{
    return kind == HYPAR_NAME_SCHEDULE ? find_schedule(name) : hp_find_name(kind, name);
}

static bool has_property(const struct schedule_row *row, enum schedule_property property)
{
    return property == SCHEDULE_DELAYED       ? row->delayed
           : property == SCHEDULE_INTERLEAVES ? row->interleaves
                                              : row->listed;
}

const char *hp_schedule_with(enum schedule_property property)
{
    int i = 0;
    while (!has_property(&hp_schedule[i], property))
        i++;
    return hp_schedule[i].name;
}

enum hypar_schedule_kind hp_leaner_schedule(enum hypar_schedule_kind kind)
{
    for (int i = 0; i < hp_n_schedules; i++)
        if (hp_is_straight((enum hypar_schedule_kind)i) && hp_schedule[i].in_flight &&
            !hp_schedule[kind].in_flight && hp_schedule[i].seconds == hp_schedule[kind].seconds)
            return (enum hypar_schedule_kind)i;
    return kind;
}

double hp_least_in_flight(enum hypar_schedule_kind kind, const struct pipeline_size *size,
                          int stage)
{
    double all = hp_in_flight(kind, size, stage);
    if (hp_shares_devices(&hp_schedule[kind]))
        return fmin(all, 1);
    return hp_schedule[kind].apart ? fmin(all, stages_from(size, stage)) : all;
}

struct pipeline_size hp_pipeline_size(const struct hypar_plan *plan)
{
    int stages = plan->n_stages ? plan->n_stages : 1;
    int chunks = hp_schedule_of(plan)->interleaves ? plan->schedule.chunks : 1;
    return (struct pipeline_size){ stages / chunks, chunks, plan->schedule.micro_batches };
}

double hp_in_flight(enum hypar_schedule_kind kind, const struct pipeline_size *size, int stage)
{
    const struct schedule_row *row = &hp_schedule[kind];
    double all = (double)size->n_micro;
    return row->in_flight ? fmin(all, row->in_flight(size, stage)) : all;
}
