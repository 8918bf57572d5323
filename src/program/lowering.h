/* program/lowering.h - a program before its tasks are written out. Internal.
 *
 * The graph alone determines which passes there are, which tensors move between them, and who
 * accesses each tensor: this is the TRAINING GRAPH. The plan determines the parts of each
 * operator (struct op_parts) and what moves between them (a pattern for each exchange): this is
 * the LOWERING. A change of one operator's split or placement changes its parts and the
 * patterns of the exchanges that it accesses, and nothing else (hp_lowering_lay_out(),
 * hp_lowering_exchange()). Parts and patterns are cached by the facts that determine them, so a
 * repeated change costs a look-up. */
#ifndef PROGRAM_LOWERING_H
#define PROGRAM_LOWERING_H

#include "base/table.h"
#include "program/exchange/exchange.h"

/* One pass of one operator. */
struct op_pass {
    int op, pass;
    bool backward; /* it belongs to the backward half; if so, it may be ... */
    bool again;    /* ... a forward pass that is computed again, or ... */
    bool resend; /* ... a pass that only sends its kept output again: the value was kept on the
                    devices that computed it, and on no others */
    enum phase phase; /* PHASE_GRADIENT where the schedule separates it */
    int item;         /* its position among the items */
};

struct source {
    int op, operand, pass;
    bool again;
};

/* Some passes of an operator: bit p stands for pass p, in `passes` done first, in `again`
 * repeated. */
struct some_passes {
    uint32_t passes, again;
};

/* An exchange settles the value or gradient of a tensor: it leads from the tensor's writers to
 * its readers. */
struct exchange {
    struct place place;
    enum combine combine;
    bool backward; /* it belongs to the backward half */
    bool private;  /* each part keeps its own (local batch norm statistics) */
    int n_writers, n_readers, n_holders;
    const struct source *writer;
    const struct reader *reader;
    /* For a divided parameter: how it is divided, and over how many holders. For a gathered
     * parameter: all who read it in any half (holders), and the exchange that sums its
     * gradient. */
    enum division division;
    int over;
    const struct reader *holder;
    int sum; /* of a parameter that is gathered after its update, or whose gradient has been
                summed: the exchange that sums it */
    /* For a parameter gathered in a body: the operator that reads it first, in its forward,
     * repeated or backward passes; and the earlier gathered exchange whose passes it waits for,
     * -1. */
    struct visit {
        int op;
        bool backward, again;
    } first;
    int behind;
    int turn;          /* exchanges with the same turn are gathered together */
    int item;          /* its position among the items; in the tail: its number */
    int pattern_class; /* exchanges of one class with the same parts have the same pattern */
};

/* The passes and exchanges of a body, in the order of task numbers. */
struct item {
    bool is_pass;
    int index; /* into op_pass[] or exchange[] */
};

/* An input of a pass: the pass is reader `reader` of an exchange and waits for it. */
struct pass_input {
    int exchange, reader;
};

/* An exchange of an error that a stage sends to another. */
struct leaving {
    int exchange, stage;
};

struct training_graph {
    uint32_t *passes;     /* by op: bit p, pass p is done */
    uint32_t *again;      /* by op: bit p, pass p is repeated in the backward half */
    bool *has_again;      /* by tensor: its value is computed again */
    unsigned char *shard; /* by tensor: what of a parameter is divided (enum hypar_shard) */
    int (*gather_of)[2];  /* by tensor: the exchanges of a body that gather it, by half; -1 */
    int *again_before;    /* by repeated op: the first op whose backward passes need the result:
                             the op is repeated before them; -1 */
    int *again_first, *again_next; /* the repeated ops before an op: the first, and the next of
                                      each, ascending; -1 */
    int n_items, n_op_passes, n_exchanges;
    int n_sums, n_tail; /* exchanges of the tail: those before the updates, and all */
    struct item *item;
    struct op_pass *op_pass;
    int (*op_pass_of)[MAX_PASSES]; /* by op and pass; -1 */
    int (*again_of)[MAX_PASSES];   /* likewise, of repeated passes */
    struct exchange
        *exchange; /* those of the body, then those of the tail: the loss, gradients, their
                      norm; after the updates: divided parameters */
    int norm;      /* the last sum of the tail: squares of all gradients; -1: gradients are not
                      clipped */
    int *value_exchange; /* by tensor: the exchange that settles its value, -1 */
    int *error_exchange; /* by tensor: the exchange of a body that settles its gradient, -1 */
    int n_leaving; /* errors that leave stages; none under pipedream, where updates follow one
                      another without an end */
    struct leaving *leaving;
    int *input_start; /* what each op_pass reads: CSR */
    struct pass_input *input;
    int *access_start; /* exchanges that each op accesses: CSR, ascending */
    int *accessed;
    int most_sides; /* of any exchange: writers and readers */
};

/* The parts and patterns of the micro-batches that have one body. */
struct lowered_body {
    struct range samples;           /* of the first of these micro-batches */
    const struct op_parts **parts;  /* by op */
    const struct pattern **pattern; /* by exchange of the body */
};

/* The devices that hold some of a parameter, and so update it. */
struct update_devices {
    int n;
    const int *device;
    const double *elements; /* how many each device holds */
    int *of_device;         /* position in the list by device, -1 */
};

/* Results that depend on the graph and not on the plan as a whole: parts and patterns by the
 * facts that determine them. Lowerings of one graph may share a cache, but not at the same
 * time. Zero-initialised is empty. */
struct lowering_cache {
    struct arena arena;
    struct table op_parts_keys, pattern_classes, pattern_keys;
    struct op_parts **op_parts;
    struct pattern **patterns;
    struct shapes shapes;
    int n_op_parts, op_parts_capacity, n_patterns, pattern_capacity;
    struct update_devices **updates; /* by pattern id, for patterns of parameters */
    int update_capacity;
};

struct lowering {
    struct arena arena;   /* for the training graph and lists */
    struct arena scratch; /* for one call */
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct hypar_lower_options options;
    struct training_graph training;
    struct iteration iteration;
    struct schedule schedule;
    int n_bodies;
    struct lowered_body *body;
    /* The tail: parts that occur in some micro-batch of an update period, first those of
     * replica 0, then of 1, ...; patterns by exchange - n_exchanges. */
    const struct op_parts **tail_parts;
    const struct pattern **tail;
    struct update_devices norm;        /* which devices add up squares, and how many each */
    struct lowering_cache own, *cache; /* its own cache, or a shared one */
    int32_t *pattern_key;              /* scratch for most_sides + 1 numbers */
    int *settled, change;    /* by exchange: the change in which it was last settled */
    struct hypar_error *err; /* of the current call */
};

/* hypar_plan_hidden_moves() for a lowering (hidden.c). */
void hp_hidden_moves(struct lowering *lowering, struct hypar_hidden_moves *out);

/* HYPAR_UNSUPPORTED for a valid plan that cannot be lowered yet. */
enum hypar_status hp_check_lowerable(const struct hypar_plan *plan, struct hypar_error *err);

/* HYPAR_INVALID for numbers that are NaN or negative. */
enum hypar_status hp_check_lower_options(const struct hypar_lower_options *options,
                                         struct hypar_error *err);

/* Lower a checked plan. The plan and a shared `cache` (NULL: the lowering has its own) must
 * outlive the lowering. On failure *out is NULL. */
enum hypar_status hp_lowering_make(struct lowering **out, const struct hypar_plan *plan,
                                   const struct hypar_lower_options *options,
                                   struct lowering_cache *cache, struct hypar_error *err);
void hp_lowering_free(struct lowering *lowering); /* NULL is allowed */

/* hypar_lower() with a shared cache, or NULL; the program has no tasks and no edges. The memory
 * count needs none. */
enum hypar_status hp_lower(struct hypar_program **out, const struct hypar_plan *plan,
                           const struct hypar_lower_options *options,
                           struct lowering_cache *cache, struct hypar_error *err);

/* The plan's operators op[] (each once) have changed: update the lowering, first their parts,
 * then the patterns of all exchanges that they access. On failure (a tensor in too many pieces)
 * the caller undoes the change and calls again. */
enum hypar_status hp_lowering_lay_out(struct lowering *lowering, const int *op, int n,
                                      struct hypar_error *err);
enum hypar_status hp_lowering_exchange(struct lowering *lowering, const int *op, int n,
                                       struct hypar_error *err);

/* The devices that update the parameter whose gradient an exchange of the tail sums; cached. */
const struct update_devices *hp_update_devices(struct lowering *lowering, int exchange);

/* Clipping gradients (norm.c): which device adds up which squares. Each element counts on one
 * device, however many hold it: hp_norm_share() gives the elements of a cell, by number, that
 * count on `device`. */
enum hypar_status hp_check_clip(const struct hypar_plan *plan, struct hypar_error *err);
struct range hp_norm_share(const struct cell *cell, int device);
enum hypar_status hp_find_norm(struct lowering *lowering);

/* The pieces of a divided parameter's value or gradient (NULL: it is not divided); and whether
 * a device owns a piece. */
const struct pattern *hp_pieces(const struct lowering *lowering, struct place place);
bool hp_owns(const struct cell *cell, struct place place, int device);

/* HYPAR_INFEASIBLE if the parameters of an operator are to be divided, but no two devices hold
 * the same elements (divide.c). */
enum hypar_status hp_check_divided(const struct lowering *lowering, struct hypar_error *err);

/* The group of parameters that an exchange of the tail belongs to (iteration.h). */
int hp_exchange_group(const struct lowering *s, int d);

/* Part `part` of tail_parts[op] as a part in body `b`; -1: another replica runs it. */
static inline int hp_live_part(const struct lowering *s, int op, int part, int b)
{
    const struct op_parts *l = s->tail_parts[op];
    return part / l->n_each == b % (l->n_parts / l->n_each) ? part % l->n_each : -1;
}

/* The pattern of exchange `d` (of the body, then of the tail) in body `b`; for the tail, b is
 * ignored. */
static inline const struct pattern *hp_exchange_pattern(const struct lowering *s, int b, int d)
{
    return d < s->training.n_exchanges ? s->body[b].pattern[d]
                                       : s->tail[d - s->training.n_exchanges];
}

/* The steps of making a lowering. */
enum hypar_status hp_find_flow(struct lowering *s);
enum hypar_status hp_check_local_bn(const struct lowering *s, int op);
void hp_make_training_graph(struct lowering *s);

/* The parts of `op` for `samples` on `n_replicas` replicas of its stage, beginning with replica
 * `replica`; cached (op_parts.c). */
const struct op_parts *hp_parts_of(struct lowering *s, int op, struct range samples,
                                   int replica, int n_replicas);

/* The parts that `a` or `b` has; cached too. */
const struct op_parts *hp_either_parts(struct lowering *s, const struct op_parts *a,
                                       const struct op_parts *b);

int hp_pattern_class(struct lowering *s, const struct exchange *exchange);

/* The pattern of an exchange between operators with these `parts` (by op); cached. */
enum hypar_status hp_pattern_of(struct lowering *s, const struct exchange *exchange,
                                const struct op_parts *const *parts,
                                const struct pattern **out);

/* The same for a pattern that is needed once: it is not cached, only its shape is. The rest is
 * taken from `arena`. */
enum hypar_status hp_pattern_once(struct lowering *s, const struct exchange *exchange,
                                  const struct op_parts *const *parts, struct arena *arena,
                                  const struct pattern **out);

/* Does `part` add the term that a pass adds after partial sums (a bias)? */
bool hp_adds_after(const struct op_parts *parts, int pass, int part);

/* The passes that read a value first, and therefore wait for the value: forward passes if there
 * are any, else repeated ones. */
struct some_passes hp_first_reads(const struct hypar_graph *graph, const struct reader *r);

/* Which passes are repeated, and where (recompute.c). */
void hp_find_recomputed(struct lowering *s);

/* Does a pass of `op` in the backward half read the repeated value of `tensor`? It reads the
 * first value if that came from another stage, or if the value is sent again and `op` runs
 * where it was computed. */
bool hp_reads_again(const struct lowering *s, int op, int tensor);

/* Values that a pass of an operator reads. A framework that runs operator by operator gathers
 * all parameters of a layer for its backward half: there, the first backward pass reads those
 * that are divided, whether it computes with them or not. */
operand_set hp_values_read(const struct lowering *s, int op, int pass);

/* The operands whose values and gradients a pass reads and writes. */
struct pass_operands {
    operand_set reads, reads_grad, writes, writes_grad;
};
struct pass_operands hp_pass_operands(const struct lowering *s, const struct op_pass *op_pass);

/* The place that a pass reads or writes as operand `o`. */
struct place hp_operand_place(const struct lowering *s, const struct op_pass *op_pass, int o,
                              bool grad, bool written);

/* HYPAR_INFEASIBLE: an operator is to send its output again, but the parts of the output have
 * to be summed. */
enum hypar_status hp_check_resend(const struct hypar_plan *plan, struct hypar_error *err);

/* The same for one operator under a given split. */
enum hypar_status hp_check_resend_op(const struct hypar_plan *plan, int op,
                                     const struct split *split, struct hypar_error *err);

/* The comms of the tail in buckets. Comm c of exchange x of the tail has number base[x] + c.
 * lead[]: the first comm of its bucket, -1: the comm is sent alone; next[]: the next comm of
 * the bucket, -1; exchange[]: the exchange x; bytes[]: of first comms, all bytes of the
 * bucket. */
struct buckets {
    int *base, *lead, *next, *exchange;
    double *bytes;
};
struct buckets hp_find_buckets(const struct lowering *s, struct arena *arena);

/* The number of pass `pass` of an operator in a visit; -1: the pass is not done, or is in a
 * slot of its own (separate gradients). */
static inline int hp_visit_pass(const struct training_graph *k, const struct visit *visit,
                                const struct nest *nest, int pass)
{
    if (nest->pass[pass].backward != (visit->backward && !visit->again))
        return -1;
    int op_pass = (visit->again ? k->again_of : k->op_pass_of)[visit->op][pass];
    return op_pass >= 0 && k->op_pass[op_pass].phase == PHASE_GRADIENT ? -1 : op_pass;
}

/* Does the order of slots constrain tasks beyond their edges? */
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

/* The action in which `device` takes part in a comm of a body's exchange: the action of its
 * last pass that contributes to the comm. If none contributes: the action of the first stage in
 * which the device reads the result, or, if it sums contributions of others there, of their
 * stage. */
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
