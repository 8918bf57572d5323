/* plan/slots.h - the slots of a device in order, as in schedules and plan files. Internal.
 *
 * A slot is the part of a micro-batch that a stage does at once: its forward passes, its
 * backward passes, or, where a schedule takes them apart, the passes that compute gradients of
 * parameters. Devices that go through the same slots are a GROUP: those of a stage, or of
 * several stages on the same devices. */
#ifndef PLAN_SLOTS_H
#define PLAN_SLOTS_H

#include "plan/plan.h"

/* Of a training step. */
enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_GRADIENT, PHASE_UPDATE };

/* One entry of a schedule. A backward slot is the whole backward half of a micro-batch on a
 * stage; gradient slots are for schedules that take the passes of that phase out of it. */
struct slot {
    int stage;
    int micro; /* of an update: the update period */
    enum phase phase;
};

/* The slots of a group's devices, in order. */
struct slot_order {
    int n;
    struct slot *slot;
};

/* Groups of devices that have the same stages, in the order of their first stages. */
struct device_groups {
    int n;
    int *of_stage; /* by stage */
    int *first;    /* by group: its first stage */
};
struct device_groups hp_device_groups(const struct hypar_plan *plan, struct arena *arena);

/* Stages from which each stage reads, and stages that read what it writes: CSR. Each stage
 * once, and not itself. */
struct stage_edges {
    int *reads_start, *reads;
    int *read_by_start, *read_by;
};
struct stage_edges hp_stage_edges(const struct hypar_plan *plan, struct arena *arena);

/* Orders of slots to check. A slot waits for the stages that its stage reads from. A backward
 * slot waits for the errors of the stages that read from its stage, and until all messages that
 * the group sent forward have been received. */
struct slot_orders {
    int n_stages, n_micro, n_groups;
    const int *group; /* by stage */
    const struct slot_order *order;
    const struct stage_edges *edges;
};

/* The end of each slot, [hp_slot_place()], if all slots take the same time; 0: there is no such
 * slot; taken from `arena`. False: the slots deadlock: `group`, at position `slot` of its
 * order, waits for `missing`. */
struct slot_times {
    int *time;
    int group, slot;
    struct slot missing;
};
bool hp_slot_times(const struct slot_orders *orders, struct slot_times *out,
                   struct arena *arena);

static inline int64_t hp_slot_place(const struct slot_orders *orders, const struct slot *slot)
{
    return ((int64_t)slot->stage * orders->n_micro + slot->micro) * PHASE_UPDATE + slot->phase;
}

/* "F0.3", "B0.3", "W0.3", "U0.0": phase, stage and micro-batch, and back: false if it is none.
 */
enum { SLOT_TEXT_BYTES = 40 };
const char *hp_slot_text(const struct slot *slot, char text[SLOT_TEXT_BYTES]);
bool hp_slot_find(const char *text, struct slot *out);

/* Check listed slots: none is missing, they do not deadlock, and each device can hold its
 * activations in this order (a micro-batch goes forward from stage to stage, then backward).
 * Stages and micro-batches have been checked. */
enum hypar_status hp_check_slots(const struct hypar_plan *plan, struct hypar_error *err);

#endif /* PLAN_SLOTS_H */
