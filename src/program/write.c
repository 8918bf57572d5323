/* Writing a lowered program as a file, hypar-program/1: the plan, then its tasks and exchanges
 * block by block. */
#include "base/files/json.h"
#include "machine/machine.h"
#include "model/model.h"
#include "program/blocks.h"

static void put_range(struct json_writer *w, struct range range)
{
    hp_json_begin_array(w, NULL, true);
    hp_json_put_int(w, NULL, range.lo);
    hp_json_put_int(w, NULL, range.hi);
    hp_json_end_array(w);
}

/* Write the predecessors of each task of a block. */
static void put_after(struct json_writer *w, const struct hypar_program *p, int first, int n)
{
    hp_json_begin_array(w, "after", true);
    for (int t = first; t < first + n; t++)
        hp_json_put_ints(w, NULL, p->after + p->after_start[t],
                         (int)(p->after_start[t + 1] - p->after_start[t]));
    hp_json_end_array(w);
}

/* Computations ------------------------------------------------------------------------- */

/* The passes of a fusion group: "conv1:0", the operator and the number of its pass. */
static void put_passes(struct json_writer *w, const struct hypar_program *p,
                       const struct block *block)
{
    struct arena scratch = { 0 };
    hp_json_begin_array(w, "passes", true);
    for (int i = block->index; i >= 0; i = p->blocks->next[block->body][i]) {
        const struct op_pass *op_pass = &p->lowering->training.op_pass[i];
        const char *name = p->plan->graph->ops[op_pass->op].name;
        hp_json_put_string(w, NULL, hp_arena_printf(&scratch, "%s:%d", name, op_pass->pass));
    }
    hp_arena_free(&scratch);
    hp_json_end_array(w);
}

/* The range of each part along the divided axes. */
static void put_ranges(struct json_writer *w, const struct op_parts *l)
{
    hp_json_begin_object(w, "ranges", true);
    for (int a = 0; a < l->nest->n_axes; a++) {
        if (l->split->degree[a] < 2)
            continue;
        hp_json_begin_array(w, l->nest->axis[a].name, true);
        for (int part = 0; part < l->n_parts; part++)
            if (!l->empty[part])
                put_range(w, l->range[part * l->nest->n_axes + a]);
        hp_json_end_array(w);
    }
    hp_json_end_object(w);
}

/* The half of a micro-batch, or the gradient phase where it is separate. */
static const char *half_text(enum phase phase)
{
    return phase == PHASE_FORWARD    ? "forward"
           : phase == PHASE_GRADIENT ? "gradient"
                                     : "backward";
}

static void put_compute(struct json_writer *w, const struct hypar_program *p,
                        const struct block *block, int first, int n)
{
    const struct op_parts *l = hp_pass_parts(p->blocks, block->body, block->index);
    put_passes(w, p, block);
    hp_json_put_string(w, "half", half_text(p->task[first].phase));
    hp_json_begin_array(w, "parts", true);
    for (int t = first; t < first + n; t++)
        hp_json_put_int(w, NULL, p->task[t].part);
    hp_json_end_array(w);
    hp_json_begin_array(w, "devices", true);
    for (int t = first; t < first + n; t++)
        hp_json_put_int(w, NULL, p->task[t].device);
    hp_json_end_array(w);
    put_ranges(w, l);
}

/* Exchanges ---------------------------------------------------------------------------- */

/* The elements of the piece within its box, row-major. */
static void put_piece(struct json_writer *w, const struct cell *cell)
{
    hp_json_begin_array(w, "elements", true);
    hp_json_put_int(w, NULL, cell->lo);
    hp_json_put_int(w, NULL, cell->lo + cell->elements);
    hp_json_end_array(w);
}

/* A box of the tensor: who contributes, who sums, who receives. */
static void put_region(struct json_writer *w, const struct pattern *pattern, int c)
{
    const struct cell *cell = &pattern->cell[c];
    struct box box = hp_cell_box(pattern, c);
    hp_json_begin_object(w, NULL, true);
    hp_json_begin_array(w, "box", true);
    for (int d = 0; d < box.n_dims; d++)
        put_range(w, box.dim[d]);
    hp_json_end_array(w);
    if (cell->pieces > 1)
        put_piece(w, cell);
    hp_json_begin_array(w, "from", true);
    for (int i = 0; i < cell->n_contributions; i++)
        hp_json_put_int(w, NULL, cell->contribution[i].device);
    hp_json_end_array(w);
    hp_json_put_ints(w, "sum_on", cell->owner, cell->n_owners);
    hp_json_put_ints(w, "to", cell->receiver, cell->n_receivers);
    hp_json_end_object(w);
}

static void put_comm(struct json_writer *w, const struct hypar_program *p, int t)
{
    const struct comm *comm = hp_task_comm(p, t);
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "kind", hp_comm_text(comm->kind));
    hp_json_put_ints(w, "devices", comm->device, comm->n_devices);
    hp_json_put_number(w, "bytes", hp_task_bytes(p, t));
    if (p->task[t].bucket >= 0)
        hp_json_put_int(w, "bucket", p->task[t].bucket);
    hp_json_begin_array(w, "regions", true);
    for (int i = 0; i < comm->n_cells; i++)
        put_region(w, hp_task_pattern(p, t), comm->cell[i]);
    hp_json_end_array(w);
    hp_json_end_object(w);
}

static void put_exchange(struct json_writer *w, const struct hypar_program *p, int first, int n)
{
    struct place place = hp_task_place(p, first);
    if (p->task[first].index == p->lowering->training.norm)
        hp_json_put_string(w, "norm", "sum");
    else
        hp_json_put_string(w, place.grad ? "gradient" : "tensor",
                           p->plan->graph->tensors[place.tensor].name);
    hp_json_put_string(w, "half", half_text(p->task[first].phase));
    hp_json_begin_array(w, "comms", false);
    for (int t = first; t < first + n; t++)
        put_comm(w, p, t);
    hp_json_end_array(w);
}

static void put_update(struct json_writer *w, const struct hypar_program *p,
                       const struct block *block, int first)
{
    const struct update_devices *u = hp_update_devices(p->lowering, block->index);
    hp_json_put_string(w, "update",
                       p->plan->graph->tensors[hp_task_place(p, first).tensor].name);
    hp_json_put_ints(w, "devices", u->device, u->n);
    hp_json_put_int(w, "group", hp_update_group(p, first));
}

static void put_norm(struct json_writer *w, const struct hypar_program *p)
{
    hp_json_put_string(w, "norm", "squares");
    hp_json_put_ints(w, "devices", p->lowering->norm.device, p->lowering->norm.n);
}

/* Whole file --------------------------------------------------------------------------- */

/* The blocks among first .. last - 1 that have tasks. */
static void put_blocks(struct json_writer *w, const struct hypar_program *p, const char *key,
                       int first, int last)
{
    hp_json_begin_array(w, key, false);
    for (int i = first; i < last; i++) {
        struct block block = hp_block_at(p->blocks, i);
        int id = p->blocks->first[i], n = p->blocks->size[i];
        if (!n)
            continue;
        hp_json_begin_object(w, NULL,
                             block.kind != BLOCK_EXCHANGE && block.kind != BLOCK_TAIL_EXCHANGE);
        hp_json_put_int(w, "first", id);
        if (block.kind == BLOCK_COMPUTE)
            put_compute(w, p, &block, id, n);
        else if (block.kind == BLOCK_NORM)
            put_norm(w, p);
        else if (block.kind == BLOCK_UPDATE)
            put_update(w, p, &block, id);
        else
            put_exchange(w, p, id, n);
        put_after(w, p, id, n);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_bodies(struct json_writer *w, const struct hypar_program *p)
{
    int n_items = p->lowering->training.n_items;
    hp_json_begin_array(w, "bodies", false);
    for (int b = 0; b < p->n_bodies; b++) {
        hp_json_begin_object(w, NULL, false);
        hp_json_put_int(w, "micro_batches", hp_body_times(p->iteration, b));
        hp_json_begin_array(w, "samples_of_first", true);
        hp_json_put_int(w, NULL, p->lowering->body[b].samples.lo);
        hp_json_put_int(w, NULL, p->lowering->body[b].samples.hi);
        hp_json_end_array(w);
        put_blocks(w, p, "blocks", b * n_items, (b + 1) * n_items);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

/* "B1.0": phase, stage and micro-batch; for an update its period. */
static void put_schedule(struct json_writer *w, const struct schedule *s)
{
    hp_json_begin_array(w, "schedule", false);
    for (int l = 0; l < s->n_lists; l++) {
        const struct slot_list *list = &s->list[l];
        hp_json_begin_object(w, NULL, false);
        hp_json_put_ints(w, "devices", list->device, list->n_devices);
        hp_json_begin_array(w, "slots", true);
        for (int i = 0; i < list->n_slots; i++) {
            char text[SLOT_TEXT_BYTES];
            hp_json_put_string(w, NULL, hp_slot_text(&list->slot[i], text));
        }
        hp_json_end_array(w);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_options(struct json_writer *w, const struct hypar_lower_options *options)
{
    hp_json_begin_object(w, "lower", true);
    hp_json_put_number(w, "bucket_bytes", options->bucket_bytes);
    hp_json_put_bool(w, "local_bn", options->local_bn);
    hp_json_put_int(w, "minibatches", options->minibatches);
    if (options->forward)
        hp_json_put_bool(w, "forward", true);
    hp_json_end_object(w);
}

void hp_program_write_json(struct json_writer *w, const struct hypar_program *p)
{
    hp_json_begin_object(w, NULL, false);
    hp_json_put_string(w, "format", "hypar-program/1");
    hp_json_put_string(w, "form", "lowered");
    hp_plan_write_json(w, "plan", p->plan);
    hp_graph_write_json(w, "graph", p->plan->graph);
    hp_machine_write_json(w, "machine", p->plan->machine);
    put_options(w, &p->lowering->options);
    put_schedule(w, p->schedule);
    put_bodies(w, p);
    put_blocks(w, p, "tail", p->n_bodies * p->lowering->training.n_items, p->blocks->n_blocks);
    hp_json_end_object(w);
}

enum hypar_status hypar_program_write(const struct hypar_program *p, FILE *to,
                                      struct hypar_error *err)
{
    enum { MAX_WRITTEN = 1000 * 1000 };
    struct json_writer w = { .file = to };
    if (p->n_tasks > MAX_WRITTEN)
        return hp_fail(err, HYPAR_UNSUPPORTED, "%d tasks, expected at most %d in a file",
                       p->n_tasks, MAX_WRITTEN);
    hp_program_write_json(&w, p);
    return HYPAR_OK;
}
