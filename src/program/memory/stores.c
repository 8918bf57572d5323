/* From when to when each device holds what of each tensor. */
#include "program/memory/parts.h"

static struct store *store_on(struct memory_maker *m, int device)
{
    if (m->store_of[device] < 0) {
        m->store = GROW(&m->stores, struct store, m->store, m->n_stores, &m->store_capacity);
        m->store[m->n_stores] =
            (struct store){ .device = device, .first = { -1, -1 }, .last = { -1, -1 } };
        m->store_of[device] = m->n_stores++;
    }
    return &m->store[m->store_of[device]];
}

/* Accesses --------------------------------------------------------------------------- */

/* An operand that is, by whatever name, the tensor at hand: its value or its gradient. */
struct operand_use {
    const struct body_memory *body;
    int op, operand, tensor;
    bool grad;
};

static operand_set bit(int o)
{
    return (operand_set)1 << o;
}

static const struct op_pass *pass_at(const struct memory_maker *m,
                                     const struct body_memory *body, int number)
{
    return &m->program->lowering->training.op_pass[body->order->at[number].op_pass];
}

static const struct part_layout *layout_of(const struct memory_maker *m,
                                           const struct body_memory *body, int op)
{
    return m->program->lowering->body[body->body].layout[op];
}

/* Does this part of the pass access the operand? A bias is read by those that add it. */
static bool accesses(const struct operand_use *t, const struct part_layout *l, int p, int part)
{
    const struct pass *pass = &l->nest->pass[p];
    operand_set reads = pass->reads;
    if (!t->grad && reads & pass->adds & bit(t->operand) && !hp_adds_after(l, p, part))
        reads &= ~pass->adds;
    operand_set set = t->grad ? pass->reads_grad | pass->writes_grad : reads | pass->writes;
    return set & bit(t->operand);
}

static void note_pass(struct memory_maker *m, const struct operand_use *t, int device,
                      int number, const struct box *box)
{
    const struct op_pass *op_pass = pass_at(m, t->body, number);
    const struct pass *pass = &m->graph->ops[op_pass->op].nest->pass[op_pass->pass];
    struct store *s = store_on(m, device);
    int half = op_pass->backward ? PHASE_BACKWARD : PHASE_FORWARD;
    bool param = m->graph->tensors[t->tensor].kind == TENSOR_PARAM;
    hp_cover_add(&s->all, &m->scratch, box);
    if (!t->grad && (param || (half == PHASE_BACKWARD && pass->reads & bit(t->operand))))
        hp_cover_add(&s->kept, &m->scratch, box);
    if (s->first[half] < 0 || number < s->first[half])
        s->first[half] = number;
    if (number > s->last[half])
        s->last[half] = number;
}

/* All passes that access one operand of one operator. */
static void note_operand(struct memory_maker *m, const struct operand_use *t)
{
    const struct part_layout *l = layout_of(m, t->body, t->op);
    const int *op_pass = m->program->lowering->training.op_pass_of[t->op];
    int pass[MAX_PASSES], n = 0;
    for (int p = 0; p < l->nest->n_passes; p++) {
        const struct pass *at = &l->nest->pass[p];
        operand_set set = t->grad ? at->reads_grad | at->writes_grad : at->reads | at->writes;
        if (op_pass[p] >= 0 && set & bit(t->operand))
            pass[n++] = p;
    }
    for (int part = 0; n && part < l->n_parts; part++) {
        if (l->empty[part])
            continue;
        struct box box = hp_region(l->nest, t->operand, l->range + part * l->nest->n_axes);
        box = hp_memory_named_box(m, t->tensor, box);
        for (int i = 0; i < n && !hp_box_empty(&box); i++)
            if (accesses(t, l, pass[i], part))
                note_pass(m, t, l->device[part],
                          hp_pass_number(t->body->order, l, op_pass[pass[i]], part), &box);
    }
}

/* All passes of a body that access `tensor`, under any of its names. */
static void note_tensor(struct memory_maker *m, const struct body_memory *body, int tensor,
                        bool grad)
{
    const struct hypar_graph *g = m->graph;
    for (int t = tensor; t >= 0; t = m->next_name[t]) {
        struct operand_use use = { .body = body, .tensor = t, .grad = grad };
        use.op = g->tensors[t].producer;
        for (int o = 0; use.op >= 0 && o < g->ops[use.op].nest->n_operands; o++)
            if (o >= g->ops[use.op].nest->n_inputs && g->ops[use.op].tensor[o] == t) {
                use.operand = o;
                note_operand(m, &use);
            }
        for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++) {
            use.op = g->use[u].op;
            use.operand = g->use[u].operand;
            note_operand(m, &use);
        }
    }
}

/* In place --------------------------------------------------------------------------- */

/* Are two operands indexed alike, element for element? */
static bool same_map(const struct operand *a, const struct operand *b)
{
    if (a->n_dims != b->n_dims)
        return false;
    for (int d = 0; d < a->n_dims; d++) {
        const struct dim_map *x = &a->dim[d], *y = &b->dim[d];
        bool plain = x->kind != DIM_AXIS || (x->stride == 1 && x->span == 1 && y->stride == 1 &&
                                             y->span == 1 && x->pad == y->pad);
        if (x->kind != y->kind || x->n_axes != y->n_axes || a->size[d] != b->size[d] || !plain)
            return false;
        for (int f = 0; f < x->n_axes; f++)
            if (x->axis[f] != y->axis[f])
                return false;
    }
    return true;
}

/* Does the pass read (`ends`) or else write this tensor as an operand like which it writes
 * (reads) another? Then what is written may lie where the other was. */
static bool in_place(const struct memory_maker *m, const struct op_pass *op_pass, int tensor,
                     bool grad, bool ends)
{
    const struct op *op = &m->graph->ops[op_pass->op];
    const struct pass *pass = &op->nest->pass[op_pass->pass];
    operand_set read = grad ? pass->reads_grad : pass->reads;
    operand_set written = grad ? pass->writes_grad : pass->writes;
    operand_set mine = ends ? read : written;
    operand_set others =
        ends ? pass->writes | pass->writes_grad : pass->reads | pass->reads_grad;
    for (int o = 0; o < op->nest->n_operands; o++) {
        if (!(mine & bit(o)) || op->tensor[o] < 0 || m->seen_as[op->tensor[o]] != tensor)
            continue;
        for (int q = 0; q < op->nest->n_operands; q++)
            if (others & bit(q) && same_map(&op->nest->operand[o], &op->nest->operand[q]))
                return true;
    }
    return false;
}

/* Putting it down -------------------------------------------------------------------- */

static void most_of(double *most, double value)
{
    *most = value > *most ? value : *most;
}

/* `temporary` bytes from the start of one pass to the end of another. */
static void hold(struct body_memory *body, int first, int last, double temporary)
{
    body->pass[first].temporary += temporary;
    body->pass[last].end_temporary += temporary;
}

static void allow_in_place(struct memory_maker *m, struct body_memory *body, int first,
                           int last, int tensor, bool grad, double comes, double goes)
{
    if (comes > 0 && in_place(m, pass_at(m, body, first), tensor, grad, false))
        most_of(&body->pass[first].may_come, comes);
    if (goes > 0 && in_place(m, pass_at(m, body, last), tensor, grad, true))
        most_of(&body->pass[last].may_go, goes);
}

/* Would recomputation from the stage's inputs give it again on this device? */
static bool rebuilds(const struct memory_maker *m, int tensor, const struct op_pass *reader)
{
    const int *stage = m->program->schedule->stage_of_op;
    int producer = m->graph->tensors[tensor].producer;
    return producer >= 0 && stage[producer] == stage[reader->op];
}

static void put_value(struct memory_maker *m, struct body_memory *body, const struct store *s,
                      int tensor)
{
    double size = hp_message_bytes(m->program->plan, tensor);
    double all = size * (double)hp_cover_elements(&s->all, &m->scratch);
    const int *first = s->first, *last = s->last;
    if (first[PHASE_FORWARD] < 0) { /* a statistic of the backward half */
        hold(body, first[PHASE_BACKWARD], last[PHASE_BACKWARD], all);
        allow_in_place(m, body, first[PHASE_BACKWARD], last[PHASE_BACKWARD], tensor, false, all,
                       all);
        return;
    }
    double kept = size * (double)hp_cover_elements(&s->kept, &m->scratch);
    hold(body, first[PHASE_FORWARD], last[PHASE_FORWARD], all - kept);
    allow_in_place(m, body, first[PHASE_FORWARD], last[PHASE_FORWARD], tensor, false, all,
                   kept > 0 ? 0 : all);
    if (kept <= 0)
        return;
    struct pass_memory *begin = &body->pass[first[PHASE_FORWARD]],
                       *end = &body->pass[last[PHASE_BACKWARD]];
    double rebuilt = rebuilds(m, tensor, pass_at(m, body, first[PHASE_FORWARD])) ? kept : 0;
    begin->kept += kept;
    begin->rebuilt += rebuilt;
    end->end_kept += kept;
    end->end_rebuilt += rebuilt;
    body->between[s->device].kept += kept;
    body->between[s->device].rebuilt += rebuilt;
}

static void put_error(struct memory_maker *m, struct body_memory *body, const struct store *s,
                      int tensor)
{
    double all = hp_message_bytes(m->program->plan, tensor) *
                 (double)hp_cover_elements(&s->all, &m->scratch);
    hold(body, s->first[PHASE_BACKWARD], s->last[PHASE_BACKWARD], all);
    allow_in_place(m, body, s->first[PHASE_BACKWARD], s->last[PHASE_BACKWARD], tensor, true,
                   all, all);
}

/* A model input without samples is there once, for all micro-batches and halves. */
static void put_shared(struct memory_maker *m, const struct store *s, int tensor)
{
    double all = hp_message_bytes(m->program->plan, tensor) *
                 (double)hp_cover_elements(&s->all, &m->scratch);
    m->shared[s->device] += all;
}

/* Parameters: what is read is held, gradients where they are read or computed. */
static void put_param(struct memory_maker *m, const struct store *s, bool read)
{
    const struct hypar_plan *plan = m->program->plan;
    struct param_bytes bytes = hp_param_bytes(plan->precision, plan->optimizer);
    struct hypar_memory *memory = &m->model->device[s->device];
    if (read) {
        double held = (double)hp_cover_elements(&s->kept, &m->scratch);
        memory->parameters += bytes.weight * held;
        return;
    }
    memory->gradients += bytes.gradient * (double)hp_cover_elements(&s->all, &m->scratch);
    memory->optimizer += bytes.state * (double)hp_cover_elements(&s->kept, &m->scratch);
}

/* Tensor by tensor ------------------------------------------------------------------- */

static void end_tensor(struct memory_maker *m, struct arena_mark mark)
{
    for (int i = 0; i < m->n_stores; i++)
        m->store_of[m->store[i].device] = -1;
    m->n_stores = 0;
    hp_arena_release(&m->scratch, mark);
}

static void add_param(struct memory_maker *m, int tensor, bool trained)
{
    struct arena_mark mark = hp_arena_mark(&m->scratch);
    for (int b = 0; b < m->program->n_bodies; b++)
        note_tensor(m, &m->body[b], tensor, false);
    for (int i = 0; i < m->n_stores; i++)
        put_param(m, &m->store[i], true);
    for (int b = 0; trained && b < m->program->n_bodies; b++)
        note_tensor(m, &m->body[b], tensor, true);
    for (int i = 0; trained && i < m->n_stores; i++)
        put_param(m, &m->store[i], false);
    end_tensor(m, mark);
}

static void add_shared(struct memory_maker *m, int tensor)
{
    struct arena_mark mark = hp_arena_mark(&m->scratch);
    for (int b = 0; b < m->program->n_bodies; b++)
        note_tensor(m, &m->body[b], tensor, false);
    for (int i = 0; i < m->n_stores; i++)
        put_shared(m, &m->store[i], tensor);
    end_tensor(m, mark);
}

static void add_place(struct memory_maker *m, struct body_memory *body, int tensor, bool grad)
{
    struct arena_mark mark = hp_arena_mark(&m->scratch);
    note_tensor(m, body, tensor, grad);
    for (int i = 0; i < m->n_stores; i++)
        if (grad)
            put_error(m, body, &m->store[i], tensor);
        else
            put_value(m, body, &m->store[i], tensor);
    end_tensor(m, mark);
}

/* A byte for each element that a dropout lets through or not. */
static void add_masks(struct memory_maker *m, struct body_memory *body)
{
    for (int i = 0; i < body->order->n; i++) {
        const struct op_pass *op_pass = pass_at(m, body, i);
        if (m->graph->ops[op_pass->op].kind != OP_DROPOUT || !op_pass->backward)
            continue;
        const struct part_layout *l = layout_of(m, body, op_pass->op);
        int part = body->order->at[i].part, device = l->device[part];
        int forward = m->program->lowering->training.op_pass_of[op_pass->op][0];
        struct box box = hp_region(l->nest, 0, l->range + part * l->nest->n_axes);
        double bytes = (double)hp_box_elements(&box);
        struct pass_memory *begin = &body->pass[hp_pass_number(body->order, l, forward, part)];
        begin->kept += bytes;
        begin->rebuilt += bytes;
        body->pass[i].end_kept += bytes;
        body->pass[i].end_rebuilt += bytes;
        body->between[device].kept += bytes;
        body->between[device].rebuilt += bytes;
    }
}

/* What ends where something like it begins is replaced by it. */
static void replace(struct body_memory *body)
{
    for (int i = 0; i < body->order->n; i++) {
        struct pass_memory *t = &body->pass[i];
        t->replaced = t->may_come < t->may_go ? t->may_come : t->may_go;
    }
}

void hp_memory_stores(struct memory_maker *m)
{
    const struct hypar_graph *g = m->graph;
    const struct training_graph *k = &m->program->lowering->training;
    bool *trained = NEW(&m->scratch, bool, g->n_tensors);
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++)
        trained[k->exchange[d].place.tensor] |= k->exchange[d].place.grad;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *tensor = &g->tensors[t];
        if (tensor->kind == TENSOR_PARAM)
            add_param(m, t, trained[t]);
        else if (tensor->kind == TENSOR_INPUT && tensor->sample_dim < 0)
            add_shared(m, t);
        for (int b = 0; b < m->program->n_bodies; b++) {
            bool own = tensor->kind != TENSOR_PARAM && m->seen_as[t] == t;
            if (own && (tensor->kind != TENSOR_INPUT || tensor->sample_dim >= 0))
                add_place(m, &m->body[b], t, false);
            if (own && m->body[b].has_grad[t])
                add_place(m, &m->body[b], t, true);
        }
    }
    for (int b = 0; b < m->program->n_bodies; b++) {
        if (m->options.keep_masks)
            add_masks(m, &m->body[b]);
        replace(&m->body[b]);
    }
}
