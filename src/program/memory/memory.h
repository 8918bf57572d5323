/* program/memory/memory.h - what lies in each device's memory during a step. Internal.
 *
 * From the program and its schedule alone, without times. Each device goes through its tasks in
 * the order of their numbers, through the halves of the micro-batches in the order of its
 * slots. The model:
 *
 *  - A device holds of a tensor the union of what its tasks read and write, from its first such
 *    task to its last. What the backward half of a micro-batch reads of a forward value is KEPT
 *    (an activation) until the last task there that reads it; all else is TEMPORARY.
 *  - Operators whose output is the same elements in the same order (reshape, flatten, identity,
 *    ...) make another name, not another tensor.
 *  - Where a pass goes element by element and its input ends there, the result takes its place.
 *  - Errors of several readers are added up in place. What is received is counted from the
 *    first task that reads it; what is sent by a device that does not read it, until it is
 *    sent.
 *  - Whoever adds up parts of a sum from other devices has room for one part of its share.
 *  - Gradients of parameters are as large as the parameters, from step to step; their exchange
 *    is counted when an update period ends: after the last backward half, under pipedream
 *    beside what other minibatches keep.
 *  - Kernels take no room of their own, and nothing is lost to fragmentation. */
#ifndef PROGRAM_MEMORY_H
#define PROGRAM_MEMORY_H

#include <hypar/program.h>

#include "program/blocks.h"

struct layout_cache; /* of a lowering (program/lowering.h) */

struct memory_options {
    bool keep_masks;     /* a dropout keeps a byte for each element, as frameworks do; hypar's
                            kernels draw the mask again */
    const int *versions; /* of the weights, by stage; NULL: as the schedule keeps them */
};

/* One pass of a part: bytes that come to life when it starts, and that end when it ends. */
struct memory_delta {
    double alloc, free;
    double end_kept; /* of `free`: what was kept from the forward half on */
};

struct memory_model {
    struct arena arena; /* holds everything, the model itself included */
    int n_devices;
    struct hypar_memory *device; /* when it is fullest */
    double *fixed; /* by device: parameters, gradients, optimizer, versions, inputs that all
                      micro-batches share */
    /* By body: by device, what one micro-batch keeps between its halves; and by pass of a part,
     * on its device. */
    double **kept;
    struct pass_order *order;
    struct memory_delta **delta; /* in that order */
    int *in_flight; /* by stage: micro-batches of which a replica keeps something, at most */
    int *versions;  /* by stage: of the weights */
};

/* `options` may be NULL. To be released with hp_memory_free(). */
struct memory_model *hp_memory(const struct hypar_program *program,
                               const struct memory_options *options);
void hp_memory_free(struct memory_model *model); /* NULL is allowed */

/* hypar_plan_memory() with a cache of layouts and patterns that is shared, or NULL. */
enum hypar_status hp_plan_memory(const struct hypar_plan *plan,
                                 const struct hypar_lower_options *options,
                                 struct layout_cache *cache, struct hypar_memory *memory,
                                 struct hypar_error *err);

#endif /* PROGRAM_MEMORY_H */
