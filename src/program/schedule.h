/* program/schedule.h - in which order each device does its share of the program. Internal. */
#ifndef PROGRAM_SCHEDULE_H
#define PROGRAM_SCHEDULE_H

#include "plan/schedules.h"

struct iteration;

/* What some devices do in turn, slots of one stage or of several. */
struct slot_list {
    int n_slots, n_devices;
    struct slot *slot;
    const int *device;
    int n_stages; /* that they are in */
    int *stage;   /* ascending */
    /* By slot: the one with whose end they have what it sent to other stages received; NULL:
     * the next one. */
    int *until;
};

struct schedule {
    int n_stages; /* at least 1 */
    bool apart;   /* gradient phases have slots of their own */
    bool several; /* some devices are in several stages */
    bool grouped; /* devices of stages go by lists that know no first micro-batch */
    int *stage_of_op;
    int *place; /* by stage: among those of its devices */
    int n_lists;
    struct slot_list *list; /* and an empty one, for devices that do nothing */
    int *list_of;           /* by device */
};

/* Actions of a micro-batch: what is done of it in one slot, numbered in an order in which they
 * can be done: forward from stage to stage, then backward from the last one, then gradients
 * likewise. Devices in several stages whose gradients are apart may do these earlier. */
static inline int hp_action(const struct schedule *s, int stage, enum phase phase)
{
    return phase == PHASE_FORWARD ? stage : ((int)phase + 1) * s->n_stages - 1 - stage;
}

static inline int hp_action_count(const struct schedule *s)
{
    return PHASE_UPDATE * s->n_stages;
}

static inline int hp_action_stage(const struct schedule *s, int action)
{
    int at = action % s->n_stages;
    return action < s->n_stages ? at : s->n_stages - 1 - at;
}

static inline enum phase hp_action_phase(const struct schedule *s, int action)
{
    return (enum phase)(action / s->n_stages);
}

/* The place of an action among those of the devices of its stage, which have
 * hp_list_actions(). */
static inline int hp_own_action(const struct schedule *s, const struct slot_list *list,
                                int action)
{
    int place = s->place[hp_action_stage(s, action)];
    int phase = action / s->n_stages;
    return phase == PHASE_FORWARD ? place : (phase + 1) * list->n_stages - 1 - place;
}

static inline int hp_list_actions(const struct schedule *s, const struct slot_list *list)
{
    return (s->apart ? 3 : 2) * list->n_stages;
}

/* ... and back. */
static inline int hp_list_action(const struct schedule *s, const struct slot_list *list,
                                 int own)
{
    int at = own % list->n_stages, phase = own / list->n_stages;
    return hp_action(s, list->stage[phase == PHASE_FORWARD ? at : list->n_stages - 1 - at],
                     (enum phase)phase);
}

/* Is a device in several stages whose gradients are apart? Then a micro-batch goes through its
 * actions in orders that may differ. */
static inline bool hp_is_loose(const struct schedule *s, const struct slot_list *list)
{
    return s->apart && list->n_stages > 1;
}

/* With which slot's end what slot `i` has sent is held no more, and after how many slots that
 * is at most. */
static inline int hp_held_until(const struct slot_list *list, int i)
{
    return list->until ? list->until[i] : i + 1;
}
int hp_longest_hold(const struct slot_list *list);

/* Taken from `arena`. */
struct schedule hp_make_schedule(const struct hypar_plan *plan,
                                 const struct iteration *iteration, struct arena *arena);

static inline const struct slot_list *hp_slots_of(const struct schedule *schedule, int device)
{
    return &schedule->list[schedule->list_of[device]];
}

#endif /* PROGRAM_SCHEDULE_H */
