/* Exchanges: contributions are summed, the sum reaches who reads it. */
#include "run/interpret_state.h"

/* One exchange as it stands in a micro-batch, or in a period of the tail (struct instance). */
struct settling {
    struct interpreter *it;
    const struct exchange *exchange;
    const struct pattern *pattern;
    int micro;
};

static struct settling settling_of(struct interpreter *it, int exchange, int micro)
{
    const struct lowering *s = it->program->lowering;
    int b = micro < 0 ? 0 : hp_body_number(it->program->iteration, micro);
    return (struct settling){ it, &s->training.exchange[exchange],
                              hp_exchange_pattern(s, b, exchange), micro };
}

struct view *hp_written(struct interpreter *it, int micro, int op_pass, int part, int o,
                        bool grad)
{
    const struct hypar_program *p = it->program;
    const struct op_pass *s = &p->lowering->training.op_pass[op_pass];
    const struct pass *pass = &it->graph->ops[s->op].nest->pass[s->pass];
    int b = hp_body_number(p->iteration, micro);
    operand_set below = ((operand_set)1 << o) - 1;
    int k = hp_operand_count(grad ? pass->writes_grad & below : pass->writes & below);
    if (grad)
        k += hp_operand_count(pass->writes);
    int number = hp_pass_number(&it->body[b].order, hp_pass_layout(p->blocks, b, op_pass),
                                op_pass, part);
    return &it->written[micro][it->body[b].first_written[number] + k];
}

/* Has the writer's part something to do, in this micro-batch or, for the tail, in any? */
static bool takes_part(const struct settling *s, const struct source *from, int part)
{
    const struct hypar_program *p = s->it->program;
    for (int b = 0; b < p->n_bodies; b++) {
        int live = s->micro < 0 ? hp_live_part(p->lowering, from->op, part, b) : part;
        bool here = s->micro < 0 || hp_body_number(p->iteration, s->micro) == b;
        if (here && live >= 0 && !p->lowering->body[b].layout[from->op]->empty[live])
            return true;
    }
    return false;
}

/* The part on `device` that computes the same as `part` of the writer; -1: none. The tail's
 * parts are those of all replicas, which compute different things. */
static int copy_on(const struct settling *s, const struct source *from, int part, int device)
{
    const struct hypar_program *p = s->it->program;
    const struct nest *nest = s->it->graph->ops[from->op].nest;
    const struct op_plan *plan = &s->it->plan->ops[from->op];
    int mine[MAX_AXES], other[MAX_AXES];
    int replica = part / plan->n_parts; /* of the tail's; in a body there is one */
    if (s->micro >= 0)
        replica = hp_replica_of(p->iteration, p->schedule->stage_of_op[from->op],
                                hp_body_number(p->iteration, s->micro));
    int first = s->micro < 0 ? replica * plan->n_parts : 0;
    hp_part_coordinates(nest, &plan->split, part % plan->n_parts, mine);
    for (int i = first; i < first + plan->n_parts; i++) {
        int at = replica * plan->n_parts + i % plan->n_parts;
        if (plan->device[at] != device || !takes_part(s, from, i))
            continue;
        bool same = true;
        hp_part_coordinates(nest, &plan->split, i % plan->n_parts, other);
        for (int a = 0; a < nest->n_axes; a++)
            same &= mine[a] == other[a] ||
                    hp_write_kind(nest, from->pass, from->operand, a) == WRITE_COPY;
        if (same)
            return i;
    }
    return -1;
}

/* Add what one part wrote in micro-batch `micro`; false: it is not done. */
static bool add_part(const struct settling *s, const struct source *from, int part, int micro,
                     const struct view *sum)
{
    struct interpreter *it = s->it;
    const struct lowering *lowering = it->program->lowering;
    int b = hp_body_number(it->program->iteration, micro);
    if (s->micro < 0)
        part = hp_live_part(lowering, from->op, part, b);
    if (part < 0 || lowering->body[b].layout[from->op]->empty[part])
        return true; /* another replica's micro-batch, or empty in this one */
    struct view *view =
        hp_written(it, micro, lowering->training.op_pass_of[from->op][from->pass], part,
                   from->operand, s->exchange->place.grad);
    if (!view->data)
        return false;
    hp_view_combine(sum, view, s->exchange->combine, it->real);
    return true;
}

/* The micro-batches that are summed over: of a period, or one alone. */
static struct range micros_of(const struct settling *s, int op)
{
    const struct hypar_program *p = s->it->program;
    int n = p->iteration->period[hp_slot_group(p->iteration, p->schedule->stage_of_op[op])];
    if (s->micro >= 0)
        return (struct range){ s->micro, s->micro + 1 };
    return (struct range){ hp_period_at(s->micro) * n, (hp_period_at(s->micro) + 1) * n };
}

/* Where what is settled belongs in a device's memory. */
static int row_of(int micro)
{
    return micro < 0 ? hp_period_at(micro) : micro;
}

/* Put a cell's contributions together: those listed, or `device`'s own copies of them. */
static bool sum_cell(const struct settling *s, const struct cell *cell, int device,
                     const struct view *sum)
{
    hp_view_clear(sum, s->exchange->combine, s->it->real);
    for (int c = 0; c < cell->n_contributions; c++) {
        const struct source *from = &s->exchange->writer[cell->contribution[c].writer];
        int part = cell->contribution[c].part;
        if (device >= 0)
            part = copy_on(s, from, part, device);
        if (part < 0)
            return false;
        struct range micros = micros_of(s, from->op);
        for (int m = (int)micros.lo; m < (int)micros.hi; m++)
            if (!add_part(s, from, part, m, sum))
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
    struct box box = hp_cell_box(s->pattern, (int)(cell - s->pattern->cell));
    return s->micro < 0
               ? box
               : hp_micro_box(s->it->program, s->exchange->place.tensor, &box, s->micro);
}

static struct view new_sum(struct interpreter *it, struct box box)
{
    return hp_dense_view(NEW(&it->scratch, double, hp_box_elements(&box)), &box);
}

/* One cell, on a device that reads some of it. */
static bool settle_cell(const struct settling *s, const struct cell *cell, int device,
                        const struct box *wanted)
{
    struct interpreter *it = s->it;
    struct place place = s->exchange->place;
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
    int d = (micro < 0 ? it->exchange_of_tail : it->exchange_of)[2 * place.tensor + place.grad];
    if (d < 0) {
        if (place.grad)
            fill_constant(it, place, row_of(micro), device);
        return true;
    }
    struct settling s = settling_of(it, d, micro);
    for (int c = 0; c < s.pattern->n_cells; c++)
        if (!settle_cell(&s, &s.pattern->cell[c], device, box))
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
        struct view *held =
            hp_held(it, cell->receiver[i], s->exchange->place, row_of(s->micro));
        if (!hp_none_known(it, held, s->exchange->place.tensor, &box))
            return hp_fail(it->err, HYPAR_RUNTIME, "%s sends device %d what it has",
                           hp_instance_text(it, at, text, sizeof text), cell->receiver[i]);
        hp_view_copy(held, &sum, &box, hp_real_bytes(it->real));
    }
    return HYPAR_OK;
}

enum hypar_status hp_run_comm(struct interpreter *it, struct instance at)
{
    struct settling s = settling_of(it, it->program->task[at.task].index, at.micro);
    const struct comm *comm = hp_task_comm(it->program, at.task);
    for (int i = 0; i < comm->n_cells; i++)
        TRY(deliver(it, at, &s, &s.pattern->cell[comm->cell[i]]));
    return HYPAR_OK;
}
