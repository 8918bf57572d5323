/* program/memory/memory.h - the contents of each device's memory during a step. Internal.
 *
 * From the program and its schedule alone, without times. Each device goes through its passes
 * in the order of their numbers, through the halves of the micro-batches in the order of its
 * slots, and holds buffers (buffers.h) from when to when they last. Besides:
 *
 *  - Errors of several readers are added up in place.
 *  - Gradients of parameters are as large as the parameters, from step to step. A framework
 *    that runs operator by operator makes them anew in each step: there, they begin with the
 *    passes that write them.
 *  - Sums need no room of their own: what is received is added chunk by chunk.
 *
 * Staging areas of messages do not count; what else is no tensor: plan/memory_terms.h. */
#ifndef PROGRAM_MEMORY_H
#define PROGRAM_MEMORY_H

#include <hypar/program.h>

#include <signal.h>

#include "program/blocks.h"

struct memory_options {
    const int *versions; /* of the weights, by stage; NULL: as the schedule keeps them */
    const bool *devices; /* to look at these alone: nothing is known of others; NULL: all */
    bool host; /* the framework's kernels are those of processors: they keep other tensors */
    const volatile sig_atomic_t *stop; /* once it is set, the result is invalid; or NULL */
};

/* One pass of a part: bytes that begin when the pass starts, and bytes that end with it. */
struct memory_delta {
    double alloc, free;
    double end_kept;  /* of `free`: bytes that were held from a forward half on */
    double gradients; /* of parameters: they begin in the first micro-batch and stay */
};

struct memory_model {
    struct arena arena; /* holds everything, the model itself included */
    int n_devices;
    struct hypar_memory *device; /* when it is fullest */
    double *fixed; /* by device: parameters, gradients that last, optimizer, versions, inputs
                      that all micro-batches share, the framework */
    double *begun; /* by device: gradients that begin in a step, and end with it */
    double **kept; /* by body, by device: bytes that a micro-batch holds between its halves */
    /* Bytes by body, then by action of a device (hp_memory_at()). */
    double **late;  /* received after the action's last pass */
    double **waits; /* sent forward to another stage, held until the action begins */
    double **over;  /* sent to other stages when the action ends, held until a later slot of the
                     * device is over; past the last action: the part of `rest` that was sent */
    double **rest; /* by body, then by device: what stays until the micro-batch is over there */
    int *actions;  /* by device: where its actions begin */
    struct pass_order *order;
    struct memory_delta **delta; /* by pass of a part, in that order */
    int *in_flight; /* by stage: micro-batches of which a replica keeps something, at most */
    int *versions;  /* by stage: of the weights */
};

/* The place of the action number `own` of a device (hp_own_action()). */
static inline int hp_memory_at(const struct memory_model *model, int device, int own)
{
    return model->actions[device] + own;
}

/* The program needs no tasks: hp_lower() suffices. `options` may be NULL. To be released with
 * hp_memory_free(). */
struct memory_model *hp_memory(const struct hypar_program *program,
                               const struct memory_options *options);
void hp_memory_free(struct memory_model *model); /* NULL is allowed */

#endif /* PROGRAM_MEMORY_H */
