/* hypar/sim.h - the simulator: time, traffic, memory and energy of one training step.
 *
 * Data flow: model -> graph -> search -> plan -> program -> SIM | run -> report
 *
 * The program of a plan is simulated on its machine, with one queue for each device's computing
 * and one for each direction of each link. Every queue serves the task that is ready first; of
 * several ready tasks, the one with the smallest number. On links, sums of parameter gradients
 * give way to traffic for which the next task waits. Times are whole picoseconds inside, so the
 * same program gives the same timeline everywhere, and a part of it can be replayed exactly. */
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
                                one task */
    bool no_overlap;  /* a device does not compute while it sends or receives (HyPar), whatever
                         the framework says */
    bool half_duplex; /* the two directions of a link take turns (PipeDream's recurrence) */
    bool one_class; /* links serve sums of parameter gradients in turn with all other traffic */
    /* The algorithm of all-reduces, as "ring" or "two-way-ring" (hypar-simulate(1) lists all).
     * NULL or "auto": the fastest, except those that are used only where they are asked for. A
     * group that cannot use the algorithm (two devices make no tree) uses the fastest. */
    const char *all_reduce;
    struct hypar_framework framework; /* its texts must outlive the call */
    bool framework_given;             /* else the plan's */
    bool timeline;                    /* keep every task's times, for hypar_sim_event() */
    const struct hypar_profile
        *profile; /* measured times; may be NULL; must outlive the call */
};

/* The given options (may be NULL), completed from the plan; points into the plan. */
HYPAR_API struct hypar_sim_options hypar_as_planned(const struct hypar_plan *plan,
                                                    const struct hypar_sim_options *options);

struct hypar_sim; /* opaque; a simulated step */

/* Lower `plan` and simulate it; the plan must outlive the result. `options` may be NULL: as the
 * plan says. */
HYPAR_API enum hypar_status hypar_simulate(struct hypar_sim **out,
                                           const struct hypar_plan *plan,
                                           const struct hypar_sim_options *options,
                                           struct hypar_error *err);

/* Simulate a program file (hypar-program/1). A lowered one (hypar_program_write()) gives the
 * result of hypar_simulate() for its plan; `options` may be NULL: as the plan says; options of
 * lowering are ignored. In one written by hand, tasks with "bytes" need a machine, which may be
 * NULL otherwise; without a plan there is no energy and no memory. */
HYPAR_API enum hypar_status hypar_simulate_file(struct hypar_sim **out, const char *path,
                                                const struct hypar_machine *machine,
                                                const struct hypar_sim_options *options,
                                                struct hypar_error *err);

/* The simulated plan; NULL: a program written by hand. */
HYPAR_API const struct hypar_plan *hypar_sim_plan(const struct hypar_sim *sim);
HYPAR_API void hypar_sim_free(struct hypar_sim *sim); /* NULL is allowed */

/* As hypar_plan_hidden_moves(), for the simulated program; none for a program written by
 * hand. */
HYPAR_API void hypar_sim_hidden_moves(const struct hypar_sim *sim,
                                      struct hypar_hidden_moves *out);

/* Joules of a step, by what spends them. */
struct hypar_energy {
    double arithmetic_j, sram_j, dram_j, link_j;
    double idle_j; /* the idle power of all devices, over the step */
};
HYPAR_API double hypar_energy_total_j(const struct hypar_energy *energy);

/* How much of the times comes from a profile. A pass counts as measured if it was measured with
 * the extents and on the devices of all its parts. */
struct hypar_sim_measured {
    bool asked;           /* a profile was given */
    int passes, measured; /* of all operators: passes that take time; measured ones */
    int interpolated;     /* from the same passes at other extents */
    /* Shares of the passes' seconds, summed over devices: */
    double measured_share, interpolated_share;
    bool calibrated; /* the profile has the efficiency of some device of the machine */
    bool links;      /* the profile has times of messages */
};

struct hypar_sim_summary {
    double step_s;                  /* schedule pipedream: see hypar_sim_pipeline() */
    struct hypar_interval interval; /* of the measured step; zero without a plan */
    double samples_per_s;
    double tokens_per_s; /* samples times positions, for models of sequences; else 0 */
    double mfu;   /* model-FLOP utilisation: three forward passes (one for untrained operators)
                     over the peak; forward alone: one */
    bool forward; /* forward phases alone */
    int64_t tasks, compute, comm,
        update;        /* simulated ones: a fused pass belongs to its producer's task */
    double comm_bytes; /* each byte sent once */
    double link_bytes; /* on every link it crosses, by the algorithms chosen */
    struct hypar_energy energy; /* zero without a plan */
    double peak_memory_bytes;   /* of the fullest device, by share of its memory */
    int fullest_device;         /* -1 without a plan */
    bool fits;
    double kernels;  /* on the device whose host takes longest to launch them; 0: unknown */
    double launch_s; /* by this host; no step is shorter */
    struct hypar_sim_measured measured;
    int opaque;                  /* operators of which only inputs and outputs are known */
    int opaque_measured;         /* of these, those with times in the graph */
    double opaque_share;         /* share of these operators in the computing time */
    struct hypar_simulation how; /* how it was simulated; zero without a plan */
    int n_devices, n_links;      /* links: directed, 2 * link + direction */
    double took_s;               /* simulating, without lowering */
};
HYPAR_API struct hypar_sim_summary hypar_sim_summary(const struct hypar_sim *sim);

/* Schedule pipedream: a window of minibatches is simulated, from an empty pipeline to an empty
 * one. In steady state, between corresponding points of two update periods, one minibatch takes
 * step_s. All figures of a step are then means of one minibatch: bytes, joules, busy times.
 * Tasks are those of the whole window. */
struct hypar_sim_pipeline {
    int minibatches; /* of the window; 0: another schedule */
    int noam;        /* minibatches that each replica of the input stage begins before its first
                        backward half */
    double startup_s; /* until the input stage begins the next minibatch after these */
    double window_s;  /* all minibatches of the window */
    bool steady; /* the slowest stage repeats itself; false: there are too few minibatches, and
                    step_s is the mean of the later ones, or of all */
    int n_stages;
};
HYPAR_API struct hypar_sim_pipeline hypar_sim_pipeline(const struct hypar_sim *sim);

/* One stage of the pipeline; memory and times are those of its fullest and its busiest
 * device. */
struct hypar_sim_stage {
    int replicas;  /* that take minibatches in turn */
    int in_flight; /* minibatches of which a replica keeps something, at most */
    int versions;  /* of its weights, including the newest */
    double busy_s; /* computing, of a step */
    double bubble; /* share of a step in which the stage waits for other stages: it neither
                      computes nor communicates */
    double peak_memory_bytes; /* the high-water mark */
};
HYPAR_API struct hypar_sim_stage hypar_sim_stage(const struct hypar_sim *sim, int stage);

struct hypar_sim_device {
    double busy_s;              /* computing */
    double comm_s;              /* while one of its messages is under way */
    double waiting_s;           /* neither; also for a host that launches more slowly */
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
    int64_t id;       /* its number; in a program file: its id */
    char name[160];   /* "conv1+relu1 forward part 3 micro 0" */
    int what_bytes;   /* length of the name without part, algorithm and micro-batch */
    const char *way;  /* a collective's algorithm, in brackets in the name; NULL: none */
    bool again;       /* computed a second time, for the backward half */
    int device;       /* -1: it is on links */
    int op;           /* the first computed operator; -1: a comm or an update */
    int tensor;       /* of a comm or an update; -1: none */
    int micro, stage; /* -1: none */
    int n_links;      /* it holds these directed links ... */
    const int *link;
    const double *link_busy_s; /* ... from start + link_offset_s on, each for this long */
    const double *link_offset_s;
    double bytes;  /* sent; 0: none */
    int64_t after; /* the event that ended last among those it waited for; -1: none */
    double ready_s, start_s, end_s;
};
HYPAR_API bool hypar_sim_event(const struct hypar_sim *sim, int64_t i,
                               struct hypar_sim_event *event);

/* The memory of a device over time, for the counters of a trace: point i, false past the last;
 * by device, then by time. It begins and ends with the lasting contents, and its maximum is
 * memory.peak of the device. Only with options.timeline. */
struct hypar_sim_memory_point {
    int device;
    double time_s, bytes; /* the contents from this time on; of several points at one time the
                             last counts */
};
HYPAR_API bool hypar_sim_memory_point(const struct hypar_sim *sim, int64_t i,
                                      struct hypar_sim_memory_point *point);

/* The critical path: a chain of tasks from the beginning of the step to its end. A task begins
 * when its last predecessor has ended; or, if its device or link is then held by another task,
 * when that task releases it. The path continues with whichever caused the start. If the host
 * of a device takes longer than all devices (launch_s), the path is its launches alone. Segment
 * i, false past the last; only with options.timeline. Each segment begins where the one before
 * ends. The first begins at 0, the last ends at step_s (schedule pipedream: at window_s of
 * hypar_sim_pipeline()). */
enum hypar_segment {
    HYPAR_SEGMENT_COMPUTE,
    HYPAR_SEGMENT_UPDATE,   /* of parameters, and squares of gradients before them */
    HYPAR_SEGMENT_EXCHANGE, /* on a link, or the overhead of a comm */
    HYPAR_SEGMENT_LAUNCH,   /* the host of a device is still launching its kernels */
};
struct hypar_sim_segment {
    enum hypar_segment kind;
    int64_t event;   /* the task, for hypar_sim_event(); -1: launches */
    int device;      /* that computes; -1 */
    int link;        /* directed, that is held; -1: none */
    double queued_s; /* the part of this time in which the next task on the path was ready, but
                        waited in the queue */
    double start_s, end_s;
};
HYPAR_API bool hypar_sim_segment(const struct hypar_sim *sim, int64_t i,
                                 struct hypar_sim_segment *segment);

/* Delta simulation: the step of a plan that changes operator by operator. Only what a change
 * touches is simulated, with exactly the result of hypar_simulate().
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
 * Stages, schedule and the other settings of the whole plan do not change. */
struct hypar_delta; /* opaque; one for each thread that proposes */

/* Begin with a copy of `plan`; its graph, its machine and the profile must outlive the delta.
 * `options` may be NULL: as the plan says. HYPAR_UNSUPPORTED if gradients are clipped, or as
 * from hypar_lower(). */
HYPAR_API enum hypar_status hypar_delta_begin(struct hypar_delta **out,
                                              const struct hypar_plan *plan,
                                              const struct hypar_sim_options *options,
                                              struct hypar_error *err);
HYPAR_API void hypar_delta_free(struct hypar_delta *delta); /* NULL is allowed */

/* Propose to split and place `n` operators, each named once, otherwise; *step_s receives the
 * resulting step. If it is certainly longer than `limit_s` (0: no limit), the simulation stops
 * early: *step_s is then above the limit, and the proposal is dropped. A failure drops the
 * proposal, too: HYPAR_INFEASIBLE or HYPAR_UNSUPPORTED if the operator cannot be split in this
 * manner. An earlier proposal that was not accepted is undone. */
HYPAR_API enum hypar_status hypar_delta_propose(struct hypar_delta *delta,
                                                const struct hypar_split *change, int n,
                                                double limit_s, double *step_s,
                                                struct hypar_error *err);

/* Keep the proposal, or undo it; without a proposal nothing happens. */
HYPAR_API void hypar_delta_accept(struct hypar_delta *delta);
HYPAR_API void hypar_delta_undo(struct hypar_delta *delta);

/* The plan with the proposal; owned by `delta`. And its step (schedule pipedream: the mean of
 * all simulated minibatches). */
HYPAR_API const struct hypar_plan *hypar_delta_plan(const struct hypar_delta *delta);
HYPAR_API double hypar_delta_step_s(const struct hypar_delta *delta);

/* A check: `changes` random changes of one operator's split and devices, one after another,
 * each simulated in full and by delta, and compared task by task. */
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
 * HYPAR_INFEASIBLE if there is none. */
HYPAR_API enum hypar_status hypar_calibrate(double *efficiency, const struct hypar_plan *plan,
                                            const struct hypar_sim_options *options,
                                            double measured_s, struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_SIM_H */
