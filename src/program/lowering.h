/* program/lowering.h - a program before its tasks are written out. Internal.
 *
 * Which passes there are, which tensors move between them and who accesses each follows
 * from the graph alone: the TRAINING GRAPH. How each operator's parts lie (its layout) and what
 * has to move between them (a pattern for each exchange) follows from the plan: the LOWERING.
 * When one operator's split or placement changes, its layout and the patterns of the exchanges
 * that it accesses change, and nothing else does (hp_lowering_lay_out(),
 * hp_lowering_exchange()); layouts and patterns are shared by what decides them and remembered,
 * so a change that was seen before costs a look-up. */
#ifndef PROGRAM_LOWERING_H
#define PROGRAM_LOWERING_H

#include "base/table.h"
#include "program/exchange.h"

/* One pass of one operator. */
struct op_pass {
    int op, pass;
    bool backward;    /* it is done in the backward half, perhaps ... */
    bool again;       /* ... as a forward pass that is computed again, or ... */
    bool resend;      /* ... of which no more is done than to send again what it wrote: it was
                         kept where it was computed, and nowhere else */
    enum phase phase; /* gradient: where the schedule takes that apart */
    int item;         /* its place in the order of items */
};

struct source {
    int op, operand, pass;
    bool again;
};

/* Some passes of an operator: bit p, pass p, or pass p that is done again. */
struct some_passes {
    uint32_t passes, again;
};

/* A tensor's value or gradient to be settled: its writers and readers. */
struct exchange {
    struct place place;
    enum combine combine;
    bool backward; /* it happens in the backward half */
    bool private;  /* each part keeps its own (local batch norm statistics) */
    int n_writers, n_readers, n_holders;
    const struct source *writer;
    const struct reader *reader;
    /* Of a parameter that is divided: how, over how many, and of one that is gathered all who
     * read it in any half; the sum of its gradient. */
    enum division division;
    int over;
    const struct reader *holder;
    int sum; /* of one that is gathered after its update, or has been summed: that exchange */
    /* Of one that is gathered in a body: the operator that reads it first, in forward passes,
     * in those that are done again or in backward ones; and the gathered exchange before it
     * whose passes it waits for, -1. */
    struct visit {
        int op;
        bool backward, again;
    } first;
    int behind;
    int item;          /* its place in the order of items; of a tail's exchange: its number */
    int pattern_class; /* those of one class with the same layouts have the same pattern */
};

/* A body's passes and exchanges in the order of task numbers. */
struct item {
    bool is_pass;
    int index; /* into op_pass[] or exchange[] */
};

/* What a pass reads: it is reader `reader` of an exchange, and waits for it. */
struct pass_input {
    int exchange, reader;
};

/* An exchange of an error that a stage sends to another. */
struct leaving {
    int exchange, stage;
};

struct training_graph {
    uint32_t *passes;     /* by op: bit p, pass p is done */
    uint32_t *again;      /* by op: bit p, pass p is done again in the backward half */
    bool *has_again;      /* by tensor: its value is computed again */
    unsigned char *shard; /* by tensor: what is divided of a parameter (enum hypar_shard) */
    int (*gather_of)[2];  /* by tensor: the exchanges of a body that gather it, by half; -1 */
    int *again_before; /* by op that is done again: before the backward passes of this op, the
                          first to need what comes of it; -1 */
    int *again_first, *again_next; /* those before an op, and the next one, ascending; -1 */
    int n_items, n_op_passes, n_exchanges;
    int n_sums, n_tail; /* exchanges of the tail: before the updates, and all */
    struct item *item;
    struct op_pass *op_pass;
    int (*op_pass_of)[MAX_PASSES]; /* by op and pass; -1 */
    int (*again_of)[MAX_PASSES];   /* likewise, of those that are done again */
    struct exchange *exchange;     /* the body's; those of the tail: the loss, gradients, their
                                      norm;     after the updates, parameters that are divided */
    int norm; /* the last sum of the tail: squares of all gradients; -1: they stay as they are
               */
    int *value_exchange; /* by tensor: the exchange that settles its value, -1 */
    int *error_exchange; /* by tensor: the exchange of a body that settles its gradient, -1 */
    int n_leaving; /* errors that leave stages; under pipedream, where updates follow each other
                      without an end, none */
    struct leaving *leaving;
    int *input_start; /* what each op_pass reads: CSR */
    struct pass_input *input;
    int *access_start; /* exchanges that each op accesses: CSR, ascending */
    int *accessed;
    int most_sides; /* of any exchange: writers and readers */
};

/* The parts of every operator in the micro-batches of one body. */
struct body_layouts {
    struct range samples;              /* of the first of them */
    const struct part_layout **layout; /* by op */
    const struct pattern **pattern;    /* by exchange of the body */
};

/* The devices that have some of a parameter, and so update it. */
struct update_devices {
    int n;
    const int *device;
    const double *elements; /* that each has */
    int *of_device;         /* place in the list by device, -1 */
};

/* What has been worked out of a graph, whatever the plan: layouts and patterns by what decides
 * them. Lowerings of one graph may share a cache, though not at the same time. Zero-initialised
 * is empty. */
struct layout_cache {
    struct arena arena;
    struct table layout_keys, pattern_classes, pattern_keys;
    struct part_layout **layouts;
    struct pattern **patterns;
    struct shapes shapes;
    int n_layouts, layout_capacity, n_patterns, pattern_capacity;
    struct update_devices **updates; /* by pattern id, of those of parameters */
    int update_capacity;
};

struct lowering {
    struct arena arena;   /* training, lists */
    struct arena scratch; /* of one call */
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct hypar_lower_options options;
    struct training_graph training;
    struct iteration iteration;
    struct schedule schedule;
    int n_bodies;
    struct body_layouts *body;
    /* The tail: parts that take part in some micro-batch of an update period, those of replica
     * 0, then of 1, ...; patterns by exchange - n_exchanges. */
    const struct part_layout **tail_layout;
    const struct pattern **tail;
    struct update_devices norm;      /* who adds up squares, and how many */
    struct layout_cache own, *cache; /* its own, or one that it shares */
    int32_t *pattern_key;            /* room for most_sides, and one more */
    int *settled, change;            /* by exchange: the change in which it was last settled */
    struct hypar_error *err;         /* of the call at hand */
};

/* As hypar_plan_hidden_moves(), of what is lowered (hidden.c). */
void hp_hidden_moves(struct lowering *lowering, struct hypar_hidden_moves *out);

/* HYPAR_UNSUPPORTED for what a plan may say and cannot be lowered yet. */
enum hypar_status hp_check_lowerable(const struct hypar_plan *plan, struct hypar_error *err);

/* HYPAR_INVALID for numbers that are none, or below 0. */
enum hypar_status hp_check_lower_options(const struct hypar_lower_options *options,
                                         struct hypar_error *err);

/* Lower a plan; it must have been checked, and outlive the lowering, as must a `cache` that it
 * shares (NULL: it has its own). On failure *out is NULL. */
enum hypar_status hp_lowering_make(struct lowering **out, const struct hypar_plan *plan,
                                   const struct hypar_lower_options *options,
                                   struct layout_cache *cache, struct hypar_error *err);
void hp_lowering_free(struct lowering *lowering); /* NULL is allowed */

/* hypar_lower() with a cache that is shared, or NULL. */
enum hypar_status hp_lower(struct hypar_program **out, const struct hypar_plan *plan,
                           const struct hypar_lower_options *options,
                           struct layout_cache *cache, struct hypar_error *err);

/* The plan's operators op[] (each once) have been changed: bring the lowering up to date, first
 * their layouts, then the patterns of all that they access. On failure (a tensor in
 * absurdly many pieces) the caller takes the change back and calls again. */
enum hypar_status hp_lowering_lay_out(struct lowering *lowering, const int *op, int n,
                                      struct hypar_error *err);
enum hypar_status hp_lowering_exchange(struct lowering *lowering, const int *op, int n,
                                       struct hypar_error *err);

/* Who updates the parameter whose gradient an exchange of the tail sums up; shared, too. */
const struct update_devices *hp_update_devices(struct lowering *lowering, int exchange);

/* Gradients that are clipped (norm.c): who adds up the squares of what. Each element is one
 * device's, however many have it: of a cell the elements, by number, that are `device`'s. */
enum hypar_status hp_check_clip(const struct hypar_plan *plan, struct hypar_error *err);
struct range hp_norm_share(const struct cell *cell, int device);
enum hypar_status hp_find_norm(struct lowering *lowering);

/* The pieces of a place that is divided, a parameter's value or gradient (NULL: it has none);
 * and whether one is a device's. */
const struct pattern *hp_pieces(const struct lowering *lowering, struct place place);
bool hp_owns(const struct cell *cell, struct place place, int device);

/* HYPAR_INFEASIBLE if the parameters of an operator are to be divided and no two devices have
 * the same of them (divide.c). */
enum hypar_status hp_check_divided(const struct lowering *lowering, struct hypar_error *err);

/* The parameters that an exchange of the tail is updated with (iteration.h). */
int hp_exchange_group(const struct lowering *s, int d);

/* A part of the tail's layout of `op` as a part in body `b`; -1: another replica runs it. */
static inline int hp_live_part(const struct lowering *s, int op, int part, int b)
{
    const struct part_layout *l = s->tail_layout[op];
    return part / l->n_each == b % (l->n_parts / l->n_each) ? part % l->n_each : -1;
}

/* The pattern of exchange `d` (the body's, then the tail's) in body `b` (the tail: any b). */
static inline const struct pattern *hp_exchange_pattern(const struct lowering *s, int b, int d)
{
    return d < s->training.n_exchanges ? s->body[b].pattern[d]
                                       : s->tail[d - s->training.n_exchanges];
}

/* The parts of making one. */
enum hypar_status hp_find_flow(struct lowering *s);
enum hypar_status hp_check_local_bn(const struct lowering *s, int op);
void hp_make_training_graph(struct lowering *s);

/* The layout of op's parts for `samples` on `n_replicas` replicas of its stage, from the
 * `replica`-th on; shared (layouts.c). */
const struct part_layout *hp_layout_of(struct lowering *s, int op, struct range samples,
                                       int replica, int n_replicas);

/* Parts that one of two layouts has; shared too. */
const struct part_layout *hp_either_layout(struct lowering *s, const struct part_layout *a,
                                           const struct part_layout *b);

int hp_pattern_class(struct lowering *s, const struct exchange *exchange);

/* The pattern of an exchange, its operators' parts lying as `layout` says; shared. */
enum hypar_status hp_pattern_of(struct lowering *s, const struct exchange *exchange,
                                const struct part_layout *const *layout,
                                const struct pattern **out);

/* Is `part` the one that adds what a pass adds after partial sums (a bias)? */
bool hp_adds_after(const struct part_layout *layout, int pass, int part);

/* The passes in which a value is first read, and so waited for: forward ones if there are, else
 * those that are done again. */
struct some_passes hp_first_reads(const struct hypar_graph *graph, const struct reader *r);

/* Which passes are done again, and where (recompute.c). */
void hp_find_recomputed(struct lowering *s);

/* Is the value of `tensor` that a pass of `op` reads in the backward half the one that was
 * computed, or sent, again? It is the first one where it came from another stage, or, of what
 * is sent again, where it was computed. */
bool hp_reads_again(const struct lowering *s, int op, int tensor);

/* Values that a pass of an operator reads. A framework that runs operator by operator gathers
 * all parameters of a layer for its backward half: there, the first backward pass reads those
 * that are divided, whether it computes with them or not. */
operand_set hp_values_read(const struct lowering *s, int op, int pass);

/* Operands that a pass reads and writes: values and gradients. */
struct pass_operands {
    operand_set reads, reads_grad, writes, writes_grad;
};
struct pass_operands hp_pass_operands(const struct lowering *s, const struct op_pass *op_pass);

/* The place that a pass reads, or writes, as an operand. */
struct place hp_operand_place(const struct lowering *s, const struct op_pass *op_pass, int o,
                              bool grad, bool written);

/* HYPAR_INFEASIBLE: what an operator is to send again is in parts that have to be summed. */
enum hypar_status hp_check_resend(const struct hypar_plan *plan, struct hypar_error *err);

/* ... were that operator split so. */
enum hypar_status hp_check_resend_op(const struct hypar_plan *plan, int op,
                                     const struct split *split, struct hypar_error *err);

/* The comms of the tail, numbered: comm c of its exchange x is base[x] + c. lead[] is the first
 * one of the bucket that a comm is in, -1: it goes alone; next[] the next one of the bucket,
 * -1; exchange[] its exchange x; bytes[] of the first ones, all together. */
struct buckets {
    int *base, *lead, *next, *exchange;
    double *bytes;
};
struct buckets hp_find_buckets(const struct lowering *s, struct arena *arena);

/* Pass `pass` of an operator as it is done when it is visited; -1: it is not, or in a slot of
 * its own (gradients that are apart). */
static inline int hp_visit_pass(const struct training_graph *k, const struct visit *visit,
                                const struct nest *nest, int pass)
{
    if (nest->pass[pass].backward != (visit->backward && !visit->again))
        return -1;
    int op_pass = (visit->again ? k->again_of : k->op_pass_of)[visit->op][pass];
    return op_pass >= 0 && k->op_pass[op_pass].phase == PHASE_GRADIENT ? -1 : op_pass;
}

/* Do slots say more than edges do? */
static inline bool hp_has_order(const struct lowering *s)
{
    return s->iteration.n_micro > 1 || s->schedule.apart || s->schedule.several;
}

/* The action (schedule.h) of a pass. */
static inline int hp_pass_action(const struct lowering *s, int op_pass)
{
    const struct op_pass *p = &s->training.op_pass[op_pass];
    return hp_action(&s->schedule, s->schedule.stage_of_op[p->op], p->phase);
}

/* The action in which `device` takes part in a comm of a body's exchange: that of the last of
 * its passes that contribute to it; if none does, that of the first stage in which it reads it,
 * or, if it sums what others contribute there, of their stage. */
int hp_comm_action(const struct lowering *s, int body, int exchange, int comm, int device);

/* The last forward pass of an op, as an index of op_pass[]. */
int hp_last_forward_pass(const struct lowering *s, int op);

/* A pass of an op as an index of op_pass[]; -1: it is not done. */
static inline int hp_op_pass(const struct training_graph *k, int op, int pass, bool again)
{
    return again ? k->again_of[op][pass] : k->op_pass_of[op][pass];
}
static inline int hp_source_pass(const struct training_graph *k, const struct source *from)
{
    return hp_op_pass(k, from->op, from->pass, from->again);
}

#endif /* PROGRAM_LOWERING_H */
