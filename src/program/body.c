/* The body: one micro-batch, forward then backward. */
#include <stdlib.h>
#include <string.h>

#include "program/lower.h"

int hp_add_task(struct writer *w, struct task task)
{
    struct task_list *list = w->list;
    list->task =
        GROW(&w->l->program->arena, struct task, list->task, list->n_tasks, &w->task_capacity);
    list->task[list->n_tasks] = task;
    return list->n_tasks++;
}

void hp_add_link(struct writer *w, int task, int after)
{
    w->links = GROW(&w->l->scratch, struct link, w->links, w->n_links, &w->link_capacity);
    w->links[w->n_links++] = (struct link){ task, after };
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Sort what each task waits for, and leave out what is there twice. */
static void drop_repeats(struct task_list *list)
{
    int64_t kept = 0, begin = 0;
    for (int t = 0; t < list->n_tasks; t++) {
        int64_t end = list->after_start[t + 1], first = kept;
        if (end - begin > 1)
            qsort(list->after + begin, (size_t)(end - begin), sizeof *list->after, by_number);
        for (int64_t i = begin; i < end; i++)
            if (kept == first || list->after[i] != list->after[kept - 1])
                list->after[kept++] = list->after[i];
        begin = end;
        list->after_start[t + 1] = kept;
    }
}

void hp_finish_links(struct writer *w)
{
    struct task_list *list = w->list;
    struct arena *arena = &w->l->program->arena;
    list->after_start = NEW(arena, int64_t, list->n_tasks + 2);
    list->after = NEW(arena, int, w->n_links);
    for (int i = 0; i < w->n_links; i++)
        list->after_start[w->links[i].task + 2]++;
    for (int t = 0; t < list->n_tasks; t++)
        list->after_start[t + 2] += list->after_start[t + 1];
    for (int i = 0; i < w->n_links; i++)
        list->after[list->after_start[w->links[i].task + 1]++] = w->links[i].after;
    drop_repeats(list);
}

/* Tasks ------------------------------------------------------------------------------- */

/* Is this the part that adds what the pass adds after partial sums? */
static bool adds_after(const struct part_layout *layout, int pass, int part)
{
    const struct pass *p = &layout->nest->pass[pass];
    axis_set partial = 0;
    if (!p->adds)
        return false;
    for (int o = 0; o < layout->nest->n_operands; o++)
        if (p->writes >> o & 1)
            partial |= hp_partial_axes(layout->nest, layout->split, pass, o);
    return !partial || hp_first_along(layout, part, partial);
}

static void add_pass(struct writer *w, int op, int pass)
{
    const struct part_layout *layout = w->layout[op];
    bool backward = layout->nest->pass[pass].backward;
    w->pass_task[op][pass] = w->list->n_tasks;
    for (int part = 0; part < layout->n_parts; part++)
        hp_add_task(w, (struct task){
                           .kind = layout->empty[part] ? TASK_NONE : TASK_COMPUTE,
                           .op = op,
                           .pass = pass,
                           .part = part,
                           .device = layout->device[part],
                           .exchange = -1,
                           .comm = -1,
                           .tensor = -1,
                           .bucket = -1,
                           .backward = backward,
                           .add_after = !layout->empty[part] && adds_after(layout, pass, part),
                       });
}

/* Batch norm's statistics of each part's own samples: nothing moves, parts go on by themselves.
 */
static const struct pattern *private_pattern(struct lowering *l,
                                             const struct part_layout *layout, int n_readers)
{
    struct arena *arena = &l->program->arena;
    struct pattern *p = NEW(arena, struct pattern, 1);
    p->n_writers = 1;
    p->n_readers = n_readers;
    p->wait = NEW(arena, struct wait, n_readers * layout->n_parts);
    for (int r = 0; r < n_readers; r++)
        for (int part = 0; part < layout->n_parts; part++)
            if (!layout->empty[part])
                p->wait[p->n_waits++] = (struct wait){ r, part, -1, 0, part };
    return p;
}

static bool is_private(const struct lowering *l, int tensor)
{
    const struct tensor *t = &l->graph->tensors[tensor];
    return l->options.local_bn && t->kind == TENSOR_STAT &&
           l->graph->ops[t->producer].kind == OP_BATCH_NORM;
}

static enum combine combine_of(const struct lowering *l, struct place place)
{
    int producer = l->graph->tensors[place.tensor].producer;
    if (place.grad || producer < 0)
        return COMBINE_SUM;
    const struct op *op = &l->graph->ops[producer];
    return op->nest->operand[hp_operand_of(op, place.tensor)].combine;
}

void hp_append_exchange(struct writer *w, struct exchange e, bool backward)
{
    struct task_list *list = w->list;
    e.first_comm = list->n_tasks;
    for (int c = 0; c < e.pattern->n_comms; c++)
        hp_add_task(w, (struct task){ .kind = TASK_COMM,
                                      .op = -1,
                                      .device = -1,
                                      .exchange = list->n_exchanges,
                                      .comm = c,
                                      .tensor = e.place.tensor,
                                      .bucket = -1,
                                      .backward = backward });
    list->exchange = GROW(&w->l->program->arena, struct exchange, list->exchange,
                          list->n_exchanges, &w->exchange_capacity);
    list->exchange[list->n_exchanges++] = e;
}

enum hypar_status hp_add_exchange(struct writer *w, struct place place, bool backward)
{
    struct lowering *l = w->l;
    struct arena *arena = &l->program->arena;
    int most = hp_max_stakes(l->graph, place.tensor);
    struct stakeholder *writers = NEW(&l->scratch, struct stakeholder, most);
    struct stakeholder *readers = NEW(&l->scratch, struct stakeholder, most);
    struct reader *reader = NEW(&l->scratch, struct reader, most);
    int *task = NEW(&l->scratch, int, most);
    int n_writers = hp_writers_of(w, place, writers, task);
    int n_readers = hp_readers_of(w, place, readers, reader);

    struct exchange e = { .place = place, .combine = combine_of(l, place) };
    if (is_private(l, place.tensor))
        e.pattern = private_pattern(l, writers[0].layout, n_readers);
    else
        TRY(hp_pattern_of(l, writers, n_writers, readers, n_readers, &e.pattern));
    int *kept_task = NEW(arena, int, n_writers);
    struct reader *kept_reader = NEW(arena, struct reader, n_readers);
    if (n_writers)
        memcpy(kept_task, task, (size_t)n_writers * sizeof *task);
    if (n_readers)
        memcpy(kept_reader, reader, (size_t)n_readers * sizeof *reader);
    e.writer_task = kept_task;
    e.reader = kept_reader;
    hp_append_exchange(w, e, backward);
    return HYPAR_OK;
}

/* A part's backward comes after its own forward. Mostly it does so anyway, by way of the error
 * it waits for; not at the loss, nor where nobody reads what the part computed. */
static void link_to_forward(struct writer *w, int op, int pass)
{
    const struct nest *nest = w->l->graph->ops[op].nest;
    int last = 0;
    for (int p = 0; p < nest->n_passes; p++)
        last = nest->pass[p].backward ? last : p;
    for (int part = 0; part < w->layout[op]->n_parts; part++)
        if (!w->layout[op]->empty[part])
            hp_add_link(w, w->pass_task[op][pass] + part, w->pass_task[op][last] + part);
}

static enum hypar_status add_op(struct writer *w, int op, bool backward)
{
    const struct op *o = &w->l->graph->ops[op];
    for (int i = o->nest->n_inputs; backward && i < o->nest->n_operands; i++) {
        int t = o->tensor[i];
        bool settles = o->nest->operand[i].role == OPERAND_OUTPUT && w->l->flow.grad[t];
        if (settles && t != w->l->graph->loss) /* the loss's own gradient is 1 everywhere */
            TRY(hp_add_exchange(w, (struct place){ t, true }, true));
    }
    for (int p = 0; p < o->nest->n_passes; p++) {
        const struct pass *pass = &o->nest->pass[p];
        if (pass->backward != backward || !(w->l->flow.passes[op] >> p & 1))
            continue;
        add_pass(w, op, p);
        if (backward)
            link_to_forward(w, op, p);
        for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++)
            if (pass->writes >> i & 1 && o->tensor[i] != w->l->graph->loss)
                TRY(hp_add_exchange(w, (struct place){ o->tensor[i], false }, backward));
    }
    return HYPAR_OK;
}

/* Links ------------------------------------------------------------------------------- */

void hp_link_comm(struct writer *w, const struct exchange *e, int comm, int task,
                  const int *writer_task, int offset)
{
    const struct comm *c = &e->pattern->comm[comm];
    int begin = w->n_links;
    for (int i = 0; i < c->n_cells; i++) {
        const struct cell *cell = &e->pattern->cell[c->cell[i]];
        for (int k = 0; k < cell->n_contributions; k++) {
            int from =
                writer_task[cell->contribution[k].writer] + cell->contribution[k].part + offset;
            bool there = false; /* neighbouring cells have the same contributors */
            for (int j = w->n_links - 1; j >= begin && !there && w->n_links - j <= 64; j--)
                there = w->links[j].after == from;
            if (!there)
                hp_add_link(w, task, from);
        }
    }
}

/* A value is waited for where it is first read: in the forward half if there, else in backward.
 */
static uint32_t first_passes(const struct lowering *l, const struct reader *r)
{
    const struct nest *nest = l->graph->ops[r->op].nest;
    uint32_t forward = 0;
    for (int p = 0; p < nest->n_passes; p++)
        forward |= (uint32_t)!nest->pass[p].backward << p;
    return r->passes & forward ? r->passes & forward : r->passes;
}

static void link_exchange(struct writer *w, const struct exchange *e)
{
    for (int c = 0; c < e->pattern->n_comms; c++)
        hp_link_comm(w, e, c, e->first_comm + c, e->writer_task, 0);
    for (int i = 0; i < e->pattern->n_waits; i++) {
        const struct wait *wait = &e->pattern->wait[i];
        const struct reader *r = &e->reader[wait->reader];
        int before = wait->comm >= 0 ? e->first_comm + wait->comm
                                     : e->writer_task[wait->writer] + wait->writer_part;
        uint32_t passes = first_passes(w->l, r);
        for (int p = 0; passes >> p; p++) {
            int task = passes >> p & 1 ? w->pass_task[r->op][p] + wait->part : -1;
            if (task >= 0 && task != before)
                hp_add_link(w, task, before);
        }
    }
}

enum hypar_status hp_lower_body(struct lowering *l, int b)
{
    const struct hypar_graph *g = l->graph;
    struct body *body = &l->program->body[b];
    struct writer *w = &l->body[b];
    *w = (struct writer){ .l = l, .list = &body->list };
    w->samples = hp_micro_samples(l->program, body->first_micro);
    w->layout = NEW(&l->scratch, const struct part_layout *, g->n_ops);
    w->pass_task = (int(*)[MAX_PASSES])NEW(&l->scratch, int, g->n_ops *MAX_PASSES);
    memset(w->pass_task, -1, (size_t)g->n_ops * sizeof *w->pass_task);
    for (int op = 0; op < g->n_ops; op++)
        w->layout[op] = hp_layout_of(l, op, w->samples);
    for (int op = 0; op < g->n_ops; op++)
        TRY(add_op(w, op, false));
    for (int op = g->n_ops - 1; op >= 0; op--)
        if (l->flow.active[op])
            TRY(add_op(w, op, true));
    for (int e = 0; e < body->list.n_exchanges; e++)
        link_exchange(w, &body->list.exchange[e]);
    hp_finish_links(w);
    return HYPAR_OK;
}
