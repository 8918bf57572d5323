/* run/exec/memory_layout.h - the positions of a rank's buffers in its memory. Internal to
 * run/exec/.
 *
 * All buffers are in one array, at positions that follow from their lifetimes:
 *
 *     lasting | lane 0 | lane 1 | ... | common | over 0 | over 1 ...
 *
 * A micro-batch under way has a LANE (on a device in several stages: one for each stage). The
 * lane holds everything that the micro-batch keeps between its actions, in the order of
 * beginning. Buffers that are not kept are in a gap of the lane, or else in COMMON, which the
 * micro-batches share in turn. Messages to another stage that stay until a later slot are in an
 * OVER region; there is one such region for each slot that a message may stay, and the slots
 * use the regions in turn. */
#ifndef RUN_EXEC_MEMORY_LAYOUT_H
#define RUN_EXEC_MEMORY_LAYOUT_H

#include "run/exec/rank.h"

enum region { REGION_LANE, REGION_COMMON, REGION_OVER };

struct spot {
    enum region region;
    int stage; /* of a lane: among the device's stages */
    size_t offset;
};

struct memory_layout {
    struct spot *spot; /* by buffer; lasting buffers have none */
    int n_stages;
    int *n_lanes; /* by stage of the device */
    size_t *lane_bytes,
        *lanes_at;      /* by stage: of one lane; where its lanes begin, the first at 0 */
    size_t lanes_bytes; /* all */
    size_t common_bytes, over_bytes; /* of each */
    int n_over;
};

/* The last phase of a micro-batch on a stage. */
static inline enum phase hp_last_phase(const struct schedule *s, bool forward)
{
    return forward ? PHASE_FORWARD : s->apart ? PHASE_GRADIENT : PHASE_BACKWARD;
}

/* Does the lane of a micro-batch end with a slot of this stage? Otherwise it ends when the
 * device has finished the micro-batch. */
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

/* `bytes`: by buffer. If not `in_order`: each micro-batch has a lane, and no buffer reuses
 * another's place. */
struct memory_layout hp_memory_layout(const struct rank *rank, const size_t *bytes,
                                      bool in_order, struct arena *arena);

#endif /* RUN_EXEC_MEMORY_LAYOUT_H */
