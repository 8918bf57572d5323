/* What a rank did when, for the steps that are asked for. Room is made once. */
#include "base/clock.h"
#include "run/exec/state.h"

/* All tasks of a step have one record each. */
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

void hp_make_records(struct executor *x)
{
    enum { MOST = 1 << 20 };
    int64_t n = count_tasks(x), steps = x->settings.record_steps;
    if (steps <= 0 || n == 0)
        return;
    x->records.capacity = n > MOST / steps ? MOST : n * steps;
    x->records.at = NEW(&x->arena, struct task_record, x->records.capacity);
}

double hp_record_start(const struct executor *x)
{
    return x->records.capacity ? hp_now_s() : 0;
}

static void add(struct executor *x, const struct micro_state *m, struct task_record record)
{
    struct records *r = &x->records;
    if (!r->capacity)
        return;
    record.micro = m->micro;
    record.step = x->step;
    record.end_s = hp_now_s();
    if (record.with >= 0)
        record.start_s = record.end_s;
    r->at[r->n++ % r->capacity] = record;
}

void hp_record(struct executor *x, const struct micro_state *m, int task, double start_s)
{
    add(x, m, (struct task_record){ .task = task, .with = -1, .start_s = start_s });
}

void hp_record_joined(struct executor *x, const struct micro_state *m, int task, int with)
{
    add(x, m, (struct task_record){ .task = task, .with = with });
}

void hp_record_comm(struct executor *x, const struct comm_run *run)
{
    struct task_record record = { .task = run->comm->task,
                                  .with = -1,
                                  .start_s = run->start_s };
    for (int i = 0; x->records.capacity && i < run->comm->n_messages; i++) {
        const struct rank_message *message = &run->comm->message[i];
        if (message->kind == MESSAGE_SEND)
            record.bytes +=
                (double)((message->piece.hi - message->piece.lo) *
                         (int64_t)hp_buffer_element_bytes(x, message->piece.view.buffer));
    }
    add(x, run->micro, record);
}

const struct records *hp_executor_records(const struct executor *x)
{
    return &x->records;
}
