/* run/interpret.h - a whole program run in one process, with the reference kernels. Internal.
 *
 * This is what shows that lowering is right. Every device has its own memory, in which nothing
 * is known (NaN) until the device computes it or a communication task brings it: reading an
 * unknown element, bringing one that is there already, or a rank that waits for ever is an
 * error that names the task. */
#ifndef RUN_INTERPRET_H
#define RUN_INTERPRET_H

#include "program/program.h"
#include "run/data.h"
#include "run/optimizer.h"

struct interpreter; /* owns the devices' memories */

enum interpret_order {
    ORDER_RANKS,  /* as ranks would: slot after slot, tasks by number, communication posted in
                     that order and waited for by whoever needs it */
    ORDER_LATEST, /* of all tasks whose predecessors are done the last one first: any order that
                     the edges allow must do */
};

struct interpret_settings {
    enum interpret_order order;
    struct optimizer optimizer;
    uint64_t seed; /* of random numbers that operators draw */
    /* pipedream: minibatch m takes its model inputs from batch[m mod n_batches]; NULL: all take
     * the data's. */
    const struct run_data *batch;
    int n_batches;
};

/* Ready for the first step: parameters and inputs are on the devices that read them. The
 * program must outlive the interpreter; `data` is copied. */
struct interpreter *hp_interpreter_new(const struct hypar_program *program,
                                       const struct run_data *data,
                                       const struct interpret_settings *settings);
void hp_interpreter_free(struct interpreter *it);

/* One training step; under schedule pipedream one window of minibatches, to its end.
 * HYPAR_RUNTIME with the task and the reason where the program is wrong: also where a device
 * does not have, or does not keep any more, the version of a weight that a task uses. */
enum hypar_status hp_interpret_step(struct interpreter *it, struct hypar_error *err);

/* What `device` knows of a tensor after a step, NaN (integers: INT32_MIN) where it knows
 * nothing; NULL: nothing at all. Parameters belong to micro-batch 0 (pipedream: their newest
 * version), and so do synchronous inputs; gradients of parameters and the loss are those of
 * period `micro`. */
const struct view *hp_interpreter_view(const struct interpreter *it, int device,
                                       struct place place, int micro);

#endif /* RUN_INTERPRET_H */
