/* What each pass begins and ends on its device. */
#include "program/memory/parts.h"

static double bytes_of(const struct memory_maker *m, const struct buffer *b)
{
    return hp_message_bytes(m->program->plan, b->place.tensor) *
           (double)hp_box_elements(&b->box);
}

/* What lasts ------------------------------------------------------------------------- */

/* `sum`: the exchange that sums the gradient of a parameter; -1: it is not trained. */
static void add_lasting(struct memory_maker *m, const struct buffer *b, int sum)
{
    const struct hypar_plan *plan = m->program->plan;
    struct param_bytes each = hp_param_bytes(plan->precision, plan->optimizer);
    struct hypar_memory *memory = &m->model->device[b->device];
    double elements = (double)hp_box_elements(&b->box);
    if (m->graph->tensors[b->place.tensor].kind != TENSOR_PARAM) {
        m->shared[b->device] += bytes_of(m, b);
        return;
    }
    if (b->place.grad) {
        memory->gradients += each.gradient * elements;
        return;
    }
    memory->parameters += each.weight * elements;
    if (sum < 0)
        return;
    int versions = m->model->versions[hp_param_stage(m->program, b->place.tensor)];
    if (!m->finder.held.shard[b->place.tensor])
        memory->optimizer += each.state * elements;
    memory->weight_versions += (versions - 1) * each.weight * elements;
}

/* The optimizer's state of a parameter that is divided, where it is updated. */
static void add_owned(struct memory_maker *m, int sum)
{
    const struct hypar_plan *plan = m->program->plan;
    struct param_bytes each = hp_param_bytes(plan->precision, plan->optimizer);
    const struct update_devices *u = hp_update_devices(m->program->lowering, sum);
    for (int i = 0; i < u->n; i++)
        m->model->device[u->device[i]].optimizer += each.state * u->elements[i];
}

/* What owners have of a place that is divided. */
static void add_pieces(struct memory_maker *m, struct place place)
{
    const struct hypar_plan *plan = m->program->plan;
    struct param_bytes each = hp_param_bytes(plan->precision, plan->optimizer);
    const struct pattern *p = hp_pieces(m->program->lowering, place);
    for (int c = 0; p && c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        double elements = (double)cell->elements;
        for (int i = 0; place.grad && i < cell->n_kept; i++)
            m->model->device[cell->kept[i]].gradients += each.gradient * elements;
        if (!place.grad && cell->n_contributions)
            m->model->device[cell->contribution[0].device].parameters += each.weight * elements;
    }
}

/* Bodies ----------------------------------------------------------------------------- */

/* Would recomputation from the stage's inputs give it again on this device? */
static bool rebuilds(const struct memory_maker *m, const struct body_memory *body,
                     const struct buffer *b)
{
    const int *stage = m->program->schedule->stage_of_op;
    int producer = m->graph->tensors[b->place.tensor].producer;
    return producer >= 0 && !b->waits &&
           stage[producer] == stage[hp_pass_at(body->passes, b->end)->op];
}

static void add_kept(struct memory_maker *m, struct body_memory *body, const struct buffer *b)
{
    double bytes = bytes_of(m, b), rebuilt = rebuilds(m, body, b) ? bytes : 0;
    struct instant *late = &body->late[b->device], *waits = &body->waits[b->device];
    *(b->begin < 0 ? &late->kept : &body->pass[b->begin].kept) += bytes;
    *(b->begin < 0 ? &late->rebuilt : &body->pass[b->begin].rebuilt) += rebuilt;
    *(b->waits ? &waits->kept : &body->pass[b->end].end_kept) += bytes;
    *(b->waits ? &waits->rebuilt : &body->pass[b->end].end_rebuilt) += rebuilt;
    body->between[b->device].kept += bytes;
    body->between[b->device].rebuilt += rebuilt;
}

static void add_buffer(struct memory_maker *m, int b, const struct buffer *buffer)
{
    struct body_memory *body = &m->body[b];
    if (buffer->kept) {
        add_kept(m, body, buffer);
        return;
    }
    body->pass[buffer->begin].temporary += bytes_of(m, buffer);
    *(buffer->over ? &m->model->over[b][buffer->device]
                   : &body->pass[buffer->end].end_temporary) += bytes_of(m, buffer);
}

/* A byte for each element that a dropout lets through or not. */
static void add_masks(struct memory_maker *m, struct body_memory *body)
{
    for (int i = 0; i < body->passes->order.n; i++) {
        const struct op_pass *op_pass = hp_pass_at(body->passes, i);
        if (m->graph->ops[op_pass->op].kind != OP_DROPOUT || !op_pass->backward)
            continue;
        const struct part_layout *l = hp_layout_at(body->passes, i);
        int part = body->passes->order.at[i].part, device = l->device[part];
        int forward = m->program->lowering->training.op_pass_of[op_pass->op][0];
        struct box box = hp_region(l->nest, 0, l->range + part * l->nest->n_axes);
        double bytes = (double)hp_box_elements(&box);
        struct pass_memory *begin =
            &body->pass[hp_pass_number(&body->passes->order, l, forward, part)];
        begin->kept += bytes;
        begin->rebuilt += bytes;
        body->pass[i].end_kept += bytes;
        body->pass[i].end_rebuilt += bytes;
        body->between[device].kept += bytes;
        body->between[device].rebuilt += bytes;
    }
}

/* The whole -------------------------------------------------------------------------- */

static void add_place(struct memory_maker *m, struct place place, int sum)
{
    bool lasts =
        hp_held_lasts(&m->finder.held, m->graph, m->program->iteration->forward, place);
    if (hp_is_divided(&m->finder.held, place))
        add_pieces(m, place);
    bool running = hp_place_kind(place) == PLACE_VALUE && hp_is_running(m->graph, place.tensor);
    if (m->finder.held.tensor[hp_place_kind(place)][place.tensor] != place.tensor)
        return;
    for (int b = lasts || running ? -1 : 0; b < (lasts ? 0 : m->program->n_bodies); b++) {
        hp_find_buffers(&m->finder, b, place);
        for (int i = 0; i < m->finder.n; i++)
            if (b < 0)
                add_lasting(m, &m->finder.buffer[i], sum);
            else
                add_buffer(m, b, &m->finder.buffer[i]);
    }
}

void hp_memory_of_passes(struct memory_maker *m)
{
    const struct training_graph *k = &m->program->lowering->training;
    int *sum = NEW(&m->scratch, int, m->graph->n_tensors);
    for (int t = 0; t < m->graph->n_tensors; t++)
        sum[t] = -1;
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_sums; d++) {
        if (k->exchange[d].place.grad)
            sum[k->exchange[d].place.tensor] = d;
        if (k->exchange[d].division != DIVIDE_NOT)
            add_owned(m, d);
    }
    for (int i = 0; i < HP_PLACES * m->graph->n_tensors; i++)
        add_place(m, hp_place_at(i), sum[i / HP_PLACES]);
    for (int b = 0; m->options.keep_masks && b < m->program->n_bodies; b++)
        add_masks(m, &m->body[b]);
}
