/* The time of stages: passes of the busiest device, and exchanges that devices wait for. */
#include <math.h>

#include "cost/work.h"
#include "search/estimate/estimate.h"

static double comms_seconds(struct task_costs *costs, const struct pattern *pattern,
                            const struct pattern_cost *cost, const bool *of, double *held_s)
{
    ticks longest = 0, most = 0;
    struct arena_mark mark = hp_arena_mark(&costs->scratch);
    bool alone = pattern->n_comms == 1 && !held_s;
    ticks *held = alone ? NULL : NEW(&costs->scratch, ticks, costs->n_queues);
    for (int c = 0; c < pattern->n_comms; c++) {
        const struct comm_cost *comm = &cost->comm[c];
        if (of && !of[c])
            continue;
        for (int i = 0; i < comm->n_tasks; i++)
            longest = hp_latest(longest, comm->task[i].duration);
        for (int i = 0; held && i < comm->n_links; i++) {
            ticks *link = &held[comm->link[i].queue];
            *link += comm->link[i].busy;
            most = hp_latest(most, *link);
        }
    }
    hp_arena_release(&costs->scratch, mark);
    if (held_s)
        *held_s = hp_seconds(most);
    return hp_seconds(hp_latest(most, longest));
}

double hp_comms_seconds(struct task_costs *costs, const struct pattern *pattern,
                        int element_bytes, const bool *of, double *held_s)
{
    if (held_s)
        *held_s = 0;
    if (pattern->n_comms == 0)
        return 0;
    return comms_seconds(costs, pattern,
                         hp_pattern_cost(costs, pattern, element_bytes, WAITING_NONE), of,
                         held_s);
}

double hp_comms_seconds_once(struct task_costs *costs, const struct pattern *pattern,
                             int element_bytes, struct arena *arena)
{
    if (pattern->n_comms == 0)
        return 0;
    return comms_seconds(
        costs, pattern,
        hp_make_pattern_cost(costs, arena, pattern, element_bytes, WAITING_NONE, NULL, 0), NULL,
        NULL);
}

/* The time that kernels lose beside a pattern's comms, on the device that loses most. */
static double lost_beside(struct task_costs *costs, const struct pattern *pattern,
                          int element_bytes)
{
    ticks most = 0;
    if (pattern->n_comms == 0)
        return 0;
    const struct pattern_cost *cost =
        hp_pattern_cost(costs, pattern, element_bytes, WAITING_NONE);
    struct arena_mark mark = hp_arena_mark(&costs->scratch);
    ticks *lost = NEW(&costs->scratch, ticks, costs->n_devices);
    for (int c = 0; c < pattern->n_comms; c++)
        for (int i = 0; i < cost->comm[c].n_tasks; i++) {
            const struct sim_task *task = &cost->comm[c].task[i];
            for (int k = task->n_holds - 1; k >= 0 && task->held == HELD_EACH; k--)
                if (task->hold[k].queue < costs->n_devices) {
                    ticks *device = &lost[task->hold[k].queue];
                    *device += task->hold[k].busy;
                    most = hp_latest(most, *device);
                }
        }
    hp_arena_release(&costs->scratch, mark);
    return hp_seconds(most);
}

/* Do all devices of a comm have the same slots? */
static bool is_inside(const struct lowering *s, const struct comm *comm)
{
    const int *list_of = s->schedule.list_of;
    for (int i = 1; i < comm->n_devices; i++)
        if (list_of[comm->device[i]] != list_of[comm->device[0]])
            return false;
    return true;
}

/* By device: the number of stages on all devices before it. Stage s is stage number
 * schedule.place[s] of its device. */
static int *first_stages(const struct lowering *s, struct arena *arena)
{
    int n = hypar_machine_device_count(s->plan->machine), *first = NEW(arena, int, n + 1);
    for (int d = 0; d < n; d++)
        first[d + 1] = first[d] + hp_slots_of(&s->schedule, d)->n_stages;
    return first;
}

/* The walk through a phase of a stage, item by item: divided parameters are gathered some
 * operators ahead. */
struct phase_walk {
    double now_s, link_s;     /* when devices, and the link of parameters, are free */
    double compute_s, sums_s; /* of the slowest part of each operator; of divided gradients */
    int n_gathered, turn;     /* turns so far (lowering.h), and the last one */
};

/* Times of passes of one operator, by part; operators that are divided alike share them. */
struct part_times {
    uint32_t passes;
    operand_set present;
    double *s;
    struct part_times *next; /* of the same parts */
};

struct maker {
    struct lowering *s;
    struct task_costs *costs;
    struct stage_costs *out;
    struct arena *scratch;
    int *first;     /* by device: its first stage in busy_s */
    double *busy_s; /* [device][stage of the device][phase] */
    double *op_s;   /* [op][phase]: of its slowest part */
    double *come_s; /* [op][phase]: arrival of its gathered parameters */
    double *done_s; /* [stage][phase][gathered operator] */
    int *number;    /* [op][phase]: which of the gathered operators it is, from 1; 0: none */
    struct phase_walk *walk;   /* [stage][phase] */
    bool *of;                  /* by comm */
    struct part_times **known; /* by id of parts */
};

/* Passes --------------------------------------------------------------------------------- */

/* Passes of an operator that are done in one phase. */
static uint32_t passes_in(const struct training_graph *k, int op, int n_passes, bool again,
                          enum phase phase)
{
    uint32_t found = 0;
    for (int p = 0; p < n_passes; p++) {
        int at = again ? k->again_of[op][p] : k->op_pass_of[op][p];
        if (at >= 0 && !k->op_pass[at].resend && k->op_pass[at].phase == phase)
            found |= (uint32_t)1 << p;
    }
    return found;
}

static const double *part_times(struct maker *m, int op, uint32_t passes,
                                const struct op_parts *parts)
{
    const struct op *o = &m->s->graph->ops[op];
    struct part_times **known = &m->known[parts->id], *t = *known;
    while (t && (t->passes != passes || t->present != hp_present(o)))
        t = t->next;
    if (t)
        return t->s;
    t = NEW(m->scratch, struct part_times, 1);
    *t = (struct part_times){ passes, hp_present(o), NEW(m->scratch, double, parts->n_parts),
                              *known };
    *known = t;
    bool uniform = hypar_machine_is_uniform(m->s->plan->machine);
    axis_set positional = hp_positional_axes(o->nest);
    const struct range *range_before = NULL;
    for (int i = 0, before = -1; i < parts->n_parts; i++) {
        if (parts->empty[i])
            continue;
        struct kernel_place at = hp_costs_place(m->costs, parts->device[i]);
        const struct range *range = parts->range + i * o->nest->n_axes;
        bool alike = uniform && before >= 0 &&
                     hp_same_work(range, range_before, o->nest->n_axes, positional);
        t->s[i] =
            alike ? t->s[before] : hp_op_seconds(o->nest, passes, range, hp_present(o), &at);
        before = i;
        range_before = range;
    }
    return t->s;
}

static void add_passes(struct maker *m, int body, int op, uint32_t passes, enum phase phase)
{
    const struct op_parts *parts = m->s->body[body].parts[op];
    int place = m->s->schedule.place[m->s->schedule.stage_of_op[op]];
    double slowest_s = 0;
    if (!passes)
        return;
    const double *part_s = part_times(m, op, passes, parts);
    for (int i = 0; i < parts->n_parts; i++) {
        slowest_s = fmax(slowest_s, part_s[i]);
        m->busy_s[(m->first[parts->device[i]] + place) * N_PHASES + (int)phase] += part_s[i];
    }
    m->op_s[op * N_PHASES + (int)phase] += slowest_s;
}

static void add_op(struct maker *m, int body, int op)
{
    const struct training_graph *k = &m->s->training;
    int n = m->s->graph->ops[op].nest->n_passes;
    for (int phase = 0; phase < N_PHASES; phase++)
        for (int again = 0; again < 2; again++)
            add_passes(m, body, op, passes_in(k, op, n, again, (enum phase)phase),
                       (enum phase)phase);
}

/* Exchanges ------------------------------------------------------------------------------ */

static int stage_of(const struct maker *m, int op)
{
    return m->s->schedule.stage_of_op[op];
}

static int element_bytes(const struct maker *m, const struct exchange *e)
{
    return hp_message_bytes(m->s->plan, e->place);
}

/* Do devices of a stage take part in a comm with others? */
static bool is_waited_for(const struct maker *m, const struct comm *comm, int stage)
{
    bool any = false;
    for (int i = 0; i < comm->n_devices; i++) {
        const struct slot_list *list = hp_slots_of(&m->s->schedule, comm->device[i]);
        for (int k = 0; k < list->n_stages; k++)
            any |= list->stage[k] == stage;
    }
    return any && !is_inside(m->s, comm);
}

/* One exchange passes a tensor to all stages that read it. Each of these stages waits for the
 * comms in which its own devices take part. */
static void add_hop(struct maker *m, int body, const struct exchange *e,
                    const struct pattern *pattern, int from)
{
    int n = m->out->n_stages;
    for (int r = 0; r < e->n_readers; r++) {
        int to = stage_of(m, e->reader[r].op);
        bool known = to == from;
        for (int i = 0; i < r; i++)
            known |= stage_of(m, e->reader[i].op) == to;
        if (known)
            continue;
        for (int c = 0; c < pattern->n_comms; c++)
            m->of[c] = is_waited_for(m, &pattern->comm[c], to);
        double held_s,
            s = hp_comms_seconds(m->costs, pattern, element_bytes(m, e), m->of, &held_s);
        struct border_cost *border = &m->out->border[e->backward][(body * n + from) * n + to];
        border->s += s;
        border->held_s += held_s;
    }
}

static bool is_of_params(const struct maker *m, const struct exchange *e)
{
    return m->s->graph->tensors[e->place.tensor].kind == TENSOR_PARAM;
}

/* Parameters are gathered when the operator `ahead` + 1 before theirs is done. */
static void gather(struct maker *m, int stage, enum phase phase, const struct exchange *e,
                   double s, double held_s)
{
    int op = e->first.op;
    int at = stage * N_PHASES + (int)phase, cell = op * N_PHASES + (int)phase;
    struct phase_walk *w = &m->walk[at];
    if (w->n_gathered == 0 || w->turn != e->turn)
        w->n_gathered++;
    w->turn = e->turn;
    if (!m->number[cell])
        m->number[cell] = w->n_gathered;
    int before = m->number[cell] - hp_gathers_ahead(m->s->plan) - 1;
    double begin_s = before < 1 ? 0 : m->done_s[at * (m->s->graph->n_ops + 1) + before];
    begin_s = fmax(begin_s, w->link_s);
    w->link_s = begin_s + held_s;
    m->come_s[cell] = fmax(m->come_s[cell], begin_s + s);
}

static void add_exchange(struct maker *m, int body, int number)
{
    const struct exchange *e = &m->s->training.exchange[number];
    const struct pattern *pattern = m->s->body[body].pattern[number];
    if (!pattern || pattern->n_comms == 0)
        return;
    bool params = is_of_params(m, e), gathers = params && e->division == DIVIDE_GATHER;
    int op = gathers ? e->first.op : e->n_writers > 0 ? e->writer[0].op : e->reader[0].op;
    int stage = stage_of(m, op);
    enum phase phase = e->backward ? PHASE_BACKWARD : PHASE_FORWARD;
    if (params && e->place.grad && m->s->iteration.apart)
        phase = PHASE_GRADIENT;
    m->of = NEW(m->scratch, bool, pattern->n_comms);
    if (!params)
        add_hop(m, body, e, pattern, stage);
    for (int c = 0; c < pattern->n_comms; c++)
        m->of[c] = params || is_inside(m->s, &pattern->comm[c]);
    double held_s, s = hp_comms_seconds(m->costs, pattern, element_bytes(m, e), m->of, &held_s);
    struct phase_walk *w = &m->walk[stage * N_PHASES + (int)phase];
    w->now_s += params ? lost_beside(m->costs, pattern, element_bytes(m, e)) : 0;
    if (gathers) {
        gather(m, stage, phase, e, s, held_s);
    } else if (params) {
        w->sums_s += held_s;
        w->link_s = fmax(w->link_s, w->now_s) + held_s;
    } else {
        w->now_s += s;
    }
}

static void add_pass(struct maker *m, const struct op_pass *pass)
{
    int at = stage_of(m, pass->op) * N_PHASES + (int)pass->phase;
    int cell = pass->op * N_PHASES + (int)pass->phase;
    struct phase_walk *w = &m->walk[at];
    w->now_s = fmax(w->now_s, m->come_s[cell]) + m->op_s[cell];
    w->compute_s += m->op_s[cell];
    m->op_s[cell] = 0; /* all passes of the operator with the first of them */
    if (m->number[cell])
        m->done_s[at * (m->s->graph->n_ops + 1) + m->number[cell]] = w->now_s;
}

/* Stages --------------------------------------------------------------------------------- */

/* By stage and phase: the time of the busiest device. */
static double *busiest(const struct maker *m)
{
    double *most_s = NEW(m->scratch, double, m->out->n_stages *N_PHASES);
    for (int d = 0; d < m->costs->n_devices; d++) {
        const struct slot_list *list = hp_slots_of(&m->s->schedule, d);
        for (int i = 0; i < list->n_stages * N_PHASES; i++) {
            double *most = &most_s[list->stage[i / N_PHASES] * N_PHASES + i % N_PHASES];
            *most = fmax(*most, m->busy_s[m->first[d] * N_PHASES + i]);
        }
    }
    return most_s;
}

static void begin_body(struct maker *m)
{
    int n = m->out->n_stages, n_ops = m->s->graph->n_ops;
    m->walk = NEW(m->scratch, struct phase_walk, n * N_PHASES);
    m->busy_s = NEW(m->scratch, double, m->first[m->costs->n_devices] * N_PHASES);
    m->op_s = NEW(m->scratch, double, n_ops *N_PHASES);
    m->come_s = NEW(m->scratch, double, n_ops *N_PHASES);
    m->number = NEW(m->scratch, int, n_ops *N_PHASES);
    m->done_s = NEW(m->scratch, double, n *N_PHASES *(n_ops + 1));
}

/* Operators wait for their slowest part only where they exchange something: the busiest device
 * decides. */
static void add_body(struct maker *m, int body)
{
    const struct training_graph *k = &m->s->training;
    int n = m->out->n_stages;
    begin_body(m);
    for (int op = 0; op < m->s->graph->n_ops; op++)
        add_op(m, body, op);
    for (int i = 0; i < k->n_items; i++)
        if (k->item[i].is_pass)
            add_pass(m, &k->op_pass[k->item[i].index]);
        else
            add_exchange(m, body, k->item[i].index);
    const double *busiest_s = busiest(m);
    for (int at = 0; at < n * N_PHASES; at++) {
        struct stage_cost *cost = &m->out->stage[body * n + at / N_PHASES];
        const struct phase_walk *w = &m->walk[at];
        cost->phase_s[at % N_PHASES] = w->now_s - (w->compute_s - busiest_s[at]);
        cost->sums_s[at % N_PHASES] = w->sums_s;
        cost->late_s[at % N_PHASES] = fmax(0, w->link_s - w->now_s);
        cost->gathers[at % N_PHASES] = w->n_gathered > 0;
    }
}

/* The tail ------------------------------------------------------------------------------- */

static void add_tail(struct maker *m)
{
    const struct training_graph *k = &m->s->training;
    double *update_s = NEW(m->scratch, double, m->costs->n_devices);
    int *stage_on = NEW(m->scratch, int, m->costs->n_devices);
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++) {
        const struct exchange *e = &k->exchange[d];
        const struct pattern *pattern = m->s->tail[d - k->n_exchanges];
        if (!is_of_params(m, e))
            continue;
        int op = e->n_writers > 0 ? e->writer[0].op : e->n_readers > 0 ? e->reader[0].op : 0;
        struct tail_cost *tail = &m->out->tail[stage_of(m, op)];
        double held_s,
            s = hp_comms_seconds(m->costs, pattern, element_bytes(m, e), NULL, &held_s);
        if (d >= k->n_exchanges + k->n_sums) {
            tail->gathers_s += held_s;
            tail->last_gather_s = fmax(tail->last_gather_s, s);
            continue;
        }
        tail->sums_s += held_s;
        tail->lost_s += lost_beside(m->costs, pattern, element_bytes(m, e));
        tail->last_sum_s = s > 0 && tail->last_sum_s == 0 ? s : tail->last_sum_s;
        const struct update_devices *u = hp_update_devices(m->s, d);
        for (int i = 0; i < u->n; i++) {
            update_s[u->device[i]] +=
                hp_seconds(hp_update_time(m->costs, u->device[i], u->elements[i]));
            stage_on[u->device[i]] = stage_of(m, op);
        }
    }
    for (int d = 0; d < m->costs->n_devices; d++) {
        double *most = &m->out->tail[stage_on[d]].update_s;
        *most = fmax(*most, update_s[d]);
    }
}

struct stage_costs hp_stage_costs(struct lowering *s, struct task_costs *costs,
                                  struct arena *arena)
{
    struct stage_costs out = { .n_stages = s->schedule.n_stages, .n_bodies = s->n_bodies };
    struct arena scratch = { 0 };
    struct maker m = { .s = s, .costs = costs, .out = &out, .scratch = &scratch };
    int n = out.n_stages;
    m.known = NEW(&scratch, struct part_times *, s->cache->n_op_parts);
    m.first = first_stages(s, &scratch);
    out.stage = NEW(arena, struct stage_cost, out.n_bodies * n);
    for (int way = 0; way < 2; way++)
        out.border[way] = NEW(arena, struct border_cost, out.n_bodies * n * n);
    out.tail = NEW(arena, struct tail_cost, n);
    for (int b = 0; b < out.n_bodies; b++)
        add_body(&m, b);
    add_tail(&m);
    hp_arena_free(&scratch);
    return out;
}
