/* run/exec/state.h - the inside of the executor. Internal to run/exec/. */
#ifndef RUN_EXEC_STATE_H
#define RUN_EXEC_STATE_H

#include "base/error.h"
#include "run/exec/executor.h"
#include "run/exec/memory_layout.h"
#include "run/exec/pieces.h"

/* How far a task is. */
enum { TASK_WAITS, TASK_BEGUN, TASK_DONE };

/* A micro-batch under way; or a period of the tail. */
struct micro_state {
    int micro;                /* of the tail: the period */
    int *lane;                /* by stage of the device; -1: none */
    int left;                 /* slots that are yet to be done of it */
    int first;                /* of its body's buffers */
    void **data;              /* by buffer from the first on; NULL: not there */
    int *busy;                /* likewise: comms under way that touch it */
    unsigned char *progress;  /* by task of the part: TASK_WAITS, ... */
    int *left_writes;         /* by add of the body: passes that have not written yet */
    int n_comms;              /* that are under way */
    int n_over;               /* buffers that outlast it, until a later slot is over */
    bool over;                /* all its tasks are done */
    struct micro_state *next; /* of those that are not in use */
};

struct micro_buffer {
    struct micro_state *micro;
    int buffer;
};

struct micro_buffers {
    struct micro_buffer *at;
    int n, capacity;
    int until; /* of what was sent: the slot with whose end they end */
};

/* What a message has come to. It goes in chunks: all at once, or, where it is gathered,
 * scattered or added to what is there, one after another through a staging area. */
struct message_run {
    enum { MESSAGE_WAITS, MESSAGE_POSTED, MESSAGE_DONE } state;
    int *request; /* by chunk; through a staging area: of the one at hand */
    int n_done;   /* chunks */
    void *apart;  /* the staging area; NULL: none */
};

struct comm_run {
    struct micro_state *micro;
    const struct rank_comm *comm;
    int left;        /* messages that are not done ... */
    int left_coming; /* ... and of them, what is received: the rank's tasks wait for that */
    bool added;      /* what is summed up, to pieces that last */
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
    struct view apart[MAX_OPERANDS]; /* of what is computed apart */
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
    struct transport transport;
    struct executor_counts counts;
    struct records records;
    struct task_sums sums;
    struct memory_layout layout;
    size_t *bytes; /* by buffer */
    char *memory;  /* all buffers; from here on: what lasts, lanes, common, over */
    size_t lanes_at, common_at, over_at;
    bool **lane_taken;         /* by stage of the device, by lane */
    void **lasting;            /* by buffer that lasts; of parameters NULL */
    struct versions *versions; /* by buffer that lasts: of parameters */
    struct optimizer_state *state;
    double one[1]; /* the gradient of the loss, of either precision */
    void *workspace;
    size_t workspace_bytes;

    enum hypar_status status; /* of what failed first */
    struct hypar_error error; /* ... and why */
    int tag_turns;            /* micro-batches that follow each other have different tags */

    int64_t counted; /* samples that count for the loss, from the step's first on */

    int step;                      /* 1, 2, ... */
    int n_micro, n_next;           /* micro-batches of this step, and of the next one */
    int slot, left;                /* where it is; tasks of the slot that wait */
    const struct rank_part *part;  /* of the slot */
    const struct task_list *list;  /* NULL: before a slot */
    const struct task_list *ahead; /* of the tail, whose sums are posted in this slot; NULL */
    bool fed;                      /* ... one of which may now be ready */
    bool over;                     /* the step, if it has no slots */
    bool begun; /* the step: sums that any micro-batch may begin are neutral */
    struct micro_state *now, tail;
    struct micro_state **micro; /* by micro-batch; NULL: not under way */
    struct micro_state *unused;
    struct micro_buffers ending;    /* with the last task, when comms have done with them */
    struct micro_buffers *sent;     /* with later slots, by slot in turn */
    double *micro_loss;             /* by micro-batch: the rank's share */
    double *loss;                   /* by period */
    double staged_bytes;            /* of messages under way */
    void *staging[STAGING_CLASSES]; /* areas not in use, by size; each begins with the next */
    int n_divided;                  /* comms of bodies that touch pieces which last */
    struct comm_run **active;
    int n_active, active_capacity;
    struct pass_run pass_run;
};

/* Buffers and versions (store.c) ----------------------------------------------------- */

size_t hp_buffer_element_bytes(const struct executor *x, int buffer);

/* Do tasks come in order of their numbers, so that buffers begin and end with them? */
bool hp_in_order(const struct executor *x);

/* Parameters, gradients, the loss and inputs that last, for the first step. */
void hp_make_lasting(struct executor *x);

/* Parameters and running statistics are those that the other rank has now. */
void hp_take_shared(struct executor *x);

/* Where a buffer lies; made, of a model input filled, if it is not there. */
void *hp_buffer_data(struct executor *x, struct micro_state *m, int buffer);

/* What begins, and ends, with a pass of the micro-batch at hand. */
void hp_begin_buffers(struct executor *x, struct micro_state *m, int pass);
void hp_end_buffers(struct executor *x, struct micro_state *m, int pass);

/* Give back what ended with the last task; what was sent and is held until the slot at hand is
 * over; all that was sent. False: comms still touch some of it. */
bool hp_settle_ends(struct executor *x);
bool hp_settle_over(struct executor *x);
void hp_settle_all(struct executor *x);

/* What was sent to other stages: what ends with the beginning of an action; and what stays from
 * its end on until a later slot is over. */
void hp_end_waits(struct executor *x, struct micro_state *m, const struct rank_part *part,
                  int own);
void hp_keep_over(struct executor *x, struct micro_state *m, const struct rank_part *part,
                  int own);

/* Give back what rests to the end of a micro-batch. False: comms still touch some of it. */
bool hp_end_rests(struct executor *x, struct micro_state *m, const struct rank_part *part);

/* A micro-batch comes to a stage, among those of the device, and is over with it. */
void hp_take_lane(struct executor *x, struct micro_state *m, int stage);
void hp_leave_lane(struct executor *x, struct micro_state *m, int stage);

/* What the buffers of a new period (gradients), or of a micro-batch (the loss), start with. */
void hp_restart_sums(struct executor *x, bool gradients);

/* A micro-batch comes under way; all its tasks are done; so is one of its comms. */
struct micro_state *hp_begin_micro(struct executor *x, int micro);
void hp_end_micro(struct executor *x, struct micro_state *m);
void hp_end_comm(struct executor *x, struct micro_state *m);

/* The number of the batch that a micro-batch is of, from 0 on over all runs. */
int64_t hp_batch_of(const struct executor *x, int micro);

/* Where the rank's share of the loss is; NULL: it has none. */
void *hp_loss_data(const struct executor *x);

/* Where the sum of squares of all gradients is; NULL: they are not clipped. */
void *hp_norm_data(const struct executor *x);

/* Where the version of a parameter is that a pass uses. */
void *hp_param_data(const struct executor *x, int buffer, int tensor, int micro, bool backward);
int hp_newest_version(const struct executor *x, int buffer);

/* The window is over: the newest version is the first of the next. */
void hp_first_versions(struct executor *x);

/* Checking (check.c) ------------------------------------------------------------------ */

/* Is all of it there that a task reads or sends? HYPAR_RUNTIME: it lacks some. */
enum hypar_status hp_check_known(struct executor *x, const struct micro_state *m, int task,
                                 struct place place, const struct view *view);

/* In ORDER_LATEST the first to write is not known before: what is unknown becomes neutral. */
void hp_make_neutral(const struct executor *x, struct place place, const struct view *view,
                     enum combine combine);

/* "task 7 in micro-batch 1: fc1 forward part 2" */
const char *hp_task_where(const struct executor *x, const struct micro_state *m, int task,
                          char *text, size_t n);

/* Tasks ------------------------------------------------------------------------------- */

/* A pass; or several of one part that the kernels do in one call, if hp_may_join() says so of
 * the first and each (compute.c). */
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

/* A task ends now that began at `start_s`. */
void hp_record(struct executor *x, const struct micro_state *m, const struct rank_task *task,
               double start_s);
void hp_record_joined(struct executor *x, const struct micro_state *m,
                      const struct rank_task *task, int with);
void hp_record_comm(struct executor *x, const struct comm_run *run);

/* Order (latest.c) -------------------------------------------------------------------- */

/* Are all tasks of a step done in any order that the edges allow, without slots? */
bool hp_any_order(const struct executor *x);

/* Begin such a step, and end it. */
void hp_begin_all(struct executor *x);
void hp_end_all(struct executor *x);

/* The last task that waits, or of them the last that `ready` says is ready, in x->now; NULL:
 * none is. */
const struct rank_task *hp_last_waiting(struct executor *x,
                                        bool (*ready)(const struct executor *x,
                                                      const struct rank_task *t));

/* Messages (messages.c) --------------------------------------------------------------- */

/* A gradient that the rank has computed, to the piece that it owns. */
void hp_add_piece(struct executor *x, struct micro_state *m, int task,
                  const struct rank_add *add);
void hp_post_comm(struct executor *x, struct micro_state *m, const struct rank_comm *comm);
void hp_progress(struct executor *x);
void hp_drop_comms(struct executor *x);

#endif /* RUN_EXEC_STATE_H */
