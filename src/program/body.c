/* The body: one micro-batch, forward then backward, written out as tasks. */
#include <stdlib.h>
#include <string.h>

#include "program/lower.h"

void hp_reserve(struct writer *w, int n_tasks, int n_links)
{
    w->task_capacity = n_tasks;
    w->list->task = NEW(&w->program->arena, struct task, n_tasks);
    w->link_capacity = n_links;
    w->links = NEW(w->scratch, struct link, n_links);
}

int hp_add_task(struct writer *w, struct task task)
{
    struct task_list *list = w->list;
    list->task =
        GROW(&w->program->arena, struct task, list->task, list->n_tasks, &w->task_capacity);
    list->task[list->n_tasks] = task;
    return list->n_tasks++;
}

void hp_add_link(struct writer *w, int task, int after)
{
    w->links = GROW(w->scratch, struct link, w->links, w->n_links, &w->link_capacity);
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
    struct arena *arena = &w->program->arena;
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

static void add_step(struct writer *w, const struct part_layout *layout,
                     const struct step *step)
{
    for (int part = 0; part < layout->n_parts; part++)
        hp_add_task(
            w, (struct task){
                   .kind = layout->empty[part] ? TASK_NONE : TASK_COMPUTE,
                   .op = step->op,
                   .pass = step->pass,
                   .part = part,
                   .device = layout->device[part],
                   .exchange = -1,
                   .comm = -1,
                   .tensor = -1,
                   .bucket = -1,
                   .backward = step->backward,
                   .add_after = !layout->empty[part] && adds_after(layout, step->pass, part),
               });
}

void hp_append_exchange(struct writer *w, const struct deal *deal,
                        const struct pattern *pattern, const int *writer_task)
{
    struct task_list *list = w->list;
    struct exchange e = { .place = deal->place,
                          .combine = deal->combine,
                          .pattern = pattern,
                          .reader = deal->reader,
                          .writer_task = writer_task,
                          .first_comm = list->n_tasks };
    for (int c = 0; c < pattern->n_comms; c++)
        hp_add_task(w, (struct task){ .kind = TASK_COMM,
                                      .op = -1,
                                      .device = -1,
                                      .exchange = list->n_exchanges,
                                      .comm = c,
                                      .tensor = deal->place.tensor,
                                      .bucket = -1,
                                      .backward = deal->backward });
    list->exchange = GROW(&w->program->arena, struct exchange, list->exchange,
                          list->n_exchanges, &w->exchange_capacity);
    list->exchange[list->n_exchanges++] = e;
}

static void add_deal(struct writer *w, int b, int d)
{
    const struct deal *deal = &w->sketch->skeleton.deal[d];
    int *task = NEW(&w->program->arena, int, deal->n_writers); /* filled when all are there */
    hp_append_exchange(w, deal, w->sketch->body[b].pattern[d], task);
}

/* Links ------------------------------------------------------------------------------- */

/* A part's backward comes after its own forward. Mostly it does so anyway, by way of the error
 * it waits for; not at the loss, nor where nobody reads what the part computed. */
static void link_to_forward(struct writer *w, const struct part_layout *layout,
                            const struct step *step, const int *first)
{
    const struct skeleton *k = &w->sketch->skeleton;
    int last = hp_last_forward_step(w->sketch, step->op);
    for (int part = 0; part < layout->n_parts; part++)
        if (!layout->empty[part])
            hp_add_link(w, first[step - k->step] + part, first[last] + part);
}

static void link_exchange(struct writer *w, const struct exchange *e, const int *first)
{
    const struct skeleton *k = &w->sketch->skeleton;
    for (int i = 0; i < e->pattern->n_feeds; i++) {
        const struct feed *feed = &e->pattern->feed[i];
        hp_add_link(w, e->first_comm + feed->comm, e->writer_task[feed->writer] + feed->part);
    }
    for (int i = 0; i < e->pattern->n_waits; i++) {
        const struct wait *wait = &e->pattern->wait[i];
        const struct reader *r = &e->reader[wait->reader];
        int before = wait->comm >= 0 ? e->first_comm + wait->comm
                                     : e->writer_task[wait->writer] + wait->writer_part;
        uint32_t passes = hp_first_passes(w->sketch->graph, r);
        for (int p = 0; passes >> p; p++) {
            int task = passes >> p & 1 ? first[k->step_of[r->op][p]] + wait->part : -1;
            if (task >= 0 && task != before)
                hp_add_link(w, task, before);
        }
    }
}

/* How many links link_exchange() will make, at most. */
static int count_links(const struct sketch *s, const struct deal *deal, const struct pattern *p)
{
    int n = p->n_feeds;
    for (int r = 0; r < deal->n_readers; r++)
        for (uint32_t passes = hp_first_passes(s->graph, &deal->reader[r]); passes;
             passes >>= 1)
            n += passes & 1 ? p->reader_wait[r + 1] - p->reader_wait[r] : 0;
    return n;
}

static void reserve(struct writer *w, int b)
{
    const struct sketch *s = w->sketch;
    const struct skeleton *k = &s->skeleton;
    int n_tasks = 0, n_links = 0;
    for (int i = 0; i < k->n_steps; i++) {
        int parts = s->body[b].layout[k->step[i].op]->n_parts;
        n_tasks += parts;
        n_links += k->step[i].backward ? parts : 0;
    }
    for (int d = 0; d < k->n_deals; d++) {
        n_tasks += s->body[b].pattern[d]->n_comms;
        n_links += count_links(s, &k->deal[d], s->body[b].pattern[d]);
    }
    hp_reserve(w, n_tasks, n_links);
}

void hp_write_body(struct hypar_program *program, int b)
{
    struct sketch *s = program->sketch;
    const struct skeleton *k = &s->skeleton;
    struct body *body = &program->body[b];
    struct arena scratch = { 0 };
    struct writer w = {
        .program = program, .sketch = s, .scratch = &scratch, .list = &body->list
    };
    int *first = NEW(&program->arena, int, k->n_steps);
    reserve(&w, b);
    for (int i = 0; i < k->n_items; i++) {
        int index = k->item[i].index;
        if (k->item[i].is_step) {
            first[index] = body->list.n_tasks;
            add_step(&w, s->body[b].layout[k->step[index].op], &k->step[index]);
        } else {
            add_deal(&w, b, index);
        }
    }
    for (int i = 0; i < k->n_steps; i++)
        if (k->step[i].backward)
            link_to_forward(&w, s->body[b].layout[k->step[i].op], &k->step[i], first);
    for (int d = 0; d < k->n_deals; d++) {
        int *task = (int *)body->list.exchange[d].writer_task;
        for (int i = 0; i < k->deal[d].n_writers; i++)
            task[i] = first[k->step_of[k->deal[d].writer[i].op][k->deal[d].writer[i].pass]];
        link_exchange(&w, &body->list.exchange[d], first);
    }
    hp_finish_links(&w);
    hp_arena_free(&scratch);
    body->step_task = first;
}
