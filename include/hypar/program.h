/* hypar/program.h - a program: a plan made explicit as the tasks of each device, and what
 * moves.
 *
 * Data flow: model -> graph -> search -> plan -> PROGRAM -> sim | run -> report
 *
 * Every computation, transfer and collective of a training step is one task. The simulator and
 * the runtime interpret the same program, so that a prediction and a measurement can be
 * compared task by task. */
#ifndef HYPAR_PROGRAM_H
#define HYPAR_PROGRAM_H

#include <hypar/memory_terms.h>
#include <hypar/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_program; /* opaque, immutable; made by hypar_lower() */

struct hypar_lower_options {
    double bucket_bytes; /* gradients are summed in buckets of about this size; 0: one by one */
    bool local_bn;       /* batch norm over each part's own samples, as frameworks do */
    int64_t minibatches; /* pipedream: of the simulated window, rounded up to whole update
                            periods of every stage; 0: enough to fill the pipeline and to reach
                            a steady state */
    bool forward; /* forward phases alone, as for inference: nothing is kept for backward or
                     updated, batch norm uses running statistics, and dropout keeps everything.
                     A period ends with the sum of the loss */
};

/* Lower `plan` to tasks; the plan must outlive the program. `options` may be NULL: as the plan
 * says. HYPAR_UNSUPPORTED for what cannot be lowered (no loss, ...). */
HYPAR_API enum hypar_status hypar_lower(struct hypar_program **out,
                                        const struct hypar_plan *plan,
                                        const struct hypar_lower_options *options,
                                        struct hypar_error *err);
HYPAR_API void hypar_program_free(struct hypar_program *program); /* NULL is allowed */

/* Can a plan of this model be lowered at all? HYPAR_UNSUPPORTED if there is no loss, if
 * operators were measured in several configurations, or with parameters that are no tensors. */
HYPAR_API enum hypar_status hypar_graph_lowerable(const struct hypar_graph *graph,
                                                  struct hypar_error *err);

/* The kind of a task, in a simulated or measured timeline. */
enum hypar_event_kind {
    HYPAR_EVENT_FORWARD,
    HYPAR_EVENT_BACKWARD, /* errors */
    HYPAR_EVENT_GRADIENT, /* of parameters */
    HYPAR_EVENT_UPDATE,
    HYPAR_EVENT_COMM,
    HYPAR_EVENT_OTHER, /* of a program file */
};

/* Divide the parameters of all operators among the devices that hold the same elements, as
 * `shard` says, in groups of `over` of these devices (0: all); users of one parameter agree on
 * the kind that divides less. HYPAR_INFEASIBLE or HYPAR_UNSUPPORTED if the plan cannot then be
 * lowered. */
HYPAR_API enum hypar_status hypar_plan_shard_all(struct hypar_plan *plan,
                                                 enum hypar_shard shard, int over,
                                                 struct hypar_error *err);

/* Send an operator's result again in the backward half to the devices that received it, or let
 * them keep it. HYPAR_INFEASIBLE if its split leaves partial sums. */
HYPAR_API enum hypar_status hypar_plan_set_resend(struct hypar_plan *plan, int op, bool resend,
                                                  struct hypar_error *err);

/* Totals of one training step; under schedule pipedream, bytes of one minibatch of the window,
 * on average. */
struct hypar_program_totals {
    int64_t tasks; /* computations, transfers, collectives, updates; of a whole window */
    int64_t compute, comm, update;
    double comm_bytes; /* each byte sent once, over all devices */
    double forward_bytes, backward_bytes, gradient_bytes, loss_bytes;
    double parameter_bytes; /* of divided parameters that are gathered */
    double padding_bytes;   /* of all these, those that pad pieces to equal rows; hypar's own
                               runtime does not send them */
    int micro_batches;      /* of a batch */
    int minibatches;        /* pipedream: of the window; else 0 */
};
HYPAR_API struct hypar_program_totals hypar_program_totals(const struct hypar_program *program);

/* The bytes of each operator: its outputs and statistics, its errors, its gradients. Fills
 * bytes[op] for every operator of the graph. */
HYPAR_API void hypar_program_op_bytes(const struct hypar_program *program, double *bytes);

/* Bytes from device to device, summed over rows of `in_row` devices each (the last row may have
 * fewer): fills bytes[from * rows + to] for all rows of the machine's devices. */
HYPAR_API void hypar_program_pair_bytes(const struct hypar_program *program, int in_row,
                                        double *bytes);

/* How likely the peak is within the limit, after the errors of predictions; 0 or 1 where the
 * peak is exact. */
HYPAR_API double hypar_memory_probability(const struct hypar_memory *memory);

/* The memory of each device of the plan's machine, from the program and its schedule alone,
 * without simulating: fills memory[device]. `options` may be NULL: as the plan says. */
HYPAR_API enum hypar_status hypar_plan_memory(const struct hypar_plan *plan,
                                              const struct hypar_lower_options *options,
                                              struct hypar_memory *memory,
                                              struct hypar_error *err);

/* The device whose memory is fullest, relative to `limit_bytes`, or to its own limit if that
 * is 0. *fullest receives its memory, with this limit; if peak <= limit, every device fits. */
HYPAR_API int hypar_fullest_memory(const struct hypar_memory *memory, int n_devices,
                                   double limit_bytes, struct hypar_memory *fullest);

/* HYPAR_INFEASIBLE, with the device, if this device of the plan needs more than its limit. */
HYPAR_API enum hypar_status hypar_check_fullest(const struct hypar_plan *plan,
                                                const struct hypar_memory *fullest, int device,
                                                struct hypar_error *err);

/* Does a whole step fit into `limit_bytes`, or, if that is 0, into the limit of struct
 * hypar_memory? *fullest, which may be NULL, receives the fullest device's memory.
 * HYPAR_INFEASIBLE, with the device, if it does not. */
HYPAR_API enum hypar_status hypar_plan_fits(const struct hypar_plan *plan, double limit_bytes,
                                            struct hypar_memory *fullest,
                                            struct hypar_error *err);

/* Redistributions that the splits of a plan do not show. An operator and the writer of its
 * input have equally many parts, along the same dimension or an axis of the same letter, on the
 * same devices. Yet the tensor moves, because the parts have different elements (columns of q,
 * k and v in one matrix; a number of parts that does not divide the heads). */
struct hypar_hidden_moves {
    int count;          /* pairs of operators */
    int writer, reader; /* of the first pair; -1 */
    double bytes;       /* of all pairs: values, forward, in a step */
    char text[512];     /* a warning in one line; empty if there are none */
};

/* Find them in the lowered plan. HYPAR_UNSUPPORTED as from hypar_lower(). */
HYPAR_API enum hypar_status hypar_plan_hidden_moves(const struct hypar_plan *plan,
                                                    struct hypar_hidden_moves *out,
                                                    struct hypar_error *err);

/* Write the program in the form hypar-program/1, lowered: its plan, graph and machine; the
 * tasks of each body and of the tail, with their predecessors and messages; and the schedule.
 * HYPAR_UNSUPPORTED if there are more than a million tasks; then nothing is written. */
HYPAR_API enum hypar_status hypar_program_write(const struct hypar_program *program, FILE *to,
                                                struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_PROGRAM_H */
