/* all_ranks.h - a program run by all its ranks in one process, beside the unsplit run.
 *
 * Whatever a task reads is compared with what the unsplit run has there, and after each step
 * the parameters, their gradients, the loss and running statistics of every rank, and how much
 * they sent. */
#ifndef TESTS_ALL_RANKS_H
#define TESTS_ALL_RANKS_H

#include "run/exec/executor.h"
#include "tests/unsplit_run.h"

/* Whose arrays the ranks use: the process's own; arrays that it cannot read; a card's. */
enum arrays { ARRAYS_HERE, ARRAYS_FAR, ARRAYS_ON_CARD };

struct all_ranks_settings {
    const struct run_data *data; /* in double precision */
    const struct run_data
        *batch; /* pipedream: minibatch m has inputs of batch[m % n_batches] */
    int n_batches;
    enum task_order order;
    struct optimizer optimizer;
    uint64_t seed;
    struct unsplit_run *reference; /* before its first step; the caller's */
    /* The unsplit run does in its micro-batches what the devices do: a number is then wrong
     * relative to itself, not to its tensor. */
    bool micro_is_device;
    enum arrays arrays;
    bool fp32;   /* the ranks compute in single precision; the unsplit run never does */
    bool narrow; /* ... and hold in bf16 what the plan holds in two bytes */
    bool
        few_tags; /* no more than messages of one micro-batch have, and chunks that are small */
};

struct all_ranks;

/* The program must outlive them. HYPAR_UNSUPPORTED: as hp_executor_new(). */
enum hypar_status all_ranks_new(struct all_ranks **out, const struct hypar_program *program,
                                const struct all_ranks_settings *settings,
                                struct hypar_error *err);
void all_ranks_free(struct all_ranks *a); /* NULL is allowed */

/* A step of both. HYPAR_RUNTIME: something cannot be done, or ... */
enum hypar_status all_ranks_step(struct all_ranks *a, struct hypar_error *err);

/* ... it could, but the numbers are not the same. */
bool all_ranks_differ(const struct all_ranks *a);

/* How many running statistics of batch norms have been compared so far. */
int all_ranks_running(const struct all_ranks *a);

/* By how much numbers of a precision may differ, relative to the largest there is. */
double tolerance_of(enum real real, bool narrow);

/* The number of the first element that differs by more than `most`, -1: none. */
int64_t first_difference(const double *found, const double *right, int64_t n, double most);

/* The largest of some elements, for what differences are relative to; 1e-3 for what is
 * smaller, and 1/32 in bf16, whose sums of large terms may be small. */
double scale_of(const double *right, int64_t n, bool narrow);

#endif /* TESTS_ALL_RANKS_H */
