/* program/program.h - the tasks, edges and schedule of a lowered plan. Internal.
 *
 * One micro-batch is a BODY: compute tasks (one part of one operator, pass after pass) and
 * communication tasks between them. Micro-batches with the same tasks share one body
 * (iteration.h); a task instance is (micro-batch, body task). A period of micro-batches ends
 * with the TAIL: gradients and the loss are summed over devices, parameters are updated; an
 * instance is (period, tail task). The SCHEDULE gives the order in which a device runs the
 * forward and backward halves of the micro-batches, and the updates. Tasks and their edges are
 * written block by block (blocks.h); the simulator and the executor read these.
 *
 * One rule (exchange/exchange.h) derives the communication from writers and readers of tensors.
 * The borders of all their regions cut the tensor into cells; each cell is summed once over its
 * contributions and copied to the readers that lack it. The result depends only on the parts of
 * writers and readers, not on the tensor. So it is kept as a PATTERN, which identical layers
 * share. */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include <hypar/program.h>

#include "plan/plan.h"
#include "program/iteration.h"
#include "program/schedule.h"
#include "split/comm.h"
#include "split/split.h"

/* The form of a tensor that a task reads or writes: its value, its gradient, or its value
 * recomputed in the backward half (recompute.c), which has its own memory. */
struct place {
    int tensor;
    bool grad, again;
};

/* The places of one tensor, and their numbers. */
enum place_kind { PLACE_VALUE, PLACE_GRADIENT, PLACE_AGAIN, HP_PLACES };
static inline int hp_place_kind(struct place place)
{
    return place.grad ? PLACE_GRADIENT : place.again ? PLACE_AGAIN : PLACE_VALUE;
}
static inline int hp_place_index(struct place place)
{
    return HP_PLACES * place.tensor + hp_place_kind(place);
}
static inline struct place hp_place_at(int index)
{
    return (struct place){ index / HP_PLACES, index % HP_PLACES == PLACE_GRADIENT,
                           index % HP_PLACES == PLACE_AGAIN };
}

enum task_kind {
    TASK_COMPUTE, /* one part of the passes of a fusion group */
    TASK_COMM,    /* one transfer or collective */
    TASK_NORM,    /* squares of one device's share of all gradients; tail only */
    TASK_UPDATE,  /* of one device's share of a parameter; tail only */
};

struct task {
    enum task_kind kind;
    int block;        /* the block of the task (blocks.h) */
    int index;        /* COMPUTE: its first op_pass; else the exchange */
    int part;         /* COMPUTE */
    int comm;         /* COMM: which of the exchange's pattern */
    int device;       /* COMPUTE, NORM, UPDATE; of COMM -1 */
    int bucket;       /* COMM: comms with the same number are one message; -1: sent alone */
    enum phase phase; /* of a micro-batch; in the tail: update */
};

/* One part of one writer; the writers of a pattern are numbered. */
struct contribution {
    int writer, part, device;
};

/* A box of the tensor whose elements all have the same writers and readers. If its holders
 * divide the box: one of its pieces, consecutive elements in row-major order. */
struct cell {
    int64_t elements;    /* the piece: elements of hp_cell_box() ... */
    int64_t lo;          /* ... from this one on */
    int64_t padded;      /* elements that are sent for it: of a divided box the largest piece's
                            where the framework pads, else `elements` */
    int box;             /* number of the box, row-major */
    int piece, pieces;   /* which of its pieces this is: 0 of 1 */
    int n_contributions; /* to be summed; 0: nobody writes the cell, it is zero */
    const struct contribution
        *contribution;   /* one for each partial result; copies are left out */
    int n_receivers;     /* devices that read the cell and lack the sum */
    const int *receiver; /* ascending */
    int n_owners; /* if contributions lie on several devices: the devices that sum, evenly */
    const int *owner;
    int n_kept; /* readers that compute the cell themselves (a copy, or the only contribution)
                 */
    const int *kept;
    int n_copies; /* several devices that all have the cell and could send it; 0: one has it */
    const int *copy;
    int comm; /* the comm that moves it; -1: nothing moves */
    int sent; /* how often each element is sent */
};

struct comm {
    enum comm_kind kind;
    int n_devices;
    const int *device; /* the devices that take part, ascending */
    int n_cells;
    const int *cell;      /* indices of the pattern's cells */
    double sent_elements; /* over all devices: contributors - 1 + readers - 1 of each cell */
    double padding;       /* of these, those that only pad pieces */
};

/* Who waits for whom, by part: the task of a reader's part waits for comms, and for the tasks
 * of writers' parts on its own device. */
struct wait {
    int reader, part;        /* who waits */
    int comm;                /* for a comm, or -1 */
    int writer, writer_part; /* comm == -1: for a task on the same device */
};

/* A comm waits for the contribution of a writer's part. */
struct feed {
    int comm, writer, part;
};

struct pattern {
    int id; /* 0, 1, ... in its lowering */
    int n_writers, n_readers;
    int n_cells, n_comms, n_waits, n_feeds;
    int n_dims;
    int n_intervals[MAX_DIMS]; /* of each dimension; boxes are numbered row-major */
    const int64_t *border;     /* one more than intervals for each dimension, ascending */
    struct cell *cell;         /* by box, then by piece */
    struct comm *comm;
    struct wait *wait; /* by reader, then by part */
    struct feed *feed; /* by comm; each contribution once */
    int *comm_feed;    /* where each comm's feeds begin: n_comms + 1 */
    int *reader_wait;  /* where each reader's waits begin: n_readers + 1 */
    bool copied;       /* some parts of its writers compute copies */
    bool aligned;      /* nothing moves: part i reads what part i of the only writer wrote */
};

/* The position of `device` in an ascending list, or where it would be inserted. */
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

/* The position of a device in a comm's list. */
static inline int hp_comm_index(const struct comm *comm, int device)
{
    return hp_place_in(comm->device, comm->n_devices, device);
}

/* The elements that a comm moves, each cell's once, padding included. */
static inline double hp_comm_elements(const struct pattern *pattern, const struct comm *comm)
{
    double elements = 0;
    for (int i = 0; i < comm->n_cells; i++)
        elements += (double)pattern->cell[comm->cell[i]].padded;
    return elements;
}

/* The box of the tensor that cell number `cell` is, or is a piece of. */
struct box hp_cell_box(const struct pattern *pattern, int cell);

/* The messages of one cell. Round 0: contributors send to the owners, each of which sums one of
 * `pieces` even pieces. Round 1: owners send to the other readers. */
typedef void hp_send_visit(void *who, int round, int from, int to, int pieces);

/* `seen`: by device, false before and after. */
void hp_cell_sends(const struct cell *cell, bool *seen, hp_send_visit *visit, void *who);

struct reader {
    int op, operand;
    uint32_t passes; /* bit p: pass p of the op reads it */
    uint32_t again;  /* ... or pass p that is done again */
    bool only_adds;  /* ... and adds it after partial sums: a bias */
};

/* Task ids are dense: the tasks of body 0, of body 1, ..., of the tail, each in an order in
 * which they could run. */
struct hypar_program {
    struct arena arena;
    const struct hypar_plan *plan;
    struct hypar_plan *own_plan; /* the same plan, if the program was read from a file, or if
                                    its simulation has other settings than the given plan */
    struct lowering *lowering;   /* parts and patterns; owned */
    struct blocks *blocks;       /* owned */
    const struct iteration *iteration;
    const struct schedule *schedule;
    int n_bodies, n_tasks;
    int *first; /* by body: its first task; then the tail's, then past it: n_bodies + 2 */
    struct task *task;
    /* The predecessors of each task: CSR. A task of the tail waits for a task of a body in the
     * last micro-batch of its period that has this body, if there is one; and for another task
     * of the tail in the same period. */
    const int64_t *after_start;
    const int *after;
    int *update_group; /* by task of the tail: the group of parameters it belongs to
                          (iteration.h) */
};

/* Writing the file form (write.c) and reading it (read.c). HYPAR_INVALID, with the place, for a
 * file that is no lowered program, or differs from the program that its plan lowers to. */
struct json;
struct json_writer;
void hp_program_write_json(struct json_writer *w, const struct hypar_program *program);
enum hypar_status hp_program_read_json(struct hypar_program **out, const struct json *root,
                                       struct hypar_error *err);

/* The samples of micro-batch `micro`. */
struct range hp_micro_samples(const struct hypar_program *program, int micro);

/* The loops of one part in a micro-batch of `samples`: as hp_part_ranges(), with the samples'
 * axis divided within `samples`. False: the part is empty. */
bool hp_micro_ranges(const struct hypar_graph *graph, int op, const struct split *split,
                     int part, struct range samples, struct range range[MAX_AXES]);

/* A box of `tensor` in the first micro-batch of a body, shifted along the samples to
 * micro-batch `micro`. */
struct box hp_micro_box(const struct hypar_program *program, int tensor, const struct box *box,
                        int micro);

/* The precision of tensors that a model casts to fp32 where parameters are in 16 bits:
 * frameworks that run operator by operator do as the model says; all else computes in the
 * plan's. */
enum hypar_precision hp_fp32_precision(const struct hypar_plan *plan);

/* Bytes of one element of a tensor, or of its gradient: in memory, and in messages. */
int hp_held_bytes(const struct hypar_plan *plan, struct place place);

/* The parameter that a tensor is a view of, where a framework sums gradients by modules also a
 * slice; -1: none. */
int hp_viewed_param(const struct hypar_plan *plan, int tensor);

/* The slice that alone reads a parameter, where a framework holds and sends all of the
 * parameter nevertheless; else the parameter itself. */
int hp_slice_of_param(const struct hypar_plan *plan, int param);
int hp_message_bytes(const struct hypar_plan *plan, struct place place);

/* The body that a task belongs to; n_bodies: the tail. */
int hp_task_body(const struct hypar_program *program, int task);

/* How often a task is done for one batch; for a window of minibatches, on average. */
double hp_task_times(const struct hypar_program *program, int task);

static inline bool hp_is_tail(const struct hypar_program *program, int task)
{
    return task >= program->first[program->n_bodies];
}

/* The group of parameters that a task of the tail belongs to. */
static inline int hp_update_group(const struct hypar_program *program, int task)
{
    return program->update_group[task - program->first[program->n_bodies]];
}

/* The place that a COMM moves or an UPDATE updates; the pattern and the comm of a COMM, and the
 * bytes that it sends. */
struct place hp_task_place(const struct hypar_program *program, int task);
const struct pattern *hp_task_pattern(const struct hypar_program *program, int task);
const struct comm *hp_task_comm(const struct hypar_program *program, int task);
double hp_task_bytes(const struct hypar_program *program, int task);

/* "conv1+bn1+relu1 forward part 3" of a COMPUTE task, "fc1 gradient part 3 of fc1.b" where the
 * operator has several gradient passes; returns its phase. */
enum phase hp_task_text(const struct hypar_program *program, int task, char *text, size_t n);

/* Names in timelines: of a task; of all tasks of its kind, where the messages of a comm are
 * separate tasks: "all-reduce gradient of w", "update w". Returns the kind of event. */
struct lowering;
enum hypar_event_kind hp_task_name(const struct hypar_program *program, int task, char *text,
                                   size_t n);
enum hypar_event_kind hp_compute_name(const struct hypar_program *program, int task, char *text,
                                      size_t n, int *what_bytes); /* before " part 3" */
void hp_comm_name(const struct lowering *lowering, int body, int exchange, int comm, char *text,
                  size_t n);
void hp_update_name(const struct lowering *lowering, int exchange, char *text, size_t n);

/* Does the task recompute a forward pass for the backward half? */
bool hp_is_again(const struct hypar_program *program, int task);

/* Append which of several instances it is: " micro 3", of delayed updates " minibatch 3"; or
 * " period 0" (`micro` is -1). */
void hp_add_instance(const struct hypar_program *program, int micro, char *text, size_t n);

/* The stage of a parameter: that of its first reader. */
int hp_param_stage(const struct hypar_program *program, int tensor);

/* The half after which a stage has sent all its messages. */
static inline enum phase hp_last_half(const struct iteration *r)
{
    return r->forward ? PHASE_FORWARD : PHASE_BACKWARD;
}

/* The group of parameters that an update slot of `stage` updates. */
static inline int hp_slot_group(const struct iteration *iteration, int stage)
{
    return iteration->delayed ? stage : 0;
}

#endif /* PROGRAM_PROGRAM_H */
