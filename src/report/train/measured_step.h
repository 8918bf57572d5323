/* report/train/measured_step.h - a measured step, and how it compares with the simulated one.
 * Internal.
 *
 * A measured step has every task of every rank once, its times the means over several steps:
 * as a training run keeps it, or of a trace file. Tasks have the numbers and the names that the
 * simulator gives them, so the two timelines are laid side by side task by task. */
#ifndef REPORT_MEASURED_STEP_H
#define REPORT_MEASURED_STEP_H

#include <hypar/report.h>

#include "base/arena.h"

struct measured_task {
    int64_t id;
    const char *name;
    enum hypar_event_kind kind;
    int rank;
    int64_t with; /* the task that has the time, too; -1 */
    double start_s, end_s, bytes;
};

struct hypar_measured_step {
    struct arena arena; /* it lives there */
    int n_ranks;
    int64_t n_steps;            /* that it is the mean of; 0: not known */
    double step_s;              /* of all of it */
    int minibatches;            /* pipedream: so many are trained on in it; else 1 */
    bool in_turn;               /* ranks computed one after another, in one process */
    struct measured_task *task; /* by rank */
    int64_t n_tasks;
    struct hypar_trace_event *event; /* of a trace file: all of them, by rank */
    int64_t n_events;
    struct torch_trace *torch; /* of PyTorch's profiler, which knows no tasks; else NULL */
};

/* As hypar_measured_step_read(), of a text and of whatever plan. */
enum hypar_status hp_measured_read_text(struct hypar_measured_step **out, const char *text,
                                        size_t length, const char *name,
                                        struct hypar_error *err);

/* What a run did on average; NULL if it has kept nothing. */
struct hypar_measured_step *hp_measured_of(const struct hypar_train_result *result);

/* Seconds of a step, predicted and measured; of several ranks the mean. */
struct truth_row {
    const char *name;
    double predicted_s, measured_s;
    double bytes; /* of an exchange: sent, over all ranks */
    int tasks;    /* that it is made of, in all */
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
    TRUTH_COMM,    /* not computing, and some message of its own is under way */
    TRUTH_WAITING, /* neither */
    TRUTH_PHASES
};

struct truth {
    struct arena arena;
    int n_ranks;
    int64_t n_steps;
    bool in_turn; /* then no communicating or waiting, nor exchanges, are measured */
    struct truth_row step, phase[TRUTH_PHASES];
    struct truth_rows op;       /* all passes of one operator and of those that follow it */
    struct truth_rows exchange; /* all comms of one tensor and kind */
    /* Tasks of one name, without part and micro-batch, and waits before them: over these a step
     * adds up. */
    struct truth_rows place;
};

/* HYPAR_INVALID if a task is not the one that has its number in the simulation, which must have
 * kept its timeline. To be released with hp_truth_free(). */
enum hypar_status hp_truth_make(struct truth *out, const struct hypar_measured_step *measured,
                                const struct hypar_sim *sim, struct hypar_error *err);
void hp_truth_free(struct truth *truth);

/* Rows by how much they differ, the most first; or the largest `n` of them, and of these the
 * worst ratio first. Both change the order of `rows`. */
void hp_truth_by_difference(struct truth_rows *rows);
void hp_truth_by_ratio(struct truth_rows *rows, int n);

/* Tables (truth_text.c): phases, or rows of them for a table of four columns; operators and
 * exchanges, the largest (detail: all), each after an empty line. */
struct columns;
void hp_ratio_cell(struct columns *table, struct arena *arena, double predicted,
                   double measured);
void hp_print_phases(FILE *to, const struct truth *truth);
void hp_phase_rows(struct columns *table, struct arena *arena, const struct truth *truth);
void hp_print_truth_rows(FILE *to, struct truth *truth, bool detail);

/* Members "phases", "operators" and "exchanges" of an open object. */
struct json_writer;
void hp_put_truth(struct json_writer *w, const struct truth *truth);

#endif /* REPORT_MEASURED_STEP_H */
