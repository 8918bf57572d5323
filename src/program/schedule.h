/* program/schedule.h - the order in which each device runs its share of the program. Internal.
 *
 * Devices that do the same share a list of slots; a slot is one phase of one micro-batch on one
 * stage. */
#ifndef PROGRAM_SCHEDULE_H
#define PROGRAM_SCHEDULE_H

#include "plan/schedules.h"

struct iteration;

/* The slots of some devices, in order; they belong to one stage or to several. */
struct slot_list {
    int n_slots, n_devices;
    struct slot *slot;
    const int *device;
    int n_stages; /* stages of these devices */
    int *stage;   /* ascending */
    /* By slot i: the slot at whose end all messages that slot i sent to other stages have been
     * received; NULL: slot i + 1. */
    int *until;
};

struct schedule {
    int n_stages; /* at least 1 */
    bool apart;   /* gradient phases have separate slots */
    bool several; /* some devices belong to several stages */
    bool grouped; /* lists are made for groups of devices, and not stage by stage */
    int *stage_of_op;
    int *place; /* by stage: its position among the stages of its devices */
    int n_lists;
    struct slot_list *list; /* and an empty one, for devices without work */
    int *list_of;           /* by device */
};

/* An action is what one slot does of a micro-batch. Actions are numbered in an order in which
 * they can run: forward from stage to stage, then backward from the last stage, then gradients
 * from the last stage. Devices of several stages may run separate gradients earlier. */
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

/* The position of an action among the hp_list_actions() actions of its stage's devices. */
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

/* The inverse of hp_own_action(). */
static inline int hp_list_action(const struct schedule *s, const struct slot_list *list,
                                 int own)
{
    int at = own % list->n_stages, phase = own / list->n_stages;
    return hp_action(s, list->stage[phase == PHASE_FORWARD ? at : list->n_stages - 1 - at],
                     (enum phase)phase);
}

/* Does a device have several stages with separate gradients? Then the order of a micro-batch's
 * actions may differ from micro-batch to micro-batch. */
static inline bool hp_is_loose(const struct schedule *s, const struct slot_list *list)
{
    return s->apart && list->n_stages > 1;
}

/* The slot at whose end the messages sent in slot `i` are no longer held; and the longest such
 * wait, in slots. */
static inline int hp_held_until(const struct slot_list *list, int i)
{
    return list->until ? list->until[i] : i + 1;
}
int hp_longest_hold(const struct slot_list *list);

/* Make the schedule of a plan; taken from `arena`. */
struct schedule hp_make_schedule(const struct hypar_plan *plan,
                                 const struct iteration *iteration, struct arena *arena);

static inline const struct slot_list *hp_slots_of(const struct schedule *schedule, int device)
{
    return &schedule->list[schedule->list_of[device]];
}

#endif /* PROGRAM_SCHEDULE_H */
