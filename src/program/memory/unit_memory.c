/* The memory in which a framework that runs operator by operator sends parameters and
 * gradients. It sends all parameters, or gradients, of a unit together. A unit is a repeated
 * layer; the parameters that are in no layer are one more unit.
 *
 *  - Forward: the parameters of a unit are gathered when its first pass begins. The buffer that
 *    they are received in stays until the parameters of the next unit have been received.
 *  - Backward: the parameters of a unit are gathered when the unit before it begins.
 *  - Gradients of a unit wait until its last backward pass is over. They are then copied into
 *    one buffer. This buffer stays until the gradients of the next unit are copied. */
#include "program/memory/parts.h"

#include "graph/modules.h"

bool hp_has_units(const struct hypar_program *program)
{
    const struct hypar_plan *plan = program->plan;
    if (plan->simulation.framework != HYPAR_FRAMEWORK_EAGER || program->iteration->forward ||
        program->iteration->delayed)
        return false;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        int sample = hp_sample_axis(plan->graph->ops[op].nest);
        if (sample >= 0 && hp_degree(&plan->ops[op].split, sample) > 1)
            return true;
    }
    return hp_precision_bytes(plan->precision) <
           hp_precision_bytes(hp_master_precision(plan->precision));
}

void hp_units_begin(struct memory_maker *m)
{
    struct unit_memory *u = &m->units;
    struct modules modules = hp_find_modules(m->graph, &m->scratch);
    u->n = modules.n + 1;
    u->of_op = NEW(&m->scratch, int, m->graph->n_ops);
    for (int op = 0; op < m->graph->n_ops; op++) {
        int unit = hp_unit_of(&modules, op);
        u->of_op[op] = unit < 0 ? modules.n : unit;
    }
    u->gathered = NEW(&m->scratch, double, u->n * m->model->n_devices);
    u->largest = NEW(&m->scratch, double, m->model->n_devices);
}

/* The unit that a parameter is of: that of all its readers. */
static int unit_of_param(const struct memory_maker *m, int t)
{
    const struct hypar_graph *g = m->graph;
    int unit = m->units.of_op[g->use[g->use_start[t]].op];
    for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++)
        if (m->units.of_op[g->use[u].op] != unit)
            return m->units.n - 1;
    return unit;
}

void hp_gather_with_unit(struct memory_maker *m, int tensor)
{
    struct unit_memory *u = &m->units;
    int unit = unit_of_param(m, tensor),
        bytes = hp_precision_bytes(m->program->plan->precision);
    for (int i = 0; i < m->finder.n; i++) /* of both halves, alike */
        u->largest[m->finder.buffer[i].device] = 0;
    for (int i = 0; i < m->finder.n; i++) {
        const struct buffer *b = &m->finder.buffer[i];
        double all = bytes * (double)hp_box_elements(&b->box), *most = &u->largest[b->device];
        if (all > *most) {
            u->gathered[b->device * u->n + unit] += all - *most;
            *most = all;
        }
    }
}

/* The passes of a unit in one action of a device. */
struct unit_run {
    int unit, first, last;
    double waits; /* elements of gradients that its passes write */
};

static void hold(struct body_memory *body, int first, int last, double bytes)
{
    body->pass[first].temporary += bytes;
    body->pass[last].end_temporary += bytes;
}

/* Gradients that are divided wait, in the plan's precision, for the other ones of their unit;
 * others are there as ones that last. */
static void add_gradients(struct memory_maker *m, struct body_memory *body,
                          const struct unit_run *run, int n_runs, const double *elements)
{
    const struct hypar_plan *plan = m->program->plan;
    const struct body_passes *p = body->passes;
    int wide = hp_precision_bytes(hp_plan_gradients(plan));
    for (int r = 0; r < n_runs; r++) {
        int device = hp_device_at(p, run[r].first), action = hp_action_at(p, run[r].first);
        for (int i = p->start[device]; m->units.divided && i < p->start[device + 1]; i++) {
            int number = p->number[i];
            if (elements[number] > 0 && hp_action_at(p, number) == action &&
                m->units.of_op[hp_pass_at(p, number)->op] == run[r].unit)
                hold(body, number, run[r].last,
                     hp_precision_bytes(plan->precision) * elements[number]);
        }
        int until =
            r + 1 < n_runs && run[r + 1].last > run[r].last ? run[r + 1].last : run[r].last;
        hold(body, run[r].last, until, wide * run[r].waits);
    }
}

/* `run`: in the order in which they begin. */
static void add_gathered(struct memory_maker *m, struct body_memory *body, int device,
                         const struct unit_run *run, int n_runs, bool backward)
{
    const struct unit_memory *u = &m->units;
    for (int r = 0; r < n_runs; r++) {
        double bytes = u->gathered[device * u->n + run[r].unit];
        bool comes_before =
            backward && r > 0 && u->gathered[device * u->n + run[r - 1].unit] > 0;
        bool twice = !backward && run[r].unit < u->n - 1;
        if (bytes > 0)
            hold(body, run[comes_before ? r - 1 : r].first, run[r].last,
                 twice ? 2 * bytes : bytes);
    }
}

/* The runs of a device in one action; what is of no layer takes all of it. */
static int find_runs(const struct memory_maker *m, const struct body_passes *p, int device,
                     int action, const double *elements, int *run_of, struct unit_run *run)
{
    int n = 0, last = -1;
    for (int i = p->start[device]; i < p->start[device + 1]; i++) {
        int number = p->number[i];
        if (hp_action_at(p, number) != action)
            continue;
        int unit = m->units.of_op[hp_pass_at(p, number)->op];
        if (n == 0)
            run[run_of[m->units.n - 1] = n++] =
                (struct unit_run){ .unit = m->units.n - 1, .first = number };
        if (run_of[unit] < 0)
            run[run_of[unit] = n++] = (struct unit_run){ .unit = unit, .first = number };
        run[run_of[unit]].last = last = number;
        run[run_of[unit]].waits += elements[number];
    }
    for (int r = 0; r < n; r++) {
        run_of[run[r].unit] = -1;
        if (run[r].unit == m->units.n - 1)
            run[r].last = last;
    }
    return n;
}

void hp_memory_of_units(struct memory_maker *m, struct body_memory *body,
                        const double *elements)
{
    const struct body_passes *p = body->passes;
    const struct schedule *s = m->program->schedule;
    struct unit_run *run = NEW(&m->scratch, struct unit_run, m->units.n);
    int *run_of = NEW(&m->scratch, int, m->units.n);
    for (int i = 0; i < m->units.n; i++)
        run_of[i] = -1;
    for (int d = 0; d < m->model->n_devices; d++)
        for (int a = 0; p->start[d] < p->start[d + 1] && a < hp_action_count(s); a++) {
            int n = find_runs(m, p, d, a, elements, run_of, run);
            bool backward = hp_action_phase(s, a) != PHASE_FORWARD;
            add_gathered(m, body, d, run, n, backward);
            if (n > 1 && backward) { /* what is of no layer is summed last */
                struct unit_run rest = run[0];
                for (int r = 1; r < n; r++)
                    run[r - 1] = run[r];
                run[n - 1] = rest;
            }
            if (backward)
                add_gradients(m, body, run, n, elements);
        }
}
