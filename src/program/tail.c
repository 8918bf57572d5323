/* The tail: what ends a round. Gradients and the loss are summed, parameters updated. */
#include <stdlib.h>
#include <string.h>

#include "program/lower.h"

struct tail {
    struct writer w; /* of the tail's list */
    int *update;     /* by device, of the parameter at hand: its task, -1 until there is one */
};

/* The task of part 0 of a writer in body `b`, in the tail's numbering. */
static int writer_task(const struct tail *t, const struct source *writer, int b)
{
    const struct skeleton *k = &t->w.sketch->skeleton;
    return t->w.program->tail_base[b] +
           t->w.program->body[b].step_task[k->step_of[writer->op][writer->pass]];
}

/* Task `task` of the tail waits for a part of a writer in every body that has it. */
static void link_to_bodies(struct tail *t, int task, const struct source *writer, int part)
{
    const struct sketch *s = t->w.sketch;
    for (int b = 0; b < s->n_bodies; b++) {
        int live = hp_live_part(s, writer->op, part, b);
        if (live >= 0)
            hp_add_link(&t->w, task, writer_task(t, writer, b) + live);
    }
}

/* The exchange of one deal, its comm tasks in the tail; writers are tasks of body 0. */
static void add_exchange(struct tail *t, int d)
{
    const struct skeleton *k = &t->w.sketch->skeleton;
    const struct deal *deal = &k->deal[k->n_deals + d];
    int *task = NEW(&t->w.program->arena, int, deal->n_writers);
    for (int i = 0; i < deal->n_writers; i++)
        task[i] = writer_task(t, &deal->writer[i], 0);
    hp_append_exchange(&t->w, deal, t->w.sketch->tail[d], task);
}

/* A comm waits for its contributions in the last micro-batch of each body. */
static void link_comms(struct tail *t, const struct deal *deal, const struct exchange *e)
{
    for (int i = 0; i < e->pattern->n_feeds; i++) {
        const struct feed *feed = &e->pattern->feed[i];
        link_to_bodies(t, e->first_comm + feed->comm, &deal->writer[feed->writer], feed->part);
    }
}

/* The update of what `device` holds of the parameter. */
static int update_on(struct tail *t, const struct exchange *e, int device)
{
    if (t->update[device] < 0)
        t->update[device] = hp_add_task(&t->w, (struct task){ .kind = TASK_UPDATE,
                                                              .op = -1,
                                                              .device = device,
                                                              .exchange = -1,
                                                              .comm = -1,
                                                              .tensor = e->place.tensor,
                                                              .bucket = -1,
                                                              .backward = true });
    return t->update[device];
}

/* An update waits for its device's passes that read the parameter: they want the old one. */
static void link_readers(struct tail *t, const struct deal *deal)
{
    const int *update = t->update;
    const struct sketch *s = t->w.sketch;
    for (int b = 0; b < s->n_bodies; b++)
        for (int r = 0; r < deal->n_readers; r++) {
            const struct reader *reader = &deal->reader[r];
            const struct part_layout *layout = s->body[b].layout[reader->op];
            for (int p = 0; reader->passes >> p; p++)
                for (int part = 0; reader->passes >> p & 1 && part < layout->n_parts; part++)
                    if (!layout->empty[part] && update[layout->device[part]] >= 0)
                        hp_add_link(&t->w, update[layout->device[part]],
                                    writer_task(t, &(struct source){ reader->op, 0, p }, b) +
                                        part);
        }
}

/* One update for each device that holds a part of the parameter; it waits for all of it. */
static void add_updates(struct tail *t, const struct deal *deal, const struct exchange *e)
{
    const struct sketch *s = t->w.sketch;
    const struct hypar_program *p = t->w.program;
    size_t n_devices = (size_t)hypar_machine_device_count(s->plan->machine);
    memset(t->update, -1, n_devices * sizeof *t->update);
    for (int i = 0; i < e->pattern->n_waits; i++) {
        const struct wait *wait = &e->pattern->wait[i];
        int device = s->step_layout[e->reader[wait->reader].op]->device[wait->part];
        int mine = update_on(t, e, device);
        if (wait->comm < 0)
            link_to_bodies(t, mine, &deal->writer[wait->writer], wait->writer_part);
        else
            hp_add_link(&t->w, mine, p->tail_base[p->n_bodies] + e->first_comm + wait->comm);
    }
    link_readers(t, deal);
}

/* Tell the members of each bucket which it is. */
static void fill_buckets(struct tail *t)
{
    struct task_list *list = t->w.list;
    struct buckets b = hp_find_buckets(t->w.sketch, t->w.scratch);
    int n_tail = t->w.sketch->skeleton.n_tail;
    int *task = NEW(t->w.scratch, int, b.base[n_tail]); /* of each comm */
    for (int x = 0; x < n_tail; x++)
        for (int i = b.base[x]; i < b.base[x + 1]; i++) {
            task[i] = list->exchange[x].first_comm + i - b.base[x];
            if (b.lead[i] >= 0)
                list->task[task[i]].bucket = task[b.lead[i]];
        }
}

/* The first of a bucket waits for what all of them wait for, the others for the first. */
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
            hp_add_link(&t->w, i,
                        t->w.program->tail_base[t->w.program->n_bodies] + list->task[i].bucket);
}

/* A part that is empty in one of the bodies has no task there to wait for. */
static void drop_empty(struct tail *t)
{
    const struct hypar_program *p = t->w.program;
    int n = 0;
    for (int i = 0; i < t->w.n_links; i++) {
        int after = t->w.links[i].after, b = hp_tail_body(p, after);
        if (b == p->n_bodies || p->body[b].list.task[after - p->tail_base[b]].kind != TASK_NONE)
            t->w.links[n++] = t->w.links[i];
    }
    t->w.n_links = n;
}

/* Which updates each task belongs to. */
static void group_tasks(struct hypar_program *p)
{
    const struct sketch *s = p->sketch;
    struct arena scratch = { 0 };
    int *group = NEW(&scratch, int, s->graph->n_tensors);
    for (int d = s->skeleton.n_deals; d < s->skeleton.n_deals + s->skeleton.n_tail; d++)
        group[s->skeleton.deal[d].place.tensor] = hp_deal_group(s, d);
    p->tail_group = NEW(&p->arena, int, p->tail.n_tasks);
    for (int i = 0; i < p->tail.n_tasks; i++)
        p->tail_group[i] = group[p->tail.task[i].tensor];
    hp_arena_free(&scratch);
}

void hp_write_tail(struct hypar_program *p)
{
    struct sketch *s = p->sketch;
    struct arena scratch = { 0 };
    struct tail t = { .w = {
                          .program = p, .sketch = s, .scratch = &scratch, .list = &p->tail } };
    t.update = NEW(&scratch, int, hypar_machine_device_count(s->plan->machine));
    p->tail_base = NEW(&p->arena, int, p->n_bodies + 1);
    for (int b = 0; b < p->n_bodies; b++)
        p->tail_base[b + 1] = p->tail_base[b] + p->body[b].list.n_tasks;
    for (int d = 0; d < s->skeleton.n_tail; d++)
        add_exchange(&t, d);
    for (int d = 0; d < s->skeleton.n_tail; d++) {
        const struct deal *deal = &s->skeleton.deal[s->skeleton.n_deals + d];
        link_comms(&t, deal, &p->tail.exchange[d]);
        if (deal->place.grad)
            add_updates(&t, deal, &p->tail.exchange[d]);
    }
    if (s->options.bucket_bytes > 0) {
        fill_buckets(&t);
        link_buckets(&t);
    }
    drop_empty(&t);
    hp_finish_links(&t.w);
    hp_arena_free(&scratch);
    group_tasks(p);
}
