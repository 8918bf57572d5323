/* run/interpret_state.h - the inside of the interpreter. Internal to run/. */
#ifndef RUN_INTERPRET_STATE_H
#define RUN_INTERPRET_STATE_H

#include "base/arena.h"
#include "base/error.h"
#include "program/blocks.h"
#include "run/interpret.h"

/* A task of the program: of a micro-batch's body, or of the tail: micro is -1 in period 0, -2
 * in period 1, ... */
struct instance {
    int micro, task;
};

/* One pass of a compute task. */
struct pass_at {
    struct instance at;
    int op, pass, part, device;
};

static inline int hp_tail_micro(int period)
{
    return -1 - period;
}
static inline int hp_period_at(int micro)
{
    return -1 - micro;
}

/* How far a comm is. */
struct posting {
    int ranks; /* that have come to it */
    int turn;  /* of this comm among those of its devices */
};

/* What one body looks like to the interpreter. */
struct body_index {
    struct pass_order order;
    int *first_written; /* in that order: its first view in `written` */
    int n_written;
};

struct interpreter {
    struct arena arena;   /* what lasts */
    struct arena scratch; /* of one step */
    const struct hypar_program *program;
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct interpret_settings settings;
    const struct kernels *kernels;
    enum real real;
    int n_devices, n_micro, n_periods, step; /* n_periods: the most of any group */

    /* [((device * n_rows + row) * n_tensors + tensor) * 2 + grad]; data NULL until needed. Rows
     * are micro-batches; of parameters versions (mod those that are kept), of their gradients
     * and of the loss periods. */
    struct view *held;
    int n_rows;
    int *version; /* [(device * n_rows + row) * n_tensors + tensor]: which one it is, -1 */
    int *kept;    /* by stage: versions of its parameters */
    struct optimizer_state *state; /* [device * n_tensors + tensor] */

    struct body_index *body;
    int *exchange_of,
        *exchange_of_tail; /* [2 * tensor + grad]: exchange of a body, of the tail; -1 */
    struct view **written; /* [micro][first_written[pass] + k]: what each contributes */
    bool **done;           /* [micro][task of the body]; [n_micro + period][task of the tail] */
    struct posting **posting; /* likewise, of comms */
    struct gate *gate;        /* by device: where it is in its slots (order.c) */
    struct hypar_error *err;
};

static inline int hp_operand_count(operand_set set)
{
    int n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

/* Memory (memory.c) ---------------------------------------------------------------- */

/* Does its value last from step to step: a parameter, a model input? */
bool hp_is_given(const struct interpreter *it, int tensor);

/* The row of a place for a pass: of its micro-batch; of a parameter, of its version. */
int hp_row(const struct interpreter *it, struct place place, const struct pass_at *pass);

/* What `device` holds of a place; made unknown when first asked for. */
struct view *hp_held(struct interpreter *it, int device, struct place place, int row);

/* Does the device have the version of a parameter that the pass uses? */
enum hypar_status hp_check_version(const struct interpreter *it, const struct pass_at *pass,
                                   int tensor);

/* A new version of a parameter on a device, as yet the same as the one before. */
struct view *hp_new_version(struct interpreter *it, int device, int tensor, int version);

/* The window is over: the newest version is the first of the next. */
void hp_first_versions(struct interpreter *it);

/* Whether all (none) of `box` is known. */
bool hp_all_known(const struct interpreter *it, const struct view *view, int tensor,
                  const struct box *box);
bool hp_none_known(const struct interpreter *it, const struct view *view, int tensor,
                   const struct box *box);

/* Give devices the parameters and inputs that their tasks read. */
void hp_place_data(struct interpreter *it, const struct run_data *data);

/* What was computed in the last training step is unknown again. */
void hp_forget_step(struct interpreter *it);

/* Exchanges (settle.c) ------------------------------------------------------------- */

/* The view into which a part of a pass writes operand `o` (its gradient); NULL data: not yet
 * done. */
struct view *hp_written(struct interpreter *it, int micro, int op_pass, int part, int o,
                        bool grad);

/* Make `box` of a place known to `device` as far as that device can by itself: results of its
 * own parts are put together, what nobody contributes to is zero. False: something is not there
 * yet. */
bool hp_settle_own(struct interpreter *it, struct place place, int micro, int device,
                   const struct box *box);

/* Run a comm task: sum the contributions, hand the result to the receivers. */
enum hypar_status hp_run_comm(struct interpreter *it, struct instance at);

/* Order (order.c) ------------------------------------------------------------------ */

/* The tasks of a micro-batch, or of the tail. */
struct range hp_tasks_of(const struct interpreter *it, int micro);

/* Run every task instance once in the order asked for; calls hp_run_task(). */
enum hypar_status hp_run_in_order(struct interpreter *it);

/* Tasks (interpret.c) -------------------------------------------------------------- */

enum hypar_status hp_run_task(struct interpreter *it, struct instance at);

/* "task 7 in micro-batch 1: fc1 forward part 2" */
const char *hp_instance_text(const struct interpreter *it, struct instance at, char *text,
                             size_t n);

#endif /* RUN_INTERPRET_STATE_H */
