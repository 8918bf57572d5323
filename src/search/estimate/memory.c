/* Memory of a plan: the tensors of a micro-batch that each device holds, their lifetimes, and
 * the micro-batches in flight at each slot. program/memory counts the same from the program;
 * here each place and device has one box. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "base/table.h"
#include "plan/memory_terms.h"
#include "program/memory/buffers.h"
#include "search/estimate/estimate.h"

/* A part touches a place. */
struct touch {
    struct box box;
    int device, stage;
    int64_t first, last; /* in the order of passes: those that are done together */
    int next;            /* of the same place, -1 */
    enum phase phase;
    bool writes;
};

/* Boxes of one place on a device: the largest, and all of them together. */
struct boxes_held {
    struct box box;
    double elements; /* 0: none */
};

/* The boxes of a place that a device holds, and how long. */
struct holding {
    struct boxes_held all, back; /* `back`: what later phases than the first touch */
    int stage;
    int64_t first, last, early; /* `early`: when its first phase has done with it */
    enum phase from, to;
    bool any, writes;
    bool waits; /* it ends when the backward half begins */
    bool over;  /* it ends when the slot after its own is over */
};

/* Bytes begin or end with a pass of an action. */
struct change {
    int device, stage;
    int64_t at;
    enum phase phase;
    double bytes; /* negative: it ends */
};

/* A stage on a device. */
struct stage_bytes {
    double kept[N_PHASES]; /* after the forward phase, after the backward one */
    double most[N_PHASES]; /* at once, of the micro-batch at hand */
    double waits;          /* of kept[PHASE_FORWARD]: what ends when the backward half begins */
    double over[N_PHASES]; /* what ends when the slot after it is over */
    double touched;
};

struct memory_finder {
    const struct lowering *s;
    struct arena *arena;
    struct held_as held;
    int n_devices, n_stages, body;
    int *
        like; /* by device: the first of those with the same slots and parts of the same size */
    const struct blocks *blocks;
    int64_t *last_pass; /* [stage][phase] */
    int *first;         /* by place: its first touch, -1 */
    struct touch *touch;
    int n_touches, touch_capacity;
    int *exchange_of; /* by place and half; -1 */
    struct change *change;
    int n_changes, change_capacity;
    struct holding *holding;   /* by device, of the place at hand */
    int *own;                  /* hp_first_stages() */
    struct stage_bytes *bytes; /* [device][stage of the device], of the body at hand */
    struct stage_bytes *all;   /* [body][device][stage of the device] */
};

/* The bytes of a stage on a device, in `bytes` or in `all` of a body. */
static struct stage_bytes *bytes_at(const struct memory_finder *f, struct stage_bytes *bytes,
                                    int device, int stage)
{
    return &bytes[f->own[device] + f->s->schedule.place[stage]];
}

/* Devices -------------------------------------------------------------------------------- */

/* Devices with the same passes and part sizes hold equally many bytes of each micro-batch: only
 * one of them is counted. */
static void find_alike(struct memory_finder *f)
{
    const struct lowering *s = f->s;
    uint64_t *hash = NEW(f->arena, uint64_t, f->n_devices);
    f->like = NEW(f->arena, int, f->n_devices);
    for (int d = 0; d < f->n_devices; d++)
        hash[d] = HP_HASH_START;
    for (int b = 0; b < s->n_bodies; b++)
        for (int op = 0; op < s->graph->n_ops; op++) {
            const struct op_parts *l = s->body[b].parts[op];
            int n = l->nest->n_axes;
            for (int i = 0; i < l->n_parts; i++) {
                int64_t key[MAX_AXES + 1] = { (int64_t)b * s->graph->n_ops + op };
                for (int a = 0; a < n && !l->empty[i]; a++)
                    key[a + 1] = l->range[i * n + a].hi - l->range[i * n + a].lo;
                hash[l->device[i]] =
                    hp_hash(hash[l->device[i]], key, (size_t)(n + 1) * sizeof *key);
            }
        }
    for (int l = 0; l < s->schedule.n_lists; l++)
        for (int i = 0; i < s->schedule.list[l].n_devices; i++) {
            int device = s->schedule.list[l].device[i], before = 0;
            while (hash[s->schedule.list[l].device[before]] != hash[device])
                before++;
            f->like[device] = s->schedule.list[l].device[before];
        }
}

/* Touches -------------------------------------------------------------------------------- */

/* A task does the passes of a fusion group one after another. */
static int64_t item_at(const struct memory_finder *f, int item, int inside)
{
    return (int64_t)item * (f->s->training.n_items + 1) + inside;
}

static int64_t place_of_pass(const struct memory_finder *f, const struct op_pass *pass)
{
    const struct training_graph *k = &f->s->training;
    int head = f->blocks->head[f->body][pass - k->op_pass];
    return item_at(f, k->op_pass[head].item, pass->item - k->op_pass[head].item);
}

static bool is_alone(const struct memory_finder *f, int op_pass)
{
    return f->blocks->head[f->body][op_pass] == op_pass &&
           f->blocks->next[f->body][op_pass] < 0;
}

/* Passes of an operator in one phase, each a task of its own, may be done in one call. */
static void find_unit(const struct memory_finder *f, const struct op_pass *pass, int64_t *lo,
                      int64_t *hi)
{
    const struct training_graph *k = &f->s->training;
    const int *of = (pass->again ? k->again_of : k->op_pass_of)[pass->op];
    if (!is_alone(f, (int)(pass - k->op_pass)))
        return;
    for (int p = 0; p < f->s->graph->ops[pass->op].nest->n_passes; p++)
        if (of[p] >= 0 && k->op_pass[of[p]].phase == pass->phase && is_alone(f, of[p])) {
            int64_t at = place_of_pass(f, &k->op_pass[of[p]]);
            *lo = at < *lo ? at : *lo;
            *hi = at > *hi ? at : *hi;
        }
}

static void add_touch(struct memory_finder *f, const struct op_pass *pass, int o, bool grad,
                      bool writes)
{
    const struct hypar_graph *g = f->s->graph;
    const struct op *op = &g->ops[pass->op];
    struct place place = hp_operand_place(f->s, pass, o, grad, writes);
    if (op->tensor[o] < 0 || (grad && place.tensor == g->loss) ||
        (grad && writes && !g->tensors[place.tensor].needs_grad) ||
        hp_held_lasts(&f->held, g, f->s->iteration.forward, place))
        return;
    int root = f->held.tensor[hp_place_kind(place)][place.tensor];
    int *first = &f->first[hp_place_index((struct place){ root, place.grad, place.again })];
    const struct op_parts *parts = f->s->body[f->body].parts[pass->op];
    int64_t lo = place_of_pass(f, pass), hi = lo;
    find_unit(f, pass, &lo, &hi);
    for (int i = 0; i < parts->n_parts; i++) {
        if (parts->empty[i] || f->like[parts->device[i]] != parts->device[i])
            continue;
        struct box box = hp_region(op->nest, o, parts->range + i * op->nest->n_axes);
        box = hp_held_box(g, &f->held, place, box);
        if (hp_box_empty(&box))
            continue;
        f->touch = GROW(f->arena, struct touch, f->touch, f->n_touches, &f->touch_capacity);
        f->touch[f->n_touches] = (struct touch){ .box = box,
                                                 .device = parts->device[i],
                                                 .first = lo,
                                                 .last = hi,
                                                 .stage = f->s->schedule.stage_of_op[pass->op],
                                                 .next = *first,
                                                 .phase = pass->phase,
                                                 .writes = writes };
        *first = f->n_touches++;
    }
}

static void find_touches(struct memory_finder *f)
{
    const struct training_graph *k = &f->s->training;
    memset(f->last_pass, 0, (size_t)(f->n_stages * N_PHASES) * sizeof *f->last_pass);
    for (int i = 0; i < k->n_op_passes; i++) {
        const struct op_pass *pass = &k->op_pass[i];
        struct pass_operands all = hp_pass_operands(f->s, pass);
        int n = f->s->graph->ops[pass->op].nest->n_operands;
        int stage = f->s->schedule.stage_of_op[pass->op];
        int64_t at = place_of_pass(f, pass);
        int64_t *last = &f->last_pass[stage * N_PHASES + (int)pass->phase];
        *last = at > *last ? at : *last;
        for (int o = 0; o < n; o++) {
            if (all.reads >> o & 1)
                add_touch(f, pass, o, false, false);
            if (all.writes >> o & 1)
                add_touch(f, pass, o, false, true);
            if (all.reads_grad >> o & 1)
                add_touch(f, pass, o, true, false);
            if (all.writes_grad >> o & 1)
                add_touch(f, pass, o, true, true);
        }
    }
}

/* Holdings ------------------------------------------------------------------------------- */

static void add_box(struct boxes_held *held, const struct box *box)
{
    double elements = (double)hp_box_elements(box);
    if (held->elements > 0 && hp_box_contains(&held->box, box))
        return;
    if (held->elements > 0 && !hp_box_contains(box, &held->box)) {
        struct box both = hp_box_intersect(&held->box, box);
        held->elements += elements;
        held->elements -= hp_box_empty(&both) ? 0 : (double)hp_box_elements(&both);
        return;
    }
    held->box = *box;
    held->elements = fmax(held->elements, elements);
}

static void hold(struct memory_finder *f, const struct touch *t)
{
    struct holding *h = &f->holding[t->device];
    if (!h->any)
        *h = (struct holding){ .stage = t->stage,
                               .first = t->first,
                               .last = t->last,
                               .early = t->last,
                               .from = t->phase,
                               .to = t->phase,
                               .any = true };
    add_box(&h->all, &t->box);
    if (t->phase != PHASE_FORWARD)
        add_box(&h->back, &t->box);
    if (t->phase < h->from || (t->phase == h->from && t->first < h->first)) {
        h->early = t->phase < h->from ? t->last : h->early;
        h->from = t->phase;
        h->first = t->first;
    }
    if (t->phase == h->from && t->last > h->early)
        h->early = t->last;
    if (t->phase > h->to || (t->phase == h->to && t->last > h->last)) {
        h->to = t->phase;
        h->last = t->last;
    }
    h->writes |= t->writes;
}

/* A received tensor begins with the exchange. A sent tensor lasts until the pass after the
 * exchange; if sent to another stage, until the backward half begins; if sent backward, or if
 * no pass follows, until the next slot is over. */
static void hold_comm(struct memory_finder *f, const struct exchange *e,
                      const struct comm *comm)
{
    bool inside = hp_is_inside(f->s, comm);
    int64_t now = item_at(f, e->item, 0), next = item_at(f, e->item + 1, 0);
    for (int i = 0; i < comm->n_devices; i++) {
        struct holding *h = &f->holding[comm->device[i]];
        if (!h->any)
            continue;
        if (!h->writes) {
            if (now < h->first && e->backward == (h->from != PHASE_FORWARD))
                h->first = now;
            continue;
        }
        bool after = inside && now < f->last_pass[h->stage * N_PHASES + (int)h->to];
        if (after && next > h->last)
            h->last = next;
        else if (!after && e->backward)
            h->over = true;
        else if (!inside && h->to == PHASE_FORWARD)
            h->waits = true;
    }
}

static void hold_comms(struct memory_finder *f, int exchange)
{
    const struct exchange *e = &f->s->training.exchange[exchange];
    const struct pattern *pattern = f->s->body[f->body].pattern[exchange];
    for (int c = 0; pattern && c < pattern->n_comms; c++)
        hold_comm(f, e, &pattern->comm[c]);
}

static void change(struct memory_finder *f, int device, const struct holding *h,
                   enum phase phase, int64_t at, double bytes)
{
    f->change = GROW(f->arena, struct change, f->change, f->n_changes, &f->change_capacity);
    f->change[f->n_changes++] = (struct change){ device, h->stage, at, phase, bytes };
}

/* If later phases touch at most half of the boxes, they hold a copy of this half. */
static void count_holding(struct memory_finder *f, int device, int each)
{
    struct holding *h = &f->holding[device];
    struct stage_bytes *b = bytes_at(f, f->bytes, device, h->stage);
    double all = each * h->all.elements, kept = all;
    if (!h->any)
        return;
    if (h->from < h->to && !h->over && h->from == PHASE_FORWARD &&
        hp_is_worth_a_copy(h->back.elements, h->all.elements))
        kept = each * h->back.elements;
    b->touched += all;
    change(f, device, h, h->from, h->first, all);
    if (kept < all) {
        change(f, device, h, h->from, h->early, kept);
        change(f, device, h, h->from, h->early, -all);
        b->touched += kept;
    }
    if (h->waits) {
        b->kept[PHASE_FORWARD] += all;
        b->waits += all;
    } else {
        change(f, device, h, h->to, h->over ? INT64_MAX : h->last, -kept);
        b->over[h->to] += h->over ? all : 0;
        for (int phase = (int)h->from; phase < (int)h->to; phase++)
            b->kept[phase] += kept;
    }
    h->any = false;
}

/* A place that is gathered anew for each half is held in each half by itself. */
static void find_holdings(struct memory_finder *f, int place)
{
    struct place of = hp_place_at(place);
    int each = hp_message_bytes(f->s->plan, of);
    bool twice = !of.grad && hp_is_divided(&f->held, of);
    for (int half = 0; half < (twice ? 2 : 1); half++) {
        for (int t = f->first[place]; t >= 0; t = f->touch[t].next)
            if (!twice || (f->touch[t].phase != PHASE_FORWARD) == half)
                hold(f, &f->touch[t]);
        for (int t = of.tensor; t >= 0; t = f->held.next[hp_place_kind(of)][t])
            for (int h = twice ? half : 0; h < (twice ? half + 1 : 2); h++) {
                int e =
                    f->exchange_of[2 * hp_place_index((struct place){ t, of.grad, of.again }) +
                                   h];
                if (e >= 0)
                    hold_comms(f, e);
            }
        for (int t = f->first[place]; t >= 0; t = f->touch[t].next)
            count_holding(f, f->touch[t].device, each);
    }
}

/* An operator's extra tensor (program/memory/buffers.h), on every device with a part. */
static void hold_extra(struct memory_finder *f, int op, const struct extra_span *span,
                       const struct op_extra *extra)
{
    const struct training_graph *k = &f->s->training;
    const struct op_parts *parts = f->s->body[f->body].parts[op];
    const struct op_pass *last = &k->op_pass[span->last];
    const struct op_pass *first = extra->kept ? &k->op_pass[span->first] : last;
    int64_t begin = place_of_pass(f, first), end = place_of_pass(f, last), other = begin;
    find_unit(f, first, &begin, &other);
    other = end;
    find_unit(f, last, &other, &end);
    for (int i = 0; i < parts->n_parts; i++) {
        int device = parts->device[i];
        if (parts->empty[i] || f->like[device] != device)
            continue;
        struct box box = hp_extra_box(parts, i, extra);
        struct boxes_held all = { .box = box, .elements = (double)hp_box_elements(&box) };
        f->holding[device] = (struct holding){ .all = all,
                                               .back = all,
                                               .stage = f->s->schedule.stage_of_op[op],
                                               .first = begin,
                                               .early = begin,
                                               .last = end,
                                               .from = first->phase,
                                               .to = last->phase,
                                               .any = true };
        count_holding(f, device, extra->each_bytes);
    }
}

static void hold_extras(struct memory_finder *f)
{
    struct op_extra extra[MOST_EXTRAS];
    for (int op = 0; op < f->s->graph->n_ops; op++) {
        struct extra_span span = hp_extra_span(f->s, op);
        int n = span.last < 0 ? 0 : hp_op_extras(f->s->plan, op, false, extra);
        for (int i = 0; i < n; i++)
            hold_extra(f, op, &span, &extra[i]);
    }
}

/* The most at once ------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->device != y->device)
        return x->device - y->device;
    if (x->stage != y->stage)
        return x->stage - y->stage;
    if (x->phase != y->phase)
        return (int)x->phase - (int)y->phase;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->bytes < 0) - (y->bytes < 0);
}

static void find_most(struct memory_finder *f)
{
    const struct change *before = NULL;
    double now = 0;
    if (f->n_changes > 0)
        hp_sort(f->change, f->n_changes, sizeof *f->change, by_time);
    for (int i = 0; i < f->n_changes; i++) {
        const struct change *c = &f->change[i];
        struct stage_bytes *b = bytes_at(f, f->bytes, c->device, c->stage);
        if (!before || before->device != c->device || before->stage != c->stage ||
            before->phase != c->phase) {
            now = c->phase == PHASE_FORWARD    ? 0
                  : c->phase == PHASE_BACKWARD ? b->kept[PHASE_FORWARD] - b->waits
                                               : b->kept[PHASE_BACKWARD];
            b->most[c->phase] = now;
        }
        now += c->bytes;
        b->most[c->phase] = fmax(b->most[c->phase], now);
        before = c;
    }
}

/* Slots ----------------------------------------------------------------------------------- */

/* Bytes of a device in addition to those that last from step to step. */
struct slots_need {
    double least, about, most;
};

/* The most of all slots of a list, on one of its devices. */
static struct slots_need most_of_slots(const struct memory_finder *f,
                                       const struct slot_list *list, int device)
{
    double others = 0, over = 0, touched = 0,
           once = 0; /* the largest touched: counted twice, for a micro-batch that begins early
                        and one that ends late */
    bool apart = f->s->iteration.apart;
    struct slots_need out = { 0 };
    for (int i = 0; i < list->n_slots; i++) {
        const struct slot *slot = &list->slot[i];
        if (slot->phase == PHASE_UPDATE)
            continue;
        int body = hp_body_number(&f->s->iteration, slot->micro);
        const struct stage_bytes *b =
            bytes_at(f, f->all + body * f->own[f->n_devices], device, slot->stage);
        if (slot->phase != PHASE_FORWARD)
            others -= b->kept[slot->phase - 1];
        out.about = fmax(out.about, others + over + b->most[slot->phase]);
        if (slot->phase == PHASE_FORWARD || (slot->phase == PHASE_BACKWARD && apart))
            others += b->kept[slot->phase];
        over = b->over[slot->phase];
        out.least = fmax(out.least, others);
        touched += slot->phase == PHASE_FORWARD ? b->touched : 0;
        once = fmax(once, b->touched);
        out.most = fmax(out.most, touched);
        if (slot->phase == (apart ? PHASE_GRADIENT : PHASE_BACKWARD))
            touched -= b->touched;
    }
    out.most += 2 * once;
    return out;
}

/* Add the older versions of weights under pipedream: of trained weights, on the devices that
 * update them. */
static void add_versions(struct lowering *s, double *bytes)
{
    const struct training_graph *k = &s->training;
    double weight =
        hp_param_bytes(s->plan->precision, s->plan->fp32_gradients, s->plan->optimizer).weight;
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_sums; d++) {
        int tensor = k->exchange[d].place.tensor;
        if (s->graph->tensors[tensor].kind != TENSOR_PARAM)
            continue;
        int stage = s->schedule.stage_of_op[s->graph->use[s->graph->use_start[tensor]].op];
        const struct update_devices *u = hp_update_devices(s, d);
        for (int i = 0; i < u->n; i++)
            bytes[u->device[i]] +=
                (hp_versions_kept(&s->iteration, stage) - 1) * weight * (double)u->elements[i];
    }
}

static void note_exchanges(struct memory_finder *f)
{
    const struct training_graph *k = &f->s->training;
    int n = 2 * HP_PLACES * f->s->graph->n_tensors;
    f->exchange_of = NEW(f->arena, int, n);
    for (int i = 0; i < n; i++)
        f->exchange_of[i] = -1;
    for (int e = 0; e < k->n_exchanges; e++)
        f->exchange_of[2 * hp_place_index(k->exchange[e].place) + k->exchange[e].backward] = e;
}

static void begin(struct memory_finder *f)
{
    bool eager = f->s->plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER;
    f->n_devices = hypar_machine_device_count(f->s->plan->machine);
    f->held = hp_held_as(f->s, eager ? VIEWS_AND_SLICES : VIEWS_ONE, f->arena);
    f->first = NEW(f->arena, int, HP_PLACES * f->s->graph->n_tensors);
    f->holding = NEW(f->arena, struct holding, f->n_devices);
    f->own = hp_first_stages(f->s, f->arena);
    f->all = NEW(f->arena, struct stage_bytes, f->s->n_bodies * f->own[f->n_devices]);
    find_alike(f);
    f->last_pass = NEW(f->arena, int64_t, f->n_stages * N_PHASES);
    note_exchanges(f);
}

static void find_body(struct memory_finder *f, int body)
{
    int n_places = HP_PLACES * f->s->graph->n_tensors;
    f->body = body;
    f->bytes = f->all + (size_t)body * (size_t)f->own[f->n_devices];
    f->n_touches = f->n_changes = 0;
    for (int i = 0; i < n_places; i++)
        f->first[i] = -1;
    find_touches(f);
    for (int i = 0; i < n_places; i++)
        if (f->first[i] >= 0)
            find_holdings(f, i);
    hold_extras(f);
    find_most(f);
}

struct memory_estimate hp_estimate_memory(struct lowering *s, double limit_bytes,
                                          struct arena *arena)
{
    struct memory_finder f = { .s = s, .arena = arena, .n_stages = s->schedule.n_stages };
    struct memory_estimate out = { { .device = -1 }, { .device = -1 }, { .device = -1 } };
    struct memory_how how = hp_memory_how(s->plan);
    bool bounded = !hp_goes_by_modules(&s->plan->simulation.framework);
    struct blocks *blocks = hp_blocks_new(s, NULL, NULL);
    f.blocks = blocks;
    begin(&f);
    for (int b = 0; b < s->n_bodies; b++)
        find_body(&f, b);
    double *lasts = NEW(arena, double, f.n_devices);
    struct slots_need *own = NEW(arena, struct slots_need, f.n_devices);
    hypar_plan_state_bytes(s->plan, lasts);
    if (s->iteration.delayed)
        add_versions(s, lasts);
    for (int l = 0; l < s->schedule.n_lists; l++)
        for (int i = 0; i < s->schedule.list[l].n_devices; i++) {
            int device = s->schedule.list[l].device[i];
            double room = hp_device_room(hypar_machine_device(s->plan->machine, device),
                                         limit_bytes, &how);
            if (f.like[device] == device)
                own[device] = most_of_slots(&f, &s->schedule.list[l], device);
            const struct slots_need *need = &own[f.like[device]];
            hp_note_memory(&out.least, device, lasts[device] + need->least, room);
            hp_note_memory(&out.about, device, lasts[device] + need->about, room);
            hp_note_memory(&out.most, device, bounded ? lasts[device] + need->most : INFINITY,
                           room);
        }
    hp_blocks_free(blocks);
    return out;
}
