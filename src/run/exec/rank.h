/* run/exec/rank.h - the tasks of one rank, ready to run. Internal to run/exec/.
 *
 * A rank is one device of the plan. Its tasks of each body, by action, and of the tail are
 * listed once, in the order of their numbers, with everything that follows from the program:
 * the arrays that a pass reads and writes, the messages of a comm, the tasks to wait for. The
 * executor (executor.h) runs these lists, slot after slot. */
#ifndef RUN_EXEC_RANK_H
#define RUN_EXEC_RANK_H

#include "kernel/kernel.h"
#include "program/memory/device_buffers.h"
#include "program/program.h"

/* A box of a place within a buffer. */
struct held_view {
    int buffer; /* -1: none */
    struct box box;
    struct strides at;
};

/* An operand of a pass, its value or its gradient. */
struct rank_operand {
    int operand;
    struct place place;
    bool written;
    bool fresh; /* written: this pass is the first to write; else it adds */
    /* Written: the output contains other parts' copies. It is computed in separate memory, and
     * these boxes of it are copied. */
    bool apart;
    int n_taken;
    const struct box *taken;
    struct held_view view;
};

struct rank_pass {
    int op, pass, part;
    bool backward, again, resend; /* as its op_pass says */
    bool adds;                    /* it adds the term after partial sums (a bias) */
    bool own_statistics;          /* means are over the part's own samples */
    bool moves_nothing;           /* its output shares the memory of its input */
    int n_operands;
    struct rank_operand *operand;
    /* Training: the running statistics that the pass moves, if it is the first of the rank's
     * passes that read the operand over its channels; buffer -1: none. */
    int running_operand;
    struct held_view running;
    struct held_view mask; /* the mask that a dropout keeps; buffer -1: none */
};

enum message_kind {
    MESSAGE_SEND,
    MESSAGE_RECEIVE, /* to its place */
    MESSAGE_SUM,     /* combined with the existing value */
};

/* Elements lo .. hi - 1 of a box, row-major. */
struct piece {
    struct held_view view;
    int64_t lo, hi;
    bool dense; /* they are contiguous */
};

struct rank_message {
    enum message_kind kind;
    int peer;
    int tag;   /* of this piece of this comm: the same on both sides, and unique */
    int after; /* the message of the same comm that must be done before; -1: none */
    struct piece piece;
};

/* The rank's own share of a divided gradient, added to a piece that it owns. */
struct rank_add {
    int tensor;
    struct box box; /* the box of the tensor to which the piece belongs */
    struct piece from, to;
    int n_writers; /* passes of the rank that write it, all before */
};

struct rank_comm {
    int task, at; /* number in the program; position among the rank's tasks of its part */
    struct place place;
    enum combine combine;
    bool divided; /* of a body: it sends lasting pieces, or adds to them: micro-batches take
                     turns */
    int n_adds;   /* additions of its own sums */
    struct rank_add *add;
    int n_messages;
    struct rank_message *message;
    int n_buffers;
    int *buffer;
};

/* A box of a parameter that the rank updates: a whole buffer, or the part that the rank reads.
 * Of a divided parameter: the rank's piece of the box; the optimizer's state of a buffer's
 * pieces is contiguous. */
struct rank_update {
    int tensor, group;
    struct box box;        /* of the tensor */
    struct range elements; /* of the box, row-major */
    struct held_view param, gradient;
    bool flat_param, flat_gradient; /* separate pieces: the view is of the piece */
    int64_t state; /* where its optimizer's state begins; -1: as the parameter */
};

/* Elements of a box of a gradient whose squares the rank adds up, by number. */
struct rank_square {
    int tensor;
    struct held_view gradient;
    struct range elements;
    bool flat; /* a separate piece: the view is of the piece */
};

/* A piece of a divided place that the rank owns. */
struct owned_piece {
    struct place place;
    struct box box;        /* of the tensor */
    struct range elements; /* of the box, row-major */
    struct held_view view; /* of these elements, contiguous */
};

/* A task of the rank in a body. */
struct body_task {
    int body, at;
};

struct rank_task {
    enum task_kind kind;
    int task;     /* number in the program */
    int at;       /* position among the rank's tasks of its part */
    int index, n; /* its passes, squares or updates; its comm */
    int n_waits;
    const int *wait; /* the rank's own tasks of the same part before it */
    int n_before;
    const struct body_task *before; /* of the tail: tasks of bodies before it */
};

struct task_list {
    struct rank_task *task;
    int n, capacity;
};

/* A body; or the tail, whose lists are by group of parameters. */
struct rank_part {
    struct task_list *list; /* by action (hp_own_action()); by group */
    int n_lists, n_tasks;
    struct rank_comm *comm;
    struct rank_pass *pass;
    struct rank_update *update;
    struct rank_square *square;
    int n_squares, square_capacity;
    struct rank_add *add; /* of a body: pieces to which no other rank contributes */
    int n_adds, add_capacity;
    int n_comms, n_passes, n_updates, comm_capacity, pass_capacity, update_capacity;
    /* Of a body: buffers by the pass with which they begin, and end, CSR; by action, those that
     * end when it begins, and in a slot after it; those that end with the micro-batch. */
    int *first_pass; /* by action: its first pass; then past the last */
    int *begin_start, *begins, *end_start, *ends;
    int *waits_start, *waits, *over_start, *over;
    int *rests, n_rests;
    bool *feeds; /* by task of the body: a task of the tail waits for it */
};

struct rank {
    struct arena arena;
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    int device;
    const struct slot_list *slots;
    int n_actions; /* of a micro-batch on the device */
    struct device_buffers buffers;
    int64_t *states; /* by buffer of a parameter: elements of the optimizer's state */
    struct owned_piece *owned;
    int n_owned, owned_capacity;
    bool *clear;    /* by buffer: it starts neutral, and all writes add to it */
    bool *is_index; /* by buffer: of integers */
    struct rank_part *body, tail;
    int loss, norm;  /* the buffers of the rank's shares of loss and norm; -1: none */
    bool knows_loss; /* at the end of a period */
    int *first_tag;  /* by task */
    int n_tags;      /* of one micro-batch and of the tail */
    /* By place: exchange of a body, of the tail; -1 */
    int *exchange_of, *exchange_of_tail;
};

struct rank_options {
    bool in_order; /* tasks run in the order of their numbers, so that buffers come and go, and
                      tensors may share memory */
    const struct device_buffers *like; /* parameters are placed as there; NULL: as is best */
    bool channels_last;                /* images have their channels innermost in memory */
};

/* Make the lists of one device. HYPAR_UNSUPPORTED for a plan that cannot run (two parts of one
 * batch norm with local statistics on one device). To be released with hp_rank_free(). */
enum hypar_status hp_rank_make(struct rank **out, const struct hypar_program *program,
                               int device, const struct rank_options *how,
                               struct hypar_error *err);
void hp_rank_free(struct rank *rank); /* NULL is allowed */

/* Elements of a buffer. */
int64_t hp_buffer_elements(const struct rank *rank, int buffer);

/* The steps of making a rank. */
void hp_rank_images(struct rank *rank);                          /* images.c */
void hp_rank_tags(struct rank *rank);                            /* comms.c */
int hp_task_tags(const struct hypar_program *program, int task); /* how many it has */
void hp_rank_comm(struct rank *rank, struct rank_part *part, int body,
                  const struct rank_task *task); /* comms.c */
/* The rank's piece of a box that begins with element `lo`; NULL: none. */
const struct owned_piece *hp_rank_owned(const struct rank *rank, struct place place,
                                        const struct box *box, int64_t lo);

/* The additions for which a divided gradient waits (comms.c). */
void hp_rank_adds(struct rank *rank, int body, int exchange);
bool hp_writes_gradient(const struct rank_pass *pass, int tensor, const struct box *box);

struct held_view hp_rank_running(const struct rank *rank, int tensor, const struct box *box);
struct held_view hp_rank_view(const struct rank *rank, int body, bool backward,
                              struct place place, const struct box *box);

/* Which writes of a body are fresh, and which buffers start at zero (writes.c): buffers where
 * writes overlap otherwise; sums over micro-batches that the first one does not begin, because
 * a part is empty in it; gradients without contributions. */
enum hypar_status hp_rank_first_writes(struct rank *rank, int body, struct hypar_error *err);
void hp_rank_later_writes(struct rank *rank, int body);
void hp_rank_zeros(struct rank *rank, int body, int exchange);

/* The boxes of the part's result that the rank needs (copies.c). False: all of it. */
bool hp_rank_taken(struct rank *rank, int body, const struct rank_pass *pass,
                   const struct box *box, struct rank_operand *out);

#endif /* RUN_EXEC_RANK_H */
