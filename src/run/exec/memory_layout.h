/* run/exec/memory_layout.h - where the buffers of a rank lie in its memory. Internal to
 * run/exec/.
 *
 * All buffers are in one array, at places that follow from when they begin and end:
 *
 *     what lasts | lane 0 | lane 1 | ... | common | over 0 | over 1 ...
 *
 * A micro-batch under way has a LANE, where the device is in several stages one of each, in
 * which all that it keeps between its actions lies one thing after another, what begins first
 * first; what is not kept lies where the lane is empty meanwhile, or else in COMMON, which the
 * micro-batches use in turn. What was sent to another stage and stays until a later slot is
 * over lies in OVER, of which there are as many as slots that it may stay for, in turn. */
#ifndef RUN_EXEC_MEMORY_LAYOUT_H
#define RUN_EXEC_MEMORY_LAYOUT_H

#include "run/exec/rank.h"

enum region { REGION_LANE, REGION_COMMON, REGION_OVER };

struct spot {
    enum region region;
    int stage; /* of a lane: among those of the device */
    size_t offset;
};

struct memory_layout {
    struct spot *spot; /* by buffer; of those that last none */
    int n_stages;
    int *n_lanes;                    /* by stage of the device */
    size_t *lane_bytes, *lanes_at;   /* of each, and where they begin, the first at 0 */
    size_t lanes_bytes;              /* all */
    size_t common_bytes, over_bytes; /* of each */
    int n_over;
};

/* The phase that a stage does last of a micro-batch. */
static inline enum phase hp_last_phase(const struct schedule *s, bool forward)
{
    return forward ? PHASE_FORWARD : s->apart ? PHASE_GRADIENT : PHASE_BACKWARD;
}

/* Is a micro-batch over with what it keeps of a stage after a slot of that stage? Else it is
 * when the device has done with it. */
static inline bool hp_lane_ends(const struct schedule *s, const struct slot_list *list,
                                bool forward, enum phase phase)
{
    return !hp_is_loose(s, list) && (!forward || list->n_stages == 1) &&
           phase == hp_last_phase(s, forward);
}

/* Sizes are rounded up to this. */
enum { BUFFER_ALIGN = 64 };
static inline size_t hp_aligned(size_t bytes)
{
    return (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
}

/* `bytes`: by buffer. Not `in_order`: each micro-batch has a lane, in which nothing lies where
 * something else was. */
struct memory_layout hp_memory_layout(const struct rank *rank, const size_t *bytes,
                                      bool in_order, struct arena *arena);

#endif /* RUN_EXEC_MEMORY_LAYOUT_H */
