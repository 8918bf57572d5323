/* Records the times of a rank's tasks: each task for some steps, and means over all steps.
 * Memory is taken once. */
#include <string.h>

#include "base/clock.h"
#include "run/exec/state.h"

/* Each task of a step has one record. */
static int64_t count_tasks(const struct executor *x)
{
    const struct iteration *it = x->program->iteration;
    int64_t n = 0;
    for (int b = 0; b < it->n_bodies; b++)
        n += (int64_t)x->rank->body[b].n_tasks * hp_body_times(it, b);
    for (int g = 0; g < x->rank->tail.n_lists; g++)
        n += (int64_t)x->rank->tail.list[g].n * hp_period_count(it, g);
    return n;
}

/* The positions of the tail's tasks, in all periods of the group with the most. */
static int64_t tail_places(const struct executor *x)
{
    int most = 0;
    for (int g = 0; g < x->rank->tail.n_lists; g++) {
        int periods = hp_period_count(x->program->iteration, g);
        most = periods > most ? periods : most;
    }
    return (int64_t)most * x->rank->tail.n_tasks;
}

static void make_sums(struct executor *x)
{
    enum { MOST = 1 << 22 };
    const struct iteration *it = x->program->iteration;
    struct task_sums *s = &x->sums;
    s->first = NEW(&x->arena, int64_t, it->n_micro + 1);
    for (int m = 0; m < it->n_micro; m++)
        s->first[m + 1] = s->first[m] + x->rank->body[hp_body_number(it, m)].n_tasks;
    s->n = s->first[it->n_micro] + tail_places(x);
    if (s->n <= MOST)
        s->at = NEW(&x->arena, struct task_sum, s->n + 1);
    s->origin_s = hp_now_s();
}

void hp_make_records(struct executor *x)
{
    enum { MOST = 1 << 20 };
    int64_t n = count_tasks(x), steps = x->settings.record_steps;
    if (n > 0 && x->settings.mean)
        make_sums(x);
    if (steps <= 0 || n == 0)
        return;
    x->records.capacity = n > MOST / steps ? MOST : n * steps;
    x->records.at = NEW(&x->arena, struct task_record, x->records.capacity);
}

/* The first step warms up: it counts only if there is no other. A shortened step lacks tasks
 * and does not count. Of many steps some suffice, because reading the clock takes time. */
void hp_record_step(struct executor *x)
{
    enum { ALL_UNTIL = 100, THEN_EVERY = 16, FEW_UNTIL = 3 };
    struct task_sums *s = &x->sums;
    bool whole = x->n_micro == x->program->iteration->n_micro;
    /* a card waits for each task that is timed */
    bool timed = x->backend->visible ? x->step <= ALL_UNTIL || x->step % THEN_EVERY == 0
                                     : x->step <= FEW_UNTIL;
    s->now = s->at && whole && timed;
    if (!s->now)
        return;
    if (x->step == 2) {
        memset(s->at, 0, (size_t)s->n * sizeof *s->at);
        s->steps = 0;
        s->begin_s = 0;
    }
    s->step_s = hp_now_s();
    s->begin_s += s->step_s - s->origin_s;
    s->steps++;
}

double hp_record_start(const struct executor *x)
{
    return x->records.capacity || x->sums.now ? hp_now_s() : 0;
}

static int64_t place_of(const struct executor *x, const struct micro_state *m, int at)
{
    if (m != &x->tail)
        return x->sums.first[m->micro] + at;
    return x->sums.first[x->program->iteration->n_micro] +
           (int64_t)m->micro * x->rank->tail.n_tasks + at;
}

/* `at`: position of the task among the rank's of its part. */
static void add(struct executor *x, const struct micro_state *m, int at,
                struct task_record record)
{
    struct records *r = &x->records;
    if (!r->capacity && !x->sums.now)
        return;
    record.micro = m->micro;
    record.step = x->step;
    x->backend->finish(x->backend);
    record.end_s = hp_now_s();
    if (record.with >= 0)
        record.start_s = record.end_s;
    if (r->capacity)
        r->at[r->n++ % r->capacity] = record;
    if (x->sums.now) {
        struct task_sum *sum = &x->sums.at[place_of(x, m, at)];
        sum->n++;
        sum->with = record.with;
        sum->start_s += record.start_s - x->sums.step_s;
        sum->end_s += record.end_s - x->sums.step_s;
    }
}

void hp_record(struct executor *x, const struct micro_state *m, const struct rank_task *task,
               double start_s)
{
    add(x, m, task->at,
        (struct task_record){ .task = task->task, .with = -1, .start_s = start_s });
}

void hp_record_joined(struct executor *x, const struct micro_state *m,
                      const struct rank_task *task, int with)
{
    add(x, m, task->at, (struct task_record){ .task = task->task, .with = with });
}

/* The bytes that the rank sends. */
static double sent_bytes(const struct executor *x, const struct rank_comm *comm)
{
    double bytes = 0;
    for (int i = 0; i < comm->n_messages; i++) {
        const struct rank_message *message = &comm->message[i];
        if (message->kind == MESSAGE_SEND)
            bytes += (double)((message->piece.hi - message->piece.lo) *
                              (int64_t)hp_buffer_element_bytes(x, message->piece.view.buffer));
    }
    return bytes;
}

void hp_record_comm(struct executor *x, const struct comm_run *run)
{
    struct task_record record = { .task = run->comm->task,
                                  .with = -1,
                                  .start_s = run->start_s };
    if (x->records.capacity)
        record.bytes = sent_bytes(x, run->comm);
    add(x, run->micro, run->comm->at, record);
}

const struct records *hp_executor_records(const struct executor *x)
{
    return &x->records;
}

/* The mean step ------------------------------------------------------------------------ */

/* The mean record of a task in a micro-batch or a period; false: it did not run. */
static bool mean_record(const struct executor *x, const struct rank_part *part,
                        const struct rank_task *task, int64_t first, int micro,
                        struct task_record *out)
{
    const struct task_sum *sum = &x->sums.at[first + task->at];
    *out = (struct task_record){ .task = task->task, .micro = micro, .step = 1 };
    if (!sum->n)
        return false;
    out->with = sum->with;
    out->start_s = sum->start_s / sum->n;
    out->end_s = sum->end_s / sum->n;
    if (task->kind == TASK_COMM)
        out->bytes = sent_bytes(x, &part->comm[task->index]);
    return true;
}

static int64_t add_mean(const struct executor *x, const struct rank_part *part,
                        const struct task_list *list, int64_t first, int micro,
                        struct task_record *out)
{
    int64_t n = 0;
    for (int i = 0; i < list->n; i++)
        n += mean_record(x, part, &list->task[i], first, micro, &out[n]);
    return n;
}

int64_t hp_executor_mean(const struct executor *x, struct arena *arena,
                         struct task_record **out, double *begin_s)
{
    const struct iteration *it = x->program->iteration;
    const struct task_sums *s = &x->sums;
    int64_t n = 0;
    *out = NEW(arena, struct task_record, s->at ? count_tasks(x) + 1 : 1);
    *begin_s = s->steps ? s->origin_s + s->begin_s / s->steps : 0;
    for (int m = 0; s->at && m < it->n_micro; m++) {
        const struct rank_part *part = &x->rank->body[hp_body_number(it, m)];
        for (int i = 0; i < part->n_lists; i++)
            n += add_mean(x, part, &part->list[i], s->first[m], m, *out + n);
    }
    const struct rank_part *tail = &x->rank->tail;
    for (int g = 0; s->at && g < tail->n_lists; g++)
        for (int p = 0; p < hp_period_count(it, g); p++)
            n += add_mean(x, tail, &tail->list[g],
                          s->first[it->n_micro] + (int64_t)p * tail->n_tasks, p, *out + n);
    return n;
}

int hp_executor_mean_steps(const struct executor *x)
{
    return x->sums.steps;
}
