/* hypar/run.h - running a plan.
 *
 * Data flow: model -> graph -> search -> plan -> program -> sim | RUN -> report
 *
 * One process (rank) is one device of the plan. An MPI launcher (mpirun, srun) starts all ranks
 * with the same arguments. Each runs its own tasks of the program that the simulator predicts,
 * with real kernels and messages. */
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

/* For a process that is alone: true if its launcher says that it has started several processes,
 * but MPI does not join them. `text` then says so, and how to start them. */
HYPAR_API bool hypar_ranks_apart(char *text, size_t size);

/* Join the other processes that were started with this one; alone if no launcher started it.
 * HYPAR_UNSUPPORTED if a launcher did, but the library was built without MPI. */
HYPAR_API enum hypar_status hypar_ranks_join(struct hypar_ranks **out, struct hypar_error *err);
HYPAR_API int hypar_ranks_rank(const struct hypar_ranks *ranks);
HYPAR_API int hypar_ranks_count(const struct hypar_ranks *ranks);

/* Agree on one status: that of the first rank that failed. All ranks call this. The failed rank
 * keeps the reason in its *err; *err is empty on all others, so the reason is reported once. */
HYPAR_API enum hypar_status
hypar_ranks_agree(struct hypar_ranks *ranks, enum hypar_status status, struct hypar_error *err);

/* Rank 0's `text`, on all ranks; all ranks call this. The text is valid until
 * hypar_ranks_leave(). */
HYPAR_API const char *hypar_ranks_share(struct hypar_ranks *ranks, const char *text);

/* Report long waits: a rank that has received no message for `after_s` calls `tell` with the
 * rank that it waits for, this rank's host and the length of the wait. It calls `tell` again
 * after twice as long, four times as long, and so on. A rank that waits for a waiting rank does
 * not call `tell`; of several ranks that wait for the same rank one does. All ranks must call
 * hypar_ranks_watch(). */
HYPAR_API void hypar_ranks_watch(struct hypar_ranks *ranks, double after_s,
                                 void (*tell)(void *who, int rank, const char *host,
                                              double waited_s),
                                 void *who);

/* Leave. `status` is this rank's result: if this rank failed and the ranks did not agree on the
 * failure, all other ranks end too. NULL is allowed. */
HYPAR_API void hypar_ranks_leave(struct hypar_ranks *ranks, enum hypar_status status);

/* Training --------------------------------------------------------------------------- */

/* A finished training step. */
struct hypar_train_step {
    int64_t step;         /* 1, 2, ... */
    int64_t first, steps; /* the first and the last of this run */
    double loss;    /* under pipedream the mean of an update period, reported at its end */
    double seconds; /* its time; under pipedream the mean of a window */
    int64_t since;  /* the loss is the mean from this step on; mostly `step` */
};

/* The result of a test on held-out samples. */
struct hypar_train_test {
    int64_t step, steps; /* after which step, and the last of the run */
    int64_t samples;
    double loss; /* mean over the samples */
    double
        accuracy; /* of a classifier: the share of labels (of tokens: of positions) whose class
                     has the highest score, the first of several; -1: there are no labels */
    bool tokens;  /* a label for each position: perplexity is e^loss */
    double seconds;
};

struct hypar_train_options {
    int64_t steps;          /* in all, including those before `resume` */
    const char *device;     /* "cpu", or "cuda": a card of this machine, in turn for each rank;
                               NULL: "cpu" */
    const char *kernels;    /* of "cpu": "fast" or "reference"; NULL: fast if available */
    int threads;            /* of each rank; 0: 1 */
    bool check;             /* every number that is read must have been computed (slow) */
    double learning_rate;   /* 0: the optimizer's usual one */
    double weight_decay;    /* 0: the optimizer's usual one */
    bool init_random;       /* do not begin with the values of the model's file */
    const char *rate;       /* "constant" or "cosine"; NULL: constant */
    int64_t warm_up;        /* steps in which the rate rises */
    const char *data;       /* NULL: synthetic */
    const char *test_data;  /* held-out samples, tested on at the end; NULL: none */
    int64_t test_every;     /* also every this many steps; 0: no */
    const char *checkpoint; /* file to be written at the end and when stopped; NULL: none */
    int64_t checkpoint_every; /* also every this many steps; 0: no */
    const char *resume;       /* checkpoint to resume from; NULL: from the start */
    int trace_steps;          /* keep the times of all tasks of this many last steps; 0: none */
    struct hypar_profile *measure; /* on rank 0 the times of all kernel calls and updates are
                                      added to it; other ranks pass any; NULL: none */
    /* Called on rank 0 after each step. */
    void (*report)(void *who, const struct hypar_train_step *step);
    /* Called on rank 0 after each test. */
    void (*report_test)(void *who, const struct hypar_train_test *test);
    void *who;
    /* If set on any rank, by a signal, the run ends after a step; may be NULL. */
    const volatile sig_atomic_t *stop;
    /* Parameters that a checkpoint, or the model's file of values, lacks are drawn at random,
     * and other state begins as in a new run. False: such a file is HYPAR_INVALID. */
    bool partial_weights;
    /* Called on rank 0 before the first step, with one line for the user about the files with
     * initial values; may be NULL. */
    void (*note)(void *who, const char *text);
};

/* The result of a run, on rank 0. */
struct hypar_train_result {
    int ranks;
    int64_t steps, first_step;    /* in all, and before this run */
    double first_loss, last_loss; /* each the mean of `loss_steps` steps */
    double step_s;                /* median, without the first step if there are others */
    double comm_bytes_per_step;   /* over all ranks, counted where messages are posted */
    double program_bytes;         /* the same according to the program */
    /* Of the rank with the most: its buffers when they are fullest; the array in which they
     * lie; memory besides for messages and for kernels; and the largest resident size of its
     * process. */
    double peak_bytes, memory_bytes, staging_bytes, workspace_bytes, process_bytes;
    /* With test_data: the last test, and the best one: the highest accuracy, or without labels
     * the lowest loss, the first of several; samples 0: there was none. */
    struct hypar_train_test test, best_test;
    bool stopped;
    bool in_process;    /* ranks took turns: a step took as long as all of them together */
    int minibatches;    /* pipedream: of a window; else 0 */
    double mean_step_s; /* of the steps that step_s is the median of */
    int64_t n_timed;    /* the number of these steps (pipedream: windows) */
    int64_t loss_steps; /* 1; pipedream: minibatches of an update period of the loss's stage */
    struct hypar_trace *trace; /* on rank 0; to be released with hypar_trace_free() */
};

/* The times of all ranks' tasks: means over the steps, and with trace_steps also those of the
 * last steps of a run (pipedream: windows of minibatches); opaque. A rank keeps at most a
 * million tasks. The plan must outlive it. */
struct hypar_trace;

struct hypar_trace_event {
    enum hypar_event_kind kind;
    int64_t id;       /* the number of the same task in hypar_sim_event() */
    char name[160];   /* its name, without the algorithm of a collective */
    bool again;       /* computed a second time, for the backward half */
    int rank, op;     /* op: the first operator that is computed; -1: a comm or an update */
    int micro, stage; /* -1: none */
    int64_t step;     /* 1, 2, ...; pipedream: window of this run */
    /* Several passes of a part may be computed in one call. The first has the time; the others
     * have the number of the first here; -1. */
    int64_t with;
    double bytes; /* sent by the rank; 0: none */
    /* Seconds since the first event, by one clock for all ranks. A comm begins when it is
     * posted, and ends when the rank notices that its messages are done. */
    double start_s, end_s;
};

/* Event `i`, by rank and in the order of ending; false past the last. */
HYPAR_API bool hypar_trace_event(const struct hypar_trace *trace, int64_t i,
                                 struct hypar_trace_event *event);

/* Task `i` of the mean step, by rank: each task once. Its times are relative to the beginning
 * of the step on rank 0, and means over steps: the first step is left out if there are others,
 * and after the hundredth only every sixteenth counts. False past the last; a rank with more
 * than four million tasks has none. */
HYPAR_API bool hypar_trace_mean(const struct hypar_trace *trace, int64_t i,
                                struct hypar_trace_event *event);

struct hypar_trace_info {
    int64_t mean_steps; /* steps in the mean */
    int64_t steps;      /* recorded ones */
};
HYPAR_API struct hypar_trace_info hypar_trace_info(const struct hypar_trace *trace);
HYPAR_API void hypar_trace_free(struct hypar_trace *trace); /* NULL is allowed */

/* Train by a plan. The plan's machine must have as many devices as there are ranks; a process
 * that is alone runs all of them in turn. HYPAR_UNSUPPORTED for what cannot run (fp16, an
 * opaque operator), HYPAR_INVALID for files of values that are damaged or incomplete,
 * HYPAR_INFEASIBLE if the numbers of ranks and devices differ, or if a loss or a value for a
 * checkpoint is not finite, HYPAR_USAGE if there is nothing left to do, HYPAR_RUNTIME if
 * something failed during the run. *err is empty on ranks that failed because another did. */
HYPAR_API enum hypar_status hypar_train(const struct hypar_plan *plan,
                                        struct hypar_ranks *ranks,
                                        const struct hypar_train_options *options,
                                        struct hypar_train_result *result,
                                        struct hypar_error *err);

/* Measure messages between the ranks, and the adding up of received data, for many sizes, on
 * all ranks at once; the results go to rank 0's profile, for devices called `device`. All ranks
 * call it. `anew`: replace the profile's values; else average with them. */
HYPAR_API void hypar_measure_links(struct hypar_ranks *ranks, const char *device, bool anew,
                                   struct hypar_profile *profile);

/* A card of this machine. */
struct hypar_card {
    char name[96];
    int arch; /* 90: compute capability 9.0 */
    int multiprocessors;
    double memory_bytes;
};

/* Fill in at most `most` cards; returns how many there are. 0: none, or the driver is missing;
 * hypar_feature_loads("cuda") tells why. */
HYPAR_API int hypar_cards(struct hypar_card *card, int most);

/* The name of the kernels: "fast, OpenBLAS ..."; `kernels` as in hypar_train_options. */
HYPAR_API const char *hypar_kernels_text(const char *kernels);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_RUN_H */
