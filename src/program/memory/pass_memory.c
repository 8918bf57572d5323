/* The memory that begins or ends with each pass on its device. */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "program/memory/parts.h"

/* Is a buffer a sum of a GRU's backward half, which a processor has for one step at a time? */
static bool is_of_a_step(const struct memory_maker *m, const struct buffer *b)
{
    int op = m->graph->tensors[b->place.tensor].producer;
    return m->options.host && op >= 0 && m->graph->ops[op].kind == OP_GRU && b->backward &&
           !b->place.grad && !b->each_bytes;
}

static double bytes_of(const struct memory_maker *m, const struct buffer *b)
{
    if (is_of_a_step(m, b))
        return 0;
    int each = b->each_bytes ? b->each_bytes : hp_held_bytes(m->program->plan, b->place);
    return each * (double)hp_box_elements(&b->box);
}

/* Memory from step to step ---------------------------------------------------------------- */

static void add_to_term(struct memory_maker *m, int device, enum tensor_term term, double bytes)
{
    hp_add_to_term(&m->model->device[device], &hp_memory_terms[term], bytes);
}

/* Is a copy of a parameter freed before its gradients are copied to be summed? It always is in
 * the last micro-batch; gradients that are divided are summed in the earlier ones, too. Stages
 * sum once a step. */
static bool copy_ends_first(const struct memory_maker *m, int tensor)
{
    return m->units.copies_end ||
           (m->units.copies && (m->program->plan->n_stages > 1 ||
                                m->finder.held.shard[tensor] < HYPAR_SHARD_GRADIENTS));
}

/* Are trained weights as wide as their masters? Then the weight is its own master, and a copy
 * takes memory in addition. The master of a narrower weight is in the optimizer's state. */
static bool are_masters(const struct hypar_plan *plan)
{
    return hp_precision_bytes(plan->precision) ==
           hp_precision_bytes(hp_master_precision(plan->precision));
}

/* Do a parameter's gradients lie in buckets, too, in which replicas sum them? */
static bool in_buckets(const struct memory_maker *m, int tensor)
{
    const struct hypar_plan *plan = m->program->plan;
    int op = m->graph->use[m->graph->use_start[tensor]].op;
    int sample = hp_sample_axis(m->graph->ops[op].nest);
    return hp_framework_memory(&plan->simulation)->bucket_copies &&
           !m->finder.held.shard[tensor] && sample >= 0 &&
           hp_degree(&plan->ops[op].split, sample) > 1;
}

/* The elements of parameter `t`, or of its gradient, on a device whose tasks touch `held`. A
 * framework holds those that no operator reads, too: all rows of a table of which a model reads
 * the first rows. */
static double held_elements(const struct memory_maker *m, int t, struct box held)
{
    const struct hypar_graph *graph = m->graph;
    int from = graph->use_start[t], to = graph->use_start[t + 1];
    bool framework = m->program->plan->simulation.framework.kernels != HYPAR_KERNELS_NONE;
    for (int d = 0; framework && d < held.n_dims; d++) {
        struct range read = { graph->tensors[t].shape.dim[d], 0 };
        for (int i = from; i < to; i++) {
            struct range loops[MAX_AXES];
            const struct nest *nest = graph->ops[graph->use[i].op].nest;
            hp_whole_ranges(nest, loops);
            struct range by_op = hp_region_dim(nest, graph->use[i].operand, d, loops);
            read.lo = by_op.lo < read.lo ? by_op.lo : read.lo;
            read.hi = by_op.hi > read.hi ? by_op.hi : read.hi;
        }
        if (held.dim[d].lo <= read.lo)
            held.dim[d].lo = 0;
        if (held.dim[d].hi >= read.hi)
            held.dim[d].hi = graph->tensors[t].shape.dim[d];
    }
    return (double)hp_box_elements(&held);
}

/* `sum`: the exchange that sums the gradient of a parameter; -1: it is not trained. */
static void add_lasting(struct memory_maker *m, const struct buffer *b, int sum)
{
    const struct hypar_plan *plan = m->program->plan;
    struct param_bytes each =
        hp_param_bytes(plan->precision, plan->fp32_gradients, plan->optimizer);
    enum tensor_term term = hp_term_of(m->graph, b->place, SPAN_STEPS);
    if (m->graph->tensors[b->place.tensor].kind != TENSOR_PARAM) {
        m->shared[b->device] += bytes_of(m, b);
        return;
    }
    double elements = held_elements(m, b->place.tensor, b->box),
           weights = each.weight * elements;
    if (b->place.grad) {
        double buckets = in_buckets(m, b->place.tensor) ? weights : 0;
        add_to_term(m, b->device, term, each.gradient * elements + buckets);
        return;
    }
    bool with_unit = sum >= 0 && m->units.n > 0;
    if (with_unit && copy_ends_first(m, b->place.tensor))
        hp_copy_with_unit(m, b->place.tensor, b->device, weights);
    if (!with_unit || !m->units.copies_end)
        add_to_term(m, b->device, term, weights);
    if (sum < 0)
        return;
    bool whole = !m->finder.held.shard[b->place.tensor];
    if (with_unit && m->units.copies && are_masters(plan) && whole)
        add_to_term(m, b->device, term, weights);
    if (whole)
        add_to_term(m, b->device, TERM_optimizer, each.state * elements);
    int versions = m->model->versions[hp_param_stage(m->program, b->place.tensor)];
    add_to_term(m, b->device, TERM_weight_versions, (versions - 1) * weights);
}

/* The optimizer's state of a parameter that is divided, where it is updated, and the weights
 * there that units' copies are made of. */
static void add_owned(struct memory_maker *m, int sum, int tensor)
{
    const struct hypar_plan *plan = m->program->plan;
    struct param_bytes each =
        hp_param_bytes(plan->precision, plan->fp32_gradients, plan->optimizer);
    const struct update_devices *u = hp_update_devices(m->program->lowering, sum);
    double copies = hp_state_copies(plan, tensor) * hp_whole_times(m, tensor);
    bool has_weights = m->units.copies && are_masters(plan) &&
                       m->finder.held.shard[tensor] != HYPAR_SHARD_PARAMETERS;
    for (int i = 0; i < u->n; i++) {
        add_to_term(m, u->device[i], TERM_optimizer, each.state * copies * u->elements[i]);
        if (has_weights)
            add_to_term(m, u->device[i], TERM_parameters,
                        each.weight * hp_whole_times(m, tensor) * u->elements[i]);
    }
}

/* The pieces of a divided place, on their owners. */
static void add_pieces(struct memory_maker *m, struct place place)
{
    const struct hypar_plan *plan = m->program->plan;
    struct param_bytes each =
        hp_param_bytes(plan->precision, plan->fp32_gradients, plan->optimizer);
    double weight = m->graph->tensors[place.tensor].needs_grad ? hp_divided_weight_bytes(plan)
                                                               : each.weight;
    enum tensor_term term = hp_term_of(m->graph, place, SPAN_STEPS);
    const struct pattern *p = hp_pieces(m->program->lowering, place);
    for (int c = 0; p && c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        double elements = hp_whole_times(m, place.tensor) * (double)cell->elements;
        for (int i = 0; place.grad && i < cell->n_kept; i++)
            add_to_term(m, cell->kept[i], term, each.gradient * elements);
        if (!place.grad && cell->n_contributions)
            add_to_term(m, cell->contribution[0].device, term, weight * elements);
    }
}

/* Bodies ----------------------------------------------------------------------------- */

/* Would recomputation from the stage's inputs give it again on this device? */
static bool rebuilds(const struct memory_maker *m, const struct body_memory *body,
                     const struct buffer *b)
{
    const int *stage = m->program->schedule->stage_of_op;
    int producer = m->graph->tensors[b->place.tensor].producer;
    return producer >= 0 && b->end >= 0 && !b->backward &&
           hp_action_phase(m->program->schedule, b->last) != PHASE_FORWARD &&
           stage[producer] == stage[hp_pass_at(body->passes, b->end)->op];
}

/* Does the runtime of stages have a buffer for each micro-batch that a stage receives, from
 * step to step? PyTorch's has. */
static bool has_receive_buffers(const struct memory_maker *m)
{
    return m->program->plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER &&
           m->program->schedule->n_stages > 1 && !m->program->iteration->delayed;
}

static struct held_bytes held_by(const struct memory_maker *m, const struct body_memory *body,
                                 const struct buffer *buffer)
{
    double bytes = bytes_of(m, buffer);
    struct held_bytes of = { 0 };
    of.term[buffer->term] = bytes;
    of.kept = buffer->kept && !buffer->backward ? bytes : 0;
    of.rebuilt = rebuilds(m, body, buffer) ? of.kept : 0;
    of.saved = buffer->sent ? 0 : of.kept;
    return of;
}

/* A buffer begins with a pass, or after the last pass of its action. It ends with a pass, or
 * before the first pass of an action, or with a slot after an action. A buffer of the runtime
 * (has_receive_buffers()) does neither. */
static void add_buffer(struct memory_maker *m, int b, const struct buffer *buffer)
{
    struct body_memory *body = &m->body[b];
    int device = buffer->device, first = hp_own_at(m, device, buffer->action),
        last = hp_own_at(m, device, buffer->last);
    int n = hp_list_actions(m->program->schedule, hp_slots_of(m->program->schedule, device));
    struct held_bytes of = held_by(m, body, buffer);
    if (buffer->received && has_receive_buffers(m)) {
        m->received[device] += hp_held_sum(&of) * hp_body_times(m->program->iteration, b);
        of = (struct held_bytes){ .saved = of.saved };
    }
    hp_add_held(buffer->begin < 0 ? &body->late[hp_memory_at(m->model, device, first)]
                                  : &body->pass[buffer->begin].begin,
                &of, 1);
    if (buffer->kept)
        hp_add_held(&body->lasts[device][first * (n + 1) + last], &of, 1);
    if (buffer->held_past_slot)
        body->over[hp_memory_at(m->model, device, last)] += hp_held_sum(&of);
    else if (buffer->held_until_action)
        hp_add_held(&body->waits[hp_memory_at(m->model, device, last)], &of, 1);
    else if (buffer->end >= 0)
        hp_add_held(&body->pass[buffer->end].end, &of, 1);
}

/* Elements of gradients of parameters that no earlier pass of the device writes.
 * `seen[tensor]`: 1 + the last device for which a pass that writes the tensor's gradient was
 * found. */
static double first_gradients(const struct memory_maker *m, const struct body_passes *p,
                              int number, int *seen)
{
    const struct op_pass *at = hp_pass_at(p, number);
    const struct op_parts *l = hp_parts_at(p, number);
    operand_set writes = hp_pass_operands(m->program->lowering, at).writes_grad;
    double elements = 0;
    for (int o = 0; o < l->nest->n_operands; o++) {
        int t = m->graph->ops[at->op].tensor[o];
        if (!(writes >> o & 1) || t < 0 || m->graph->tensors[t].kind != TENSOR_PARAM ||
            !m->graph->tensors[t].needs_grad || seen[t] == hp_device_at(p, number) + 1)
            continue;
        struct box box =
            hp_region(l->nest, o, l->range + p->order.at[number].part * l->nest->n_axes);
        elements += held_elements(m, t, box);
        seen[t] = hp_device_at(p, number) + 1;
    }
    return elements;
}

/* A gradient of a later micro-batch is written by itself before it is added to those of earlier
 * ones. */
static void add_to_earlier(const struct memory_maker *m, struct body_memory *body,
                           const double *elements)
{
    int bytes = hp_precision_bytes(m->program->plan->precision);
    for (int number = 0; number < body->passes->order.n; number++) {
        body->pass[number].begin.term[TERM_buffers] += bytes * elements[number];
        body->pass[number].end.term[TERM_buffers] += bytes * elements[number];
    }
}

/* The gradients of a device begin one after another, as passes write them: all of them together
 * are what was counted as lasting. */
static void begin_gradients(struct memory_maker *m, struct body_memory *body)
{
    const struct body_passes *p = body->passes;
    int *seen = NEW(&m->scratch, int, m->graph->n_tensors);
    double *elements = NEW(&m->scratch, double, p->order.n); /* by pass */
    for (int d = 0; d < m->model->n_devices; d++) {
        double all = 0, until = 0, begun = 0; /* elements, those of earlier passes; bytes */
        if (!hp_is_looked_at(&m->finder, d))
            continue;
        for (int i = p->start[d]; i < p->start[d + 1]; i++) {
            int number = p->number[i], part = p->order.at[number].part;
            double first = first_gradients(m, p, number, seen);
            elements[hp_node_number(&m->finder, p, hp_pass_at(p, number), part)] += first;
            all += first;
        }
        for (int i = p->start[d]; all > 0 && i < p->start[d + 1]; i++) {
            int number = p->number[i], own = hp_own_at(m, d, hp_action_at(p, number));
            double *bytes = &body->pass[number].gradients;
            until += elements[number];
            *bytes = floor(m->model->device[d].gradients * (until / all)) - begun;
            begun += *bytes;
            body->gradients[hp_memory_at(m->model, d, own)] += *bytes;
        }
        if (body == m->body)
            m->model->begun[d] = begun;
    }
    if (m->units.n > 0)
        hp_memory_of_units(m, body, elements);
    else if (m->program->iteration->n_micro > 1)
        add_to_earlier(m, body, elements);
}

bool hp_is_argument(const struct hypar_graph *graph, int t)
{
    bool found = graph->n_arguments == 0; /* unknown */
    for (int i = 0; i < graph->n_arguments && !found; i++)
        found = strcmp(graph->arguments[i].name, graph->tensors[t].name) == 0;
    return found;
}

/* Does the loop that trains hold an input in fp32, of which the network reads a copy? */
static bool is_narrowed(const struct hypar_plan *plan, int t)
{
    const struct tensor *tensor = &plan->graph->tensors[t];
    return plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER &&
           tensor->kind == TENSOR_INPUT && tensor->sample_dim >= 0 && !tensor->index &&
           hp_is_argument(plan->graph, t) &&
           hp_precision_bytes(plan->precision) < hp_precision_bytes(HYPAR_FP32);
}

/* With stages, every process is given all arguments of its samples, also those that its stage
 * does not read. */
static bool is_given_whole(const struct memory_maker *m, int t)
{
    const struct tensor *tensor = &m->graph->tensors[t];
    return has_receive_buffers(m) && tensor->kind == TENSOR_INPUT && tensor->sample_dim >= 0 &&
           m->graph->n_arguments > 0 && hp_is_argument(m->graph, t);
}

/* The devices that read argument `t` have it as buffers, of so many elements. */
static void add_unread(struct memory_maker *m, int t, const double *read)
{
    const struct tensor *tensor = &m->graph->tensors[t];
    struct place place = { .tensor = t };
    double most = 0, each = tensor->index ? hp_held_bytes(m->program->plan, place)
                                          : hp_precision_bytes(HYPAR_FP32);
    for (int d = 0; d < m->model->n_devices; d++)
        most = fmax(most, read[d]);
    for (int d = 0; d < m->model->n_devices; d++)
        if (read[d] == 0 && hp_slots_of(m->program->schedule, d)->n_stages > 0)
            m->batch[d] += each * most;
}

/* The whole -------------------------------------------------------------------------- */

static void add_place(struct memory_maker *m, struct place place, int sum)
{
    bool lasts =
        hp_held_lasts(&m->finder.held, m->graph, m->program->iteration->forward, place);
    if (hp_is_divided(&m->finder.held, place))
        add_pieces(m, place);
    bool running = hp_place_kind(place) == PLACE_VALUE && hp_is_running(m->graph, place.tensor);
    bool narrowed =
        hp_place_kind(place) == PLACE_VALUE && is_narrowed(m->program->plan, place.tensor);
    if (m->finder.held.tensor[hp_place_kind(place)][place.tensor] != place.tensor)
        return;
    bool with_unit = m->units.n > 0 && hp_is_divided(&m->finder.held, place);
    if (m->units.n > 0 && place.again &&
        m->finder.held.shard[place.tensor] == HYPAR_SHARD_PARAMETERS)
        return; /* the unit has its parameters in both halves */
    bool given = hp_place_kind(place) == PLACE_VALUE && is_given_whole(m, place.tensor);
    double *read = given ? NEW(&m->scratch, double, m->model->n_devices) : NULL; /* elements */
    for (int b = lasts || running ? -1 : 0; b < (lasts ? 0 : m->program->n_bodies); b++) {
        hp_find_buffers(&m->finder, b, place);
        if (with_unit && !place.grad && b == 0)
            hp_gather_with_unit(m, place.tensor);
        if (with_unit)
            continue;
        for (int i = 0; i < m->finder.n; i++) {
            const struct buffer *buffer = &m->finder.buffer[i];
            if (b < 0)
                add_lasting(m, buffer, sum);
            else
                add_buffer(m, b, buffer);
            if (read && b >= 0 && buffer->copied < 0)
                read[buffer->device] += hp_body_times(m->program->iteration, b) *
                                        (double)hp_box_elements(&buffer->box);
            if (narrowed && buffer->copied < 0)
                m->batch[buffer->device] += hp_precision_bytes(HYPAR_FP32) *
                                            hp_body_times(m->program->iteration, b) *
                                            (double)hp_box_elements(&buffer->box);
        }
    }
    if (given)
        add_unread(m, place.tensor, read);
}

/* Errors of logits, as large as what is saved of these, stay where they are needed later. */
static void add_deferred(struct memory_maker *m, const struct buffer *b)
{
    const struct hypar_plan *plan = m->program->plan;
    double micro_batches = hp_framework_memory(&plan->simulation)->deferred_logits;
    if (b->term == TERM_losses && b->kept)
        m->shared[b->device] += fmin(micro_batches, m->program->iteration->n_micro) *
                                hp_precision_bytes(plan->precision) *
                                (double)hp_box_elements(&b->box);
}

void hp_memory_of_passes(struct memory_maker *m)
{
    const struct iteration *it = m->program->iteration;
    bool begin = hp_gradients_begin(&m->program->plan->simulation.framework) && !it->forward &&
                 !it->delayed;
    const struct training_graph *k = &m->program->lowering->training;
    int *sum = NEW(&m->scratch, int, m->graph->n_tensors);
    if (hp_has_units(m->program))
        hp_units_begin(m);
    for (int t = 0; t < m->graph->n_tensors; t++)
        sum[t] = -1;
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_sums; d++) {
        if (k->exchange[d].place.grad)
            sum[k->exchange[d].place.tensor] = d;
        if (k->exchange[d].division != DIVIDE_NOT)
            add_owned(m, d, k->exchange[d].place.tensor);
    }
    for (int i = 0; i < HP_PLACES * m->graph->n_tensors && !hp_stopped(m->options.stop); i++)
        add_place(m, hp_place_at(i), sum[i / HP_PLACES]);
    if (m->units.n > 0)
        hp_pad_units(m);
    for (int b = 0; b < m->program->n_bodies; b++) {
        hp_find_extras(&m->finder, b, false);
        for (int i = 0; i < m->finder.n; i++) {
            add_buffer(m, b, &m->finder.buffer[i]);
            if (b == 0)
                add_deferred(m, &m->finder.buffer[i]);
        }
        if (begin)
            begin_gradients(m, &m->body[b]);
    }
}
