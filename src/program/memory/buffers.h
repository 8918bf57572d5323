/* program/memory/buffers.h - the arrays in which devices hold tensors, and the arrays'
 * lifetimes. Internal.
 *
 * Memory that is predicted and memory that is taken follow from the same buffers: the memory
 * model adds up those of all devices, the executor allocates those of its own.
 *
 *  - A device holds of a tensor what its tasks read and write: a box for each, and boxes that
 *    overlap are one buffer, over their bounding box, so that every task finds what it touches
 *    in one array.
 *  - What lasts from step to step (parameters and their gradients, the loss, model inputs
 *    without samples, running statistics) is held once; all else once for each micro-batch.
 *  - A buffer begins with the first pass that writes there, or when what is received is posted;
 *    it ends with the last pass that touches it. Passes that a kernel may do in one call are
 *    one.
 *  - A forward value that the backward half reads is KEPT; every other value is temporary. If
 *    the backward half reads at most half of a buffer, this part is copied out of the buffer
 *    when the forward half no longer needs the buffer.
 *  - A part of a dropout may keep its mask, in a buffer of its own that no other part reads.
 *  - What is sent within a stage is held until the task after the comm is done.
 *  - What a forward half sends to another stage is held until the sending stage begins the
 *    backward half of the same micro-batch.
 *  - What a backward half sends to another stage is held until a later slot of the device is
 *    over: the next slot, or the slot that the schedule names (`until` of its list). So is what
 *    a forward half sends in a program without backward halves.
 *  - Where a device is in several stages, a buffer may last from one to another. If gradients
 *    are apart there, it does not know which of two stages comes last to compute them: what
 *    both touch stays until the micro-batch is over on the device.
 *
 * If a message has not been received when its hold ends, the sending device waits. No two
 * devices wait for each other, for three reasons:
 *
 *  - The devices of a stage go through their tasks in the same order.
 *  - A stage has received what is sent forward before any stage of the sender's devices goes
 *    backward. plan/slots.h checks this of slots that a plan lists; the other schedules have
 *    such an order.
 *  - In the order of 1F1B, a stage can do a backward half whatever becomes of later backward
 *    halves, so that it receives the errors. In other orders, the errors have been received by
 *    the end of the slot in which the device waits (program/schedule.c has the argument). */
#ifndef PROGRAM_MEMORY_BUFFERS_H
#define PROGRAM_MEMORY_BUFFERS_H

#include "plan/memory_terms.h"
#include "program/memory/held_as.h"
#include "program/memory/passes.h"

struct buffer {
    struct place place; /* of the tensor that others are held as */
    struct box box;     /* of a body's: in its first micro-batch */
    int device;
    int inner;              /* the dimension whose elements lie next to each other; 0: the last
                               one */
    bool flat;              /* the device's pieces of what is divided, one after another */
    bool backward;          /* it begins in the backward half */
    bool kept;              /* from one action to another */
    bool exchanged;         /* comms touch it */
    bool held_until_action; /* sent to another stage: it ends when action `last` begins ... */
    bool held_past_slot;    /* ... or with a slot after that of action `last` */
    bool sent;            /* it stays because it was sent, the backward half does not read it */
    bool received;        /* from another stage */
    bool held_until_done; /* it ends with the micro-batch's last action on the device */
    int action;           /* in which it begins, and ends (schedule.h) */
    int last;             /* hp_action_count(): held_until_done */
    int begin;      /* a pass; -1: when it is received, after the last pass of its action */
    int end;        /* a pass; -1: one of held_... */
    int copied;     /* what it begins as a copy of, among the buffers of its place; -1 */
    int arrives;    /* while it is found: the action after whose passes it is received, -1 */
    bool mask;      /* a byte for each element: the mask that this part of the dropout whose
                       output the place is draws */
    int each_bytes; /* of an extra tensor: bytes of each element; else 0 */
    int part;
    enum tensor_term term; /* of memory that a pass's buffer counts in */
};

/* How long a buffer lasts. */
enum span {
    SPAN_STEPS, /* from step to step */
    SPAN_KEPT,  /* from a forward half to a later action */
    SPAN_BRIEF,
};

/* The term that a tensor of the graph counts in. Tensors that are to count in a term of their
 * own get it here; saved.c names the terms of all other tensors. */
static inline enum tensor_term hp_term_of(const struct hypar_graph *graph, struct place place,
                                          enum span span)
{
    bool param = graph->tensors[place.tensor].kind == TENSOR_PARAM;
    if (span == SPAN_STEPS && param)
        return place.grad ? TERM_gradients : TERM_parameters;
    return span == SPAN_BRIEF ? TERM_buffers : TERM_activations;
}

/* Disjoint. */
struct boxes {
    struct box *box;
    int n, capacity;
};

/* Finds the buffers of one place after another. */
struct buffer_finder {
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    struct held_as held;
    struct body_passes *body;
    int *exchange_of; /* by place: exchange of the bodies, -1 */
    int only;         /* of this device; -1: of all ... */
    const bool *some; /* ... of which it is true; NULL: of all */
    bool in_order;    /* devices do their tasks in order of numbers: else nothing is copied */
    bool host;        /* extra tensors are those of the framework's kernels for processors */
    bool nodes; /* the backward passes of an operator are done together, with the first of them
                 */
    struct arena arena, scratch; /* for the whole, for the comm at hand */
    /* the place at hand: its accesses, by device; its buffers, copies last */
    int *holder_of; /* by device, -1 */
    struct holder *holder;
    int n_holders, holder_capacity;
    struct access *access;
    int n_accesses, access_capacity;
    struct buffer *buffer;
    int n, capacity;
    struct boxes boxes; /* of the device at hand */
};

/* `held` as hp_held_as() says of the program and `in_order`; it must outlive the finder. */
void hp_finder_begin(struct buffer_finder *finder, const struct hypar_program *program,
                     const struct held_as *held, int device, bool in_order);
void hp_finder_end(struct buffer_finder *finder);

/* Is anything to be found of a device? */
bool hp_is_looked_at(const struct buffer_finder *finder, int device);

/* The number of a pass of a part, or of the pass that it is done with (`nodes`). */
int hp_node_number(const struct buffer_finder *finder, const struct body_passes *passes,
                   const struct op_pass *at, int part);

/* The finder has no buffers: those of another place, or of none, come. */
void hp_begin_place(struct buffer_finder *finder);

/* Those of a place that others are held as, in a body (-1: of what lasts; of the statistics of
 * batch norm, what training keeps of them as running statistics); they stay until the next
 * call. */
void hp_find_buffers(struct buffer_finder *finder, int body, struct place place);

/* The buffers of a body's extra tensors: those that backward halves need in addition to the
 * tensors of the graph (saved.c). They stay until the next call. */
void hp_find_extras(struct buffer_finder *finder, int body, bool masks_only);

#endif /* PROGRAM_MEMORY_BUFFERS_H */
