/* hypar/run.h - running a plan for real.
 *
 * In the way of the data: model -> graph -> search -> plan -> program -> sim | RUN -> report
 *
 * One process (rank) is one device of the plan. Ranks are started by an MPI launcher (mpirun,
 * srun), all with the same arguments; each runs its own tasks of the program that the simulator
 * predicts, with real kernels and messages. */
#ifndef HYPAR_RUN_H
#define HYPAR_RUN_H

#include <hypar/plan.h>
#include <hypar/profile.h>
#include <hypar/program.h>
#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The processes of a run ------------------------------------------------------------ */

struct hypar_ranks; /* opaque */

/* Was this process started by an MPI launcher? */
HYPAR_API bool hypar_ranks_launched(void);

/* For a process that is alone. True if its launcher says that it has started several processes:
 * MPI does not join them. `text` then says so, and how to start them so that MPI does. */
HYPAR_API bool hypar_ranks_apart(char *text, size_t size);

/* Join the other processes that were started with this one; alone where it was not started by a
 * launcher. HYPAR_UNSUPPORTED if it was and the library was built without MPI. */
HYPAR_API enum hypar_status hypar_ranks_join(struct hypar_ranks **out, struct hypar_error *err);
HYPAR_API int hypar_ranks_rank(const struct hypar_ranks *ranks);
HYPAR_API int hypar_ranks_count(const struct hypar_ranks *ranks);

/* One status for all ranks, which all call this: that of the first rank on which something went
 * wrong. The reason stays in that rank's *err and is empty on all others: it is told once. */
HYPAR_API enum hypar_status
hypar_ranks_agree(struct hypar_ranks *ranks, enum hypar_status status, struct hypar_error *err);

/* Rank 0's `text`, on all ranks, which all call this; it lives until they leave. */
HYPAR_API const char *hypar_ranks_share(struct hypar_ranks *ranks, const char *text);

/* From now on a rank that has waited for `after_s` without a message calls `tell`, with the
 * rank that it waits for, that rank's host and how long it has waited; again after twice as
 * long, four times as long, and so on. Ranks that wait for a rank which waits itself do not,
 * and of several that wait for the same rank one does. All ranks call this. */
HYPAR_API void hypar_ranks_watch(struct hypar_ranks *ranks, double after_s,
                                 void (*tell)(void *who, int rank, const char *host,
                                              double waited_s),
                                 void *who);

/* Leave. `status` is how it went on this rank: if it went wrong, and they did not agree that it
 * did, all others end, too. NULL is allowed. */
HYPAR_API void hypar_ranks_leave(struct hypar_ranks *ranks, enum hypar_status status);

/* Training --------------------------------------------------------------------------- */

/* One training step that is done. */
struct hypar_train_step {
    int64_t step;         /* 1, 2, ... */
    int64_t first, steps; /* the first and the last of this run */
    double loss;          /* under pipedream the mean of an update period, told at its end */
    double seconds;       /* that it took; under pipedream the mean of a window */
    int64_t since;        /* the first step that the loss is the mean of; mostly `step` */
};

/* What a test on held-out samples came to. */
struct hypar_train_test {
    int64_t step, steps; /* after which, and the last of the run */
    int64_t samples;
    double loss; /* mean over the samples */
    double
        accuracy; /* of a classifier: the share of labels (of tokens, those of positions)
                     whose class scored most, of several the first; -1: there are no labels */
    bool tokens;  /* a label for each position: perplexity is e^loss */
    double seconds;
};

struct hypar_train_options {
    int64_t steps;            /* to be done in all, those before `resume` included */
    const char *kernels;      /* "fast" or "reference"; NULL: fast if there are such */
    int threads;              /* of each rank; 0: 1 */
    bool check;               /* every number that is read must have been computed (slow) */
    double learning_rate;     /* 0: the optimizer's usual one */
    double weight_decay;      /* 0: the optimizer's usual one */
    bool init_random;         /* not from the values that the model's file has */
    const char *rate;         /* "constant" or "cosine"; NULL: constant */
    int64_t warm_up;          /* steps in which the rate rises */
    const char *data;         /* NULL: synthetic */
    const char *test_data;    /* held-out samples, tested on at the end; NULL: none */
    int64_t test_every;       /* ... and every so many steps; 0: not */
    const char *checkpoint;   /* file to be written at the end and when stopped; NULL: none */
    int64_t checkpoint_every; /* ... and every so many steps; 0: not */
    const char *resume;       /* checkpoint to go on from; NULL: from the start */
    int trace_steps;          /* times of all tasks of so many last steps are kept; 0: none */
    struct hypar_profile *measure; /* on rank 0 the times of all calls of kernels, and of
                                      updates, are added to it; others give any; NULL: not */
    /* Called on rank 0 after each step. */
    void (*report)(void *who, const struct hypar_train_step *step);
    /* ... and after each test. */
    void (*report_test)(void *who, const struct hypar_train_test *test);
    void *who;
    /* Set on any rank, by a signal, it ends the run after a step; NULL: nothing does. */
    const volatile sig_atomic_t *stop;
    /* Parameters that a checkpoint, or the model's file of values, lacks are drawn at random,
     * other state begins as in a new run; false: such a file is HYPAR_INVALID. */
    bool partial_weights;
    /* Called on rank 0 before the first step, with one line for the user about the files that
     * values come from; NULL: nobody is told. */
    void (*note)(void *who, const char *text);
};

/* What a run came to, as rank 0 knows it. */
struct hypar_train_result {
    int ranks;
    int64_t steps, first_step;    /* done in all, and before this run */
    double first_loss, last_loss; /* each the mean of `loss_steps` steps */
    double step_s;                /* median, without the first step if there are others */
    double comm_bytes_per_step;   /* over all ranks: counted where messages are posted */
    double program_bytes;         /* the same as the program has it */
    /* Of the rank that has most: its buffers when it is fullest; the array that they lie in;
     * besides, for messages and for kernels; and of its process, all that was ever resident. */
    double peak_bytes, memory_bytes, staging_bytes, workspace_bytes, process_bytes;
    /* With test_data: the last test, and the one with the highest accuracy, or the lowest loss
     * where there is none, of several the first; samples 0: there was none. */
    struct hypar_train_test test, best_test;
    bool stopped;
    bool in_process;    /* ranks took turns: a step took as long as all of them together */
    int minibatches;    /* pipedream: of a window; else 0 */
    double mean_step_s; /* of the steps that step_s is the median of */
    int64_t n_timed;    /* so many steps (pipedream: windows) */
    int64_t loss_steps; /* 1; pipedream: minibatches of an update period of the loss's stage */
    struct hypar_trace *trace; /* on rank 0; to be released with hypar_trace_free() */
};

/* What all ranks did, task by task: on average, and with trace_steps in the last steps of a run
 * (pipedream: windows of minibatches); opaque. A rank keeps a million tasks at most. The plan
 * must outlive it. */
struct hypar_trace;

struct hypar_trace_event {
    enum hypar_event_kind kind;
    int64_t id;       /* the number that hypar_sim_event() gives the same task */
    char name[160];   /* ... and its name, without the algorithm of a collective */
    bool again;       /* computed a second time, for the backward half */
    int rank, op;     /* op: the first of those that are computed; -1: a comm or an update */
    int micro, stage; /* -1: none */
    int64_t step;     /* 1, 2, ...; pipedream: window of this run */
    /* Several passes of a part may be computed in one call. The first has the time; of the
     * others this is the number of the first; -1. */
    int64_t with;
    double bytes; /* sent by the rank; 0: none */
    /* Seconds since the first of all events, by one clock for all ranks. A comm begins when it
     * is posted, and ends when the rank sees that its messages are done. */
    double start_s, end_s;
};

/* Event `i`, by rank and in the order in which they ended; false past the last. */
HYPAR_API bool hypar_trace_event(const struct hypar_trace *trace, int64_t i,
                                 struct hypar_trace_event *event);

/* Task `i` of the mean step, by rank: each task once, its times the means over steps, the
 * first left out where there are others, and of those after the hundredth every sixteenth;
 * since the step began on rank 0. False past the last; there are none of a rank that has more
 * than four million tasks. */
HYPAR_API bool hypar_trace_mean(const struct hypar_trace *trace, int64_t i,
                                struct hypar_trace_event *event);

/* How many steps it is the mean of. */
HYPAR_API int64_t hypar_trace_mean_steps(const struct hypar_trace *trace);

/* How many steps it has. */
HYPAR_API int64_t hypar_trace_step_count(const struct hypar_trace *trace);
HYPAR_API void hypar_trace_free(struct hypar_trace *trace); /* NULL is allowed */

/* Train by a plan. The plan's machine must have as many devices as there are ranks; a process
 * that is alone runs all of them in turn. HYPAR_UNSUPPORTED for what cannot be run (bf16, an
 * opaque operator), HYPAR_INVALID for files of values that are damaged or lack something,
 * HYPAR_INFEASIBLE if ranks and devices are not as many, or a loss or what a checkpoint should
 * have is not finite, HYPAR_USAGE if there is nothing left to do, HYPAR_RUNTIME if something
 * failed on the way. *err is empty on ranks that failed because another did. */
HYPAR_API enum hypar_status hypar_train(const struct hypar_plan *plan,
                                        struct hypar_ranks *ranks,
                                        const struct hypar_train_options *options,
                                        struct hypar_train_result *result,
                                        struct hypar_error *err);

/* Measure what messages between the ranks take, and what adding up does that came, for many
 * sizes, all ranks at once; into rank 0's profile, of devices called `device`. All ranks call
 * it. `anew`: what the profile has is replaced; else it has the mean of that and of this. */
HYPAR_API void hypar_measure_links(struct hypar_ranks *ranks, const char *device, bool anew,
                                   struct hypar_profile *profile);

/* What computes: "fast, OpenBLAS ..."; `kernels` as hypar_train_options has it. */
HYPAR_API const char *hypar_kernels_text(const char *kernels);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_RUN_H */
