/* The tasks of a rank, slot after slot. */
#include "run/exec/state.h"

#include <string.h>

/* Tasks ------------------------------------------------------------------------------ */

static void post_comm(struct executor *x, struct micro_state *m, const struct rank_part *part,
                      const struct rank_task *t)
{
    m->progress[t->at] = TASK_BEGUN;
    hp_post_comm(x, m, &part->comm[t->index]);
}

/* The tasks that follow `t` and can be computed in the same call, `t` first: passes of the same
 * part which its kernel does together, and which wait for nothing but what is done and each
 * other. Comms between them are posted later. */
static int find_joined(const struct executor *x, const struct rank_task *t,
                       const struct rank_task *joined[MAX_PASSES])
{
    const struct rank_pass *first = &x->part->pass[t->index];
    int n = 0;
    joined[n++] = t;
    if (x->settings.order != ORDER_NUMBERS || t->n != 1 || !hp_may_join(x, first, first))
        return n;
    const struct rank_task *end = x->list->task + x->list->n;
    for (const struct rank_task *next = t + 1; next < end && n < MAX_PASSES; next++) {
        if (next->kind == TASK_COMM)
            continue;
        bool ready = next->n == 1 && hp_may_join(x, first, &x->part->pass[next->index]);
        for (int i = 0; ready && i < next->n_waits; i++) {
            ready = x->now->progress[next->wait[i]] == TASK_DONE;
            for (int k = 0; k < n; k++)
                ready |= joined[k]->at == next->wait[i];
        }
        if (!ready)
            break;
        joined[n++] = next;
    }
    return n;
}

/* All passes of a task, one after another; or those of several tasks in one call. */
static enum hypar_status compute(struct executor *x, const struct rank_task *t)
{
    const struct rank_task *joined[MAX_PASSES];
    const struct rank_pass *pass[MAX_PASSES];
    struct micro_state *m = x->now;
    int n = find_joined(x, t, joined);
    for (int i = 0; n == 1 && i < t->n; i++) {
        pass[0] = &x->part->pass[t->index + i];
        if (!pass[0]->moves_nothing)
            TRY(hp_compute(x, m, t->task, pass, 1));
        hp_release_buffers(x, m, pass[0]->buffer, pass[0]->n_buffers);
    }
    for (int i = 0; n > 1 && i < n; i++)
        pass[i] = &x->part->pass[joined[i]->index];
    if (n > 1)
        TRY(hp_compute(x, m, t->task, pass, n));
    for (int i = 0; i < n; i++) {
        m->progress[joined[i]->at] = TASK_DONE;
        if (n > 1)
            hp_release_buffers(x, m, pass[i]->buffer, pass[i]->n_buffers);
    }
    return HYPAR_OK;
}

static enum hypar_status run_task(struct executor *x, const struct rank_task *t)
{
    struct micro_state *m = x->now;
    x->counts.moves++;
    if (t->kind == TASK_COMM) {
        if (m->progress[t->at] == TASK_WAITS)
            post_comm(x, m, x->part, t);
        return x->status;
    }
    if (t->kind == TASK_COMPUTE) /* unless it was done together with another */
        return m->progress[t->at] == TASK_DONE ? HYPAR_OK : compute(x, t);
    for (int i = t->index; i < t->index + t->n; i++)
        TRY(hp_update_params(x, m, t->task, &x->part->update[i]));
    m->progress[t->at] = TASK_DONE;
    return HYPAR_OK;
}

/* Order ------------------------------------------------------------------------------ */

/* Are the rank's tasks of bodies done that one of the tail comes after? Slots see to it. */
static bool bodies_done(const struct executor *x, const struct rank_task *t)
{
    const struct iteration *it = x->program->iteration;
    for (int i = 0; hp_any_order(x) && i < t->n_before; i++)
        for (int m = 0; m < it->n_micro; m++)
            if (hp_body_number(it, m) == t->before[i].body &&
                x->micro[m]->progress[t->before[i].at] != TASK_DONE)
                return false;
    return true;
}

/* Is all done that the task comes after? In order of numbers a comm is posted behind others,
 * and does not wait for them. */
static bool is_ready(const struct executor *x, const struct rank_task *t)
{
    bool posted = t->kind == TASK_COMM && x->settings.order == ORDER_NUMBERS;
    for (int i = 0; i < t->n_waits; i++)
        if (x->now->progress[t->wait[i]] < (posted ? TASK_BEGUN : TASK_DONE))
            return false;
    return bodies_done(x, t);
}

/* The task that is done next; NULL: none can be done yet. */
static const struct rank_task *find_ready(struct executor *x)
{
    if (x->settings.order == ORDER_LATEST)
        return hp_last_waiting(x, is_ready);
    const struct rank_task *t = &x->list->task[x->list->n - x->left];
    return is_ready(x, t) ? t : NULL;
}

/* The task that the rank waits at. */
static const struct rank_task *waiting_task(struct executor *x)
{
    return x->settings.order == ORDER_LATEST ? hp_last_waiting(x, NULL)
                                             : &x->list->task[x->list->n - x->left];
}

/* Gradients ahead -------------------------------------------------------------------- */

/* In the last backward half of a period the sum of a gradient is posted as soon as the rank has
 * computed its share, and goes on beside what is still to be computed. */
static bool is_summable(const struct executor *x, const struct rank_task *t)
{
    int body = hp_body_number(x->program->iteration, x->now->micro);
    if (t->kind != TASK_COMM || x->tail.progress[t->at] != TASK_WAITS ||
        hp_task_place(x->program, t->task).tensor == x->graph->loss)
        return false;
    for (int i = 0; i < t->n_waits; i++) /* the first of a bucket, which waits for all of it */
        if (x->tail.progress[t->wait[i]] == TASK_WAITS)
            return false;
    for (int i = 0; i < t->n_before; i++)
        if (t->before[i].body == body && x->now->progress[t->before[i].at] != TASK_DONE)
            return false;
    return true;
}

static void post_sums(struct executor *x)
{
    for (int i = 0; x->ahead && i < x->ahead->n; i++)
        if (is_summable(x, &x->ahead->task[i]))
            post_comm(x, &x->tail, &x->rank->tail, &x->ahead->task[i]);
}

/* Slots ------------------------------------------------------------------------------ */

/* Does the rank run this slot: a minibatch may be another replica's? */
static bool is_mine(const struct executor *x, const struct slot *slot)
{
    int b = hp_body_number(x->program->iteration, slot->micro);
    const struct rank_part *part = &x->rank->body[b];
    return slot->phase == PHASE_UPDATE || part->list[0].n + part->list[1].n > 0;
}

/* The losses of the micro-batches of a period, which the next ones may have overwritten. */
static void add_losses(struct executor *x, int stage, int period)
{
    int n = x->program->iteration->period[hp_slot_group(x->program->iteration, stage)];
    double sum = 0;
    for (int m = period * n; m < (period + 1) * n; m++)
        sum += x->micro_loss[m];
    if (hp_loss_data(x))
        hp_put(hp_loss_data(x), 0, sum, x->settings.real);
}

/* A period is about to end: none of its sums has begun. */
static const struct task_list *begin_tail(struct executor *x, const struct slot *slot)
{
    x->tail.micro = slot->micro;
    memset(x->tail.progress, TASK_WAITS, (size_t)x->rank->tail.n_tasks);
    return &x->rank->tail.list[hp_slot_group(x->program->iteration, slot->stage)];
}

static void enter_update(struct executor *x, const struct slot *slot)
{
    x->part = &x->rank->tail;
    x->now = &x->tail;
    x->list = x->ahead ? x->ahead : begin_tail(x, slot);
    x->ahead = NULL;
    add_losses(x, slot->stage, slot->micro);
}

/* The update that comes after the slot at hand; NULL: something else does. */
static const struct slot *next_update(const struct executor *x)
{
    const struct slot_list *slots = hp_slots_of(x->program->schedule, x->rank->device);
    for (int i = x->slot + 1; i < slots->n_slots; i++)
        if (is_mine(x, &slots->slot[i]))
            return slots->slot[i].phase == PHASE_UPDATE ? &slots->slot[i] : NULL;
    return NULL;
}

static void enter_half(struct executor *x, const struct slot *slot)
{
    bool backward = slot->phase == PHASE_BACKWARD;
    x->now = x->micro[slot->micro] ? x->micro[slot->micro] : hp_begin_micro(x, slot->micro);
    x->part = &x->rank->body[hp_body_number(x->program->iteration, slot->micro)];
    x->list = &x->part->list[backward];
    if (!backward || x->program->iteration->delayed || slot->micro == 0)
        hp_restart_sums(x, backward);
    const struct slot *update = backward ? next_update(x) : NULL;
    if (update && x->settings.order == ORDER_NUMBERS)
        x->ahead = begin_tail(x, update);
}

static void enter_slot(struct executor *x, const struct slot *slot)
{
    if (slot->phase == PHASE_UPDATE)
        enter_update(x, slot);
    else
        enter_half(x, slot);
    x->left = x->list->n;
}

/* The half after which a micro-batch is over. */
static enum phase last_half(const struct executor *x)
{
    return x->program->iteration->forward ? PHASE_FORWARD : PHASE_BACKWARD;
}

/* False: it is kept until its messages are done. */
static bool leave_slot(struct executor *x, const struct slot *slot)
{
    void *loss = hp_loss_data(x);
    double value = loss ? hp_get(loss, 0, x->settings.real) : 0;
    if (slot->phase == PHASE_UPDATE) {
        if (x->tail.n_comms > 0)
            return false;
        x->loss[slot->micro] = value;
    }
    if (slot->phase == PHASE_FORWARD)
        x->micro_loss[slot->micro] = value;
    if (slot->phase == last_half(x)) {
        x->now->over = true;
        if (x->now->n_comms == 0)
            hp_free_micro(x, x->now);
        x->micro[slot->micro] = NULL;
    }
    x->list = NULL;
    x->counts.moves++;
    return true;
}

static enum hypar_status fail_of_cycle(struct executor *x)
{
    char text[128];
    const struct rank_task *t = waiting_task(x);
    return hp_fail(&x->error, HYPAR_RUNTIME, "a cycle of edges at %s",
                   hp_task_where(x, x->now, t->task, text, sizeof text));
}

/* Tasks as far as they can be done: those of the slot, or all. */
static enum advance run_tasks(struct executor *x)
{
    for (; x->left > 0; x->left--) {
        hp_progress(x);
        const struct rank_task *t = x->status == HYPAR_OK ? find_ready(x) : NULL;
        if (t) {
            x->status = run_task(x, t);
            post_sums(x);
        } else if (x->settings.order == ORDER_LATEST && x->n_active == 0) {
            x->status = fail_of_cycle(x);
        }
        if (x->status != HYPAR_OK)
            return ADVANCE_FAILED;
        if (!t)
            return ADVANCE_WAITS;
    }
    hp_progress(x);
    return ADVANCE_DONE;
}

/* A step without slots. */
static enum advance advance_all(struct executor *x)
{
    if (x->slot++ == 0)
        hp_begin_all(x);
    if (x->over)
        return ADVANCE_DONE;
    enum advance a = run_tasks(x);
    if (a == ADVANCE_DONE && x->n_active)
        return ADVANCE_WAITS;
    if (a == ADVANCE_DONE)
        hp_end_all(x);
    return a;
}

static enum advance advance(struct executor *x)
{
    const struct slot_list *slots = hp_slots_of(x->program->schedule, x->rank->device);
    for (; x->slot < slots->n_slots; x->slot++) {
        const struct slot *slot = &slots->slot[x->slot];
        if (!is_mine(x, slot))
            continue;
        if (!x->list)
            enter_slot(x, slot);
        enum advance a = run_tasks(x);
        if (a != ADVANCE_DONE)
            return a;
        if (!leave_slot(x, slot))
            return ADVANCE_WAITS;
    }
    return x->n_active ? ADVANCE_WAITS : ADVANCE_DONE;
}

enum advance hp_executor_advance(struct executor *x, struct hypar_error *err)
{
    hp_progress(x);
    enum advance a = hp_any_order(x) ? advance_all(x) : advance(x);
    if (x->status == HYPAR_OK)
        return a;
    *err = x->error;
    return ADVANCE_FAILED;
}

const char *hp_executor_where(struct executor *x, char *text, size_t n)
{
    if (x->left > 0) {
        const struct rank_task *t = waiting_task(x);
        return hp_task_where(x, x->now, t->task, text, n);
    }
    return hp_task_where(x, x->active[0]->micro, x->active[0]->comm->task, text, n);
}

bool hp_executor_loss(const struct executor *x, int period, double *loss)
{
    *loss = x->loss[period];
    return x->rank->knows_loss;
}
