/* Running the tasks of a rank, slot after slot. */
#include "run/exec/state.h"

#include <string.h>

#include "base/clock.h"

/* Tasks ------------------------------------------------------------------------------ */

/* The tasks from `t` on that can be computed in one call: passes of the same part that its
 * kernel computes together, and that wait only for finished tasks and for each other. */
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
            break;
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

/* Begin and end the buffers of a task's pass `i`; if the order is free, buffers stay. */
static void begin_pass(struct executor *x, const struct rank_task *t, int i)
{
    if (hp_in_order(x))
        hp_begin_buffers(x, x->now, t->index + i);
}

static void end_pass(struct executor *x, const struct rank_task *t, int i)
{
    if (hp_in_order(x))
        hp_end_buffers(x, x->now, t->index + i);
}

static double now_if_timed(const struct executor *x)
{
    if (!x->settings.timed)
        return 0;
    return x->settings.one_thread ? hp_thread_s() : hp_now_s();
}

static void tell_time(struct executor *x, struct timed_work work, double start_s)
{
    if (!x->settings.timed)
        return;
    x->backend->finish(x->backend);
    work.seconds = now_if_timed(x) - start_s;
    work.step = x->step;
    x->settings.timed(x->settings.who, &work);
}

static void tell_call(struct executor *x, const struct rank_pass *pass, double start_s)
{
    if (!pass->resend && !pass->moves_nothing)
        tell_time(x, (struct timed_work){ .call = &x->pass_run.call, .op = pass->op }, start_s);
}

/* All passes of a task, one after another. */
static enum hypar_status compute_task(struct executor *x, const struct rank_task *t)
{
    for (int i = 0; i < t->n; i++) {
        const struct rank_pass *pass = &x->part->pass[t->index + i];
        double start_s = now_if_timed(x);
        begin_pass(x, t, i);
        if (!pass->moves_nothing)
            TRY(hp_compute(x, x->now, t->task, &pass, 1));
        end_pass(x, t, i);
        tell_call(x, pass, start_s);
    }
    return HYPAR_OK;
}

/* The passes of several tasks, one each, in one call. */
static enum hypar_status compute_joined(struct executor *x, const struct rank_task *const *t,
                                        int n)
{
    const struct rank_pass *pass[MAX_PASSES];
    double start_s = now_if_timed(x);
    for (int i = 0; i < n; i++) {
        pass[i] = &x->part->pass[t[i]->index];
        begin_pass(x, t[i], 0);
    }
    TRY(hp_compute(x, x->now, t[0]->task, pass, n));
    for (int i = 0; i < n; i++)
        end_pass(x, t[i], 0);
    tell_call(x, pass[0], start_s);
    return HYPAR_OK;
}

static enum hypar_status compute(struct executor *x, const struct rank_task *t)
{
    const struct rank_task *joined[MAX_PASSES];
    int n = find_joined(x, t, joined);
    double start_s = hp_record_start(x);
    TRY(n > 1 ? compute_joined(x, joined, n) : compute_task(x, t));
    for (int i = 0; i < n; i++) {
        x->now->progress[joined[i]->at] = TASK_DONE;
        x->fed |= x->ahead && x->part->feeds[joined[i]->at];
    }
    hp_record(x, x->now, t, start_s);
    for (int i = 1; i < n; i++)
        hp_record_joined(x, x->now, joined[i], t->task);
    return HYPAR_OK;
}

static enum hypar_status run_task(struct executor *x, const struct rank_task *t)
{
    struct micro_state *m = x->now;
    x->counts.moves++;
    if (t->kind == TASK_COMM) {
        if (m->progress[t->at] == TASK_WAITS)
            hp_post_comm(x, m, &x->part->comm[t->index]);
        return x->status;
    }
    if (t->kind == TASK_COMPUTE) /* unless it was computed together with another */
        return m->progress[t->at] == TASK_DONE ? HYPAR_OK : compute(x, t);
    double start_s = hp_record_start(x), timed_s = now_if_timed(x);
    struct timed_work work = { .kind = t->kind == TASK_NORM ? TIMED_SQUARES : TIMED_UPDATE };
    if (t->kind == TASK_NORM) /* without squares: the sum is 0 */
        TRY(hp_add_squares(x, m, t->task, t->n ? &x->part->square[t->index] : NULL, t->n));
    for (int i = t->index; i < t->index + t->n; i++) {
        const struct range *of =
            t->kind == TASK_NORM ? &x->part->square[i].elements : &x->part->update[i].elements;
        work.elements += (double)(of->hi - of->lo);
        if (t->kind == TASK_UPDATE)
            TRY(hp_update_params(x, m, t->task, &x->part->update[i]));
    }
    tell_time(x, work, timed_s);
    m->progress[t->at] = TASK_DONE;
    hp_record(x, m, t, start_s);
    return HYPAR_OK;
}

/* Order ------------------------------------------------------------------------------ */

/* Are the rank's tasks of bodies before a task of the tail done? Slots guarantee it. */
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

/* Are all predecessors of the task done? In the order of numbers a comm is posted behind others
 * and does not wait for them. */
static bool is_ready(const struct executor *x, const struct rank_task *t)
{
    bool posted = t->kind == TASK_COMM && x->settings.order == ORDER_NUMBERS;
    if ((t->kind == TASK_UPDATE || t->kind == TASK_NORM) && x->n_divided > 0)
        return false; /* messages or sums of old pieces are under way */
    for (int i = 0; i < t->n_waits; i++)
        if (x->now->progress[t->wait[i]] < (posted ? TASK_BEGUN : TASK_DONE))
            return false;
    return bodies_done(x, t);
}

/* The next task to run; NULL: none can run yet. */
static const struct rank_task *find_ready(struct executor *x)
{
    if (x->settings.order == ORDER_LATEST)
        return hp_last_waiting(x, is_ready);
    const struct rank_task *t = &x->list->task[x->list->n - x->left];
    return is_ready(x, t) ? t : NULL;
}

/* The task at which the rank waits. */
static const struct rank_task *waiting_task(struct executor *x)
{
    return x->settings.order == ORDER_LATEST ? hp_last_waiting(x, NULL)
                                             : &x->list->task[x->list->n - x->left];
}

/* Early sums of gradients ------------------------------------------------------------ */

/* In the last backward half of a period the sum of a gradient is posted as soon as the rank has
 * computed its share, and proceeds during the remaining computation. */
static bool is_summable(const struct executor *x, const struct rank_task *t)
{
    int body = hp_body_number(x->program->iteration, x->now->micro);
    if (t->kind != TASK_COMM || x->tail.progress[t->at] != TASK_WAITS ||
        hp_task_place(x->program, t->task).tensor == x->graph->loss)
        return false;
    for (int i = 0; i < t->n_waits;
         i++) /* the first comm of a bucket, which waits for the whole bucket */
        if (x->tail.progress[t->wait[i]] == TASK_WAITS)
            return false;
    for (int i = 0; i < t->n_before; i++)
        if (t->before[i].body == body && x->now->progress[t->before[i].at] != TASK_DONE)
            return false;
    return true;
}

static void post_sums(struct executor *x)
{
    x->fed = false;
    for (int i = 0; i < x->ahead->n; i++)
        if (is_summable(x, &x->ahead->task[i]))
            hp_post_comm(x, &x->tail, &x->rank->tail.comm[x->ahead->task[i].index]);
}

/* Slots ------------------------------------------------------------------------------ */

/* Is the slot beyond the last micro-batch, or update period, of a shortened step? The slots
 * before it are those of a schedule with fewer micro-batches: 1F1B begins with forward halves
 * and then alternates, whatever their number. */
static bool is_past_end(const struct executor *x, const struct slot *slot)
{
    const struct iteration *it = x->program->iteration;
    bool update = slot->phase == PHASE_UPDATE;
    int each = update ? it->period[hp_slot_group(it, slot->stage)] : 1;
    return slot->micro >= x->n_micro / each;
}

/* Does the rank run this slot? It may have nothing to do in a body. */
static bool is_mine(const struct executor *x, const struct slot *slot)
{
    if (is_past_end(x, slot))
        return false;
    int b = hp_body_number(x->program->iteration, slot->micro);
    const struct rank_part *part = &x->rank->body[b];
    return slot->phase == PHASE_UPDATE || part->n_tasks > 0;
}

/* Add up the losses of the micro-batches of a period, before the next ones overwrite them. */
static void add_losses(struct executor *x, int stage, int period)
{
    int n = x->program->iteration->period[hp_slot_group(x->program->iteration, stage)];
    double sum = 0;
    for (int m = period * n; m < (period + 1) * n; m++)
        sum += x->micro_loss[m];
    hp_set_loss(x, sum);
}

/* Begin the end of a period: none of its sums has begun. */
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
    x->fed = false;
    add_losses(x, slot->stage, slot->micro);
}

/* The update that follows the current slot; NULL: something else does. */
static const struct slot *next_update(const struct executor *x)
{
    const struct slot_list *slots = x->rank->slots;
    for (int i = x->slot + 1; i < slots->n_slots; i++)
        if (is_mine(x, &slots->slot[i]))
            return slots->slot[i].phase == PHASE_UPDATE ? &slots->slot[i] : NULL;
    return NULL;
}

/* The action of a slot among the rank's. */
static int own_action(const struct executor *x, const struct slot *slot)
{
    const struct schedule *s = x->program->schedule;
    return hp_own_action(s, x->rank->slots, hp_action(s, slot->stage, slot->phase));
}

/* Sums begin with a micro-batch, with a period, or with the step. */
static void restart_sums(struct executor *x, const struct slot *slot)
{
    const struct iteration *it = x->program->iteration;
    bool forward = slot->phase == PHASE_FORWARD, grouped = x->program->schedule->grouped;
    if (forward)
        hp_restart_sums(x, false);
    if (grouped ? !x->begun : !forward && (it->delayed || slot->micro == 0))
        hp_restart_sums(x, true);
    x->begun = true;
}

static void enter_half(struct executor *x, const struct slot *slot)
{
    int own = own_action(x, slot);
    x->now = x->micro[slot->micro] ? x->micro[slot->micro] : hp_begin_micro(x, slot->micro);
    x->part = &x->rank->body[hp_body_number(x->program->iteration, slot->micro)];
    x->list = &x->part->list[own];
    if (slot->phase == PHASE_FORWARD)
        hp_take_lane(x, x->now, x->program->schedule->place[slot->stage]);
    hp_end_waits(x, x->now, x->part, own);
    restart_sums(x, slot);
    const struct slot *update = slot->phase == PHASE_FORWARD ? NULL : next_update(x);
    if (update && x->settings.order == ORDER_NUMBERS) {
        x->ahead = begin_tail(x, update);
        x->fed = true; /* by earlier micro-batches */
    }
}

static void enter_slot(struct executor *x, const struct slot *slot)
{
    if (slot->phase == PHASE_UPDATE)
        enter_update(x, slot);
    else
        enter_half(x, slot);
    x->left = x->list->n;
}

/* End a slot of a micro-batch: release buffers without further use, hold messages until they
 * are received. */
static void leave_half(struct executor *x, const struct slot *slot)
{
    const struct schedule *s = x->program->schedule;
    const struct iteration *it = x->program->iteration;
    if (slot->phase >= hp_last_half(it))
        hp_keep_over(x, x->now, x->part, own_action(x, slot));
    if (hp_lane_ends(s, x->rank->slots, it->forward, slot->phase) && hp_in_order(x))
        hp_leave_lane(x, x->now, s->place[slot->stage]);
    if (--x->now->left > 0)
        return;
    hp_keep_over(x, x->now, x->part, x->rank->n_actions);
    hp_end_micro(x, x->now);
}

/* End a slot. False: the device still waits for messages of this slot or of earlier ones. */
static bool leave_slot(struct executor *x, const struct slot *slot)
{
    bool update = slot->phase == PHASE_UPDATE;
    if (update && x->tail.n_comms > 0)
        return false;
    if (!update && x->now->left == 1 && !hp_end_rests(x, x->now, x->part))
        return false;
    if (!hp_settle_over(x))
        return false;
    if (update)
        x->loss[slot->micro] = hp_loss_value(x);
    if (slot->phase == PHASE_FORWARD)
        x->micro_loss[slot->micro] += hp_loss_value(x);
    if (!update)
        leave_half(x, slot);
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

/* Run all tasks that can run: those of the slot, or those of the step. */
static enum advance run_tasks(struct executor *x)
{
    for (; x->left > 0; x->left--) {
        hp_progress(x);
        bool ready = x->status == HYPAR_OK && hp_settle_ends(x);
        const struct rank_task *t = ready ? find_ready(x) : NULL;
        if (t) {
            x->status = run_task(x, t);
            if (x->fed)
                post_sums(x);
        } else if (x->status == HYPAR_OK && x->settings.order == ORDER_LATEST &&
                   x->n_active == 0) {
            x->status = fail_of_cycle(x);
        }
        if (x->status != HYPAR_OK)
            return ADVANCE_FAILED;
        if (!t)
            return ADVANCE_WAITS;
    }
    hp_progress(x);
    return hp_settle_ends(x) ? ADVANCE_DONE : ADVANCE_WAITS;
}

/* Run a step without slots. */
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
    const struct slot_list *slots = x->rank->slots;
    for (; x->slot < slots->n_slots; x->slot++) {
        const struct slot *slot = &slots->slot[x->slot];
        if (!is_mine(x, slot)) {
            if (!hp_settle_over(x))
                return ADVANCE_WAITS;
            continue;
        }
        if (!x->list)
            enter_slot(x, slot);
        enum advance a = run_tasks(x);
        if (a != ADVANCE_DONE)
            return a;
        if (!leave_slot(x, slot))
            return ADVANCE_WAITS;
    }
    if (x->n_active)
        return ADVANCE_WAITS;
    hp_settle_all(x);
    return ADVANCE_DONE;
}

enum advance hp_executor_advance(struct executor *x, struct hypar_error *err)
{
    hp_progress(x);
    enum advance a = hp_any_order(x) ? advance_all(x) : advance(x);
    if (a == ADVANCE_DONE)
        x->backend->finish(x->backend);
    if (a == ADVANCE_DONE && x->inputs)
        hp_ahead_finished(x->inputs);
    if (x->status == HYPAR_OK)
        x->status = x->backend->status(x->backend, &x->error);
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
