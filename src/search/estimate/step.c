/* The time of a step: groups of devices go through their slots; each slot waits for the
 * messages to its stage. */
#include <math.h>

#include "search/estimate/estimate.h"

struct walk {
    const struct lowering *s;
    const struct stage_costs *costs;
    struct stage_edges edges;
    int n_micro, *next; /* by list: its next slot */
    double *free_s;     /* by list: when its last slot was over */
    double *sums_s;     /* by list: when sums of divided gradients are over */
    double *last_s;     /* by stage: when its last backward or gradient slot began */
    /* By direction, stage and micro-batch: the number of missing messages, and the arrival of
     * the last one. */
    int *missing[2];
    double *come_s[2];
    double *link_s[2]; /* [from][to]: when the link is free */
};

static int at(const struct walk *w, int stage, int micro)
{
    return stage * w->n_micro + micro;
}

/* A slot is over: its messages arrive at the stages that read its outputs or, backward, at the
 * stages whose outputs it read. */
static void send(struct walk *w, const struct slot *slot, int body, double now_s)
{
    int back = slot->phase == PHASE_BACKWARD, n = w->costs->n_stages;
    const int *start = back ? w->edges.reads_start : w->edges.read_by_start;
    const int *list = back ? w->edges.reads : w->edges.read_by;
    for (int i = start[slot->stage]; i < start[slot->stage + 1]; i++) {
        const struct border_cost *border =
            &w->costs->border[back][(body * n + slot->stage) * n + list[i]];
        double *link_s = &w->link_s[back][slot->stage * n + list[i]];
        double *come_s = &w->come_s[back][at(w, list[i], slot->micro)];
        double begin_s = fmax(now_s, *link_s);
        *link_s = begin_s + border->held_s;
        *come_s = fmax(*come_s, begin_s + border->s);
        w->missing[back][at(w, list[i], slot->micro)]--;
    }
}

/* Gradients are summed during the last slot, once the slot has computed the first of them. */
static double end_of_tail(const struct tail_cost *t, double begin_s, double end_s)
{
    end_s += t->lost_s;
    double summed_s = fmax(end_s + t->last_sum_s, begin_s + t->sums_s);
    double updated_s = fmax(end_s + t->update_s, summed_s);
    return fmax(updated_s + t->last_gather_s, begin_s + t->sums_s + t->gathers_s);
}

static bool do_slot(struct walk *w, const struct slot_list *list, int l)
{
    const struct slot *slot = &list->slot[w->next[l]];
    if (slot->phase == PHASE_UPDATE) {
        w->free_s[l] = fmax(w->free_s[l], w->sums_s[l]);
        for (int i = 0; i < list->n_stages; i++) {
            const struct tail_cost *t = &w->costs->tail[list->stage[i]];
            double begin_s = w->s->iteration.delayed ? w->free_s[l] : w->last_s[list->stage[i]];
            w->free_s[l] = fmax(w->free_s[l], end_of_tail(t, begin_s, w->free_s[l]));
        }
        w->next[l]++;
        return true;
    }
    int body = hp_body_number(&w->s->iteration, slot->micro);
    int back = slot->phase == PHASE_BACKWARD;
    double begin_s = w->free_s[l];
    const struct stage_cost *cost = &w->costs->stage[body * w->costs->n_stages + slot->stage];
    if (slot->phase != PHASE_GRADIENT) {
        if (w->missing[back][at(w, slot->stage, slot->micro)] > 0)
            return false;
        begin_s = fmax(begin_s, w->come_s[back][at(w, slot->stage, slot->micro)]);
    }
    if (cost->gathers[slot->phase]) /* over the same links */
        begin_s = fmax(begin_s, w->sums_s[l]);
    if (slot->phase != PHASE_FORWARD)
        w->last_s[slot->stage] = begin_s;
    w->free_s[l] = begin_s + cost->phase_s[slot->phase];
    if (cost->sums_s[slot->phase] > 0)
        w->sums_s[l] = fmax(w->sums_s[l] + cost->sums_s[slot->phase],
                            w->free_s[l] + cost->late_s[slot->phase]);
    if (slot->phase != PHASE_GRADIENT)
        send(w, slot, body, w->free_s[l]);
    w->next[l]++;
    return true;
}

static void begin(struct walk *w, struct arena *arena)
{
    int n = w->costs->n_stages, cells = n * w->n_micro;
    if (w->s->plan->n_stages)
        w->edges = hp_stage_edges(w->s->plan, arena);
    else
        w->edges = (struct stage_edges){ NEW(arena, int, 2), NULL, NEW(arena, int, 2), NULL };
    w->next = NEW(arena, int, w->s->schedule.n_lists);
    w->free_s = NEW(arena, double, w->s->schedule.n_lists);
    w->sums_s = NEW(arena, double, w->s->schedule.n_lists);
    w->last_s = NEW(arena, double, n);
    for (int back = 0; back < 2; back++) {
        const int *start = back ? w->edges.read_by_start : w->edges.reads_start;
        w->missing[back] = NEW(arena, int, cells);
        w->come_s[back] = NEW(arena, double, cells);
        w->link_s[back] = NEW(arena, double, n *n);
        for (int s = 0; s < n; s++)
            for (int m = 0; m < w->n_micro; m++)
                w->missing[back][at(w, s, m)] = start[s + 1] - start[s];
    }
}

/* Without a flush a step takes as long as the busiest stage, divided by the replicas that take
 * minibatches in turn, or as the busiest link between stages. */
static double steady_seconds(const struct lowering *s, const struct stage_costs *costs)
{
    double most_s = 0;
    for (int b = 0; b < costs->n_bodies; b++)
        for (int i = 0; i < costs->n_stages; i++) {
            const struct stage_cost *stage = &costs->stage[b * costs->n_stages + i];
            double own_s = stage->phase_s[PHASE_FORWARD] + stage->phase_s[PHASE_BACKWARD];
            double end_s = end_of_tail(&costs->tail[i], 0, stage->phase_s[PHASE_BACKWARD]);
            own_s += end_s - stage->phase_s[PHASE_BACKWARD];
            most_s = fmax(most_s, own_s / s->iteration.pipe.replicas[i]);
            for (int to = 0; to < costs->n_stages; to++)
                for (int back = 0; back < 2; back++)
                    most_s = fmax(
                        most_s,
                        costs->border[back][(b * costs->n_stages + i) * costs->n_stages + to]
                                .held_s /
                            s->iteration.pipe.replicas[i]);
        }
    return most_s;
}

double hp_step_seconds(const struct lowering *s, const struct stage_costs *costs,
                       struct arena *arena)
{
    struct walk w = { .s = s, .costs = costs, .n_micro = s->iteration.n_micro };
    double last_s = 0;
    if (s->iteration.delayed)
        return steady_seconds(s, costs);
    begin(&w, arena);
    for (bool any = true; any;) {
        any = false;
        for (int l = 0; l < s->schedule.n_lists; l++)
            while (w.next[l] < s->schedule.list[l].n_slots &&
                   do_slot(&w, &s->schedule.list[l], l))
                any = true;
    }
    for (int l = 0; l < s->schedule.n_lists; l++)
        last_s = fmax(last_s, w.free_s[l]);
    return last_s;
}
