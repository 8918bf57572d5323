#include "tests/check_program.h"

#include "program/blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t device_set;

/* Parts that write the same: copies of one partial result. */
struct result {
    int op, pass, operand, class;
    struct box box;
    device_set devices;
};

/* One exchange, as the tasks of its list say it should be. */
struct expected {
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    const struct exchange *exchange;
    const struct pattern *pattern;
    struct arena arena;
    int replica; /* that runs the body at hand */
    struct box whole;
    device_set *readers; /* by element */
    device_set *early;   /* by element: those of the first stage that reads it */
    int *stage;          /* ... and that stage, plus 1 */
    device_set *holders; /* by element of a parameter: who has it in any body */
    device_set *arrived; /* by element of a parameter that is gathered: who has it then */
    int *cell;           /* by element, -1 */
    struct result *result;
    int n_results, capacity;
};

static int count(device_set set)
{
    int n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

/* Call `visit` with the number of each element of `box`. */
static void each_element(struct expected *x, const struct box *box,
                         void (*visit)(struct expected *x, int64_t element, void *with),
                         void *with)
{
    int64_t index[MAX_DIMS] = { 0 };
    for (int d = 0; d < box->n_dims; d++)
        index[d] = box->dim[d].lo;
    for (int64_t left = hp_box_elements(box); left > 0; left--) {
        int64_t at = 0;
        for (int d = 0; d < box->n_dims; d++)
            at = at * x->whole.dim[d].hi + index[d];
        visit(x, at, with);
        for (int d = box->n_dims - 1; d >= 0 && ++index[d] == box->dim[d].hi; d--)
            index[d] = box->dim[d].lo;
    }
}

static void add_reader(struct expected *x, int64_t element, void *with)
{
    const struct task *task = with;
    const struct lowering *s = x->program->lowering;
    enum tensor_kind kind = x->graph->tensors[x->exchange->place.tensor].kind;
    int stage = 1;
    if (kind != TENSOR_PARAM)
        stage += s->schedule.stage_of_op[s->training.op_pass[task->index].op];
    x->readers[element] |= (device_set)1 << task->device;
    if (x->stage[element] && stage > x->stage[element])
        return;
    if (stage < x->stage[element] || !x->stage[element])
        x->early[element] = 0;
    x->stage[element] = stage;
    x->early[element] |= (device_set)1 << task->device;
}

/* Who writes and who reads --------------------------------------------------------- */

/* The coordinates of a part without those along which it would write the same. */
static int class_of(const struct expected *x, const struct op_pass *op_pass, int part, int o)
{
    const struct nest *nest = x->graph->ops[op_pass->op].nest;
    const struct split *split = &x->program->plan->ops[op_pass->op].split;
    int coordinate[MAX_AXES], class = x->replica; /* replicas are no copies */
    hp_part_coordinates(nest, split, part, coordinate);
    for (int a = 0; a < nest->n_axes; a++) {
        bool copy = hp_write_kind(nest, op_pass->pass, o, a) == WRITE_COPY;
        class =
            class * (split->degree[a] > 1 ? split->degree[a] : 1) + (copy ? 0 : coordinate[a]);
    }
    return class;
}

static void add_result(struct expected *x, const struct op_pass *op_pass, int part, int device,
                       int o, struct box box)
{
    struct result new = {
        op_pass->op, op_pass->pass, o, class_of(x, op_pass, part, o), box, 0
    };
    struct result *r = NULL;
    for (int i = 0; i < x->n_results && !r; i++)
        if (x->result[i].op == new.op && x->result[i].pass == new.pass &&
            x->result[i].operand == o && x->result[i].class == new.class)
            r = &x->result[i];
    if (!r) {
        x->result = GROW(&x->arena, struct result, x->result, x->n_results, &x->capacity);
        r = &x->result[x->n_results++];
        *r = new;
    }
    r->devices |= (device_set)1 << device;
}

static bool has(operand_set set, int o)
{
    return set >> o & 1;
}

/* What a pass of a task has to do with the place. In the tail who reads a parameter reads its
 * gradient, and who writes the loss reads it. */
static void add_pass(struct expected *x, const struct task *task, const struct op_pass *op_pass,
                     int b, bool tail)
{
    const struct op *op = &x->graph->ops[op_pass->op];
    const struct pass *pass = &op->nest->pass[op_pass->pass];
    const struct op_parts *parts = x->program->lowering->body[b].parts[op_pass->op];
    struct range samples =
        hp_micro_samples(x->program, hp_first_micro(x->program->iteration, b));
    bool grad = x->exchange->place.grad, adds = hp_adds_after(parts, op_pass->pass, task->part);
    struct range range[MAX_AXES];
    hp_micro_ranges(x->graph, op_pass->op, &x->program->plan->ops[op_pass->op].split,
                    task->part, samples, range);
    for (int o = 0; o < op->nest->n_operands; o++) {
        if (op->tensor[o] != x->exchange->place.tensor)
            continue;
        const struct lowering *s = x->program->lowering;
        struct pass_operands all = hp_pass_operands(s, op_pass);
        bool again = x->exchange->place.again, loss = op->tensor[o] == x->graph->loss;
        bool writes = has(grad ? all.writes_grad : all.writes, o) &&
                      (tail || hp_operand_place(s, op_pass, o, grad, true).again == again);
        bool reads = has(grad && !tail ? all.reads_grad : all.reads, o) && !op_pass->resend &&
                     (adds || !has(pass->adds, o)) &&
                     (tail || hp_operand_place(s, op_pass, o, grad, false).again == again);
        struct box box = hp_region(op->nest, o, range);
        if (hp_box_empty(&box))
            continue;
        if (writes)
            add_result(x, op_pass, task->part, task->device, o, box);
        if (tail && loss ? writes : reads)
            each_element(x, &box, add_reader, (void *)task);
    }
}

/* All passes of a body's tasks. */
static void add_body(struct expected *x, int b, bool tail)
{
    const struct hypar_program *p = x->program;
    for (int t = p->first[b]; t < p->first[b + 1]; t++)
        for (int i = p->task[t].kind == TASK_COMPUTE ? p->task[t].index : -1; i >= 0;
             i = p->blocks->next[b][i])
            add_pass(x, &p->task[t], &p->lowering->training.op_pass[i], b, tail);
}

/* Counting ------------------------------------------------------------------------- */

struct cell_mark {
    int cell;
    bool twice;
};

static void mark_cell(struct expected *x, int64_t element, void *with)
{
    struct cell_mark *mark = with;
    mark->twice |= x->cell[element] >= 0;
    x->cell[element] = mark->cell;
}

static bool covers(const struct result *r, const struct box *whole, int64_t element)
{
    for (int d = whole->n_dims - 1; d >= 0; d--) {
        int64_t at = element % whole->dim[d].hi;
        element /= whole->dim[d].hi;
        if (at < r->box.dim[d].lo || at >= r->box.dim[d].hi)
            return false;
    }
    return true;
}

static device_set listed(const int *device, int n)
{
    device_set set = 0;
    for (int i = 0; i < n; i++)
        set |= (device_set)1 << device[i];
    return set;
}

static device_set contributors(const struct cell *cell)
{
    device_set set = 0;
    for (int i = 0; i < cell->n_contributions; i++)
        set |= (device_set)1 << cell->contribution[i].device;
    return set;
}

/* Those of a list of devices, ascending, that own a piece of what is divided by `each` of them.
 */
static device_set owners_of(device_set holders, int piece, int each)
{
    device_set owners = 0;
    for (int i = 0, n = 0; i < 64; i++)
        if (holders >> i & 1 && n++ % each == piece)
            owners |= (device_set)1 << i;
    return owners;
}

/* Holders that divide a cell among them. */
static int divided_by(const struct exchange *x, device_set holders)
{
    int n = count(holders);
    return x->over && n > 1 ? x->over : n;
}

/* How often one element is sent, by the rule; -1: the cell does not say what the tasks say. */
static double sends(const struct expected *x, int64_t element)
{
    device_set all = ~(device_set)0, readers = x->readers[element];
    int n = 0;
    for (int i = 0; i < x->n_results; i++)
        if (covers(&x->result[i], &x->whole, element)) {
            all &= x->result[i].devices;
            n++;
        }
    if (x->cell[element] < 0)
        return n && readers ? -1 : 0;
    const struct cell *cell = &x->pattern->cell[x->cell[element]];
    if (cell->n_contributions != n)
        return -1;
    if (x->exchange->division != DIVIDE_NOT && n && readers) {
        if (cell->pieces != divided_by(x->exchange, readers))
            return -1;
        readers = owners_of(readers, cell->piece, cell->pieces);
    }
    if (x->exchange->division == DIVIDE_OWNED && n && readers)
        return cell->comm >= 0 || listed(cell->kept, cell->n_kept) != readers ? -1 : 0;
    if (n == 0 || readers == 0)
        return cell->n_receivers || cell->comm >= 0 ? -1 : 0;
    device_set from = contributors(cell), receive = listed(cell->receiver, cell->n_receivers);
    device_set kept = listed(cell->kept, cell->n_kept);
    bool right = kept == (readers & all) && receive == (readers & ~all) &&
                 count(receive) == cell->n_receivers && (cell->comm >= 0) == (receive != 0);
    if (!right)
        return -1;
    if (all)
        return count(from) == 1 && (from & all) ? count(receive) : -1;
    device_set both = from & readers, owners = listed(cell->owner, cell->n_owners);
    device_set early = x->exchange->division == DIVIDE_NOT ? x->early[element] : readers;
    bool apart = x->exchange->division != DIVIDE_NOT && !both && count(readers) > 1;
    if (apart ? count(owners) != 1 || !(owners & from) : owners != (both ? both : early))
        return -1;
    return count(from) + count(readers) - (both ? 2 : 1);
}

/* The elements of a piece of a box, and how many are sent for it: even in number, or where the
 * framework says so in whole rows, padded to the first piece. */
static struct range piece_of(const struct expected *x, const struct cell *cell,
                             const struct box *box, int64_t *padded)
{
    int64_t n = hp_box_elements(box), rows = box->dim[0].hi - box->dim[0].lo, row = n / rows;
    struct range even = hp_even_part(n, cell->pieces, cell->piece);
    *padded = even.hi - even.lo;
    if (!x->program->plan->simulation.framework.row_shards || cell->pieces == 1)
        return even;
    int64_t most = rows / cell->pieces + (rows % cell->pieces > 0);
    int64_t first = most * cell->piece < rows ? most * cell->piece : rows;
    *padded = most * row;
    return (struct range){ first * row, (first + most < rows ? first + most : rows) * row };
}

/* Elements that pad the messages of a cell. */
static double padding_of(const struct cell *cell)
{
    return cell->comm < 0 ? 0 : (double)(cell->padded - cell->elements) * cell->sent;
}

static enum hypar_status check_sends(struct expected *x, struct hypar_error *err)
{
    const struct pattern *pattern = x->pattern;
    const char *name = x->graph->tensors[x->exchange->place.tensor].name;
    const char *what = x->exchange->place.grad ? "gradient of " : "";
    double must = 0, does = 0;
    for (int c = 0; c < pattern->n_cells; c++) {
        struct cell_mark mark = { c, false };
        struct box box = hp_cell_box(pattern, c), part[MAX_FLAT_BOXES];
        const struct cell *cell = &pattern->cell[c];
        int64_t padded;
        struct range own = piece_of(x, cell, &box, &padded);
        int n = hp_flat_boxes(&box, own.lo, own.hi, part);
        for (int i = 0; i < n; i++)
            each_element(x, &part[i], mark_cell, &mark);
        if (own.lo != cell->lo || own.hi != cell->lo + cell->elements || padded != cell->padded)
            return hp_fail(err, HYPAR_RUNTIME, "%s'%s': another piece", what, name);
        must += padding_of(cell);
        if (mark.twice)
            return hp_fail(err, HYPAR_RUNTIME, "%s'%s': cells overlap", what, name);
    }
    for (int64_t i = 0; i < hp_box_elements(&x->whole); i++) {
        double n = sends(x, i);
        if (n < 0)
            return hp_fail(err, HYPAR_RUNTIME,
                           "%s'%s': element %lld: its cell %d is not what the tasks say", what,
                           name, (long long)i, x->cell[i]);
        must += n;
    }
    for (int c = 0; c < pattern->n_comms; c++)
        does += pattern->comm[c].sent_elements;
    if (fabs(must - does) > 1e-9 * must)
        return hp_fail(err, HYPAR_RUNTIME, "%s'%s': %g elements are sent, expected %g", what,
                       name, does, must);
    return HYPAR_OK;
}

/* A piece of a parameter on its way from its owner. */
struct piece_mark {
    const struct cell *cell;
    int owner;
    bool wrong;
};

static void mark_arrived(struct expected *x, int64_t element, void *with)
{
    struct piece_mark *mark = with;
    const struct cell *cell = mark->cell;
    device_set holders = x->holders[element], readers = x->readers[element], group = 0;
    int each = divided_by(x->exchange, holders), place = 0;
    for (int i = 0; i < mark->owner; i++)
        place += (int)(holders >> i & 1);
    for (int piece = 0, first = place / each * each, i = 0, n = 0; i < 64; i++)
        if (holders >> i & 1 && n++ >= first && piece++ < each)
            group |= (device_set)1 << i;
    device_set owner = (device_set)1 << mark->owner;
    device_set to = listed(cell->receiver, cell->n_receivers);
    mark->wrong |= !(holders & owner) || place % each != cell->piece || cell->pieces != each ||
                   to != (group & readers & ~owner) || x->arrived[element] & (to | owner);
    x->arrived[element] |= to | owner;
}

/* Each piece comes from its owner to the members of the group that read it. */
static enum hypar_status check_gather(struct expected *x, struct hypar_error *err)
{
    const struct pattern *pattern = x->pattern;
    const char *name = x->graph->tensors[x->exchange->place.tensor].name;
    double must = 0, does = 0;
    bool wrong = false;
    for (int c = 0; c < pattern->n_cells; c++) {
        const struct cell *cell = &pattern->cell[c];
        struct piece_mark mark = { cell, cell->contribution[0].device, false };
        struct box box = hp_cell_box(pattern, c), part[MAX_FLAT_BOXES];
        int64_t padded;
        struct range own = piece_of(x, cell, &box, &padded);
        int n = hp_flat_boxes(&box, own.lo, own.hi, part);
        for (int i = 0; i < n; i++)
            each_element(x, &part[i], mark_arrived, &mark);
        wrong |= mark.wrong || cell->n_contributions != 1 || own.lo != cell->lo ||
                 own.hi != cell->lo + cell->elements || padded != cell->padded;
        must += padding_of(cell);
    }
    for (int64_t i = 0; i < hp_box_elements(&x->whole); i++) {
        device_set holders = x->holders[i];
        int groups = holders ? count(holders) / divided_by(x->exchange, holders) : 0;
        wrong |= x->readers[i] & ~x->arrived[i] || x->arrived[i] & ~holders;
        must += count(x->arrived[i]) - groups;
    }
    for (int c = 0; c < pattern->n_comms; c++)
        does += pattern->comm[c].sent_elements;
    if (wrong || fabs(must - does) > 1e-9 * must)
        return hp_fail(err, HYPAR_RUNTIME, "'%s': %g elements are gathered, expected %g%s",
                       name, does, must, wrong ? ", from others" : "");
    return HYPAR_OK;
}

/* Of the tail: where what is summed is computed. */
static int stage_of_exchange(const struct hypar_program *p, int d)
{
    const struct exchange *x = &p->lowering->training.exchange[d];
    return p->schedule->stage_of_op[x->n_holders ? x->holder[0].op : x->writer[0].op];
}

/* Who reads a parameter in any body. */
static device_set *find_holders(struct expected *x)
{
    device_set *readers = x->readers;
    device_set *holders = NEW(&x->arena, device_set, hp_box_elements(&x->whole));
    x->readers = holders;
    for (int b = 0; b < x->program->n_bodies; b++)
        add_body(x, b, true);
    x->readers = readers;
    x->n_results = 0;
    return holders;
}

/* The exchange of a body, or of the tail (b is n_bodies) in the update periods of one kind. */
static enum hypar_status check_exchange(const struct hypar_program *p, int exchange, int b,
                                        int kind, struct hypar_error *err)
{
    bool tail = b == p->n_bodies;
    struct expected x = { .program = p,
                          .graph = p->plan->graph,
                          .exchange = &p->lowering->training.exchange[exchange],
                          .pattern = hp_exchange_pattern(p->lowering, tail ? 0 : b, exchange) };
    const struct hypar_shape *shape = &x.graph->tensors[x.exchange->place.tensor].shape;
    x.whole.n_dims = shape->n_dims;
    for (int d = 0; d < shape->n_dims; d++)
        x.whole.dim[d] = (struct range){ 0, shape->dim[d] };
    int64_t n = hp_box_elements(&x.whole);
    x.readers = NEW(&x.arena, device_set, n);
    x.arrived = NEW(&x.arena, device_set, n);
    x.early = NEW(&x.arena, device_set, n);
    x.stage = NEW(&x.arena, int, n);
    x.holders = x.readers;
    x.cell = NEW(&x.arena, int, n);
    memset(x.cell, -1, (size_t)n * sizeof *x.cell);
    if (!tail && x.exchange->division != DIVIDE_NOT)
        x.holders = find_holders(&x);
    for (int i = tail ? 0 : b; i < (tail ? p->n_bodies : b + 1); i++) {
        int stage = tail ? stage_of_exchange(p, exchange) : 0;
        if (tail && hp_period_kind(p->iteration, hp_slot_group(p->iteration, stage), i) != kind)
            continue;
        x.replica = tail ? hp_replica_of(p->iteration, stage, i) : 0;
        add_body(&x, i, tail);
    }
    if (x.exchange->division == DIVIDE_SUM)
        x.readers = x.holders;
    enum hypar_status status =
        x.exchange->division == DIVIDE_GATHER ? check_gather(&x, err) : check_sends(&x, err);
    hp_arena_free(&x.arena);
    return status;
}

/* The norm of gradients: each element of each is one device's, which has all of its sum; the
 * sums of these devices come together as those of any tensor of one element. */
static enum hypar_status check_norm(const struct hypar_program *p, struct hypar_error *err)
{
    const struct training_graph *k = &p->lowering->training;
    const struct pattern *norm = hp_exchange_pattern(p->lowering, 0, k->norm);
    device_set all = 0, updates = 0;
    for (int d = k->n_exchanges; d < k->norm; d++) {
        const struct pattern *g = hp_exchange_pattern(p->lowering, 0, d);
        for (int c = 0; k->exchange[d].place.grad && c < g->n_cells; c++) {
            const struct cell *cell = &g->cell[c];
            device_set has =
                listed(cell->kept, cell->n_kept) | listed(cell->receiver, cell->n_receivers);
            int64_t elements = 0;
            for (int i = 0; i < 64; i++) {
                struct range share = hp_norm_share(cell, i);
                elements += share.hi - share.lo;
                if (share.hi > share.lo && !(has >> i & 1))
                    return hp_fail(err, HYPAR_RUNTIME, "device %d squares what it has not", i);
            }
            if (elements != (has ? cell->elements : 0))
                return hp_fail(err, HYPAR_RUNTIME, "of %lld elements %lld are squared",
                               (long long)cell->elements, (long long)elements);
            updates |= has;
        }
    }
    int n = count(updates);
    if (n == 0 && norm->n_comms == 0) /* no parameter is anywhere */
        return HYPAR_OK;
    all = contributors(norm->cell);
    double sent = norm->n_comms ? norm->comm[0].sent_elements : 0;
    if (all != updates || norm->n_cells != 1 || norm->n_comms > 1 || sent != 2 * (n - 1))
        return hp_fail(err, HYPAR_RUNTIME, "the norm of %d devices takes %g elements", n, sent);
    return HYPAR_OK;
}

/* Edges and totals ----------------------------------------------------------------- */

/* Tasks stand in an order in which they could run, so there is no cycle; a body's wait for its
 * own. */
static enum hypar_status check_edges(const struct hypar_program *p, struct hypar_error *err)
{
    for (int t = 0; t < p->n_tasks; t++) {
        int b = hp_task_body(p, t), first = b == p->n_bodies ? 0 : p->first[b];
        for (int64_t i = p->after_start[t]; i < p->after_start[t + 1]; i++)
            if (p->after[i] < first || p->after[i] >= t)
                return hp_fail(err, HYPAR_RUNTIME,
                               "task %d waits for %d, which comes later or is of another body",
                               t, p->after[i]);
    }
    return HYPAR_OK;
}

static enum hypar_status check_totals(const struct hypar_program *p, struct hypar_error *err)
{
    struct hypar_program_totals totals = hypar_program_totals(p);
    int n = hypar_machine_device_count(p->plan->machine);
    double by_op = 0, by_pair = 0, pair[64 * 64];
    struct arena arena = { 0 };
    double *op_bytes = NEW(&arena, double, p->plan->graph->n_ops);
    hypar_program_op_bytes(p, op_bytes);
    for (int op = 0; op < p->plan->graph->n_ops; op++)
        by_op += op_bytes[op];
    hp_arena_free(&arena);
    hypar_program_pair_bytes(p, 1, pair);
    for (int i = 0; i < n * n; i++) {
        by_pair += pair[i];
        if (i % (n + 1) == 0 && pair[i] != 0)
            return hp_fail(err, HYPAR_RUNTIME, "device %d sends to itself", i / n);
    }
    double parts = totals.forward_bytes + totals.backward_bytes + totals.gradient_bytes +
                   totals.loss_bytes + totals.parameter_bytes;
    double slack = 1e-9 * totals.comm_bytes;
    if (fabs(by_op - totals.comm_bytes) > slack || fabs(by_pair - totals.comm_bytes) > slack ||
        fabs(parts - totals.comm_bytes) > slack)
        return hp_fail(err, HYPAR_RUNTIME,
                       "%g bytes in all, but %g by operator, %g by pair, %g by phase",
                       totals.comm_bytes, by_op, by_pair, parts);
    if (totals.compute + totals.comm + totals.update != totals.tasks)
        return hp_fail(err, HYPAR_RUNTIME, "the numbers of tasks do not add up");
    return HYPAR_OK;
}

enum hypar_status check_program(const struct hypar_program *p, struct hypar_error *err)
{
    const struct training_graph *k = &p->lowering->training;
    TRY(check_edges(p, err));
    for (int b = 0; b < p->n_bodies; b++)
        for (int d = 0; d < k->n_exchanges; d++)
            if (!k->exchange[d].private)
                TRY(check_exchange(p, d, b, 0, err));
    if (k->norm >= 0)
        TRY(check_norm(p, err));
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++) {
        if (d == k->norm)
            continue;
        int group = hp_slot_group(p->iteration, stage_of_exchange(p, d));
        for (int kind = 0; kind < hp_period_kinds(p->iteration, group); kind++)
            TRY(check_exchange(p, d, p->n_bodies, kind, err));
    }
    return check_totals(p, err);
}
