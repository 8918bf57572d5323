/* Exchanges: contributions are summed, the sum reaches who reads it. */
#include "program/sketch.h"
#include "run/interpret_state.h"

/* One exchange as it stands in a micro-batch, or in a round of the tail (struct instance). */
struct settling {
    struct interpreter *it;
    const struct exchange *e;
    int micro;
};

struct view *hp_written(struct interpreter *it, int micro, int task, int o, bool grad)
{
    const struct body *body = hp_body_of(it->program, micro);
    const struct task *t = &body->list.task[task];
    const struct pass *pass = &it->graph->ops[t->op].nest->pass[t->pass];
    operand_set below = ((operand_set)1 << o) - 1;
    int k = hp_operand_count(grad ? pass->writes_grad & below : pass->writes & below);
    if (grad)
        k += hp_operand_count(pass->writes);
    const struct body_index *index = &it->body[body - it->program->body];
    return &it->written[micro][index->first_written[task] + k];
}

static const struct task *writer_task(const struct settling *s, int writer)
{
    int micro = s->micro < 0 ? 0 : s->micro; /* a tail's writers are tasks of body 0 */
    return &hp_body_of(s->it->program, micro)->list.task[s->e->writer_task[writer]];
}

/* Which operand of its operator writer number `writer` writes: a pass that writes the tensor
 * twice (concat of x and x) is that many writers, in the order of operands. */
static int operand_of_writer(const struct settling *s, int writer)
{
    const struct task *task = writer_task(s, writer);
    const struct op *op = &s->it->graph->ops[task->op];
    const struct pass *pass = &op->nest->pass[task->pass];
    operand_set written = s->e->place.grad ? pass->writes_grad : pass->writes;
    int skip = 0;
    for (int w = 0; w < writer; w++)
        skip += s->e->writer_task[w] == s->e->writer_task[writer];
    for (int o = 0; o < op->nest->n_operands; o++)
        if (written >> o & 1 && op->tensor[o] == s->e->place.tensor && skip-- == 0)
            return o;
    return -1;
}

/* Has the writer's part something to do, in this micro-batch or, for the tail, in any? */
static bool takes_part(const struct settling *s, int writer, int part)
{
    const struct hypar_program *p = s->it->program;
    const struct task *like = writer_task(s, writer);
    for (int b = 0; b < p->n_bodies; b++) {
        int task = s->it->body[b].pass_task[like->op * MAX_PASSES + like->pass];
        int live = s->micro < 0 ? hp_live_part(p->sketch, like->op, part, b) : part;
        bool here = s->micro < 0 || hp_body_of(p, s->micro) == &p->body[b];
        if (here && live >= 0 && p->body[b].list.task[task + live].kind == TASK_COMPUTE)
            return true;
    }
    return false;
}

/* The part on `device` that computes the same as `part` of the writer; -1: none. The tail's
 * parts are those of all replicas, which compute different things. */
static int copy_on(const struct settling *s, int writer, int part, int device)
{
    const struct task *task = writer_task(s, writer);
    const struct nest *nest = s->it->graph->ops[task->op].nest;
    const struct op_plan *plan = &s->it->plan->ops[task->op];
    int o = operand_of_writer(s, writer), mine[MAX_AXES], other[MAX_AXES];
    int replica = part / plan->n_parts; /* of the tail's; in a body there is one */
    if (s->micro >= 0)
        replica = hp_replica_of(s->it->program->rhythm, s->it->program->stage_of_op[task->op],
                                hp_body_number(s->it->program->rhythm, s->micro));
    int first = s->micro < 0 ? replica * plan->n_parts : 0;
    hp_part_coordinates(nest, &plan->split, part % plan->n_parts, mine);
    for (int p = first; p < first + plan->n_parts; p++) {
        int at = replica * plan->n_parts + p % plan->n_parts;
        if (plan->device[at] != device || !takes_part(s, writer, p))
            continue;
        bool same = true;
        hp_part_coordinates(nest, &plan->split, p % plan->n_parts, other);
        for (int a = 0; a < nest->n_axes; a++)
            same &= mine[a] == other[a] || hp_write_kind(nest, task->pass, o, a) == WRITE_COPY;
        if (same)
            return p;
    }
    return -1;
}

/* Add what one part wrote in micro-batch `micro`; false: it is not done. */
static bool add_part(const struct settling *s, const struct task *like, int part, int o,
                     int micro, const struct view *sum)
{
    struct interpreter *it = s->it;
    const struct body *body = hp_body_of(it->program, micro);
    const struct body_index *index = &it->body[body - it->program->body];
    if (s->micro < 0)
        part =
            hp_live_part(it->program->sketch, like->op, part, (int)(body - it->program->body));
    if (part < 0)
        return true; /* another replica's micro-batch */
    int task = index->pass_task[like->op * MAX_PASSES + like->pass] + part;
    if (body->list.task[task].kind != TASK_COMPUTE)
        return true; /* empty in this micro-batch */
    struct view *view = hp_written(it, micro, task, o, s->e->place.grad);
    if (!view->data)
        return false;
    hp_view_combine(sum, view, s->e->combine, it->real);
    return true;
}

/* The micro-batches that are summed over: of a round, or one alone. */
static struct range micros_of(const struct settling *s, int op)
{
    const struct hypar_program *p = s->it->program;
    int n = p->rhythm->round[hp_slot_group(p, p->stage_of_op[op])];
    if (s->micro >= 0)
        return (struct range){ s->micro, s->micro + 1 };
    return (struct range){ hp_round_at(s->micro) * n, (hp_round_at(s->micro) + 1) * n };
}

/* Where what is settled belongs in a device's memory. */
static int row_of(int micro)
{
    return micro < 0 ? hp_round_at(micro) : micro;
}

/* Put a cell's contributions together: those listed, or `device`'s own copies of them. */
static bool sum_cell(const struct settling *s, const struct cell *cell, int device,
                     const struct view *sum)
{
    hp_view_clear(sum, s->e->combine, s->it->real);
    for (int c = 0; c < cell->n_contributions; c++) {
        int writer = cell->contribution[c].writer, part = cell->contribution[c].part;
        const struct task *like = writer_task(s, writer);
        int o = operand_of_writer(s, writer);
        if (device >= 0)
            part = copy_on(s, writer, part, device);
        if (part < 0 || o < 0)
            return false;
        struct range micros = micros_of(s, like->op);
        for (int m = (int)micros.lo; m < (int)micros.hi; m++)
            if (!add_part(s, like, part, o, m, sum))
                return false;
    }
    return true;
}

static bool listed(int device, const int *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == device)
            return true;
    return false;
}

static struct box box_of(const struct settling *s, const struct cell *cell)
{
    const struct pattern *pattern = s->e->pattern;
    struct box box = hp_cell_box(pattern, (int)(cell - pattern->cell));
    return s->micro < 0 ? box : hp_micro_box(s->it->program, s->e, &box, s->micro);
}

static struct view new_sum(struct interpreter *it, struct box box)
{
    return (struct view){ NEW(&it->scratch, double, hp_box_elements(&box)), box };
}

/* One cell, on a device that reads some of it. */
static bool settle_cell(const struct settling *s, const struct cell *cell, int device,
                        const struct box *wanted)
{
    struct interpreter *it = s->it;
    struct place place = s->e->place;
    struct box box = box_of(s, cell), both = hp_box_intersect(&box, wanted);
    if (hp_box_empty(&both))
        return true;
    bool zero = cell->n_contributions == 0 && place.grad;
    if (!zero && !listed(device, cell->kept, cell->n_kept))
        return true; /* a comm brings it, or nobody does, which shows when it is read */
    struct view *held = hp_held(it, device, place, row_of(s->micro));
    if (!hp_none_known(it, held, place.tensor, &box))
        return true;
    struct view sum = new_sum(it, box);
    if (!sum_cell(s, cell, zero ? -1 : device, &sum))
        return false;
    hp_view_copy(held, &sum, &box, hp_real_bytes(it->real));
    return true;
}

/* A gradient that nobody computes is zero; that of the loss is one. */
static void fill_constant(struct interpreter *it, struct place place, int row, int device)
{
    struct view *held = hp_held(it, device, place, row);
    int64_t n = hp_box_elements(&held->box);
    for (int64_t i = 0; i < n; i++)
        hp_put(held->data, i, place.tensor == it->graph->loss, it->real);
}

bool hp_settle_own(struct interpreter *it, struct place place, int micro, int device,
                   const struct box *box)
{
    const struct body *body = micro < 0 ? NULL : hp_body_of(it->program, micro);
    const int *exchange_of =
        body ? it->body[body - it->program->body].exchange_of : it->exchange_of_tail;
    int e = exchange_of[2 * place.tensor + place.grad];
    if (e < 0) {
        if (place.grad)
            fill_constant(it, place, row_of(micro), device);
        return true;
    }
    const struct task_list *list = body ? &body->list : &it->program->tail;
    struct settling s = { it, &list->exchange[e], micro };
    for (int c = 0; c < s.e->pattern->n_cells; c++)
        if (!settle_cell(&s, &s.e->pattern->cell[c], device, box))
            return false;
    return true;
}

static enum hypar_status deliver(struct interpreter *it, struct instance at,
                                 const struct settling *s, const struct cell *cell)
{
    char text[128];
    struct box box = box_of(s, cell);
    struct view sum = new_sum(it, box);
    if (!sum_cell(s, cell, -1, &sum))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s runs before its contributions",
                       hp_instance_text(it, at, text, sizeof text));
    for (int i = 0; i < cell->n_receivers; i++) {
        struct view *held = hp_held(it, cell->receiver[i], s->e->place, row_of(s->micro));
        if (!hp_none_known(it, held, s->e->place.tensor, &box))
            return hp_fail(it->err, HYPAR_RUNTIME, "%s sends device %d what it has",
                           hp_instance_text(it, at, text, sizeof text), cell->receiver[i]);
        hp_view_copy(held, &sum, &box, hp_real_bytes(it->real));
    }
    return HYPAR_OK;
}

enum hypar_status hp_run_comm(struct interpreter *it, struct instance at)
{
    const struct task_list *list = hp_list_of(it, at.micro);
    const struct task *task = &list->task[at.task];
    struct settling s = { it, &list->exchange[task->exchange], at.micro };
    const struct comm *comm = &s.e->pattern->comm[task->comm];
    for (int i = 0; i < comm->n_cells; i++)
        TRY(deliver(it, at, &s, &s.e->pattern->cell[comm->cell[i]]));
    return HYPAR_OK;
}
