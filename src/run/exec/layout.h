/* run/exec/layout.h - where the buffers of a rank lie in its memory. Internal to run/exec/.
 *
 * All buffers are in one array, at places that follow from when they begin and end:
 *
 *     what lasts | lane 0 | lane 1 | ... | common | over 0 | over 1
 *
 * A micro-batch under way has a LANE, in which all that it keeps between its halves lies one
 * thing after another, what begins first first; what is not kept lies where the lane is empty
 * meanwhile, or else in COMMON, which the micro-batches use in turn. What was sent to another
 * stage and stays until the next slot is over lies in OVER, two of them in turn. */
#ifndef RUN_EXEC_LAYOUT_H
#define RUN_EXEC_LAYOUT_H

#include "run/exec/rank.h"

enum region { REGION_LANE, REGION_COMMON, REGION_OVER };

struct spot {
    enum region region;
    size_t offset;
};

struct memory_layout {
    struct spot *spot; /* by buffer; of those that last none */
    int n_lanes;
    size_t lane_bytes, common_bytes, over_bytes; /* of each */
};

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

#endif /* RUN_EXEC_LAYOUT_H */
