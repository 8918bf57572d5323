/* program/memory/memory.h - what lies in each device's memory during a step. Internal.
 *
 * From the program and its schedule alone, without times. Each device goes through its passes
 * in the order of their numbers, through the halves of the micro-batches in the order of its
 * slots, and holds buffers (buffers.h) from when to when they last. Besides:
 *
 *  - Errors of several readers are added up in place.
 *  - Gradients of parameters are as large as the parameters, from step to step.
 *  - Sums need no room of their own: what is received is added chunk by chunk.
 *
 * Staging areas of messages, kernels' workspaces and fragmentation do not count. */
#ifndef PROGRAM_MEMORY_H
#define PROGRAM_MEMORY_H

#include <hypar/program.h>

#include "program/blocks.h"

struct layout_cache; /* of a lowering (program/lowering.h) */

struct memory_options {
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
                      micro-batches share, the framework */
    /* By body: by device, what one micro-batch keeps between its halves; what of that is
     * received after the last pass of the forward half; what of it ends when the backward half
     * begins; and what its last half has sent to other stages, which lasts until the
     * device's next slot is over. By pass of a part, on its device. */
    double **kept, **late, **waits, **over;
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
