/* run/exec/executor.h - one rank of a program, run with real kernels and real messages.
 * Internal.
 *
 * The executor goes through the slots of the rank's stage, and in each slot through the rank's
 * tasks in the order of their numbers. Messages are posted when their comm's turn comes and
 * proceed by themselves; a task waits for the comms that it needs. Owners combine sums in a
 * fixed order, so results do not depend on the transport.
 *
 * The same code proves programs right (tests/program/test_proof.c): with `check`, in either
 * order, with an observer of all values that a task reads. */
#ifndef RUN_EXEC_EXECUTOR_H
#define RUN_EXEC_EXECUTOR_H

#include "run/backend/backend.h"
#include "run/data.h"
#include "run/exec/rank.h"
#include "run/exec/transport.h"
#include "run/optimizer/optimizer.h"

struct executor;

/* A dense array over a box of a tensor that is to be filled. For the statistics of batch norm
 * (hp_is_running()): the running mean and variance before the first step. */
struct fill_request {
    int tensor;
    int state;     /* which array of the optimizer's state of a parameter, zero so far; -1: its
                      value */
    int64_t batch; /* of a model input: the number of its batch, from 0 */
};

enum task_order {
    ORDER_NUMBERS,
    /* Of all tasks whose predecessors are done, the last one first; under pipedream slot by
     * slot. Any order that the program's edges allow must give the right result. Only with
     * `check`. */
    ORDER_LATEST,
};

/* Something that a task reads: a box of a tensor's value or gradient. */
struct reading {
    int device, micro;
    struct place place;
    const struct view *view;
};

/* Something that a rank did at once, and how long it took. */
enum timed_kind { TIMED_CALL, TIMED_UPDATE, TIMED_SQUARES };
struct timed_work {
    enum timed_kind kind;
    int step;                       /* 1, 2, ... since the executor was made */
    const struct kernel_call *call; /* a prepared call of a kernel */
    int op;                         /* the operator of the call */
    double elements;                /* that were updated, or squared */
    double seconds;
};

struct executor_settings {
    const struct backend *backend; /* outlives the executor */
    enum real real;
    /* What the plan holds in two bytes is bf16, and parameters have master copies of `real`,
     * which is fp32; else all numbers are of `real`. */
    bool narrow;
    struct optimizer optimizer;
    struct rate_schedule rate;
    int64_t first_batch; /* batches trained on before */
    uint64_t seed;       /* of random numbers that operators draw */
    enum task_order order;
    size_t chunk_bytes; /* of messages; 0: the default */
    int record_steps;   /* record the tasks of this many last steps; 0: none */
    bool mean;          /* sum the times of tasks over steps; each task is waited for */
    bool check; /* everything that is read must have been computed or received (else it is NaN)
                 */
    /* With a back end other than the host, other threads fill inputs ahead. */
    enum hypar_status (*fill)(void *who, const struct fill_request *request,
                              const struct view *to, struct hypar_error *err);
    /* With `check`, called for everything that a pass reads; may be NULL. */
    enum hypar_status (*observe)(void *who, const struct reading *reading,
                                 struct hypar_error *err);
    /* Called with the operands of a part's share of the loss; may be NULL. */
    void (*scored)(void *who, int micro, const struct kernel_call *call);
    /* Called with the time of each of a rank's calls; may be NULL. */
    void (*timed)(void *who, const struct timed_work *work);
    bool one_thread; /* the rank computes on one thread: time of other processes on its core is
                        not counted */
    void *who;
    /* For forward phases alone: the executor of the same rank in training, whose parameters and
     * running statistics this executor uses in place; NULL: this executor has its own. `shares`
     * must outlive this executor. */
    const struct executor *shares;
};

/* Counts since the executor was made. */
struct executor_counts {
    int64_t moves; /* tasks begun, messages posted and done: a sign of progress */
    double sent_bytes;
    double live_bytes, peak_bytes; /* of buffers: now, and at most */
    double memory_bytes;           /* the array of all buffers */
    double staging_bytes;          /* at most, for messages and kernels, besides the buffers */
    double workspace_bytes;
};

/* The times of a rank's tasks, by the clock of base/clock.h. */
struct task_record {
    int32_t task;  /* number in the program */
    int32_t micro; /* in the tail: the period */
    int32_t step;  /* 1, 2, ... since it was made */
    int32_t
        with; /* the task with which it was computed in one call, and which has the time; -1 */
    double start_s, end_s;
    double bytes; /* sent by the rank */
};

/* The last records, in a ring buffer. */
struct records {
    struct task_record *at;
    int64_t n, capacity; /* all so far; kept ones: the next goes to n modulo capacity */
};

/* The times of a task relative to the beginning of its step, summed over steps. */
struct task_sum {
    int32_t n;    /* steps */
    int32_t with; /* as of a record, in the last of them */
    double start_s, end_s;
};

/* All tasks of a step: those of each micro-batch, then those of the periods. */
struct task_sums {
    struct task_sum *at; /* NULL: not kept */
    int64_t *first;      /* by micro-batch: where its tasks begin; then the periods' */
    int64_t n;
    bool now; /* does the current step count? */
    int steps;
    double step_s;  /* when the current step began */
    double begin_s; /* the same, summed over steps, since `origin_s` */
    double origin_s;
};

enum advance {
    ADVANCE_WAITS, /* for messages */
    ADVANCE_DONE,
    ADVANCE_FAILED,
};

/* Prepare the first step. The program must outlive the executor. */
enum hypar_status hp_executor_new(struct executor **out, const struct hypar_program *program,
                                  int device, const struct executor_settings *settings,
                                  const struct transport *transport, struct hypar_error *err);
void hp_executor_free(struct executor *x); /* NULL is allowed */

/* The next step trains on batch number `batch`; of its samples the first `counted` count for
 * the loss. */
void hp_executor_restart(struct executor *x, int64_t batch, int64_t counted);

/* Pipedream: the next window is the last and has only the first `n` of the program's
 * minibatches: whole update periods of every stage. */
void hp_executor_shorten(struct executor *x, int n);

/* Begin a training step (pipedream: a window of minibatches); and continue it as far as
 * possible. */
void hp_executor_begin(struct executor *x);
enum advance hp_executor_advance(struct executor *x, struct hypar_error *err);

/* Run a whole step, waiting for messages. */
enum hypar_status hp_executor_step(struct executor *x, struct hypar_error *err);

/* The same for all ranks in one process. HYPAR_RUNTIME if they wait for each other. */
enum hypar_status hp_executors_step(struct executor **x, int n, struct hypar_error *err);

/* The unfinished task at which a rank waits, as text. */
const char *hp_executor_where(struct executor *x, char *text, size_t n);

/* The loss of the last step (pipedream: of period `period` of the loss's stage). False: the
 * rank does not know it. */
bool hp_executor_loss(const struct executor *x, int period, double *loss);

/* Copy a box of a parameter that the rank updates, of an array of its optimizer's state (-1:
 * its value), or of its running statistics, into a dense array. */
void hp_executor_read(const struct executor *x, int tensor, int state, const struct box *box,
                      void *dense);

/* The addresses of lasting arrays of the back end: buffers 0 .. n - 1, of parameters (the
 * newest version) and of gradients. */
const struct rank *hp_executor_rank(const struct executor *x);
void *hp_executor_lasting(const struct executor *x, int buffer);

struct executor_counts hp_executor_counts(const struct executor *x);
const struct records *hp_executor_records(const struct executor *x);

/* The mean step, without the first step if there are others: a record for each task, with times
 * relative to the step's beginning; taken from `arena`. Returns the number of records.
 * *begin_s: the mean time of the beginning. */
int64_t hp_executor_mean(const struct executor *x, struct arena *arena,
                         struct task_record **out, double *begin_s);
int hp_executor_mean_steps(const struct executor *x);

#endif /* RUN_EXEC_EXECUTOR_H */
