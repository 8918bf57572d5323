/* The tail: what happens once a step. Gradients and the loss are summed, parameters updated. */
#include <stdlib.h>
#include <string.h>

#include "program/lower.h"

struct tail {
    struct lowering *l;
    struct writer w;    /* of the tail's list */
    struct writer step; /* body 0, with every part that takes part in some micro-batch */
    int *param;         /* in the order in which their gradients are complete */
    int n_params;
};

/* Parameters by their first use, the last one first: backward comes to it last. */
static void order_params(struct tail *t)
{
    const struct hypar_graph *g = t->l->graph;
    int *count = NEW(&t->l->scratch, int, g->n_ops + 1);
    t->param = NEW(&t->l->scratch, int, g->n_tensors);
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].kind == TENSOR_PARAM && t->l->flow.grad[i]) {
            count[g->n_ops - 1 - g->use[g->use_start[i]].op + 1]++;
            t->n_params++;
        }
    for (int op = 0; op < g->n_ops; op++)
        count[op + 1] += count[op];
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].kind == TENSOR_PARAM && t->l->flow.grad[i])
            t->param[count[g->n_ops - 1 - g->use[g->use_start[i]].op]++] = i;
}

/* A part counts if one of the bodies has it. Which samples it had does not matter any more. */
static const struct part_layout *either(struct lowering *l, const struct part_layout *a,
                                        const struct part_layout *b)
{
    int differ = 0;
    for (int part = 0; part < a->n_parts; part++)
        differ += a->empty[part] && !b->empty[part];
    if (!differ)
        return a;
    struct part_layout *both = NEW(&l->scratch, struct part_layout, 1);
    size_t n_axes = (size_t)a->nest->n_axes;
    struct range *range = NEW(&l->scratch, struct range, (size_t)a->n_parts * n_axes);
    bool *empty = NEW(&l->scratch, bool, a->n_parts);
    for (int part = 0; part < a->n_parts; part++) {
        const struct part_layout *from = a->empty[part] ? b : a;
        empty[part] = from->empty[part];
        memcpy(range + (size_t)part * n_axes, from->range + (size_t)part * n_axes,
               n_axes * sizeof *range);
    }
    *both = *a;
    both->id = l->n_layouts; /* not looked up, but patterns are kept by it */
    both->range = range;
    both->empty = empty;
    l->layouts = GROW(&l->scratch, const struct part_layout *, l->layouts, l->n_layouts,
                      &l->layout_capacity);
    l->layouts[l->n_layouts++] = both;
    return both;
}

static void join_bodies(struct tail *t)
{
    struct lowering *l = t->l;
    t->step = l->body[0];
    if (l->program->n_bodies == 1)
        return;
    t->step.layout = NEW(&l->scratch, const struct part_layout *, l->graph->n_ops);
    for (int op = 0; op < l->graph->n_ops; op++)
        t->step.layout[op] = either(l, l->body[0].layout[op], l->body[1].layout[op]);
}

/* The exchange of one place, its comm tasks in the tail; writers are tasks of body 0. */
static enum hypar_status add_exchange(struct tail *t, struct place place)
{
    struct lowering *l = t->l;
    int most = hp_max_stakes(l->graph, place.tensor);
    struct stakeholder *writers = NEW(&l->scratch, struct stakeholder, most);
    struct stakeholder *readers = NEW(&l->scratch, struct stakeholder, most);
    struct reader *reader = NEW(&l->program->arena, struct reader, most);
    int *task = NEW(&l->program->arena, int, most), n_readers;
    int n_writers = hp_writers_of(&t->step, place, writers, task);
    if (place.grad) { /* whoever reads the parameter keeps it up to date */
        n_readers =
            hp_readers_of(&t->step, (struct place){ place.tensor, false }, readers, reader);
    } else { /* the loss: everyone who has a part of it is told the sum */
        n_readers = n_writers;
        for (int i = 0; i < n_writers; i++) {
            readers[i] = writers[i];
            readers[i].copies = 0;
            reader[i] = (struct reader){ l->graph->tensors[place.tensor].producer,
                                         writers[i].operand, 0 };
        }
    }
    struct exchange e = { .place = place, .writer_task = task, .reader = reader };
    TRY(hp_pattern_of(l, writers, n_writers, readers, n_readers, &e.pattern));
    hp_append_exchange(&t->w, e, true);
    return HYPAR_OK;
}

/* A comm waits for its contributions in the last micro-batch of each body. */
static void link_comms(struct tail *t, const struct exchange *e)
{
    struct lowering *l = t->l;
    int most = hp_max_stakes(l->graph, e->place.tensor);
    struct stakeholder *who = NEW(&l->scratch, struct stakeholder, most);
    int *task = NEW(&l->scratch, int, most);
    for (int b = 0; b < l->program->n_bodies; b++) {
        hp_writers_of(&l->body[b], e->place, who, task);
        for (int c = 0; c < e->pattern->n_comms; c++)
            hp_link_comm(&t->w, e, c, e->first_comm + c, task, l->program->tail_base[b]);
    }
}

/* The update of what `device` holds of the parameter, -1 in update[] until there is one. */
static int update_on(struct tail *t, const struct exchange *e, int device, int *update)
{
    if (update[device] < 0)
        update[device] = hp_add_task(&t->w, (struct task){ .kind = TASK_UPDATE,
                                                           .op = -1,
                                                           .device = device,
                                                           .exchange = -1,
                                                           .comm = -1,
                                                           .tensor = e->place.tensor,
                                                           .bucket = -1,
                                                           .backward = true });
    return update[device];
}

/* An update waits for its device's passes that read the parameter: they want the old one. */
static void link_readers(struct tail *t, const struct exchange *e, const int *update)
{
    struct lowering *l = t->l;
    for (int b = 0; b < l->program->n_bodies; b++)
        for (int r = 0; r < e->pattern->n_readers; r++) {
            const struct reader *reader = &e->reader[r];
            const struct part_layout *layout = l->body[b].layout[reader->op];
            for (int p = 0; reader->passes >> p; p++)
                for (int part = 0; reader->passes >> p & 1 && part < layout->n_parts; part++)
                    if (!layout->empty[part] && update[layout->device[part]] >= 0)
                        hp_add_link(&t->w, update[layout->device[part]],
                                    l->program->tail_base[b] +
                                        l->body[b].pass_task[reader->op][p] + part);
        }
}

/* One update for each device that holds a part of the parameter; it waits for all of it. */
static void add_updates(struct tail *t, const struct exchange *e)
{
    struct lowering *l = t->l;
    int n_devices = hypar_machine_device_count(l->plan->machine);
    int *update = NEW(&l->scratch, int, n_devices);
    int most = hp_max_stakes(l->graph, e->place.tensor);
    struct stakeholder *who = NEW(&l->scratch, struct stakeholder, most);
    int *task = NEW(&l->scratch, int, most);
    memset(update, -1, (size_t)n_devices * sizeof *update);
    for (int b = 0; b < l->program->n_bodies; b++) {
        hp_writers_of(&l->body[b], e->place, who, task);
        for (int i = 0; i < e->pattern->n_waits; i++) {
            const struct wait *wait = &e->pattern->wait[i];
            int device = t->step.layout[e->reader[wait->reader].op]->device[wait->part];
            int mine = update_on(t, e, device, update);
            if (wait->comm < 0)
                hp_add_link(&t->w, mine,
                            l->program->tail_base[b] + task[wait->writer] + wait->writer_part);
            else if (b == 0)
                hp_add_link(&t->w, mine, l->program->tail_base[2] + e->first_comm + wait->comm);
        }
    }
    link_readers(t, e, update);
}

/* All-reduces over the same devices, one after another, until a bucket is full. The first of a
 * bucket waits for what all of them wait for, the others for the first. */
static void fill_buckets(struct tail *t)
{
    struct lowering *l = t->l;
    struct task_list *list = t->w.list;
    struct table groups = { 0 };
    struct bucket {
        int first;
        double bytes;
    } *open = NEW(&l->scratch, struct bucket, list->n_tasks + 1);
    int n_groups = 0;
    for (int i = 0; i < list->n_tasks; i++) {
        struct task *task = &list->task[i];
        const struct exchange *e =
            task->kind == TASK_COMM ? &list->exchange[task->exchange] : NULL;
        const struct comm *comm = e ? &e->pattern->comm[task->comm] : NULL;
        if (!comm || comm->kind != COMM_ALL_REDUCE || !e->place.grad)
            continue;
        int g = hp_table_put(&groups, &l->scratch, comm->device,
                             (size_t)comm->n_devices * sizeof(int), n_groups);
        if (g == n_groups)
            open[n_groups++] = (struct bucket){ -1, 0 };
        if (open[g].first < 0)
            open[g].first = i;
        task->bucket = open[g].first;
        for (int c = 0; c < comm->n_cells; c++)
            open[g].bytes += (double)hp_box_elements(&e->pattern->cell[comm->cell[c]].box) *
                             hp_message_bytes(l->plan, e->place.tensor);
        if (open[g].bytes >= l->options.bucket_bytes)
            open[g] = (struct bucket){ -1, 0 };
    }
}

/* Move what members of a bucket wait for to the bucket as a whole. */
static void link_buckets(struct tail *t)
{
    const struct task_list *list = t->w.list;
    int n = t->w.n_links;
    for (int i = 0; i < n; i++) {
        int task = t->w.links[i].task;
        if (list->task[task].kind == TASK_COMM && list->task[task].bucket >= 0 &&
            list->task[task].bucket != task)
            t->w.links[i].task = list->task[task].bucket;
    }
    for (int i = 0; i < list->n_tasks; i++)
        if (list->task[i].kind == TASK_COMM && list->task[i].bucket >= 0 &&
            list->task[i].bucket != i)
            hp_add_link(&t->w, i, t->l->program->tail_base[2] + list->task[i].bucket);
}

/* A part that is empty in one of the bodies has no task there to wait for. */
static void drop_empty(struct tail *t)
{
    const struct hypar_program *p = t->l->program;
    int n = 0;
    for (int i = 0; i < t->w.n_links; i++) {
        int after = t->w.links[i].after, b = after >= p->tail_base[1];
        if (after >= p->tail_base[2] ||
            p->body[b].list.task[after - p->tail_base[b]].kind != TASK_NONE)
            t->w.links[n++] = t->w.links[i];
    }
    t->w.n_links = n;
}

enum hypar_status hp_lower_tail(struct lowering *l)
{
    struct hypar_program *p = l->program;
    struct tail t = { .l = l, .w = { .l = l, .list = &p->tail } };
    for (int b = 0; b < 2; b++)
        p->tail_base[b + 1] = p->tail_base[b] + (b < p->n_bodies ? p->body[b].list.n_tasks : 0);
    join_bodies(&t);
    order_params(&t);
    TRY(add_exchange(&t, (struct place){ l->graph->loss, false }));
    for (int i = 0; i < t.n_params; i++)
        TRY(add_exchange(&t, (struct place){ t.param[i], true }));
    for (int e = 0; e < p->tail.n_exchanges; e++) {
        link_comms(&t, &p->tail.exchange[e]);
        if (p->tail.exchange[e].place.grad)
            add_updates(&t, &p->tail.exchange[e]);
    }
    if (l->options.bucket_bytes > 0) {
        fill_buckets(&t);
        link_buckets(&t);
    }
    drop_empty(&t);
    hp_finish_links(&t.w);
    return HYPAR_OK;
}
