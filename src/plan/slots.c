/* Slots of devices: the stages that share devices, the slots that a slot waits for, and orders
 * that a plan lists. */
#include "plan/slots.h"

#include <stdio.h>
#include <string.h>

#include "base/csr.h"

/* Groups ----------------------------------------------------------------------------- */

struct device_groups hp_device_groups(const struct hypar_plan *plan, struct arena *arena)
{
    struct device_groups g = { .of_stage = NEW(arena, int, plan->n_stages),
                               .first = NEW(arena, int, plan->n_stages) };
    int *group = NEW(arena, int, plan->n_all_devices);
    for (int d = 0; d < plan->n_all_devices; d++)
        group[d] = -1;
    for (int s = 0; s < plan->n_stages; s++) {
        const struct hypar_stage *stage = &plan->stages[s];
        int known = group[stage->device[0]];
        if (known < 0)
            g.first[known = g.n++] = s;
        g.of_stage[s] = known;
        for (int i = 0; i < stage->n_devices; i++)
            group[stage->device[i]] = known;
    }
    return g;
}

/* Edges ------------------------------------------------------------------------------ */

/* The stages that each stage reads from, or that read from it. */
static struct csr list_edges(const struct hypar_plan *plan, int *last, struct arena *arena,
                             bool read_by)
{
    const struct hypar_graph *g = plan->graph;
    struct csr lists = { .arena = arena, .n_keys = plan->n_stages };
    while (hp_csr_pass(&lists)) {
        for (int s = 0; s < plan->n_stages; s++)
            last[s] = -1;
        for (int s = 0; s < plan->n_stages; s++)
            for (int i = 0; i < plan->stages[s].n_ops; i++) {
                const struct op *op = &g->ops[plan->stages[s].op[i]];
                for (int o = 0; o < op->nest->n_operands; o++) {
                    int from = op->tensor[o] < 0 ? -1 : g->tensors[op->tensor[o]].producer;
                    int stage = from < 0 ? s : plan->ops[from].stage;
                    if (stage == s || last[stage] == s)
                        continue;
                    last[stage] = s;
                    hp_csr_put(&lists, read_by ? stage : s, read_by ? s : stage);
                }
            }
    }
    return lists;
}

struct stage_edges hp_stage_edges(const struct hypar_plan *plan, struct arena *arena)
{
    int *last = NEW(arena, int, plan->n_stages);
    struct csr reads = list_edges(plan, last, arena, false);
    struct csr read_by = list_edges(plan, last, arena, true);
    return (struct stage_edges){ reads.start, reads.item, read_by.start, read_by.item };
}

/* Times ------------------------------------------------------------------------------ */

struct slot_walk {
    const struct slot_orders *orders;
    int *time;
    int *sent_start, *sent; /* by group: stages that read from one of its own; CSR */
    struct slot missing;
    int latest; /* the end of the last slot that the current slot waits for */
};

static void list_sent(struct slot_walk *r, struct arena *arena)
{
    const struct slot_orders *orders = r->orders;
    const struct stage_edges *e = orders->edges;
    struct csr sent = { .arena = arena, .n_keys = orders->n_groups };
    while (hp_csr_pass(&sent))
        for (int u = 0; u < orders->n_stages; u++)
            for (int i = e->read_by_start[u]; i < e->read_by_start[u + 1]; i++)
                hp_csr_put(&sent, orders->group[u], e->read_by[i]);
    r->sent_start = sent.start;
    r->sent = sent.item;
}

/* False: it is not over yet. */
static bool is_over(struct slot_walk *r, int stage, int micro, enum phase phase)
{
    struct slot slot = { stage, micro, phase };
    int time = r->time[hp_slot_place(r->orders, &slot)];
    r->latest = time > r->latest ? time : r->latest;
    if (!time)
        r->missing = slot;
    return time > 0;
}

/* Have all stages that read from the group's stages done their forward slots? Then the messages
 * that the group sent forward have been received, and the group may go backward. */
static bool is_received(struct slot_walk *r, const struct slot *slot)
{
    int group = r->orders->group[slot->stage];
    for (int i = r->sent_start[group]; i < r->sent_start[group + 1]; i++)
        if (!is_over(r, r->sent[i], slot->micro, PHASE_FORWARD))
            return false;
    return true;
}

static bool is_ready(struct slot_walk *r, const struct slot *slot)
{
    const struct stage_edges *e = r->orders->edges;
    int s = slot->stage, m = slot->micro;
    switch (slot->phase) {
    case PHASE_FORWARD:
        for (int i = e->reads_start[s]; i < e->reads_start[s + 1]; i++)
            if (!is_over(r, e->reads[i], m, PHASE_FORWARD))
                return false;
        return true;
    case PHASE_BACKWARD:
        for (int i = e->read_by_start[s]; i < e->read_by_start[s + 1]; i++)
            if (!is_over(r, e->read_by[i], m, PHASE_BACKWARD))
                return false;
        return is_over(r, s, m, PHASE_FORWARD) && is_received(r, slot);
    default:
        return is_over(r, s, m, PHASE_BACKWARD);
    }
}

bool hp_slot_times(const struct slot_orders *orders, struct slot_times *out,
                   struct arena *arena)
{
    struct slot_walk r = { .orders = orders };
    int *at = NEW(arena, int, orders->n_groups), *now = NEW(arena, int, orders->n_groups);
    int waiting = -1;
    list_sent(&r, arena);
    out->time = r.time =
        NEW(arena, int, (int64_t)orders->n_stages * orders->n_micro * PHASE_UPDATE);
    for (bool moved = true; moved;) {
        moved = false;
        waiting = -1;
        for (int g = 0; g < orders->n_groups; g++) {
            const struct slot_order *order = &orders->order[g];
            for (; at[g] < order->n; at[g]++) {
                const struct slot *slot = &order->slot[at[g]];
                r.latest = now[g];
                if (slot->phase != PHASE_UPDATE && !is_ready(&r, slot))
                    break;
                now[g] = r.latest + 1;
                if (slot->phase != PHASE_UPDATE)
                    r.time[hp_slot_place(orders, slot)] = now[g];
                moved = true;
            }
            bool itself = orders->group[r.missing.stage] == g; /* that one is to be told */
            if (at[g] < order->n &&
                (waiting < 0 || (itself && orders->group[out->missing.stage] != waiting))) {
                waiting = g;
                out->missing = r.missing;
            }
        }
    }
    out->group = waiting;
    out->slot = waiting < 0 ? 0 : at[waiting];
    return waiting < 0;
}

/* Text ------------------------------------------------------------------------------- */

static const char letter[] = "FBWU";

const char *hp_slot_text(const struct slot *slot, char text[SLOT_TEXT_BYTES])
{
    snprintf(text, SLOT_TEXT_BYTES, "%c%d.%d", letter[slot->phase], slot->stage, slot->micro);
    return text;
}

/* A number without sign or leading zeros, below 10^8; returns what follows, NULL: none. */
static const char *read_number(const char *text, int *out)
{
    int digits = 0;
    for (*out = 0; text[digits] >= '0' && text[digits] <= '9' && digits < 8; digits++)
        *out = 10 * *out + text[digits] - '0';
    return digits == 0 || (text[0] == '0' && digits > 1) ? NULL : text + digits;
}

bool hp_slot_find(const char *text, struct slot *out)
{
    const char *phase = *text ? strchr(letter, *text) : NULL;
    if (!phase || phase - letter >= PHASE_UPDATE)
        return false;
    out->phase = (enum phase)(phase - letter);
    text = read_number(text + 1, &out->stage);
    if (!text || *text != '.')
        return false;
    text = read_number(text + 1, &out->micro);
    return text && !*text;
}

/* By hand ---------------------------------------------------------------------------- */

/* The stage that a device does next of a micro-batch, forward and then backward. */
struct checked_order {
    const struct hypar_plan *plan;
    const struct device_groups *groups;
    const struct slot_orders *orders;
    bool *seen;    /* by place */
    int *forward;  /* by group and micro-batch: the last stage forward, -1 */
    int *backward; /* ... and backward, n_stages */
    bool apart;    /* some slots are of gradients: then all gradients have one */
};

static enum hypar_status check_slot(struct checked_order *c, int group, const struct slot *slot,
                                    struct hypar_error *err)
{
    const struct slot_orders *orders = c->orders;
    if (slot->stage >= orders->n_stages || c->groups->of_stage[slot->stage] != group)
        return hp_fail(err, HYPAR_INFEASIBLE, "stage %d is not on its devices", slot->stage);
    if (slot->micro >= orders->n_micro)
        return hp_fail(err, HYPAR_INFEASIBLE, "there are %d micro-batches", orders->n_micro);
    bool *seen = &c->seen[hp_slot_place(orders, slot)];
    int *forward = &c->forward[group * orders->n_micro + slot->micro];
    int *backward = &c->backward[group * orders->n_micro + slot->micro];
    if (*seen)
        return hp_fail(err, HYPAR_INFEASIBLE, "it is listed twice");
    *seen = true;
    if (slot->phase == PHASE_FORWARD) {
        if (*backward < orders->n_stages || *forward > slot->stage)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "it comes after %c%d.%d, expected forward by stage, then backward",
                           *backward < orders->n_stages ? 'B' : 'F',
                           *backward < orders->n_stages ? *backward : *forward, slot->micro);
        *forward = slot->stage;
    } else if (slot->phase == PHASE_BACKWARD) {
        if (*backward < slot->stage)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "it comes after B%d.%d, expected the last stage first", *backward,
                           slot->micro);
        *backward = slot->stage;
    }
    return HYPAR_OK;
}

/* Each micro-batch, each stage, each phase once. */
static enum hypar_status check_whole(const struct checked_order *c, struct hypar_error *err)
{
    char text[SLOT_TEXT_BYTES];
    struct slot slot;
    for (slot.stage = 0; slot.stage < c->orders->n_stages; slot.stage++)
        for (slot.micro = 0; slot.micro < c->orders->n_micro; slot.micro++)
            for (int p = 0; p < (c->apart ? 3 : 2); p++) {
                slot.phase = (enum phase)p;
                if (!c->seen[hp_slot_place(c->orders, &slot)])
                    return hp_fail(err, HYPAR_INFEASIBLE, "slots[%d]: %s is missing",
                                   c->groups->of_stage[slot.stage], hp_slot_text(&slot, text));
            }
    return HYPAR_OK;
}

static enum hypar_status check_deadlock(const struct checked_order *c, struct arena *scratch,
                                        struct hypar_error *err)
{
    struct slot_times times;
    char waits[SLOT_TEXT_BYTES], missing[SLOT_TEXT_BYTES];
    if (hp_slot_times(c->orders, &times, scratch))
        return HYPAR_OK;
    const struct slot *slot = &c->orders->order[times.group].slot[times.slot];
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "the slots deadlock: device %d waits in slots[%d][%d], %s, for %s",
                   c->plan->stages[c->groups->first[times.group]].device[0], times.group,
                   times.slot, hp_slot_text(slot, waits),
                   hp_slot_text(&times.missing, missing));
}

static enum hypar_status check_orders(struct checked_order *c, struct arena *scratch,
                                      struct hypar_error *err)
{
    const struct slot_orders *orders = c->orders;
    char text[SLOT_TEXT_BYTES];
    for (int g = 0; g < orders->n_groups; g++)
        for (int i = 0; i < orders->order[g].n; i++) {
            const struct slot *slot = &orders->order[g].slot[i];
            c->apart |= slot->phase == PHASE_GRADIENT;
            TRY(hp_in(err, check_slot(c, g, slot, err), "slots[%d][%d]: %s", g, i,
                      hp_slot_text(slot, text)));
        }
    TRY(check_whole(c, err));
    return check_deadlock(c, scratch, err);
}

/* If very many slots are missing, the message has their number; check_whole() names the first
 * missing slot. */
static enum hypar_status check_count(const struct hypar_plan *plan, struct hypar_error *err)
{
    enum { FEW = 1 << 20 };
    int64_t need = 2 * plan->n_stages * plan->schedule.micro_batches, n = 0;
    for (int g = 0; g < plan->n_orders; g++)
        n += plan->order[g].n;
    if (need <= n || need <= FEW)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE, "%lld slots, expected at least %lld", (long long)n,
                   (long long)need);
}

enum hypar_status hp_check_slots(const struct hypar_plan *plan, struct hypar_error *err)
{
    TRY(check_count(plan, err));
    struct arena scratch = { 0 };
    struct device_groups groups = hp_device_groups(plan, &scratch);
    struct stage_edges edges = hp_stage_edges(plan, &scratch);
    struct slot_orders orders = { plan->n_stages, (int)plan->schedule.micro_batches,
                                  groups.n,       groups.of_stage,
                                  plan->order,    &edges };
    int64_t n = (int64_t)groups.n * orders.n_micro;
    struct checked_order c = { .plan = plan, .groups = &groups, .orders = &orders };
    c.seen = NEW(&scratch, bool, (int64_t)orders.n_stages *orders.n_micro *PHASE_UPDATE);
    c.forward = NEW(&scratch, int, n);
    c.backward = NEW(&scratch, int, n);
    for (int64_t i = 0; i < n; i++) {
        c.forward[i] = -1;
        c.backward[i] = orders.n_stages;
    }
    enum hypar_status status = HYPAR_OK;
    if (plan->n_orders != groups.n)
        status = hp_fail(err, HYPAR_INFEASIBLE,
                         "%d lists of slots, expected %d: one for the devices of each stage, "
                         "or of stages on the same devices",
                         plan->n_orders, groups.n);
    if (status == HYPAR_OK)
        status = check_orders(&c, &scratch, err);
    hp_arena_free(&scratch);
    return status;
}
