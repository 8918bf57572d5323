/* The arrays that devices need for the operands of their tasks, and how long they last. */
#include "program/memory/buffers.h"

#include <limits.h>
#include <string.h>

/* Boxes ------------------------------------------------------------------------------ */

static struct box around(const struct box *a, const struct box *b)
{
    struct box out = *a;
    for (int d = 0; d < a->n_dims; d++) {
        out.dim[d].lo = b->dim[d].lo < a->dim[d].lo ? b->dim[d].lo : a->dim[d].lo;
        out.dim[d].hi = b->dim[d].hi > a->dim[d].hi ? b->dim[d].hi : a->dim[d].hi;
    }
    return out;
}

/* The finder's boxes are empty: one array for all devices, of which there may be many. */
static struct boxes *no_boxes(struct buffer_finder *f)
{
    f->boxes.n = 0;
    return &f->boxes;
}

static void add_box(struct buffer_finder *f, struct box box)
{
    struct boxes *s = &f->boxes;
    for (int i = 0; i < s->n; i++) {
        struct box both = hp_box_intersect(&s->box[i], &box);
        if (hp_box_empty(&both))
            continue;
        if (hp_box_contains(&s->box[i], &box))
            return;
        box = around(&box, &s->box[i]); /* which may overlap with others */
        s->box[i] = s->box[--s->n];
        i = -1;
    }
    s->box = GROW(&f->arena, struct box, s->box, s->n, &s->capacity);
    s->box[s->n++] = box;
}

/* Accesses --------------------------------------------------------------------------- */

/* The box of one operand that the passes of a part touch in one half. */
struct access {
    struct box box;
    bool backward;
    int stage;
    bool gradient;    /* some of the passes are apart from the backward half */
    int first, last;  /* pass; with those that are one with it */
    int first_writes; /* INT_MAX: none */
    int next;         /* of the same device, -1 */
};

/* A device that touches the place. */
struct holder {
    int device;
    int access;   /* the latest, -1 */
    int first, n; /* its buffers */
};

bool hp_is_looked_at(const struct buffer_finder *f, int device)
{
    return f->only < 0 ? !f->some || f->some[device] : f->only == device;
}

static struct holder *holder_on(struct buffer_finder *f, int device)
{
    if (f->holder_of[device] < 0) {
        f->holder =
            GROW(&f->arena, struct holder, f->holder, f->n_holders, &f->holder_capacity);
        f->holder[f->n_holders] = (struct holder){ .device = device, .access = -1 };
        f->holder_of[device] = f->n_holders++;
    }
    return &f->holder[f->holder_of[device]];
}

static void add_access(struct buffer_finder *f, int device, struct access new)
{
    struct holder *h = holder_on(f, device);
    new.next = h->access;
    f->access = GROW(&f->arena, struct access, f->access, f->n_accesses, &f->access_capacity);
    h->access = f->n_accesses;
    f->access[f->n_accesses++] = new;
}

/* The operand of the place whose buffers are found, or of a tensor that is held as the same. */
struct operand_use {
    int op, operand;
    struct place place;
    bool lasts;
    bool running;  /* running statistics of batch norm, which the forward half reads */
    bool handed;   /* the passes read the place and write a new tensor */
    int n;         /* passes that touch it */
    bool adds;     /* some of these passes add to it */
    struct touch { /* ... and each of them */
        const struct op_pass *at;
        bool adds, writes;
    } touch[2 * MAX_PASSES];
};

/* The gradient of the loss is one; a gradient that nobody computes counts as zero. A view
 * writes nothing where its input is. */
static void add_touch(const struct buffer_finder *f, struct operand_use *u,
                      const struct op_pass *at)
{
    const struct nest *nest = f->graph->ops[u->op].nest;
    const struct lowering *s = f->program->lowering;
    struct pass_operands pass = hp_pass_operands(s, at);
    operand_set bit = (operand_set)1 << u->operand;
    int t = u->place.tensor;
    bool grad = u->place.grad, again = u->place.again;
    bool reads = (grad ? pass.reads_grad : pass.reads) & bit &&
                 hp_operand_place(s, at, u->operand, grad, false).again == again;
    bool writes = (grad ? pass.writes_grad : pass.writes) & bit &&
                  hp_operand_place(s, at, u->operand, grad, true).again == again;
    if (grad) {
        reads &= f->exchange_of[hp_place_index(u->place)] >= 0;
        writes &= f->graph->tensors[t].needs_grad;
    }
    if ((!reads && !writes) || (grad && t == f->graph->loss) ||
        (u->running && (!reads || at->backward)))
        return;
    const int *tensor = f->graph->ops[u->op].tensor,
              *as = f->held.tensor[hp_place_kind(u->place)];
    bool view = (hp_is_view(nest) || nest->kind == OP_SLICE) && as[tensor[0]] == as[tensor[1]];
    bool adds = !grad && !writes && !at->resend && nest->pass[at->pass].adds & bit;
    u->touch[u->n++] = (struct touch){ at, adds, writes && !view && !u->handed };
    u->adds |= adds;
}

/* The box of an operand of a part. If samples index a model input without samples,
 * micro-batches read one piece of the input after another: the box is the whole input. */
static struct box box_of(const struct hypar_graph *g, const struct operand_use *u,
                         const struct range *part)
{
    const struct tensor *t = &g->tensors[u->place.tensor];
    const struct nest *nest = g->ops[u->op].nest;
    if (t->kind != TENSOR_INPUT || t->sample_dim >= 0)
        return hp_region(nest, u->operand, part);
    struct range range[MAX_AXES];
    for (int a = 0; a < nest->n_axes; a++) {
        bool all = nest->axis[a].role == HYPAR_SAMPLE && !hp_range_empty(part[a]);
        range[a] = all ? (struct range){ 0, nest->axis[a].extent } : part[a];
    }
    return hp_region(nest, u->operand, range);
}

/* A bias is read by those parts that add it. */
static bool touches(const struct touch *t, const struct op_parts *l, int part)
{
    return !t->adds || hp_adds_after(l, t->at->pass, part);
}

int hp_node_number(const struct buffer_finder *f, const struct body_passes *p,
                   const struct op_pass *at, int part)
{
    const struct op_parts *l = f->program->lowering->body[p->body].parts[at->op];
    const struct training_graph *k = &f->program->lowering->training;
    int least = hp_pass_number(&p->order, l, (int)(at - k->op_pass), part);
    for (int i = 0; f->nodes && at->backward && !at->again && i < l->nest->n_passes; i++) {
        int other = hp_op_pass(k, at->op, i, false);
        if (other < 0 || !k->op_pass[other].backward || k->op_pass[other].phase != at->phase)
            continue;
        int number = hp_pass_number(&p->order, l, other, part);
        least = number < least ? number : least;
    }
    return least;
}

static void note_part(struct buffer_finder *f, int body, const struct operand_use *u, int part)
{
    const struct body_passes *passes = &f->body[body];
    const struct op_parts *l = f->program->lowering->body[body].parts[u->op];
    struct access half[2] = { { .first = INT_MAX, .first_writes = INT_MAX, .last = -1 },
                              { .first = INT_MAX, .first_writes = INT_MAX, .last = -1 } };
    for (int i = 0; i < u->n; i++) {
        const struct touch *t = &u->touch[i];
        if (u->adds && !touches(t, l, part))
            continue;
        struct access *a = &half[!u->lasts && t->at->backward];
        int number = u->lasts ? 0 : hp_node_number(f, passes, t->at, part);
        int first = u->lasts ? 0 : passes->first[number],
            last = u->lasts ? 0 : passes->last[number];
        a->gradient |= !u->lasts && t->at->phase == PHASE_GRADIENT;
        a->first = first < a->first ? first : a->first;
        a->last = last > a->last ? last : a->last;
        if (t->writes && first < a->first_writes)
            a->first_writes = first;
    }
    if (half[0].last < 0 && half[1].last < 0)
        return;
    struct box box = box_of(f->graph, u, l->range + part * l->nest->n_axes);
    box = hp_held_box(f->graph, &f->held, u->place, box);
    for (int h = 0; h < 2 && !hp_box_empty(&box); h++)
        if (half[h].last >= 0) {
            half[h].box = box;
            half[h].backward = h;
            half[h].stage = f->program->schedule->stage_of_op[u->op];
            add_access(f, l->device[part], half[h]);
        }
}

static void note_operand(struct buffer_finder *f, int body, struct operand_use *u)
{
    const struct op_parts *l = f->program->lowering->body[body].parts[u->op];
    const struct training_graph *k = &f->program->lowering->training;
    u->n = 0;
    u->adds = false;
    for (int p = 0; p < 2 * l->nest->n_passes; p++) {
        int op_pass = hp_op_pass(k, u->op, p / 2, p % 2);
        if (op_pass >= 0)
            add_touch(f, u, &k->op_pass[op_pass]);
    }
    for (int part = 0; u->n && part < l->n_parts; part++)
        if (!l->empty[part] && hp_is_looked_at(f, l->device[part]))
            note_part(f, body, u, part);
}

/* Are the errors of two tensors as wide? Else an error is converted, and not handed on. */
static bool as_wide(const struct buffer_finder *f, int a, int b)
{
    const struct hypar_plan *plan = f->program->plan;
    return hp_held_bytes(plan, (struct place){ .tensor = a, .grad = true }) ==
           hp_held_bytes(plan, (struct place){ .tensor = b, .grad = true });
}

/* The addition that hands an error on, of what is not sent between devices; -1. */
static int handed_by(const struct buffer_finder *f, int body, struct place place)
{
    int op = f->nodes && place.grad ? hp_handed_by(f->graph, &f->held, place.tensor) : -1;
    if (op >= 0 && !as_wide(f, place.tensor, f->graph->ops[op].tensor[2]))
        return -1;
    int e = op < 0 ? -1 : f->exchange_of[hp_place_index(place)];
    bool sent = e >= 0 && hp_exchange_pattern(f->program->lowering, body, e)->n_comms > 0;
    return sent ? -1 : op;
}

static void note_place(struct buffer_finder *f, int body, struct place place, bool lasts);

/* The errors of a sum's inputs are the error of its output, until another operator computes
 * them too. That operator reads the error and writes the sum of both. */
static void note_handed(struct buffer_finder *f, int body, int sum)
{
    const struct hypar_graph *g = f->graph;
    int op = g->tensors[sum].producer;
    for (int o = 0; op >= 0 && g->ops[op].kind == OP_ADD && o < 2; o++) {
        struct place error = { .tensor = g->ops[op].tensor[o], .grad = true };
        int second = hp_second_error(g, error.tensor);
        if (handed_by(f, body, error) != op)
            continue;
        if (second < 0)
            note_place(f, body, error, false);
        else
            note_operand(f, body,
                         &(struct operand_use){ .op = g->use[second].op,
                                                .operand = g->use[second].operand,
                                                .place = error,
                                                .handed = true });
    }
}

/* All passes of a body that touch the place, under any of its names. */
static void note_place(struct buffer_finder *f, int body, struct place place, bool lasts)
{
    const struct hypar_graph *g = f->graph;
    int handed = lasts ? -1 : handed_by(f, body, place);
    for (int t = place.tensor; t >= 0; t = f->held.next[hp_place_kind(place)][t]) {
        struct operand_use use = { .op = g->tensors[t].producer,
                                   .place = { t, place.grad, place.again },
                                   .lasts = lasts };
        use.running = lasts && !hp_place_lasts(g, f->program->iteration->forward, place);
        for (int o = 0; use.op >= 0 && o < g->ops[use.op].nest->n_operands; o++)
            if (o >= g->ops[use.op].nest->n_inputs && g->ops[use.op].tensor[o] == t) {
                use.operand = o;
                note_operand(f, body, &use);
            }
        for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++) {
            use.op = g->use[u].op;
            use.operand = g->use[u].operand;
            if (use.op != handed)
                note_operand(f, body, &use);
        }
        if (f->nodes && place.grad && !lasts)
            note_handed(f, body, t);
    }
}

/* Buffers ---------------------------------------------------------------------------- */

static void add_buffer(struct buffer_finder *f, struct holder *h, const struct buffer *new)
{
    f->buffer = GROW(&f->arena, struct buffer, f->buffer, f->n, &f->capacity);
    f->buffer[f->n++] = *new;
    h->n++;
}

static struct buffer *buffer_around(const struct buffer_finder *f, const struct holder *h,
                                    const struct box *box)
{
    for (int i = h->first; i < h->first + h->n; i++)
        if (hp_box_contains(&f->buffer[i].box, box))
            return &f->buffer[i];
    return NULL;
}

/* In which half does what a device holds begin: that of its exchange, of a model input that of
 * its first reader. */
static bool begins_backward(const struct buffer_finder *f, const struct holder *h,
                            struct place place)
{
    int e = f->exchange_of[hp_place_index(place)];
    if (e >= 0)
        return f->program->lowering->training.exchange[e].backward;
    for (int i = h->access; i >= 0; i = f->access[i].next)
        if (!f->access[i].backward)
            return false;
    return true;
}

/* Do all accesses of a device touch the same? */
static bool is_one_box(const struct buffer_finder *f, const struct holder *h)
{
    const struct box *first = &f->access[h->access].box;
    for (int i = f->access[h->access].next; i >= 0; i = f->access[i].next)
        for (int d = 0; d < first->n_dims; d++)
            if (f->access[i].box.dim[d].lo != first->dim[d].lo ||
                f->access[i].box.dim[d].hi != first->dim[d].hi)
                return false;
    return true;
}

/* A buffer for each box that the first half uses, and one for what the backward half reads
 * inside such a box. */
static void make_buffers(struct buffer_finder *f, struct holder *h, struct place place)
{
    const struct boxes *boxes = no_boxes(f);
    bool backward = begins_backward(f, h, place), changed = !is_one_box(f, h);
    if (!changed)
        add_box(f, f->access[h->access].box);
    for (int i = h->access; changed && i >= 0; i = f->access[i].next)
        if (f->access[i].backward == backward)
            add_box(f, f->access[i].box);
    while (changed) {
        changed = false;
        for (int i = h->access; i >= 0; i = f->access[i].next) {
            bool inside = false;
            for (int k = 0; k < boxes->n; k++)
                inside |= hp_box_contains(&boxes->box[k], &f->access[i].box);
            if (!inside)
                add_box(f, f->access[i].box);
            changed |= !inside;
        }
    }
    h->first = f->n;
    for (int k = 0; k < boxes->n; k++)
        add_buffer(f, h,
                   &(struct buffer){ .place = place,
                                     .box = boxes->box[k],
                                     .device = h->device,
                                     .backward = backward,
                                     .begin = INT_MAX,
                                     .end = -1,
                                     .copied = -1,
                                     .arrives = -1 });
}

/* Lifetimes -------------------------------------------------------------------------- */

static void begin_by(struct buffer *b, int number)
{
    b->begin = number < b->begin ? number : b->begin;
}

static void end_by(struct buffer *b, int number)
{
    b->end = number > b->end ? number : b->end;
}

/* A comm as one of its devices does it. */
struct comm_part {
    const struct body_passes *passes;
    int device, action;
    int next;      /* the device's first pass after it in that action, -1 */
    bool backward; /* its exchange is */
    bool within;   /* all devices do it in the same slot */
};

static struct buffer *exchanged_buffer(const struct buffer_finder *f, const struct comm_part *c,
                                       const struct box *box)
{
    int holder = f->holder_of[c->device];
    struct buffer *b = holder < 0 ? NULL : buffer_around(f, &f->holder[holder], box);
    if (b)
        b->exchanged = true;
    return b;
}

static void note_received(const struct buffer_finder *f, const struct comm_part *c,
                          const struct box *box)
{
    struct buffer *b = exchanged_buffer(f, c, box);
    if (b)
        b->received |= !c->within;
    if (b && c->next >= 0)
        begin_by(b, c->passes->first[c->next]);
    else if (b && (b->arrives < 0 || c->action < b->arrives))
        b->arrives = c->action;
}

static void note_sent(const struct buffer_finder *f, const struct comm_part *c,
                      const struct box *box)
{
    struct buffer *b = exchanged_buffer(f, c, box);
    if (!b)
        return;
    if (c->within && c->next >= 0) {
        end_by(b, c->passes->last[c->next]);
        return;
    }
    bool over = c->backward || f->program->iteration->forward;
    bool first = !b->held_past_slot && !b->held_until_action;
    *(over ? &b->held_past_slot : &b->held_until_action) = f->in_order;
    if (first || (over ? c->action > b->last : c->action < b->last))
        b->last = c->action;
}

/* By device of a comm: how it does it. */
static struct comm_part *comm_parts(struct buffer_finder *f, const struct body_passes *p,
                                    int exchange, int number, const struct comm *comm)
{
    const struct lowering *s = f->program->lowering;
    struct comm_part *part = NEW(&f->scratch, struct comm_part, comm->n_devices);
    bool within = true;
    for (int i = 0; i < comm->n_devices; i++) {
        int device = comm->device[i];
        int action = hp_comm_action(s, p->body, exchange, number, device);
        part[i] = (struct comm_part){ .passes = p,
                                      .device = device,
                                      .action = action,
                                      .backward = s->training.exchange[exchange].backward };
        within &= action == part[0].action &&
                  s->schedule.list_of[device] == s->schedule.list_of[comm->device[0]];
        if (f->holder_of[device] >= 0)
            part[i].next = hp_next_pass(p, device, hp_pass_after(p, action, exchange), action);
    }
    for (int i = 0; i < comm->n_devices; i++)
        part[i].within = within;
    return part;
}

static void note_comm(struct buffer_finder *f, const struct body_passes *p, int exchange,
                      const struct pattern *pattern, int number)
{
    const struct comm *comm = &pattern->comm[number];
    const struct exchange *x = &f->program->lowering->training.exchange[exchange];
    struct place place = x->place;
    enum division division = x->division;
    struct arena_mark mark = hp_arena_mark(&f->scratch);
    const struct comm_part *part = comm_parts(f, p, exchange, number, comm);
    struct box before = { .n_dims = -1 };
    for (int i = 0; i < comm->n_cells; i++) {
        const struct cell *cell = &pattern->cell[comm->cell[i]];
        struct box box = hp_cell_box(pattern, comm->cell[i]);
        if (division != DIVIDE_NOT && before.n_dims >= 0 && hp_box_equal(&before, &box))
            continue; /* another piece of it, in the same buffers */
        before = box;
        box = hp_held_box(f->graph, &f->held, place, box);
        for (int k = 0; division == DIVIDE_GATHER && k < comm->n_devices; k++)
            note_received(f, &part[k], &box);
        if (division == DIVIDE_GATHER)
            continue;
        for (int k = 0; k < cell->n_contributions; k++)
            note_sent(f, &part[hp_comm_index(comm, cell->contribution[k].device)], &box);
        if (division == DIVIDE_SUM)
            continue; /* it is added to what its owners have */
        for (int k = 0; k < cell->n_owners; k++) {
            note_received(f, &part[hp_comm_index(comm, cell->owner[k])], &box);
            note_sent(f, &part[hp_comm_index(comm, cell->owner[k])], &box);
        }
        for (int k = 0; k < cell->n_receivers; k++)
            note_received(f, &part[hp_comm_index(comm, cell->receiver[k])], &box);
    }
    hp_arena_release(&f->scratch, mark);
}

/* The exchanges of a place, under any of its names. */
static void note_comms(struct buffer_finder *f, int body, struct place place)
{
    const struct body_passes *p = &f->body[body];
    for (int t = place.tensor; t >= 0; t = f->held.next[hp_place_kind(place)][t]) {
        int e = f->exchange_of[hp_place_index((struct place){ t, place.grad, place.again })];
        if (e < 0)
            continue;
        const struct pattern *pattern = hp_exchange_pattern(f->program->lowering, body, e);
        for (int c = 0; c < pattern->n_comms; c++)
            note_comm(f, p, e, pattern, c);
    }
}

/* Elements of a buffer that the backward half reads, as disjoint boxes. */
static const struct boxes *find_kept(struct buffer_finder *f, const struct holder *h,
                                     const struct buffer *b)
{
    const struct boxes *kept = no_boxes(f);
    for (int i = h->access; i >= 0; i = f->access[i].next)
        if (f->access[i].backward && !b->backward &&
            hp_box_contains(&b->box, &f->access[i].box))
            add_box(f, f->access[i].box);
    return kept;
}

/* Passes that touch the buffer, in the half that it begins in (or, `kept`, in the backward
 * half). */
static void note_passes(const struct buffer_finder *f, const struct holder *h, struct buffer *b,
                        bool kept)
{
    int first_write = INT_MAX, first = INT_MAX;
    for (int i = h->access; i >= 0; i = f->access[i].next) {
        const struct access *a = &f->access[i];
        if (a->backward != (kept || b->backward) || !hp_box_contains(&b->box, &a->box))
            continue;
        end_by(b, a->last);
        first = a->first < first ? a->first : first;
        first_write = a->first_writes < first_write ? a->first_writes : first_write;
    }
    if (kept)
        return;
    bool input = f->graph->tensors[b->place.tensor].kind == TENSOR_INPUT && !b->place.grad;
    if (first_write < INT_MAX)
        begin_by(b, first_write);
    if (first < INT_MAX && (input || b->begin == INT_MAX)) /* filled, or zero, for a reader */
        begin_by(b, first);
}

static int64_t all_elements(const struct boxes *boxes)
{
    int64_t n = 0;
    for (int i = 0; i < boxes->n; i++)
        n += hp_box_elements(&boxes->box[i]);
    return n;
}

/* The halves whose accesses go to the buffer itself. The other half uses a copy of the buffer,
 * or the buffer that this one is a copy of. */
enum accessed { ACCESSED_IN_BOTH, ACCESSED_FORWARD, ACCESSED_BACKWARD };

/* Do passes of several stages touch the buffer, some of them apart from the backward half, so
 * that it is not known which comes last? */
static bool rests(const struct buffer_finder *f, const struct holder *h, const struct buffer *b,
                  enum accessed when)
{
    const struct schedule *s = f->program->schedule;
    int stage = -1;
    bool several = false, gradient = false;
    if (!hp_is_loose(s, hp_slots_of(s, h->device)))
        return false;
    for (int i = h->access; i >= 0; i = f->access[i].next) {
        const struct access *a = &f->access[i];
        if (!hp_box_contains(&b->box, &a->box) ||
            when == (a->backward ? ACCESSED_FORWARD : ACCESSED_BACKWARD))
            continue;
        several |= stage >= 0 && stage != a->stage;
        gradient |= a->gradient;
        stage = a->stage;
    }
    if (b->held_past_slot && stage >= 0)
        several |= stage != hp_action_stage(s, b->last);
    return several && gradient;
}

/* The last pass of a device in an action; -1: it has none. */
static int last_of(const struct body_passes *p, int device, int action)
{
    int last = -1;
    for (int i = p->start[device]; i < p->start[device + 1]; i++)
        if (hp_action_at(p, p->number[i]) == action)
            last = p->number[i];
    return last;
}

/* The last pass of the backward half that answers a message of the buffer; -1: there is none.
 * PyTorch's stages keep what they sent until this half is over. */
static int sender_end(const struct buffer_finder *f, const struct body_passes *p,
                      const struct buffer *b)
{
    const struct schedule *s = f->program->schedule;
    return last_of(p, b->device, hp_action(s, hp_action_stage(s, b->last), PHASE_BACKWARD));
}

/* The actions that a buffer begins and ends in. */
static void find_actions(const struct buffer_finder *f, const struct body_passes *p,
                         const struct holder *h, struct buffer *b, enum accessed when)
{
    const struct schedule *s = f->program->schedule;
    int begin = b->begin == INT_MAX ? INT_MAX : hp_action_at(p, b->begin);
    if (b->begin == INT_MAX || (b->arrives >= 0 && b->arrives < begin)) {
        b->begin = -1;
        begin = b->arrives >= 0 ? b->arrives
                                : hp_action(s, hp_slots_of(s, h->device)->stage[0],
                                            b->backward ? PHASE_BACKWARD : PHASE_FORWARD);
    }
    b->action = begin;
    b->held_until_done = f->in_order && rests(f, h, b, when);
    int end = b->end < 0 ? -1 : hp_action_at(p, b->end);
    if (b->held_until_done) {
        b->held_until_action = false;
        b->last = hp_action_count(s);
    } else if (b->held_past_slot) {
        b->last = end > b->last ? end : b->last;
    } else if (b->held_until_action) {
        b->last = hp_action(s, hp_action_stage(s, b->last), PHASE_BACKWARD);
        b->sent = true;
        end = f->nodes ? sender_end(f, p, b) : -1;
        b->held_until_action = end < 0;
    } else {
        if (b->exchanged)
            b->end = hp_task_end(p, b->end);
        b->last = end;
    }
    if (b->sent)
        b->end = end;
    if (b->held_until_done || b->held_past_slot || b->held_until_action)
        b->end = -1;
    b->kept = b->action != b->last;
    /* errors that wait are not activations */
    b->term = hp_term_of(f->graph, b->place, b->kept && !b->backward ? SPAN_KEPT : SPAN_BRIEF);
}

/* Buffer `i` of the holder: from when to when, and what is kept of it. */
static void find_lifetime(struct buffer_finder *f, const struct body_passes *p,
                          struct holder *h, int i)
{
    struct buffer *b = &f->buffer[i];
    const struct boxes *kept = find_kept(f, h, b);
    note_passes(f, h, b, false);
    bool copied = f->in_order && !f->nodes && !b->held_past_slot && !b->held_until_action &&
                  b->end >= 0 && kept->n > 0 &&
                  2 * all_elements(kept) <= hp_box_elements(&b->box);
    if (kept->n > 0 && !copied) {
        int half_end = f->nodes && b->held_until_action ? sender_end(f, p, b) : -1;
        b->held_until_action = b->held_past_slot = false;
        b->end = half_end;
        note_passes(f, h, b, true);
    }
    find_actions(f, p, h, b, copied ? ACCESSED_FORWARD : ACCESSED_IN_BOTH);
    for (int k = 0; copied && k < kept->n; k++) {
        struct buffer copy = { .place = b->place,
                               .box = kept->box[k],
                               .device = b->device,
                               .begin = b->end,
                               .end = -1,
                               .copied = i,
                               .arrives = -1 };
        note_passes(f, h, &copy, true);
        find_actions(f, p, h, &copy, ACCESSED_BACKWARD);
        add_buffer(f, h, &copy);
        b = &f->buffer[i];
    }
}

/* Places ----------------------------------------------------------------------------- */

void hp_begin_place(struct buffer_finder *f)
{
    for (int i = 0; i < f->n_holders; i++)
        f->holder_of[f->holder[i].device] = -1;
    f->n_holders = f->n_accesses = f->n = 0;
}

/* The norm of gradients, in place of the gradient of the loss. */
static void note_norm(struct buffer_finder *f, struct place place)
{
    const struct lowering *s = f->program->lowering;
    if (s->training.norm < 0 || place.tensor != f->graph->loss || !place.grad)
        return;
    for (int i = 0; i < s->norm.n; i++)
        if (hp_is_looked_at(f, s->norm.device[i]))
            add_access(f, s->norm.device[i], (struct access){ .box = { .n_dims = 0 } });
}

/* A parameter's gradient lies where the parameter does, to update it. */
static void find_lasting(struct buffer_finder *f, struct place place)
{
    const struct tensor *t = &f->graph->tensors[place.tensor];
    note_norm(f, place);
    for (int b = 0; b < f->program->n_bodies; b++) {
        note_place(f, b, place, true);
        if (place.grad && t->kind == TENSOR_PARAM && t->needs_grad &&
            !f->program->iteration->forward)
            note_place(f, b, (struct place){ .tensor = place.tensor }, true);
    }
    for (int i = 0; i < f->n_holders; i++)
        make_buffers(f, &f->holder[i], place);
}

void hp_find_buffers(struct buffer_finder *f, int body, struct place place)
{
    hp_begin_place(f);
    if (body < 0) {
        find_lasting(f, place);
        return;
    }
    if (handed_by(f, body, place) >= 0 && hp_second_error(f->graph, place.tensor) < 0)
        return; /* it is in the buffers of the sum's error */
    note_place(f, body, place, false);
    for (int i = 0; i < f->n_holders; i++)
        make_buffers(f, &f->holder[i], place);
    note_comms(f, body, place);
    for (int i = 0; i < f->n_holders; i++) {
        int n = f->holder[i].n;
        for (int k = 0; k < n; k++)
            find_lifetime(f, &f->body[body], &f->holder[i], f->holder[i].first + k);
    }
}

void hp_finder_begin(struct buffer_finder *f, const struct hypar_program *program,
                     const struct held_as *held, int device, bool in_order)
{
    const struct training_graph *k = &program->lowering->training;
    int n_devices = hypar_machine_device_count(program->plan->machine);
    *f = (struct buffer_finder){
        .program = program, .graph = program->plan->graph, .only = device, .in_order = in_order
    };
    f->held = *held;
    int n_places = HP_PLACES * f->graph->n_tensors;
    f->exchange_of = NEW(&f->arena, int, n_places);
    memset(f->exchange_of, -1, (size_t)n_places * sizeof *f->exchange_of);
    for (int e = 0; e < k->n_exchanges; e++)
        f->exchange_of[hp_place_index(k->exchange[e].place)] = e;
    f->holder_of = NEW(&f->arena, int, n_devices);
    memset(f->holder_of, -1, (size_t)n_devices * sizeof *f->holder_of);
    f->body = NEW(&f->arena, struct body_passes, program->n_bodies);
    for (int b = 0; b < program->n_bodies; b++)
        f->body[b] = hp_body_passes(program, b, &f->arena);
}

void hp_finder_end(struct buffer_finder *f)
{
    hp_arena_free(&f->arena);
    hp_arena_free(&f->scratch);
}
