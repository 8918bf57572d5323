/* The tasks of a rank, slot after slot. */
#include "run/exec/state.h"

#include <string.h>

/* Tasks ------------------------------------------------------------------------------ */

static enum hypar_status run_task(struct executor *x, const struct rank_task *t)
{
    struct micro_state *m = x->now;
    x->counts.moves++;
    if (t->kind == TASK_COMM) {
        m->progress[t->at] = TASK_BEGUN;
        hp_post_comm(x, m, &x->part->comm[t->index]);
        return x->status;
    }
    for (int i = t->index; i < t->index + t->n; i++) {
        if (t->kind == TASK_UPDATE) {
            TRY(hp_update_params(x, m, t->task, &x->part->update[i]));
            continue;
        }
        const struct rank_pass *pass = &x->part->pass[i];
        if (!pass->moves_nothing)
            TRY(hp_compute(x, m, t->task, pass));
        hp_release_buffers(x, m, pass->buffer, pass->n_buffers);
    }
    m->progress[t->at] = TASK_DONE;
    return HYPAR_OK;
}

/* Order ------------------------------------------------------------------------------ */

/* Is all done that the task comes after? In order of numbers a comm is posted behind others,
 * and does not wait for them. */
static bool is_ready(const struct executor *x, const struct rank_task *t)
{
    bool posted = t->kind == TASK_COMM && x->settings.order == ORDER_NUMBERS;
    for (int i = 0; i < t->n_waits; i++)
        if (x->now->progress[t->wait[i]] < (posted ? TASK_BEGUN : TASK_DONE))
            return false;
    return true;
}

/* The next task of the slot by number; the last one that waits. */
static const struct rank_task *next_task(const struct executor *x)
{
    int i = x->list->n - x->left;
    if (x->settings.order == ORDER_LATEST)
        for (i = x->list->n - 1; x->now->progress[x->list->task[i].at] != TASK_WAITS;)
            i--;
    return &x->list->task[i];
}

/* The task that is done next; NULL: none can be done yet. */
static const struct rank_task *find_ready(const struct executor *x)
{
    const struct rank_task *t = next_task(x);
    if (x->settings.order == ORDER_NUMBERS)
        return is_ready(x, t) ? t : NULL;
    for (; t >= x->list->task; t--)
        if (x->now->progress[t->at] == TASK_WAITS && is_ready(x, t))
            return t;
    return NULL;
}

/* Slots ------------------------------------------------------------------------------ */

/* Does the rank run this slot: a minibatch may be another replica's? */
static bool is_mine(const struct executor *x, const struct slot *slot)
{
    int b = hp_body_number(x->program->iteration, slot->micro);
    const struct rank_part *part = &x->rank->body[b];
    return slot->phase == PHASE_UPDATE || part->list[0].n + part->list[1].n > 0;
}

/* Where the rank's share of the loss is; NULL: it has none. */
static void *loss_data(const struct executor *x)
{
    struct box scalar = { .n_dims = 0 };
    int b = hp_find_buffer(&x->rank->buffers, x->graph, 0,
                           (struct place){ x->graph->loss, false }, &scalar);
    return b < 0 ? NULL : x->lasting[b];
}

/* The losses of the micro-batches of a period, which the next ones may have overwritten. */
static void add_losses(struct executor *x, int stage, int period)
{
    int n = x->program->iteration->period[hp_slot_group(x->program->iteration, stage)];
    double sum = 0;
    for (int m = period * n; m < (period + 1) * n; m++)
        sum += x->micro_loss[m];
    if (loss_data(x))
        hp_put(loss_data(x), 0, sum, x->settings.real);
}

static void enter_update(struct executor *x, const struct slot *slot)
{
    x->part = &x->rank->tail;
    x->now = &x->tail;
    x->now->micro = slot->micro;
    add_losses(x, slot->stage, slot->micro);
    memset(x->now->progress, TASK_WAITS, (size_t)x->part->n_tasks);
    x->list = &x->part->list[hp_slot_group(x->program->iteration, slot->stage)];
}

static void enter_half(struct executor *x, const struct slot *slot)
{
    bool backward = slot->phase == PHASE_BACKWARD;
    x->now = x->micro[slot->micro] ? x->micro[slot->micro] : hp_begin_micro(x, slot->micro);
    x->part = &x->rank->body[hp_body_number(x->program->iteration, slot->micro)];
    x->list = &x->part->list[backward];
    if (!backward || x->program->iteration->delayed || slot->micro == 0)
        hp_restart_sums(x, backward);
}

static void enter_slot(struct executor *x, const struct slot *slot)
{
    if (slot->phase == PHASE_UPDATE)
        enter_update(x, slot);
    else
        enter_half(x, slot);
    x->left = x->list->n;
}

/* False: it is kept until its messages are done. */
static bool leave_slot(struct executor *x, const struct slot *slot)
{
    void *loss = loss_data(x);
    double value = loss ? hp_get(loss, 0, x->settings.real) : 0;
    if (slot->phase == PHASE_UPDATE) {
        if (x->tail.n_comms > 0)
            return false;
        x->loss[slot->micro] = value;
    } else if (slot->phase == PHASE_FORWARD) {
        x->micro_loss[slot->micro] = value;
    } else {
        x->now->over = true;
        if (x->now->n_comms == 0)
            hp_free_micro(x, x->now);
        x->micro[slot->micro] = NULL;
    }
    x->list = NULL;
    x->counts.moves++;
    return true;
}

/* Tasks of the slot as far as they can be done. */
static enum advance run_slot(struct executor *x)
{
    char text[128];
    for (; x->left > 0; x->left--) {
        hp_progress(x);
        const struct rank_task *t = x->status == HYPAR_OK ? find_ready(x) : NULL;
        if (t)
            x->status = run_task(x, t);
        else if (x->settings.order == ORDER_LATEST && x->n_active == 0)
            x->status =
                hp_fail(&x->error, HYPAR_RUNTIME, "a cycle of edges at %s",
                        hp_task_where(x, x->now, next_task(x)->task, text, sizeof text));
        if (x->status != HYPAR_OK)
            return ADVANCE_FAILED;
        if (!t)
            return ADVANCE_WAITS;
    }
    return ADVANCE_DONE;
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
        enum advance a = run_slot(x);
        if (a != ADVANCE_DONE)
            return a;
        hp_progress(x);
        if (!leave_slot(x, slot))
            return ADVANCE_WAITS;
    }
    return x->n_active ? ADVANCE_WAITS : ADVANCE_DONE;
}

enum advance hp_executor_advance(struct executor *x, struct hypar_error *err)
{
    hp_progress(x);
    enum advance a = advance(x);
    if (x->status == HYPAR_OK)
        return a;
    *err = x->error;
    return ADVANCE_FAILED;
}

const char *hp_executor_where(const struct executor *x, char *text, size_t n)
{
    if (x->list && x->left > 0)
        return hp_task_where(x, x->now, next_task(x)->task, text, n);
    return hp_task_where(x, x->active[0]->micro, x->active[0]->comm->task, text, n);
}

bool hp_executor_loss(const struct executor *x, int period, double *loss)
{
    *loss = x->loss[period];
    return x->rank->knows_loss;
}
