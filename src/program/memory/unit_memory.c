/* The memory in which a framework that runs operator by operator sends parameters and
 * gradients. It sends all parameters, or gradients, of a unit together. A unit is a repeated
 * layer; the parameters that are in no layer are one more unit.
 *
 *  - Forward: the parameters of a unit are gathered when its first pass begins. The buffer that
 *    they are received in stays until the parameters of the next unit have been received; of
 * the last unit, until the forward half ends.
 *  - Backward: the parameters of a unit are gathered when the unit before it begins; the first
 *    ones when the error of the model's output is known. A loss beside the model comes before.
 *  - Parameters that are not divided are copied, too, whatever the plan's precision: a network
 *    is computed with copies, in its unit, of what is updated. The copies begin so and stay
 *    until the last backward pass of the unit is over: of the last micro-batch, because the
 *    others need them. Where gradients are summed once a step, the buffer of gradients below
 *    is counted less the copy, which is freed before that buffer is filled.
 *  - Where pieces are padded, so are the copies of parameters and the buffer of gradients.
 *  - Gradients of a unit wait until its last backward pass is over. Then its parameters are
 *    freed, and the gradients are copied into one buffer, from which the gradients that last
 *    are received. This buffer stays until the gradients of the next unit are copied. Where
 *    gradients are divided, that of the unit's last parameter is freed only when they are
 * summed (a variable of a loop in foreach_reduce() of _fsdp_collectives.py still names it).
 *  - The errors of a unit's inputs tell that its backward passes are over. A unit whose inputs
 *    have none (a table of words, a first layer) waits until the backward half is over, as the
 *    parameters do that are in no layer. */
#include <math.h>
#include <string.h>

#include "program/memory/parts.h"

#include "graph/modules.h"

/* The framework wraps a model whose operators all divide their samples, or which is computed in
 * fewer bits than its weights have. */
bool hp_has_units(const struct hypar_program *program)
{
    const struct hypar_plan *plan = program->plan;
    if (!hp_goes_by_modules(&plan->simulation.framework) || program->iteration->forward ||
        program->iteration->delayed)
        return false;
    if (hp_precision_bytes(plan->precision) <
        hp_precision_bytes(hp_master_precision(plan->precision)))
        return true;
    bool divided = false;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        int sample = hp_sample_axis(plan->graph->ops[op].nest);
        divided |= sample >= 0;
        if (sample >= 0 && hp_degree(&plan->ops[op].split, sample) == 1)
            return false;
    }
    return divided;
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

/* While a unit is gathered, each owner of a piece of a box holds the whole box, padded. */
static void add_padding(struct memory_maker *m, int t)
{
    const struct unit_memory *u = &m->units;
    struct place place = { t, .grad = m->graph->tensors[t].needs_grad };
    enum hypar_shard least = place.grad ? HYPAR_SHARD_OPTIMIZER : HYPAR_SHARD_PARAMETERS;
    if (m->finder.held.shard[t] < least)
        return;
    const struct pattern *p = hp_pieces(m->program->lowering, place);
    int unit = unit_of_param(m, t);
    for (int c = 0; p && c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        struct box box = hp_cell_box(p, c);
        double padding = (double)(cell->pieces * cell->padded - hp_box_elements(&box));
        for (int i = 0; place.grad && i < cell->n_kept; i++)
            u->padding[cell->kept[i] * u->n + unit] += padding;
        for (int i = 0; place.grad && i < cell->n_receivers; i++)
            u->padding[cell->receiver[i] * u->n + unit] += padding;
        if (!place.grad && cell->n_contributions)
            u->padding[cell->contribution[0].device * u->n + unit] += padding;
    }
}

void hp_pad_units(struct memory_maker *m)
{
    struct unit_memory *u = &m->units;
    int bytes = hp_precision_bytes(m->program->plan->precision);
    for (int i = 0; i < u->n * m->model->n_devices; i++) {
        double *copies = u->gathered[i] > 0 ? &u->gathered[i] : &u->copied[i];
        if (*copies > 0)
            *copies += bytes * u->padding[i];
        if (u->received[i] > 0)
            u->received[i] += bytes * u->padding[i];
    }
}

/* Units that read no output of another operator which has an error. */
static void find_units_at_end(struct memory_maker *m)
{
    struct unit_memory *u = &m->units;
    u->at_end = NEW(&m->scratch, bool, u->n);
    for (int unit = 0; unit < u->n; unit++)
        u->at_end[unit] = true;
    for (int op = 0; op < m->graph->n_ops; op++)
        for (int o = 0; o < m->graph->ops[op].nest->n_inputs; o++) {
            int t = m->graph->ops[op].tensor[o];
            int from = t < 0 ? -1 : m->graph->tensors[t].producer;
            if (from >= 0 && u->of_op[from] != u->of_op[op] && m->graph->tensors[t].needs_grad)
                u->at_end[u->of_op[op]] = false;
        }
    u->at_end[u->n - 1] = true;
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
    find_units_at_end(m);
    const struct hypar_plan *plan = m->program->plan;
    u->copies = !hp_framework_memory(&plan->simulation)->flat_gradients;
    u->copies_end = u->copies && !hp_param_how(plan).again;
    u->has_params = NEW(&m->scratch, bool, u->n);
    for (int t = 0; t < m->graph->n_tensors; t++)
        if (m->graph->tensors[t].kind == TENSOR_PARAM)
            u->has_params[unit_of_param(m, t)] = true;
    u->gathered = NEW(&m->scratch, double, u->n * m->model->n_devices);
    u->received = NEW(&m->scratch, double, u->n * m->model->n_devices);
    u->copied = NEW(&m->scratch, double, u->n * m->model->n_devices);
    u->held = NEW(&m->scratch, double, u->n * m->model->n_devices);
    u->largest = NEW(&m->scratch, double, m->model->n_devices);
    u->padding = NEW(&m->scratch, double, u->n * m->model->n_devices);
    for (int t = 0; t < m->graph->n_tensors && plan->simulation.framework.row_shards; t++)
        if (m->graph->tensors[t].kind == TENSOR_PARAM)
            add_padding(m, t);
}

void hp_gather_with_unit(struct memory_maker *m, int tensor)
{
    struct unit_memory *u = &m->units;
    int unit = unit_of_param(m, tensor),
        bytes = hp_precision_bytes(m->program->plan->precision);
    double times = hp_whole_times(m, tensor);
    for (int i = 0; i < m->finder.n; i++) /* of both halves, alike */
        u->largest[m->finder.buffer[i].device] = 0;
    for (int i = 0; i < m->finder.n; i++) {
        const struct buffer *b = &m->finder.buffer[i];
        double all = bytes * times * (double)hp_box_elements(&b->box),
               *most = &u->largest[b->device];
        if (all > *most) {
            u->gathered[b->device * u->n + unit] += all - *most;
            u->received[b->device * u->n + unit] += all - *most;
            u->held[b->device * u->n + unit] = *most = all;
        }
    }
}

void hp_copy_with_unit(struct memory_maker *m, int tensor, int device, double bytes)
{
    int at = device * m->units.n + unit_of_param(m, tensor);
    m->units.copied[at] += bytes;
    m->units.held[at] = m->finder.held.shard[tensor] ? bytes : 0;
    if (m->finder.held.shard[tensor] && m->units.copies_end) /* else in the first micro-batch */
        m->units.received[at] += bytes;
}

/* The passes of a unit in one action of a device. */
struct unit_run {
    int unit, first, last;
    int after; /* the pass of the device after the last one; the last one, if there is none */
    int until; /* the pass of the device before the next unit begins; -1: there is none */
    double waits; /* elements of gradients that its passes write */
    double lasts; /* bytes of those that last */
};

static void hold(struct body_memory *body, int first, int last, double bytes)
{
    body->pass[first].begin.term[TERM_buffers] += bytes;
    body->pass[last].end.term[TERM_buffers] += bytes;
}

/* Gradients wait, in the plan's precision, for the other ones of their unit. Those that last
 * begin when the unit's are copied. */
static void add_waiting(struct memory_maker *m, struct body_memory *body, struct unit_run *run,
                        const int *run_of, const double *elements)
{
    const struct body_passes *p = body->passes;
    int device = hp_device_at(p, run->first), action = hp_action_at(p, run->first);
    for (int i = p->start[device]; i < p->start[device + 1]; i++) {
        int number = p->number[i], r = run_of[m->units.of_op[hp_pass_at(p, number)->op]];
        if (elements[number] == 0 || hp_action_at(p, number) != action || r < 0)
            continue;
        double bytes = body->pass[number].gradients;
        hold(body, number, run[r].last,
             hp_precision_bytes(m->program->plan->precision) * elements[number]);
        body->pass[number].gradients = 0;
        body->pass[run[r].after].gradients += bytes;
        run[r].lasts += bytes;
    }
}

/* Units that end with the last pass of the device: their gradients are summed behind it, one
 * unit after another. A unit's copies are freed before its buffer is allocated, and its
 * waiting gradients before its lasting ones. The fullest moment of the pass counts.
 *
 * `run`: these units; `before`: bytes of the buffer that stays until the first of them. */
static void add_ends(struct memory_maker *m, struct body_memory *body,
                     const struct unit_run *run, int n_runs, int device, double before)
{
    const struct unit_memory *u = &m->units;
    int narrow = hp_precision_bytes(m->program->plan->precision),
        wide = hp_precision_bytes(hp_plan_gradients(m->program->plan));
    double all = before, now = before, most, freed = 0, freed_at = 0; /* copies */
    for (int r = 0; r < n_runs; r++) {
        int at = device * u->n + run[r].unit;
        now += u->copied[at] + u->gathered[at] + narrow * run[r].waits;
        all += u->copied[at] + u->gathered[at] + narrow * run[r].waits + run[r].lasts;
    }
    most = now;
    for (int r = 0; r < n_runs; r++) {
        int at = device * u->n + run[r].unit;
        double buffer = wide * (run[r].waits + u->padding[at]),
               lasts = run[r].lasts - narrow * run[r].waits;
        now += buffer - before - u->copied[at] - u->gathered[at];
        freed += u->copied[at];
        if (now + fmax(lasts + u->held[at], 0) > most) {
            most = now + fmax(lasts + u->held[at], 0);
            freed_at = freed;
        }
        now += lasts;
        before = buffer;
    }
    int last = run[0].last;
    body->pass[last].begin.term[TERM_parameters] -= freed_at;
    body->pass[last].end.term[TERM_parameters] -= freed_at;
    hold(body, last, last, most - all + freed_at);
}

/* `run`: in the order in which they end. `run_of`: by unit, -1. */
static void add_gradients(struct memory_maker *m, struct body_memory *body,
                          struct unit_run *run, int n_runs, int *run_of, const double *elements)
{
    const struct unit_memory *u = &m->units;
    int wide = hp_precision_bytes(hp_plan_gradients(m->program->plan));
    int device = n_runs ? hp_device_at(body->passes, run->first) : 0, end = 0;
    double before = 0; /* bytes that stay until the last pass */
    for (int r = 0; r < n_runs; r++)
        run_of[run[r].unit] = r;
    if (n_runs > 0)
        add_waiting(m, body, run, run_of, elements);
    for (; end < n_runs && run[end].after != run[end].last; end++) {
        int next = end + 1 < n_runs ? run[end + 1].last : run[end].after,
            until = next > run[end].after ? next : run[end].after;
        int at = device * u->n + run[end].unit;
        double bytes = wide * (run[end].waits + u->padding[at]);
        if (!u->copies_end) /* in the last micro-batch, the copy is gone */
            bytes = fmax(bytes - u->copied[at], 0);
        hold(body, run[end].after, until, bytes);
        before = end + 1 < n_runs && until == run[n_runs - 1].last ? bytes : 0;
    }
    if (end < n_runs)
        add_ends(m, body, run + end, n_runs - end, device, before);
    for (int r = 0; r < n_runs; r++)
        run_of[run[r].unit] = -1;
}

/* `run`: in the order in which they begin. */
static void add_gathered(struct memory_maker *m, struct body_memory *body, int device,
                         const struct unit_run *run, int n_runs, bool backward)
{
    const struct unit_memory *u = &m->units;
    for (int r = 0; r < n_runs; r++) {
        int at = device * u->n + run[r].unit;
        bool comes_before =
            backward && r > 0 && u->gathered[device * u->n + run[r - 1].unit] > 0;
        if (u->gathered[at] > 0)
            hold(body, run[comes_before ? r - 1 : r].first, run[r].last, u->gathered[at]);
        if (!backward && run[r].until >= 0)
            hold(body, run[r].first, run[r].until, u->received[at]);
    }
}

/* Copies begin with the first forward pass of their unit, and end with its last backward pass.
 * The unit of all that is in no layer takes the whole action; so does a unit without a run. */
static void add_copies(const struct memory_maker *m, struct body_memory *body, int device,
                       const struct unit_run *run, int n_runs, bool backward)
{
    const struct unit_memory *u = &m->units;
    double left = 0;
    if (!u->copies_end)
        return;
    for (int unit = 0; unit < u->n; unit++)
        left += u->copied[device * u->n + unit];
    if (!backward)
        body->lasts[device][1].term[TERM_parameters] += left; /* from action 0 to action 1 */
    for (int r = n_runs - 1; r >= 0; r--) {
        double bytes = r > 0 ? u->copied[device * u->n + run[r].unit] : left;
        if (backward)
            body->pass[run[r].last].end.term[TERM_parameters] += bytes;
        else
            body->pass[run[r].first].begin.term[TERM_parameters] += bytes;
        left -= bytes;
    }
}

/* Does the loop that trains compute the loss, outside of the model? Its target is no argument
 * of the model. */
static bool is_beside_model(const struct hypar_graph *graph, int op)
{
    const struct op *at = &graph->ops[op];
    int target = at->nest->n_inputs - 1;
    return hp_op[at->kind].flags & ROW_LOSS && graph->n_arguments > 0 && !graph->own_loss &&
           graph->tensors[at->tensor[target]].kind == TENSOR_INPUT &&
           !hp_is_argument(graph, at->tensor[target]);
}

/* The runs of a device in one action. A unit without parameters has none; the unit of all that
 * is in no layer takes the whole action. */
static int find_runs(const struct memory_maker *m, const struct body_passes *p, int device,
                     int action, const double *elements, int *run_of, struct unit_run *run)
{
    bool backward = hp_action_phase(m->program->schedule, action) != PHASE_FORWARD;
    int n = 0, last = -1, rest = m->units.n - 1, before = -1; /* the run of the pass before */
    for (int i = p->start[device]; i < p->start[device + 1]; i++) {
        int number = p->number[i];
        if (hp_action_at(p, number) != action)
            continue;
        int unit = m->units.of_op[hp_pass_at(p, number)->op];
        if (before >= 0)
            run[before].after = number;
        if (n == 0)
            run[run_of[rest] = n++] = (struct unit_run){ .unit = rest, .first = number };
        if (backward && n == 1 && last >= 0 &&
            is_beside_model(m->graph, hp_pass_at(p, last)->op))
            run[0].first = number;
        if (run_of[unit] < 0 && m->units.has_params[unit]) {
            run[n - 1].until = last;
            run[run_of[unit] = n++] = (struct unit_run){ .unit = unit, .first = number };
        }
        last = number;
        before = run_of[unit];
        if (before < 0)
            continue;
        run[before].last = run[before].after = number;
        run[before].waits += elements[number];
    }
    for (int r = 0; r < n; r++) {
        run_of[run[r].unit] = -1;
        run[r].until = r + 1 < n ? run[r].until : last;
        if (run[r].unit == rest || (backward && m->units.at_end[run[r].unit]))
            run[r].last = run[r].after = last;
    }
    return n;
}

/* The order in which gradients are summed: units behind whose last pass others follow, in the
 * order of their passes, then those that wait for the end of the backward half, what is in no
 * layer first. The runs come in the order in which they begin. */
static void order_by_end(const struct unit_memory *u, struct unit_run *run, int n,
                         struct unit_run *scratch)
{
    int at = 0;
    for (int r = 1; r < n; r++)
        if (!u->at_end[run[r].unit])
            scratch[at++] = run[r];
    scratch[at++] = run[0];
    for (int unit = 0; unit < u->n - 1; unit++)
        for (int r = 1; r < n && u->at_end[unit]; r++)
            if (run[r].unit == unit)
                scratch[at++] = run[r];
    memcpy(run, scratch, (size_t)n * sizeof *run);
}

void hp_memory_of_units(struct memory_maker *m, struct body_memory *body,
                        const double *elements)
{
    const struct body_passes *p = body->passes;
    const struct schedule *s = m->program->schedule;
    struct unit_run *run = NEW(&m->scratch, struct unit_run, m->units.n),
                    *ordered = NEW(&m->scratch, struct unit_run, m->units.n);
    int *run_of = NEW(&m->scratch, int, m->units.n);
    for (int i = 0; i < m->units.n; i++)
        run_of[i] = -1;
    for (int d = 0; d < m->model->n_devices; d++)
        for (int a = 0; hp_is_looked_at(&m->finder, d) && p->start[d] < p->start[d + 1] &&
                        a < hp_action_count(s);
             a++) {
            int n = find_runs(m, p, d, a, elements, run_of, run);
            bool backward = hp_action_phase(s, a) != PHASE_FORWARD;
            add_gathered(m, body, d, run, n, backward);
            add_copies(m, body, d, run, n, backward);
            if (n > 0 && backward)
                order_by_end(&m->units, run, n, ordered);
            if (backward)
                add_gradients(m, body, run, n, run_of, elements);
        }
}
