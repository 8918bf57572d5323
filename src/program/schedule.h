/* program/schedule.h - in which order each device does its share of the program. Internal. */
#ifndef PROGRAM_SCHEDULE_H
#define PROGRAM_SCHEDULE_H

struct arena;
struct hypar_plan;
struct iteration;

/* Of a training step. */
enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_GRADIENT, PHASE_UPDATE };

/* One entry of a schedule. A backward slot is the whole backward half of a micro-batch on a
 * stage; gradient slots are for schedules that take the passes of that phase out of it. */
struct slot {
    int stage;
    int micro; /* of an update: the update period */
    enum phase phase;
};

/* What some devices do in turn, slots of one stage or of several. */
struct slot_list {
    int n_slots, n_devices;
    struct slot *slot;
    const int *device;
};

struct schedule {
    int n_stages; /* at least 1 */
    int *stage_of_op;
    int n_lists;
    struct slot_list *list; /* and an empty one, for devices that do nothing */
    int *list_of;           /* by device */
};

/* Taken from `arena`. */
struct schedule hp_make_schedule(const struct hypar_plan *plan,
                                 const struct iteration *iteration, struct arena *arena);

static inline const struct slot_list *hp_slots_of(const struct schedule *schedule, int device)
{
    return &schedule->list[schedule->list_of[device]];
}

/* 1F1B: `in_flight` micro-batches forward, then one backward, one forward, ... in turn. Fills
 * slot[2 * n_micro]. */
void hp_alternate(struct slot *slot, int stage, int n_micro, int in_flight);

#endif /* PROGRAM_SCHEDULE_H */
