/* run/exec/state.h - the inside of the executor: micro-batches, messages and buffers under way.
 * Internal to run/exec/. */
#ifndef RUN_EXEC_STATE_H
#define RUN_EXEC_STATE_H

#include "base/error.h"
#include "run/exec/ahead.h"
#include "run/exec/executor.h"
#include "run/exec/memory_layout.h"
#include "run/exec/pieces.h"

/* The progress of a task. */
enum { TASK_WAITS, TASK_BEGUN, TASK_DONE };

/* A micro-batch under way; or a period of the tail. */
struct micro_state {
    int micro;                /* of the tail: the period */
    int *lane;                /* by stage of the device; -1: none */
    int left;                 /* its remaining slots */
    int first;                /* the first of its body's buffers */
    void **data;              /* by buffer from the first on; NULL: absent */
    int *busy;                /* by buffer: comms under way that touch it */
    unsigned char *progress;  /* by task of the part: TASK_WAITS, ... */
    int *left_writes;         /* by addition of the body: passes that have not written yet */
    int n_comms;              /* comms under way */
    int n_over;               /* buffers that outlast it, until the end of a later slot */
    bool over;                /* all its tasks are done */
    struct micro_state *next; /* the next unused one */
};

struct micro_buffer {
    struct micro_state *micro;
    int buffer;
};

struct micro_buffers {
    struct micro_buffer *at;
    int n, capacity;
    int until; /* of sent buffers: the slot at whose end they end */
};

/* The progress of a message. It goes in chunks: all at once, or, if it is gathered, scattered
 * or added, one after another through a staging area. */
struct message_run {
    enum { MESSAGE_WAITS, MESSAGE_POSTED, MESSAGE_DONE } state;
    int *request;  /* by chunk; with a staging area: of the current chunk */
    int n_done;    /* chunks */
    void *staging; /* NULL: none */
};

struct comm_run {
    struct micro_state *micro;
    const struct rank_comm *comm;
    int left;        /* messages that are not done ... */
    int left_coming; /* ... and of these the received ones: the rank's tasks wait for them */
    bool added;      /* its own sums have been added to lasting pieces */
    double start_s;
    struct message_run *message;
};

struct versions {
    int n; /* 0: no parameter */
    void **data;
};

struct pass_run {
    struct executor *x;
    struct micro_state *m;
    const struct rank_pass *pass;
    struct kernel_call call;
    struct view apart[MAX_OPERANDS]; /* of outputs that are computed separately */
    int operand[MAX_OPERANDS], n_apart;
};

/* Staging areas are of LEAST_STAGING << k bytes. */
enum { LEAST_STAGING = 64, STAGING_CLASSES = 48 };

struct executor {
    struct arena arena;
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    struct rank *rank;
    struct executor_settings settings;
    const struct backend *backend;
    struct transport transport;
    struct executor_counts counts;
    struct records records;
    struct task_sums sums;
    struct memory_layout layout;
    size_t *bytes; /* by buffer */
    char *memory;  /* an array of the back end with all buffers; then the offsets of lasting
                      ones, lanes, common, over */
    size_t lanes_at, common_at, over_at;
    bool **lane_taken;         /* by stage of the device, by lane */
    void **lasting;            /* by lasting buffer; NULL for parameters */
    struct versions *versions; /* by lasting buffer, of parameters */
    struct optimizer_state *state;
    void *one;                 /* the gradient of the loss: an array of one number */
    struct square_run *square; /* room for a list */
    int square_capacity;
    void *workspace;
    size_t workspace_bytes;
    struct ahead *inputs; /* filled ahead; NULL: when they are needed */

    enum hypar_status status; /* of the first failure */
    struct hypar_error error; /* ... and why */
    int tag_turns;            /* so that consecutive micro-batches have different tags */

    int64_t counted; /* samples from the step's first on that count for the loss */

    int step;                      /* 1, 2, ... */
    int n_micro, n_next;           /* micro-batches of this step, and of the next one */
    int slot, left;                /* current slot; its waiting tasks */
    const struct rank_part *part;  /* of the current slot */
    const struct task_list *list;  /* NULL: before a slot */
    const struct task_list *ahead; /* of the tail: its sums are posted during this slot; NULL */
    bool fed;                      /* a sum of `ahead` may have become ready */
    bool over;                     /* the step, if it has no slots */
    bool begun;                    /* sums that any micro-batch may begin have been cleared */
    struct micro_state *now, tail;
    struct micro_state **micro; /* by micro-batch; NULL: not under way */
    struct micro_state *unused;
    struct micro_buffers ending;    /* end with the last task, when no comm touches them */
    struct micro_buffers *sent;     /* end with later slots; by slot, in turn */
    double *micro_loss;             /* by micro-batch: the rank's share */
    double *loss;                   /* by period */
    double staged_bytes;            /* of messages under way */
    void *staging[STAGING_CLASSES]; /* unused areas by size; each begins with the address of the
                                       next */
    int n_divided;                  /* comms of bodies that touch lasting pieces */
    struct comm_run **active;
    int n_active, active_capacity;
    struct pass_run pass_run;
};

/* Buffers and versions (store.c) ----------------------------------------------------- */

/* Returns `data`, memory from the back end; if `data` is NULL, the executor fails for lack of
 * memory. */
void *hp_given(struct executor *x, void *data, size_t bytes);
void *hp_new_array(struct executor *x, size_t bytes);

size_t hp_buffer_element_bytes(const struct executor *x, int buffer);

/* The precision of what is at a place, and in a buffer. */
enum real hp_place_real(const struct executor *x, struct place place);
enum real hp_buffer_real(const struct executor *x, int buffer);

/* Is this array of the optimizer's state kept beside the parameter? */
bool hp_has_state(const struct executor *x, int tensor, int state);

/* Do tasks run in the order of their numbers, so that buffers begin and end with them? */
bool hp_in_order(const struct executor *x);

/* Make lasting parameters, gradients, loss and inputs for the first step. */
void hp_make_lasting(struct executor *x);

/* Use the current parameters and running statistics of the other executor. */
void hp_take_shared(struct executor *x);

/* The address of a buffer; it is made if it is absent, and a model input is filled. */
void *hp_buffer_data(struct executor *x, struct micro_state *m, int buffer);

/* Make the buffers that begin with a pass of the current micro-batch; release those that end
 * with it. */
void hp_begin_buffers(struct executor *x, struct micro_state *m, int pass);
void hp_end_buffers(struct executor *x, struct micro_state *m, int pass);

/* Release the buffers that ended with the last task; the sent ones that are held until the
 * current slot ends; all sent ones. False: comms still touch some. */
bool hp_settle_ends(struct executor *x);
bool hp_settle_over(struct executor *x);
void hp_settle_all(struct executor *x);

/* Messages to other stages: release those that end when an action begins; hold those that stay
 * after its end until a later slot ends. */
void hp_end_waits(struct executor *x, struct micro_state *m, const struct rank_part *part,
                  int own);
void hp_keep_over(struct executor *x, struct micro_state *m, const struct rank_part *part,
                  int own);

/* Release the buffers that last until the end of a micro-batch. False: comms still touch
 * some. */
bool hp_end_rests(struct executor *x, struct micro_state *m, const struct rank_part *part);

/* A micro-batch enters a stage of the device, or leaves the stage. */
void hp_take_lane(struct executor *x, struct micro_state *m, int stage);
void hp_leave_lane(struct executor *x, struct micro_state *m, int stage);

/* Set the buffers of a new period (gradients), or of a micro-batch (the loss), to their initial
 * values. */
void hp_restart_sums(struct executor *x, bool gradients);

/* A micro-batch begins; it ends; one of its comms ends. */
struct micro_state *hp_begin_micro(struct executor *x, int micro);
void hp_end_micro(struct executor *x, struct micro_state *m);
void hp_end_comm(struct executor *x, struct micro_state *m);

/* The number of a micro-batch's batch, counted from 0 over all runs. */
int64_t hp_batch_of(const struct executor *x, int micro);

/* The rank's share of the loss; a rank without one reads 0 and sets nothing. */
double hp_loss_value(const struct executor *x);
void hp_set_loss(const struct executor *x, double value);

/* The address of the sum of squares of all gradients; NULL: they are not clipped. */
void *hp_norm_data(const struct executor *x);

/* The address of the version of a parameter that a pass uses. */
void *hp_param_data(const struct executor *x, int buffer, int tensor, int micro, bool backward);
int hp_newest_version(const struct executor *x, int buffer);

/* The window ends: its newest version is the first of the next. */
void hp_first_versions(struct executor *x);

/* Checking (check.c) ------------------------------------------------------------------ */

/* Check that all values that a task reads or sends have been computed or received; else
 * HYPAR_RUNTIME. */
enum hypar_status hp_check_known(struct executor *x, const struct micro_state *m, int task,
                                 struct place place, const struct view *view);

/* A view that the process can read, in the run's precision: the same one, or a copy of it. It
 * is released after use. */
struct view hp_readable(const struct executor *x, struct place place, const struct view *view);
void hp_release_readable(const struct executor *x, struct place place,
                         const struct view *readable);

/* In ORDER_LATEST the first writer is not known in advance: unknown elements become neutral. */
void hp_make_neutral(const struct executor *x, struct place place, const struct view *view,
                     enum combine combine);

/* "task 7 in micro-batch 1: fc1 forward part 2" */
const char *hp_task_where(const struct executor *x, const struct micro_state *m, int task,
                          char *text, size_t n);

/* Tasks ------------------------------------------------------------------------------- */

/* Run a pass; or several passes of one part that the kernels compute in one call, if
 * hp_may_join() allows it for the first with each (compute.c). */
enum hypar_status hp_compute(struct executor *x, struct micro_state *m, int task,
                             const struct rank_pass *const *pass, int n);
bool hp_may_join(const struct executor *x, const struct rank_pass *first,
                 const struct rank_pass *pass);
enum hypar_status hp_update_params(struct executor *x, const struct micro_state *m, int task,
                                   const struct rank_update *u); /* updates.c */
enum hypar_status hp_add_squares(struct executor *x, const struct micro_state *m, int task,
                                 const struct rank_square *square, int n); /* updates.c */

/* Recording (record.c) ------------------------------------------------------------------ */

void hp_make_records(struct executor *x);

/* A step begins. */
void hp_record_step(struct executor *x);

/* When a task begins; 0: nothing is recorded. */
double hp_record_start(const struct executor *x);

/* Record a task that began at `start_s` and ends now. */
void hp_record(struct executor *x, const struct micro_state *m, const struct rank_task *task,
               double start_s);
void hp_record_joined(struct executor *x, const struct micro_state *m,
                      const struct rank_task *task, int with);
void hp_record_comm(struct executor *x, const struct comm_run *run);

/* Order (latest.c) -------------------------------------------------------------------- */

/* Do all tasks of a step run in any order that the edges allow, without slots? */
bool hp_any_order(const struct executor *x);

/* Begin such a step, and end it. */
void hp_begin_all(struct executor *x);
void hp_end_all(struct executor *x);

/* The last waiting task, or the last one that is `ready`, in x->now; NULL: none. */
const struct rank_task *hp_last_waiting(struct executor *x,
                                        bool (*ready)(const struct executor *x,
                                                      const struct rank_task *t));

/* Messages (messages.c) --------------------------------------------------------------- */

/* Add a gradient that the rank has computed to the piece that it owns. */
void hp_add_piece(struct executor *x, struct micro_state *m, int task,
                  const struct rank_add *add);
void hp_post_comm(struct executor *x, struct micro_state *m, const struct rank_comm *comm);
void hp_progress(struct executor *x);
void hp_drop_comms(struct executor *x);

#endif /* RUN_EXEC_STATE_H */
