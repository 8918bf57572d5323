/* Training steps of the unsplit graph, with the reference kernels.
 *
 * Tests compare every plan with this run: it computes each operator whole, one after the other,
 * on one device. Each of several micro-batches goes forward and backward on its own (statistics
 * over samples are those of the micro-batch); losses and gradients of parameters are summed
 * over micro-batches.
 *
 * Under schedule pipedream updates are delayed (paper, section 3.3): minibatches run one after
 * the other, each with the version of the parameters that its stage prescribes; all versions
 * are kept. A step is then a window. */
#ifndef TESTS_UNSPLIT_RUN_H
#define TESTS_UNSPLIT_RUN_H

#include "program/program.h"
#include "run/data.h"
#include "run/optimizer/optimizer.h"

struct unsplit_run; /* owns its tensors */

/* Minibatch after minibatch, parameters by version. */
struct delayed_updates {
    struct pipedream pipe;
    const int *stage_of_op;
    bool stash, vertical_sync;
    const struct run_data *batch; /* minibatch m has the inputs of batch[m mod n_batches] ... */
    int n_batches;                /* ... NULL: of the data */
};

struct unsplit_settings {
    int micro_batches; /* delayed: minibatches, whole periods of every stage */
    const struct delayed_updates *delayed; /* NULL: synchronous */
    bool forward; /* forward phases alone, with the running statistics of the data */
    struct optimizer optimizer;
    double clip;   /* the largest norm of gradients; 0: any. Not with delayed updates */
    uint64_t seed; /* of the random numbers that operators draw */
    bool rounds;   /* every output is rounded to bf16, for the same reason */
    double noise; /* every output is off by up to this share, to test how stable the graph is */
};

/* Prepare the first step. `data` is copied; the graph must outlive the run. */
struct unsplit_run *unsplit_run_new(const struct hypar_graph *graph,
                                    const struct run_data *data,
                                    const struct unsplit_settings *settings);
void unsplit_run_free(struct unsplit_run *run);

/* One step: forward, backward, update; or forward. */
void unsplit_run_step(struct unsplit_run *run);

/* After a step: the whole value or gradient of a tensor. For a parameter: the updated value,
 * and the gradient summed over micro-batches (delayed: over period `micro` of its stage). For
 * other tensors: the result of micro-batch `micro`, which has a meaning for its samples
 * only. */
const struct view *unsplit_run_view(const struct unsplit_run *run, struct place place,
                                    int micro);

/* After a step: the running statistics of a tensor. */
const struct view *unsplit_run_running(const struct unsplit_run *run, int tensor);

/* The loss of the last step; delayed: of a period of the loss's stage. */
double unsplit_run_loss(const struct unsplit_run *run, int period);

/* The factor by which the gradients of the last step, not delayed, were scaled. */
double unsplit_run_scale(const struct unsplit_run *run);

#endif /* TESTS_UNSPLIT_RUN_H */
