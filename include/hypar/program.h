/* hypar/program.h - a plan made explicit: what each device does, and what moves.
 *
 * In the way of the data: model -> graph -> search -> plan -> PROGRAM -> sim | run -> report
 *
 * Every computation, transfer and collective of a training step is one task. The simulator and
 * the runtime interpret the same program, so that a prediction and a measurement can be laid
 * side by side, task by task. */
#ifndef HYPAR_PROGRAM_H
#define HYPAR_PROGRAM_H

#include <hypar/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_program; /* opaque, immutable; made by hypar_lower() */

struct hypar_lower_options {
    double bucket_bytes; /* gradients are summed in buckets of about this size; 0: one by one */
    bool local_bn;       /* batch norm over each part's own samples, as frameworks do */
    int64_t minibatches; /* pipedream: of the window that is simulated, rounded up to whole
                            update periods of every stage; 0: enough to fill the pipeline and go
                            on a while */
    bool forward;        /* forward phases alone, as for inference: nothing is kept for backward
                            or updated, batch norm takes running statistics, and dropout lets
                            everything through. What ends a period is the sum of the loss */
};

/* Write out `plan` as tasks; the plan must outlive the program. `options` may be NULL:
 * as the plan says.
 * HYPAR_UNSUPPORTED for what cannot be lowered (no loss, ...). */
HYPAR_API enum hypar_status hypar_lower(struct hypar_program **out,
                                        const struct hypar_plan *plan,
                                        const struct hypar_lower_options *options,
                                        struct hypar_error *err);
HYPAR_API void hypar_program_free(struct hypar_program *program); /* NULL is allowed */

/* Can a plan of this model be lowered at all? HYPAR_UNSUPPORTED where there is no loss, and
 * where operators were measured in several ways, or with parameters that are no tensors. */
HYPAR_API enum hypar_status hypar_graph_lowerable(const struct hypar_graph *graph,
                                                  struct hypar_error *err);

/* What a task does, in a timeline that was simulated or measured. */
enum hypar_event_kind {
    HYPAR_EVENT_FORWARD,
    HYPAR_EVENT_BACKWARD, /* errors */
    HYPAR_EVENT_GRADIENT, /* of parameters */
    HYPAR_EVENT_UPDATE,
    HYPAR_EVENT_COMM,
    HYPAR_EVENT_OTHER, /* of a program file */
};

/* Divide what `shard` says of the parameters of all operators that several devices have the
 * same of, among `over` of these devices (0: all); users of one parameter agree on the kind
 * that divides less. HYPAR_INFEASIBLE or HYPAR_UNSUPPORTED if the plan cannot be lowered so. */
HYPAR_API enum hypar_status hypar_plan_shard_all(struct hypar_plan *plan,
                                                 enum hypar_shard shard, int over,
                                                 struct hypar_error *err);

/* Send an operator's result again in the backward half to those that received it, or let them
 * keep it. HYPAR_INFEASIBLE where its split leaves sums to be added up. */
HYPAR_API enum hypar_status hypar_plan_set_resend(struct hypar_plan *plan, int op, bool resend,
                                                  struct hypar_error *err);

/* Of one training step; bytes under schedule pipedream: of one minibatch of the window, on
 * average. */
struct hypar_program_totals {
    int64_t tasks; /* computations, transfers, collectives, updates; of all of a window */
    int64_t compute, comm, update;
    double comm_bytes; /* each byte sent once, over all devices */
    double forward_bytes, backward_bytes, gradient_bytes, loss_bytes;
    double parameter_bytes; /* of parameters that are divided, and gathered */
    int micro_batches;      /* of a batch */
    int minibatches;        /* pipedream: of the window; else 0 */
};
HYPAR_API struct hypar_program_totals hypar_program_totals(const struct hypar_program *program);

/* Bytes that belong to each operator: its outputs and statistics, its errors, its gradients.
 * Fills bytes[op] for every operator of the graph. */
HYPAR_API void hypar_program_op_bytes(const struct hypar_program *program, double *bytes);

/* Bytes from device to device, summed over rows of `in_row` devices each (the last row may have
 * fewer): fills bytes[from * rows + to] for all rows of the machine's devices. */
HYPAR_API void hypar_program_pair_bytes(const struct hypar_program *program, int in_row,
                                        double *bytes);

/* What lies in a device's memory when it is fullest. */
struct hypar_memory {
    double parameters, gradients; /* bytes */
    double optimizer;             /* moments, and fp32 master weights beside short ones */
    double weight_versions;       /* older weights that a pipeline keeps */
    double activations;           /* kept for backward, of all micro-batches in flight */
    double buffers;               /* transient: errors, sums in progress, messages */
    double framework;             /* what the plan says that the framework takes */
    double recompute_saves;       /* of the activations: what recomputation would not keep */
    double saved; /* the most activations at once that backward halves read, at any time */
    double peak;  /* all but recompute_saves and saved */
    double limit; /* what the device has */
};

/* The memory of each device of the plan's machine, from the program and its schedule alone,
 * without simulating: fills memory[device]. `options` may be NULL: as the plan says. */
HYPAR_API enum hypar_status hypar_plan_memory(const struct hypar_plan *plan,
                                              const struct hypar_lower_options *options,
                                              struct hypar_memory *memory,
                                              struct hypar_error *err);

/* The device whose memory is fullest, by share of what it has: `limit_bytes`, or its own limit
 * if that is 0. What it needs and has goes to *fullest, whose limit is that one; it fits if
 * peak <= limit, and then every other does. */
HYPAR_API int hypar_fullest_memory(const struct hypar_memory *memory, int n_devices,
                                   double limit_bytes, struct hypar_memory *fullest);

/* HYPAR_INFEASIBLE, naming it, if that device needs more than its limit. */
HYPAR_API enum hypar_status hypar_check_fullest(const struct hypar_memory *fullest, int device,
                                                struct hypar_error *err);

/* Whether all of a step fits, the fullest device in *fullest, which may be NULL.
 * HYPAR_INFEASIBLE, naming it, if it does not. */
HYPAR_API enum hypar_status hypar_plan_fits(const struct hypar_plan *plan, double limit_bytes,
                                            struct hypar_memory *fullest,
                                            struct hypar_error *err);

/* Redistributions that the splits of a plan do not show: an operator is split into as many
 * parts as the one that writes its input, along the same dimension or an axis of the same
 * letter, on the same devices, and yet the tensor moves, as the parts are of other elements
 * (columns of q, k and v in one matrix; a number of parts that does not divide the heads). */
struct hypar_hidden_moves {
    int count;          /* pairs of operators */
    int writer, reader; /* the first one; -1 */
    double bytes;       /* of all, of values, forward, in a step */
    char text[512];     /* a warning in one line; empty if there are none */
};

/* Look for them in what the plan is lowered to. HYPAR_UNSUPPORTED as from hypar_lower(). */
HYPAR_API enum hypar_status hypar_plan_hidden_moves(const struct hypar_plan *plan,
                                                    struct hypar_hidden_moves *out,
                                                    struct hypar_error *err);

/* Write the program in the form hypar-program/1, lowered: its plan, graph and machine, each
 * body's tasks once with what they wait for and what moves where, the tail's, and the schedule.
 * HYPAR_UNSUPPORTED if there are more than a million tasks; then nothing is written. */
HYPAR_API enum hypar_status hypar_program_write(const struct hypar_program *program, FILE *to,
                                                struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_PROGRAM_H */
