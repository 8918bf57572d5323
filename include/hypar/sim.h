/* hypar/sim.h - the simulator: time, traffic, memory and energy of one training step.
 *
 * In the way of the data: model -> graph -> search -> plan -> program -> SIM | run -> report
 *
 * The program of a plan is simulated on its machine: one queue for each device's computing, one
 * for each direction of each link. Every queue serves what is ready first, and among those the
 * task with the smallest number; sums of parameters' gradients give way on links to what the
 * next task waits for. Times are whole picoseconds inside, so the same program gives
 * the same timeline everywhere, and a part of it can be replayed exactly. */
#ifndef HYPAR_SIM_H
#define HYPAR_SIM_H

#include <hypar/plan.h>
#include <hypar/profile.h>
#include <hypar/program.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_sim_options {
    struct hypar_lower_options lower;
    bool expand_collectives; /* simulate every message of a collective, not the collective as
                                one */
    bool no_overlap;  /* what a device sends or receives keeps it from computing (HyPar) */
    bool half_duplex; /* the two directions of a link take turns (PipeDream's recurrence) */
    bool one_class;   /* links serve sums of parameters' gradients in turn with all else */
    /* How all-reduces are done: "ring", "two-way-ring", "recursive-doubling",
     * "halving-and-doubling", "tree", "hierarchical", "server", "hierarchical-server". A group
     * that cannot do it so (two devices make no tree) does as for NULL or "auto": whatever is
     * fastest, servers apart. */
    const char *all_reduce;
    enum hypar_framework framework;
    bool framework_given; /* else as the plan says */
    bool timeline;        /* keep every task's times, for hypar_sim_event() */
    const struct hypar_profile
        *profile; /* measured times; may be NULL; must outlive the call */
};

/* What the options (may be NULL) say, and where they say nothing the plan; points into the
 * plan. */
HYPAR_API struct hypar_sim_options hypar_as_planned(const struct hypar_plan *plan,
                                                    const struct hypar_sim_options *options);

struct hypar_sim; /* opaque; a simulated step */

/* Lower `plan` and simulate it; the plan must outlive the result. `options` may be NULL: as the
 * plan says. */
HYPAR_API enum hypar_status hypar_simulate(struct hypar_sim **out,
                                           const struct hypar_plan *plan,
                                           const struct hypar_sim_options *options,
                                           struct hypar_error *err);

/* Simulate a program file (hypar-program/1). A lowered one (hypar_program_write()) gives what
 * hypar_simulate() gives for its plan; `options` may be NULL: as the plan says, and what they
 * say of lowering is passed over. Of one written by hand tasks with "bytes" need a machine,
 * which may be NULL otherwise; there is no plan then: no energy, no memory. */
HYPAR_API enum hypar_status hypar_simulate_file(struct hypar_sim **out, const char *path,
                                                const struct hypar_machine *machine,
                                                const struct hypar_sim_options *options,
                                                struct hypar_error *err);

/* The plan of what was simulated; NULL: a program written by hand. */
HYPAR_API const struct hypar_plan *hypar_sim_plan(const struct hypar_sim *sim);
HYPAR_API void hypar_sim_free(struct hypar_sim *sim); /* NULL is allowed */

/* As hypar_plan_hidden_moves(), in what was simulated; none of a program written by hand. */
HYPAR_API void hypar_sim_hidden_moves(const struct hypar_sim *sim,
                                      struct hypar_hidden_moves *out);

/* Joules of a step, by what spends them. */
struct hypar_energy {
    double arithmetic_j, sram_j, dram_j, link_j;
    double idle_j; /* the idle power of all devices, over the step */
};
HYPAR_API double hypar_energy_total_j(const struct hypar_energy *energy);

/* What a profile told of the times. A pass counts as measured if it is with the extents and on
 * the devices of all its parts. */
struct hypar_sim_measured {
    bool asked;           /* there was one */
    int passes, measured; /* of all operators: those that take time; those measured */
    int interpolated;     /* from the same passes at other extents */
    /* Of the seconds that passes take, in the sum over devices: */
    double measured_share, interpolated_share;
    bool calibrated; /* it has the efficiency of some device of the machine */
    bool links;      /* it has what messages take */
};

struct hypar_sim_summary {
    double step_s; /* schedule pipedream: see hypar_sim_pipeline() */
    double samples_per_s;
    double tokens_per_s; /* samples times positions, for models of sequences; else 0 */
    double mfu;          /* model-FLOP utilisation: three forward passes (of what is not
                            trained, one) over the peak; forward alone: one */
    bool forward;        /* forward phases alone */
    int64_t tasks, compute, comm, update; /* simulated: followers are one with their producer */
    double comm_bytes;                    /* each byte sent once */
    double link_bytes;          /* on every link it crosses, by the algorithms chosen */
    struct hypar_energy energy; /* zero without a plan */
    double peak_memory_bytes;   /* of the fullest device, by share of its memory */
    int fullest_device;         /* -1 without a plan */
    bool fits;
    double kernels;  /* of the device whose host is longest at launching them; 0: not known */
    double launch_s; /* by its host; no step is shorter */
    struct hypar_sim_measured measured;
    int opaque;          /* operators of which nothing is known but what they read and write */
    int opaque_measured; /* of these, those of which the graph tells how long they take */
    double opaque_share; /* of what devices compute, in seconds: those operators */
    struct hypar_simulation how; /* it was simulated; zero without a plan */
    int n_devices, n_links;      /* links: directed, 2 * link + direction */
    double took_s;               /* simulating, without lowering */
};
HYPAR_API struct hypar_sim_summary hypar_sim_summary(const struct hypar_sim *sim);

/* Schedule pipedream: a window of minibatches is simulated, from an empty pipeline to an empty
 * one. In steady state, between the same points of two update periods, one minibatch takes
 * step_s; all that is said of a step is of one minibatch then, on average: bytes, joules, how
 * long a device is busy. Tasks are those of the whole window. */
struct hypar_sim_pipeline {
    int minibatches;  /* of the window; 0: another schedule */
    int noam;         /* admitted by each replica of the input stage before it goes backward */
    double startup_s; /* until the input stage goes on to the minibatch after these */
    double window_s;  /* all minibatches of the window */
    bool steady; /* the slowest stage repeats itself; false: too few minibatches for that, and
                    step_s is the mean of the later ones, of all if there are so few */
    int n_stages;
};
HYPAR_API struct hypar_sim_pipeline hypar_sim_pipeline(const struct hypar_sim *sim);

/* One stage of it; of its fullest, and its busiest, device. */
struct hypar_sim_stage {
    int replicas;             /* that take minibatches in turn */
    int in_flight;            /* minibatches that a replica keeps something of, at most */
    int versions;             /* of its weights that are kept, the newest included */
    double busy_s;            /* computing, of a step */
    double bubble;            /* share of a step in which it does not compute */
    double peak_memory_bytes; /* the high-water mark */
};
HYPAR_API struct hypar_sim_stage hypar_sim_stage(const struct hypar_sim *sim, int stage);

struct hypar_sim_device {
    double busy_s;              /* computing */
    double comm_s;              /* in which some message of its own is under way */
    double waiting_s;           /* neither */
    struct hypar_memory memory; /* zero without a plan */
};
HYPAR_API struct hypar_sim_device hypar_sim_device(const struct hypar_sim *sim, int device);

/* Directed link 0..n_links-1. */
struct hypar_sim_link {
    int from, to;     /* nodes; -1 in a program file without a machine */
    const char *name; /* in a program file; else NULL */
    double busy_s, bytes;
};
HYPAR_API struct hypar_sim_link hypar_sim_link(const struct hypar_sim *sim, int link);

/* The timeline, in the order of numbers: event `i`, false past the last. */
struct hypar_sim_event {
    enum hypar_event_kind kind;
    int64_t id;      /* its number; of a program file: its id there */
    char name[160];  /* "conv1+relu1 forward part 3 micro 0" */
    int what_bytes;  /* of the name: what is done, without part, way and micro-batch */
    const char *way; /* algorithm of a collective, which the name has in brackets; NULL: none */
    bool again;      /* computed a second time, for the backward half */
    int device;      /* -1: it is on links */
    int op;          /* the first of those that are computed; -1: a comm or an update */
    int tensor;      /* that a comm is of, or that is updated; -1: none */
    int micro, stage; /* -1: none */
    int n_links;      /* it holds these directed links ... */
    const int *link;
    const double *link_busy_s; /* ... from start + link_offset_s on for so long */
    const double *link_offset_s;
    double bytes;  /* sent; 0: none */
    int64_t after; /* the event that ended last of those that it waited for; -1: none */
    double ready_s, start_s, end_s;
};
HYPAR_API bool hypar_sim_event(const struct hypar_sim *sim, int64_t i,
                               struct hypar_sim_event *event);

/* What lies on a device over time, for the trace's counters: point i, false past the last; by
 * device, then in order. It begins and ends with what lasts from step to step, and its maximum
 * is memory.peak of the device. Only with options.timeline. */
struct hypar_sim_memory_point {
    int device;
    double time_s, bytes; /* all that lies there from then on; of several points at one time the
                             last */
};
HYPAR_API bool hypar_sim_memory_point(const struct hypar_sim *sim, int64_t i,
                                      struct hypar_sim_memory_point *point);

/* The critical path: what the step was busy with, from its begin to its end, one task after the
 * other. A task begins when the last of those that it waits for has ended, or, if the device or
 * the link that it needs is held by another one then, when that lets it go: the path goes on
 * with whichever it was. Segment i, false past the last; only with options.timeline. Each
 * begins where the one before ends. The first begins at 0, the last ends with step_s (schedule
 * pipedream: with window_s of hypar_sim_pipeline()). */
enum hypar_segment {
    HYPAR_SEGMENT_COMPUTE,
    HYPAR_SEGMENT_UPDATE, /* of parameters, and what comes before them: squares of gradients */
    HYPAR_SEGMENT_EXCHANGE, /* on a link, or what a comm takes besides its links */
    HYPAR_SEGMENT_LAUNCH,   /* the host of a device is still launching its kernels */
    HYPAR_SEGMENT_COUNT,
};
struct hypar_sim_segment {
    enum hypar_segment kind;
    int64_t event;   /* the task, for hypar_sim_event(); -1: launches */
    int device;      /* that computes; -1 */
    int link;        /* directed, that is held; -1: none */
    double queued_s; /* of it: the next task on the path was ready, and stood in the queue */
    double start_s, end_s;
};
HYPAR_API bool hypar_sim_segment(const struct hypar_sim *sim, int64_t i,
                                 struct hypar_sim_segment *segment);

/* Delta simulation: the step of a plan that changes operator by operator, from what a change
 * touches alone, and exactly what hypar_simulate() would give.
 *
 *     TRY(hypar_delta_begin(&delta, plan, NULL, err));
 *     double best_s = hypar_delta_step_s(delta), step_s;
 *     struct hypar_split change = { .op = op, .degree = { 4 } };
 *     if (hypar_delta_propose(delta, &change, 1, best_s, &step_s, NULL) == HYPAR_OK &&
 *         step_s < best_s)
 *         hypar_delta_accept(delta);
 *     else
 *         hypar_delta_undo(delta);
 *
 * Stages, schedule and all that is said of the plan as a whole stay. */
struct hypar_delta; /* opaque; one for each thread that proposes */

/* Begin with `plan`, of which there is a copy from then on; its graph, its machine and the
 * profile must outlive it. `options` may be NULL: as the plan says. HYPAR_UNSUPPORTED where
 * gradients are clipped, or as from hypar_lower(). */
HYPAR_API enum hypar_status hypar_delta_begin(struct hypar_delta **out,
                                              const struct hypar_plan *plan,
                                              const struct hypar_sim_options *options,
                                              struct hypar_error *err);
HYPAR_API void hypar_delta_free(struct hypar_delta *delta); /* NULL is allowed */

/* Split and place `n` operators, each named once, otherwise; the step that the plan then has
 * goes to *step_s. One that is sure to be longer than `limit_s` (0: there is no limit) is not
 * simulated to its end: *step_s is something above the limit then, and nothing is proposed any
 * more. If it fails, neither: HYPAR_INFEASIBLE or HYPAR_UNSUPPORTED where the operator cannot
 * be so. What was proposed before and not accepted is undone. */
HYPAR_API enum hypar_status hypar_delta_propose(struct hypar_delta *delta,
                                                const struct hypar_split *change, int n,
                                                double limit_s, double *step_s,
                                                struct hypar_error *err);

/* Keep what is proposed, or take it back; where nothing is, nothing happens. */
HYPAR_API void hypar_delta_accept(struct hypar_delta *delta);
HYPAR_API void hypar_delta_undo(struct hypar_delta *delta);

/* The plan, with what is proposed; owned by `delta`. And its step (schedule pipedream: of all
 * minibatches that are simulated, the mean). */
HYPAR_API const struct hypar_plan *hypar_delta_plan(const struct hypar_delta *delta);
HYPAR_API double hypar_delta_step_s(const struct hypar_delta *delta);

/* `changes` random changes of one operator's split and devices, one after another, each done in
 * full and by delta, and compared task by task. */
struct hypar_delta_check {
    int64_t changes, mismatches;
    double full_us, delta_us; /* processor time of one change, mean: lower and simulate */
    int64_t tasks;            /* of the last program */
    char first_mismatch[200]; /* "" if there is none */
};
HYPAR_API enum hypar_status hypar_check_delta(struct hypar_delta_check *out,
                                              const struct hypar_plan *plan,
                                              const struct hypar_sim_options *options,
                                              int64_t changes, int64_t seed,
                                              struct hypar_error *err);

/* The efficiency of the plan's devices at which a step takes `measured_s`, found by simulating;
 * HYPAR_INFEASIBLE where none does. */
HYPAR_API enum hypar_status hypar_calibrate(double *efficiency, const struct hypar_plan *plan,
                                            const struct hypar_sim_options *options,
                                            double measured_s, struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_SIM_H */
