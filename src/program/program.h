/* program/program.h - the inside of a program: a plan made explicit. Internal.
 *
 * One micro-batch is a BODY: compute tasks (one part of one pass of one operator) and
 * communication tasks between them. Micro-batches that do the same have the same body, which is
 * kept once (rhythm.h); a task instance is (micro-batch, body task). What ends a round of
 * micro-batches is the TAIL: gradients and the loss are summed over devices, parameters are
 * updated; an instance is (round, tail task). The SCHEDULE says in which order a stage's
 * devices run the forward and backward halves of the micro-batches, and the updates.
 *
 * What has to move is derived by one rule from who writes and who reads each tensor
 * (exchange.c): the tensor is cut into cells by all their borders; a cell is summed once over
 * its contributions and copied to those readers that do not have it. The result depends only on
 * how writers and readers are laid out, not on which tensor it is, so it is kept as a PATTERN,
 * shared by all tensors for which it is the same (identical layers). */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include <hypar/program.h>

#include "layout/comm.h"
#include "layout/layout.h"
#include "plan/plan.h"
#include "program/rhythm.h"

/* The value of a tensor, or its gradient. */
struct place {
    int tensor;
    bool grad;
};

enum task_kind {
    TASK_NONE,    /* an empty part: keeps its number, does nothing */
    TASK_COMPUTE, /* one part of a pass */
    TASK_COMM,    /* a transfer or a collective */
    TASK_UPDATE,  /* of what one device holds of a parameter; tail only */
};

struct task {
    enum task_kind kind;
    int op;        /* COMPUTE: the operator */
    int pass;      /* COMPUTE */
    int part;      /* COMPUTE */
    int device;    /* COMPUTE, UPDATE; of COMM -1 */
    int exchange;  /* COMM: index into the exchanges of its body or tail */
    int comm;      /* COMM: which comm of the exchange's pattern */
    int tensor;    /* UPDATE: the parameter */
    int bucket;    /* COMM of the tail: those with the same number are one message; -1: alone */
    bool backward; /* belongs to the backward half of a micro-batch */
    bool add_after; /* COMPUTE: this part adds what the pass adds after partial sums (a bias) */
};

/* One part of one writer: the writers of a pattern are numbered. */
struct contribution {
    int writer, part, device;
};

/* A box of the tensor in which everybody's stake is the same. */
struct cell {
    int64_t elements;                        /* hp_cell_box() says which they are */
    int n_contributions;                     /* to be summed; 0: nobody writes it, it is zero */
    const struct contribution *contribution; /* one for each partial result; copies left out */
    int n_receivers;     /* devices that read it and do not have the sum already */
    const int *receiver; /* ascending */
    int n_owners;        /* if contributions lie on several devices: who sums, evenly */
    const int *owner;
    int n_kept; /* readers that compute the value themselves (a copy, or the only contribution)
                 */
    const int *kept;
    int comm; /* the comm that moves it, -1: nothing moves */
    int sent; /* how often each of its elements is sent */
};

struct comm {
    enum comm_kind kind;
    int n_devices;
    const int *device; /* who takes part, ascending */
    int n_cells;
    const int *cell;      /* indices of the pattern's cells */
    double sent_elements; /* over all devices: contributors - 1 + readers - 1 of each cell */
};

/* Who waits for whom, by part: the task of a reader's part waits for comms, and for the tasks
 * of writers' parts on its own device. */
struct wait {
    int reader, part;        /* who waits */
    int comm;                /* for a comm, or -1 */
    int writer, writer_part; /* comm == -1: for a task on the same device */
};

/* A comm waits for what a writer's part contributes. */
struct feed {
    int comm, writer, part;
};

struct pattern {
    int id; /* 0, 1, ... in its sketch */
    int n_writers, n_readers;
    int n_cells, n_comms, n_waits, n_feeds;
    int n_dims;
    int n_intervals[MAX_DIMS]; /* of each dimension; cells are numbered row-major */
    const int64_t *border;     /* one more than intervals for each dimension, ascending */
    struct cell *cell;
    struct comm *comm;
    struct wait *wait; /* by reader, then by part */
    struct feed *feed; /* by comm; each once */
    int *comm_feed;    /* where each comm's feeds begin: n_comms + 1 */
    int *reader_wait;  /* where each reader's waits begin: n_readers + 1 */
    bool copied;       /* some parts of its writers write the same */
    bool aligned; /* nothing moves: each part reads what its like among the only writer's wrote
                   */
};

/* Where `device` is in an ascending list, or would be. */
static inline int hp_place_in(const int *list, int n, int device)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (list[mid] < device)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static inline bool hp_is_in(const int *list, int n, int device)
{
    int at = hp_place_in(list, n, device);
    return at < n && list[at] == device;
}

/* Of all cells that a comm moves. */
static inline double hp_comm_elements(const struct pattern *pattern, const struct comm *comm)
{
    double elements = 0;
    for (int i = 0; i < comm->n_cells; i++)
        elements += (double)pattern->cell[comm->cell[i]].elements;
    return elements;
}

/* The part of the tensor that cell number `cell` is. */
struct box hp_cell_box(const struct pattern *pattern, int cell);

/* What is sent of one cell, message by message: contributors send to the owners (round 0), each
 * of whom sums one of `pieces` even pieces; owners send to the other readers (round 1). */
typedef void hp_send_visit(void *who, int round, int from, int to, int pieces);

/* `seen`: by device, false before and after. */
void hp_cell_sends(const struct cell *cell, bool *seen, hp_send_visit *visit, void *who);

/* A tensor's value or gradient being settled: what its writers computed reaches its readers. */
struct exchange {
    struct place place;
    enum combine combine;
    const struct pattern *pattern;
    const int *writer_task; /* for each writer: the task of its part 0; the others follow */
    int first_comm;         /* task of comm 0; the others follow */
    /* For each reader: its operator and operand, and the passes that read it. */
    const struct reader *reader;
};

struct reader {
    int op, operand;
    uint32_t passes; /* bit p: pass p of the op reads it */
    bool only_adds;  /* ... and adds it after partial sums: a bias */
};

/* Tasks with the tasks each waits for (CSR). Tasks are in an order in which they could run. */
struct task_list {
    int n_tasks;
    struct task *task;
    int64_t *after_start; /* n_tasks + 1 */
    int *after;
    int n_exchanges;
    struct exchange *exchange;
};

struct body {
    struct task_list list;
    const int *step_task; /* by step of the sketch: the task of part 0; the others follow */
};

struct hypar_program {
    struct arena arena;
    const struct hypar_plan *plan;
    struct sketch *sketch; /* layouts and patterns; owned */
    const struct rhythm *rhythm;
    int n_bodies;
    struct body *body;
    struct task_list tail;
    int *tail_group; /* by tail task: which updates it belongs to (rhythm.h) */
    /* What a tail task waits for has one numbering: task t of body b is tail_base[b] + t; tail
     * task t, in the same round, is tail_base[n_bodies] + t. A body's task is waited for in
     * rounds in which a micro-batch has that body, in the last of these. A tail exchange's
     * writer_task are tasks of body 0; what they wrote is summed over the micro-batches of the
     * round. Where replicas take turns its parts are those of replica 0, then of 1, ... */
    int *tail_base;
    int n_stages;    /* at least 1 */
    int *slot_start; /* where each stage's slots begin: n_stages + 1 */
    struct slot *slot;
    int *stage_of_op;
};

/* The samples of micro-batch `micro`. */
struct range hp_micro_samples(const struct hypar_program *program, int micro);

/* The loops of one part in a micro-batch with samples `samples`: as hp_part_ranges(), the n
 * split applied inside. False: the part is empty. */
bool hp_micro_ranges(const struct hypar_graph *graph, int op, const struct split *split,
                     int part, struct range samples, struct range range[MAX_AXES]);

/* A box of a body's pattern, which is that of the body's first micro-batch, in micro-batch
 * `micro`: shifted along the samples. */
struct box hp_micro_box(const struct hypar_program *program, const struct exchange *exchange,
                        const struct box *box, int micro);

/* Bytes of one element of a tensor in messages. */
int hp_message_bytes(const struct hypar_plan *plan, int tensor);

/* The task lists of a program, i from 0 on: bodies, then the tail; NULL past the last. */
const struct task_list *hp_program_list(const struct hypar_program *program, int i);

/* How many times task `t` of list `i` is done for one batch; of a stretch of minibatches on
 * average. */
double hp_task_times(const struct hypar_program *program, int i, int t);

/* The body of micro-batch `micro`. */
static inline const struct body *hp_body_of(const struct hypar_program *program, int micro)
{
    return &program->body[hp_body_number(program->rhythm, micro)];
}

/* The body that number `after` of the tail's numbering belongs to; n_bodies: the tail. */
int hp_tail_body(const struct hypar_program *program, int after);

/* The order of slots of `program`, which has a plan, a rhythm and an arena, from these alone.
 */
void hp_make_schedule(struct hypar_program *program);

static inline int hp_slot_count(const struct hypar_program *program, int stage)
{
    return program->slot_start[stage + 1] - program->slot_start[stage];
}
static inline const struct slot *hp_slots_of(const struct hypar_program *program, int stage)
{
    return program->slot + program->slot_start[stage];
}

/* The group of parameters that an update in the slots of `stage` is of. */
static inline int hp_slot_group(const struct hypar_program *program, int stage)
{
    return program->rhythm->delayed ? stage : 0;
}

#endif /* PROGRAM_PROGRAM_H */
