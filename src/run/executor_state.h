/* run/executor_state.h - the inside of the executor. Internal to run/. */
#ifndef RUN_EXECUTOR_STATE_H
#define RUN_EXECUTOR_STATE_H

#include "run/executor.h"

/* A micro-batch under way; or a period of the tail. */
struct micro_state {
    int micro; /* of the tail: the period */
    int first, n_buffers;
    void **data; /* by buffer from the first on; NULL: not there */
    int *left;   /* likewise: passes and comms that still touch it */
    bool *comm_done;
    int n_comms; /* that are under way */
    bool over;   /* all its tasks are done */
};

/* What a message has come to. */
struct message_run {
    enum { MESSAGE_WAITS, MESSAGE_POSTED, MESSAGE_DONE } state;
    int request;
    void *apart; /* where it is gathered from, or received apart from its place; NULL: none */
};

struct comm_run {
    struct micro_state *micro;
    const struct rank_comm *comm;
    int index; /* of the comm in its list */
    int left;  /* messages that are not done */
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

struct executor {
    struct arena arena;
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    struct rank *rank;
    struct executor_settings settings;
    struct transport transport;
    struct executor_counts counts;
    void **lasting;            /* by buffer that lasts; of parameters NULL */
    struct versions *versions; /* by buffer that lasts: of parameters */
    struct optimizer_state *state;
    double one[1]; /* the gradient of the loss, of either precision */
    void *workspace;
    size_t workspace_bytes;

    enum hypar_status filled, status; /* of the last input; of what failed */
    struct hypar_error fill_error;
    int tag_turns; /* micro-batches that follow each other have different tags */

    int step; /* 1, 2, ... */
    int slot, at;
    const struct rank_part *part; /* where it is */
    const struct task_list *list; /* NULL: before a slot */
    struct micro_state *now, tail;
    struct micro_state **micro; /* by micro-batch; NULL: not under way */
    double *micro_loss;         /* by micro-batch: the rank's share */
    double *loss;               /* by period */
    struct comm_run **active;
    int n_active, active_capacity;
    struct pass_run pass_run;
};

size_t hp_buffer_bytes(const struct executor *x, int buffer);
enum combine hp_buffer_combine(const struct executor *x, int buffer);

/* Where a buffer lies; made if it is not there. */
void *hp_buffer_data(struct executor *x, struct micro_state *m, int buffer);

/* These buffers have been used once more; those that were for the last time go. */
void hp_release_buffers(struct executor *x, struct micro_state *m, const int *buffer, int n);
void hp_free_micro(struct executor *x, struct micro_state *m);
void hp_count_bytes(struct executor *x, double bytes);

/* Messages (messages.c) -------------------------------------------------------------- */

bool hp_piece_is_dense(const struct piece *piece);
void hp_post_comm(struct executor *x, struct micro_state *m, const struct rank_comm *comm,
                  int index);
void hp_progress(struct executor *x);

/* How many comms of `m` are under way. */
int hp_comms_of(const struct executor *x, const struct micro_state *m);
void hp_drop_comms(struct executor *x);

#endif /* RUN_EXECUTOR_STATE_H */
