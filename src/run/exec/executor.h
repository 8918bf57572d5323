/* run/exec/executor.h - one rank of a program, run with real kernels and real messages.
 * Internal.
 *
 * The executor goes through the slots of the rank's stage, and in each through the rank's tasks
 * in the order of their numbers. Messages are posted when their comm's turn comes and go on by
 * themselves; a task waits for the comms that it needs. Sums are put together by their owners,
 * in a fixed order: results do not depend on the transport.
 *
 * The same code proves programs right (tests/program/test_proof.c): with `check`, in either
 * order, with an observer that sees whatever a task reads. */
#ifndef RUN_EXEC_EXECUTOR_H
#define RUN_EXEC_EXECUTOR_H

#include "run/data.h"
#include "run/exec/rank.h"
#include "run/exec/transport.h"
#include "run/optimizer.h"

struct executor;

/* What a dense array over a box of a tensor is filled with. Of the statistics of batch norm
 * (hp_is_running()) that is the running mean and variance before the first step. */
struct fill_request {
    int tensor;
    int state; /* array of the optimizer's state of a parameter, zero so far; -1: its value */
    int64_t batch; /* of a model input: the number of its batch (0, 1, ...) */
};

enum task_order {
    ORDER_NUMBERS,
    /* Of all tasks whose predecessors are done the last one first, under pipedream slot by
     * slot: any order that the program's edges allow must do. Only with `check`. */
    ORDER_LATEST,
};

/* What a task reads: a box of a tensor's value or gradient. */
struct reading {
    int device, micro;
    struct place place;
    const struct view *view;
};

/* What a rank did at once, and how long it took. */
enum timed_kind { TIMED_CALL, TIMED_UPDATE, TIMED_SQUARES };
struct timed_work {
    enum timed_kind kind;
    int step;                       /* 1, 2, ... since the rank was made */
    const struct kernel_call *call; /* one of a kernel, with what was got ready for it */
    int op;                         /* ... that it is of */
    double elements;                /* that were updated, or squared */
    double seconds;
};

struct executor_settings {
    const struct kernels *kernels;
    enum real real;
    struct optimizer optimizer;
    struct rate_schedule rate;
    int64_t first_batch; /* batches that were trained on before */
    uint64_t seed;       /* of random numbers that operators draw */
    enum task_order order;
    size_t chunk_bytes; /* of messages; 0: as is usual */
    int record_steps;   /* tasks of so many last steps are recorded; 0: none */
    bool mean;          /* times of tasks are summed over steps */
    bool check;         /* what is read must have been computed or received (NaN: it was not) */
    enum hypar_status (*fill)(void *who, const struct fill_request *request,
                              const struct view *to, struct hypar_error *err);
    /* With `check`, called for all that a pass reads; NULL: nobody looks. */
    enum hypar_status (*observe)(void *who, const struct reading *reading,
                                 struct hypar_error *err);
    /* Called with what a part's share of the loss was computed from; NULL: nobody looks. */
    void (*scored)(void *who, int micro, const struct kernel_call *call);
    /* Called with the time of each of a rank's calls; NULL: nobody looks. */
    void (*timed)(void *who, const struct timed_work *work);
    bool one_thread; /* it computes by itself: what others took of its core does not count */
    void *who;
    /* Forward phases alone: a rank of the same plan's training, whose parameters and running
     * statistics are used where they are; NULL: its own. It must outlive this one. */
    const struct executor *shares;
};

/* What was done since it was made. */
struct executor_counts {
    int64_t moves; /* tasks begun, messages posted and done: it got on */
    double sent_bytes;
    double live_bytes, peak_bytes; /* of buffers: now, and at most */
    double memory_bytes;           /* that all buffers lie in */
    double staging_bytes;          /* besides, for messages, and for kernels, at most */
    double workspace_bytes;
};

/* What a rank did when, by the clock of base/clock.h. */
struct task_record {
    int32_t task;  /* number in the program */
    int32_t micro; /* in the tail: the period */
    int32_t step;  /* 1, 2, ... since it was made */
    int32_t with;  /* the task that it was computed with, in one call, which has the time; -1 */
    double start_s, end_s;
    double bytes; /* sent by the rank */
};

/* The last of them, in a ring. */
struct records {
    struct task_record *at;
    int64_t n, capacity; /* those that there were; that are kept: n modulo capacity is next */
};

/* The times of a task of a step, summed over steps, from the beginning of each. */
struct task_sum {
    int32_t n;    /* steps */
    int32_t with; /* as of a record, in the last of them */
    double start_s, end_s;
};

/* All tasks of a step: those of the micro-batches one after another, then of the periods. */
struct task_sums {
    struct task_sum *at; /* NULL: not kept */
    int64_t *first;      /* by micro-batch: where its tasks begin; then the periods' */
    int64_t n;
    bool now; /* is the present step one of them? */
    int steps;
    double step_s;  /* when the present step began */
    double begin_s; /* the same of all, summed, since `origin_s` */
    double origin_s;
};

enum advance {
    ADVANCE_WAITS, /* for messages */
    ADVANCE_DONE,
    ADVANCE_FAILED,
};

/* Ready for the first step. The program must outlive it. */
enum hypar_status hp_executor_new(struct executor **out, const struct hypar_program *program,
                                  int device, const struct executor_settings *settings,
                                  const struct transport *transport, struct hypar_error *err);
void hp_executor_free(struct executor *x); /* NULL is allowed */

/* The next step is of batch number `batch`, and of the samples from its first on so many count
 * for the loss. */
void hp_executor_restart(struct executor *x, int64_t batch, int64_t counted);

/* Pipedream: the next window, which is the last, has only the first `n` of the program's
 * minibatches: whole update periods of every stage. */
void hp_executor_shorten(struct executor *x, int n);

/* Begin a training step (pipedream: a window of minibatches), and go on with it as far as it
 * gets. */
void hp_executor_begin(struct executor *x);
enum advance hp_executor_advance(struct executor *x, struct hypar_error *err);

/* The same for all of a step, waiting for messages. */
enum hypar_status hp_executor_step(struct executor *x, struct hypar_error *err);

/* The same for all ranks, in one process. HYPAR_RUNTIME if they wait for each other. */
enum hypar_status hp_executors_step(struct executor **x, int n, struct hypar_error *err);

/* What a rank waits at that is not done. */
const char *hp_executor_where(struct executor *x, char *text, size_t n);

/* The loss of the last step (pipedream: of period `period` of the loss's stage). False: the
 * rank does not know it. */
bool hp_executor_loss(const struct executor *x, int period, double *loss);

/* A box of a parameter that the rank updates, or of an array of its optimizer's state (-1: its
 * value), or of the running statistics that it keeps, into a dense array. */
void hp_executor_read(const struct executor *x, int tensor, int state, const struct box *box,
                      void *dense);

/* Arrays that last: buffers 0 .. n - 1, of parameters (the newest version) and of gradients. */
const struct rank *hp_executor_rank(const struct executor *x);
void *hp_executor_lasting(const struct executor *x, int buffer);

struct executor_counts hp_executor_counts(const struct executor *x);
const struct records *hp_executor_records(const struct executor *x);

/* The mean step, without the first where there are others: a record for each task, times from
 * its beginning on; taken from `arena`. Returns how many. *begin_s: when it began, on average.
 */
int64_t hp_executor_mean(const struct executor *x, struct arena *arena,
                         struct task_record **out, double *begin_s);
int hp_executor_mean_steps(const struct executor *x);

#endif /* RUN_EXEC_EXECUTOR_H */
