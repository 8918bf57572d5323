/* plan/schedules.h - the schedules of a pipeline, a row each. Internal.
 *
 * A row defines a schedule: its name, the order of a device's slots, the micro-batches in
 * flight of a stage, the time of a step in closed form, and its requirements on stages.
 * CONTRIBUTING.md lists the files that a new schedule touches: a row here, and its number,
 * tests and documents. Other files ask the row; only these name a schedule:
 *
 *   hp_layout_schedule() (plan.h)  the default of a layout that names no schedule
 *   plan/edit.c                    a plan whose slots are listed has schedule 'slots'
 *   plan/check_stages.c            operators with choices under 1f1b
 *   search/pipeline                planners of one schedule: flush.c, pipedream.c
 *   search/hybrid/hybrid.c         gpipe is tried beside 1f1b
 *   search/choices/plan.c          its plans are 1f1b
 *   emit                           which schedules a framework has, and their names there */
#ifndef PLAN_SCHEDULES_H
#define PLAN_SCHEDULES_H

#include "plan/slots.h"

/* The size of a pipeline: groups of devices, stages of each group, micro-batches of a batch. */
struct pipeline_size {
    int groups, chunks;
    int64_t n_micro;
};

/* Times of the stages for one micro-batch, forward and backward, including their received
 * messages. */
struct stages_time {
    double sum_s;  /* of all stages */
    double most_s; /* of the slowest stage */
    double load_s; /* of the slowest group of devices, all its stages */
    /* How much of these times the gradients of parameters take, from 0 to 1. */
    double gradient_part;
};

/* Where no better is known, forward, backward and gradients take the same time. */
#define HP_USUAL_GRADIENT_PART (1.0 / 3)

struct schedule_row {
    const char *name, *synonym; /* as files and options write it; NULL: there is no synonym */
    bool delayed;     /* stages update on their own, with weights of different versions */
    bool apart;       /* the gradients of parameters have slots of their own */
    bool interleaves; /* a group of devices has as many stages as `chunks` says */
    bool rounds;      /* micro-batches go in rounds: their number is a multiple of the groups */
    bool listed;      /* the plan lists the slots */
    bool reorders;    /* a phase does not take the micro-batches from the first to the last */
    /* The group of devices that a stage of an interleaving schedule is on. NULL: stage 0 is on
     * group 0, and so on; after the last group, the first comes again. */
    int (*group)(const struct pipeline_size *size, int stage);
    /* Fill the slots of the devices that have stages stage[0] .. stage[chunks - 1], all but the
     * update; returns how many. NULL: the slots are listed, or depend on replicas. */
    int (*fill)(const struct pipeline_size *size, const int *stage, struct slot *slot);
    /* Micro-batches that a stage has begun and whose activations it still keeps, at most. NULL:
     * all of them. */
    double (*in_flight)(const struct pipeline_size *size, int stage);
    /* One step, until the last stage or the slowest group is done. Two rows with the same
     * function count as equally fast (hp_leaner_schedule()). */
    double (*seconds)(const struct pipeline_size *size, const struct stages_time *t);
};

/* By enum hypar_schedule_kind; there may be more rows than HYPAR_SCHEDULE_COUNT says, for a
 * test adds some (tests/plan/added_schedules.c). */
extern const struct schedule_row hp_schedule[];
extern const int hp_n_schedules;
enum { HP_MOST_SCHEDULES = 32 };

static inline const struct schedule_row *hp_schedule_of(const struct hypar_plan *plan)
{
    return &hp_schedule[plan->schedule.kind];
}

/* Do stages update on their own (PipeDream)? */
static inline bool hp_is_delayed(const struct hypar_plan *plan)
{
    return hp_schedule_of(plan)->delayed;
}

/* May a device be in several stages? */
static inline bool hp_shares_devices(const struct schedule_row *row)
{
    return row->interleaves || row->listed;
}

/* Is it a pipeline with one stage on each group of devices and a flush after each batch? */
static inline bool hp_is_straight(enum hypar_schedule_kind kind)
{
    return kind != HYPAR_SCHEDULE_NONE && hp_schedule[kind].fill &&
           !hp_schedule[kind].interleaves;
}

/* Must slots be listed for each group of devices? Else it is enough to know the slots of one
 * stage, whose phases take micro-batches in turn. */
static inline bool hp_orders_groups(const struct schedule_row *row)
{
    return hp_shares_devices(row) || row->apart || row->reorders;
}

/* The group of devices of a stage. */
static inline int hp_stage_group(enum hypar_schedule_kind kind,
                                 const struct pipeline_size *size, int stage)
{
    const struct schedule_row *row = &hp_schedule[kind];
    return row->group ? row->group(size, stage) : stage % size->groups;
}

/* Does the schedule allow this number of micro-batches? */
static inline bool hp_takes_micro_batches(enum hypar_schedule_kind kind, int groups,
                                          int64_t n_micro)
{
    return !hp_schedule[kind].rounds || n_micro % groups == 0;
}

/* Another schedule that takes as long in closed form, of which a stage has fewer micro-batches
 * in flight; `kind` itself: there is none. Two rows with the same `seconds` take as long. */
enum hypar_schedule_kind hp_leaner_schedule(enum hypar_schedule_kind kind);

/* For messages: the name of the first schedule that has a property. */
enum schedule_property { SCHEDULE_DELAYED, SCHEDULE_INTERLEAVES, SCHEDULE_LISTED };
const char *hp_schedule_with(enum schedule_property property);

/* The size of the plan's pipeline; without stages, of one stage. */
struct pipeline_size hp_pipeline_size(const struct hypar_plan *plan);

/* Micro-batches that a stage has in flight; not more than a batch has. */
double hp_in_flight(enum hypar_schedule_kind kind, const struct pipeline_size *size, int stage);

/* A lower bound for memory: micro-batches of which a stage keeps all activations while the
 * other stages of its devices do so, too. If gradients are apart, a micro-batch that only waits
 * for its gradients keeps less and does not count. */
double hp_least_in_flight(enum hypar_schedule_kind kind, const struct pipeline_size *size,
                          int stage);

/* 1F1B: `in_flight` micro-batches forward, then one backward, one forward, ... in turn. Fills
 * slot[2 * n_micro]. */
void hp_alternate(struct slot *slot, int stage, int n_micro, int in_flight);

#endif /* PLAN_SCHEDULES_H */
