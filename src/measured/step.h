/* measured/step.h - a measured step, and its comparison with the simulated one.
 * Internal.
 *
 * A measured step has every task of every rank once, with its mean times over several steps. It
 * comes from a training run or from a trace file. Tasks have the simulator's numbers and names,
 * so the two timelines are compared task by task. */
#ifndef MEASURED_STEP_H
#define MEASURED_STEP_H

#include <hypar/report.h>

#include "base/arena.h"

struct measured_task {
    int64_t id;
    const char *name;
    enum hypar_event_kind kind;
    int rank;
    int64_t with; /* the task whose time includes this one; -1: none */
    double start_s, end_s, bytes;
};

struct hypar_measured_step {
    struct arena arena; /* the struct is in this arena */
    int n_ranks;
    int64_t n_steps;            /* number of steps in the mean; 0: not known */
    double step_s;              /* of the whole step */
    int minibatches;            /* pipedream: the minibatches of the step; else 1 */
    bool window;                /* pipedream: the step is a window of minibatches */
    bool in_turn;               /* ranks computed one after another in one process */
    struct measured_task *task; /* by rank */
    int64_t n_tasks;
    struct hypar_trace_event *event; /* from a trace file: all events, by rank */
    int64_t n_events;
    struct torch_trace *torch; /* from PyTorch's profiler, which has no tasks; else NULL */
};

/* As hypar_measured_step_read(), from a text and for any plan. */
enum hypar_status hp_measured_read_text(struct hypar_measured_step **out, const char *text,
                                        size_t length, const char *name,
                                        struct hypar_error *err);

/* The mean step of a run; NULL if the run kept none. */
struct hypar_measured_step *hp_measured_of(const struct hypar_train_result *result);

/* Seconds of a step, predicted and measured; the mean over several ranks. */
struct truth_row {
    const char *name;
    double predicted_s, measured_s;
    double bytes; /* of an exchange: bytes sent by all ranks */
    int tasks;    /* number of tasks in the row */
};

struct truth_rows {
    struct truth_row *row; /* in the order of task numbers */
    int n, capacity;
};

enum truth_phase {
    TRUTH_FORWARD,
    TRUTH_BACKWARD,
    TRUTH_GRADIENT,
    TRUTH_UPDATE,
    TRUTH_COMM,    /* not computing, and one of its messages is in progress */
    TRUTH_WAITING, /* neither computing nor communicating */
    TRUTH_PHASES
};

struct truth {
    struct arena arena;
    int n_ranks;
    int64_t n_steps;
    bool in_turn; /* then communication, waiting and exchanges are not measured */
    struct truth_row step, phase[TRUTH_PHASES];
    struct truth_rows op;       /* all passes of one operator and its followers */
    struct truth_rows exchange; /* all comms of one tensor and kind */
    /* Tasks of one name, without part and micro-batch, and the waits before them. These rows
     * add up to a step. */
    struct truth_rows place;
};

/* Seconds of a step as ranks run what was simulated; under pipedream the mean of the window's
 * minibatches, with its fill and drain. */
double hp_run_step_s(const struct hypar_sim *sim);

/* Compare a measured with a simulated step, which must have kept its timeline. HYPAR_INVALID if
 * a task differs from the simulated task of its number. Free with hp_truth_free(). */
enum hypar_status hp_truth_make(struct truth *out, const struct hypar_measured_step *measured,
                                const struct hypar_sim *sim, struct hypar_error *err);
void hp_truth_free(struct truth *truth);

/* Sort rows by their difference, the largest first; or find the largest `n` rows and sort these
 * by ratio, the worst first. Both change the order of `rows`. */
void hp_truth_by_difference(struct truth_rows *rows);
void hp_truth_by_ratio(struct truth_rows *rows, int n);

/* Processes of a trace that contain measured events. */
enum { HP_TRACE_RANKS = 4, HP_TRACE_MESSAGES = 5 };

/* "forward", "comm". */
const char *hp_event_kind_text(enum hypar_event_kind kind);

/* The hash of a plan as text, by which a trace names its plan. */
enum { HP_PLAN_HASH_BYTES = 17 };
const char *hp_plan_hash_text(const struct hypar_plan *plan, char text[HP_PLAN_HASH_BYTES]);

#endif /* MEASURED_STEP_H */
