/* run/reference.h - training steps of the unsplit graph, with the reference kernels. Internal.
 *
 * This defines what every plan must compute: each operator whole, one after the other, on one
 * device. Each of several micro-batches goes forward and backward on its own (statistics over
 * samples are those of the micro-batch); losses and gradients of parameters are summed over
 * micro-batches.
 *
 * Under schedule pipedream updates are delayed (paper, section 3.3): minibatches run one after
 * the other, each with the version of the parameters that its stage prescribes; all versions
 * are kept. A step is then a window. */
#ifndef RUN_REFERENCE_H
#define RUN_REFERENCE_H

#include "program/program.h"
#include "run/data.h"
#include "run/optimizer/optimizer.h"

struct reference_run; /* owns its tensors */

/* Minibatch after minibatch, parameters by version. */
struct delayed_updates {
    struct pipedream pipe;
    const int *stage_of_op;
    bool stash, vertical_sync;
    const struct run_data *batch; /* minibatch m has the inputs of batch[m mod n_batches] ... */
    int n_batches;                /* ... NULL: of the data */
};

struct reference_settings {
    int micro_batches; /* delayed: minibatches, whole periods of every stage */
    const struct delayed_updates *delayed; /* NULL: synchronous */
    bool forward; /* forward phases alone, with the running statistics of the data */
    struct optimizer optimizer;
    double clip;   /* the largest norm of gradients; 0: any. Not with delayed updates */
    uint64_t seed; /* of the random numbers that operators draw */
    double noise; /* every output is off by up to this share, to test how stable the graph is */
};

/* Prepare the first step. `data` is copied; the graph must outlive the run. */
struct reference_run *hp_reference_new(const struct hypar_graph *graph,
                                       const struct run_data *data,
                                       const struct reference_settings *settings);
void hp_reference_free(struct reference_run *run);

/* One step: forward, backward, update; or forward. */
void hp_reference_step(struct reference_run *run);

/* After a step: the whole value or gradient of a tensor. For a parameter: the updated value,
 * and the gradient summed over micro-batches (delayed: over period `micro` of its stage). For
 * other tensors: the result of micro-batch `micro`, which has a meaning for its samples
 * only. */
const struct view *hp_reference_view(const struct reference_run *run, struct place place,
                                     int micro);

/* After a step: the running statistics of a tensor. */
const struct view *hp_reference_running(const struct reference_run *run, int tensor);

/* The loss of the last step; delayed: of a period of the loss's stage. */
double hp_reference_loss(const struct reference_run *run, int period);

/* The factor by which the gradients of the last step, not delayed, were scaled. */
double hp_reference_scale(const struct reference_run *run);

/* The key of the random numbers that `op` draws in a step (1 at first); the same in every
 * plan. */
uint64_t hp_draw_key(uint64_t seed, int step, int op);

#endif /* RUN_REFERENCE_H */
