/* run/reference.h - training steps of the unsplit graph, with the reference kernels. Internal.
 *
 * What every plan must compute: each operator whole, one after the other, on one device. With
 * several micro-batches each goes forward and backward on its own (statistics over samples are
 * those of the micro-batch), and losses and gradients of parameters are summed over them.
 *
 * Under schedule pipedream what must be computed is the same with delayed updates (paper,
 * section 3.3): minibatches one after the other, each with the version of the parameters of
 * each stage that it is said to see; all versions are kept. A step is then a window. */
#ifndef RUN_REFERENCE_H
#define RUN_REFERENCE_H

#include "program/program.h"
#include "run/data.h"
#include "run/optimizer.h"

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
    bool forward; /* forward phases alone, with running statistics as the data has them */
    struct optimizer optimizer;
    double clip;   /* the norm that gradients may have; 0: any. Not delayed */
    uint64_t seed; /* of random numbers that operators draw */
    double noise;  /* every output is off by up to this, relative: how stable is the graph? */
};

/* Ready for the first step; `data` is copied, the graph must outlive the run. */
struct reference_run *hp_reference_new(const struct hypar_graph *graph,
                                       const struct run_data *data,
                                       const struct reference_settings *settings);
void hp_reference_free(struct reference_run *run);

/* One step: forward, backward, update; or forward. */
void hp_reference_step(struct reference_run *run);

/* After a step: all of a tensor's value or gradient. Of a parameter the updated value, and the
 * gradient summed over micro-batches (delayed: those of period `micro` of its stage); else what
 * micro-batch `micro` left. Outside its samples it means nothing. */
const struct view *hp_reference_view(const struct reference_run *run, struct place place,
                                     int micro);

/* After a step: the running statistics that training keeps of a tensor. */
const struct view *hp_reference_running(const struct reference_run *run, int tensor);

/* The loss of the last step; delayed: of a period of the loss's stage. */
double hp_reference_loss(const struct reference_run *run, int period);

/* What the gradients of the last step, not delayed, were multiplied with. */
double hp_reference_scale(const struct reference_run *run);

/* The key of random numbers that `op` draws in a step (1 at first), the same in every plan. */
uint64_t hp_draw_key(uint64_t seed, int step, int op);

#endif /* RUN_REFERENCE_H */
