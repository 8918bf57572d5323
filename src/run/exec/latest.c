/* Running tasks in the latest order that the program's edges allow. The simulator knows nothing
 * but the edges (under pipedream also slots), so these must suffice. */
#include "run/exec/state.h"

#include <string.h>

bool hp_any_order(const struct executor *x)
{
    return x->settings.order == ORDER_LATEST && !x->program->iteration->delayed;
}

/* The last task of one list, in x->now. */
static const struct rank_task *last_of(const struct executor *x, const struct task_list *list,
                                       bool (*ready)(const struct executor *x,
                                                     const struct rank_task *t))
{
    for (int i = list->n - 1; i >= 0; i--)
        if (x->now->progress[list->task[i].at] == TASK_WAITS &&
            (!ready || ready(x, &list->task[i])))
            return &list->task[i];
    return NULL;
}

const struct rank_task *hp_last_waiting(struct executor *x,
                                        bool (*ready)(const struct executor *x,
                                                      const struct rank_task *t))
{
    const struct iteration *it = x->program->iteration;
    const struct rank_task *t = NULL;
    if (!hp_any_order(x))
        return last_of(x, x->list, ready);
    for (int m = it->n_micro; m >= 0 && !t; m--) { /* the tail first */
        x->now = m < it->n_micro ? x->micro[m] : &x->tail;
        x->part = m < it->n_micro ? &x->rank->body[hp_body_number(it, m)] : &x->rank->tail;
        for (int k = x->part->n_lists - 1; k >= 0 && !t; k--)
            t = last_of(x, &x->part->list[k], ready);
    }
    return t;
}

void hp_begin_all(struct executor *x)
{
    const struct iteration *it = x->program->iteration;
    hp_restart_sums(x, false);
    hp_restart_sums(x, true);
    x->left = x->rank->tail.n_tasks;
    memset(x->tail.progress, TASK_WAITS, (size_t)x->left);
    for (int m = 0; m < it->n_micro; m++) {
        hp_take_lane(x, hp_begin_micro(x, m), 0);
        x->left += x->rank->body[hp_body_number(it, m)].n_tasks;
    }
}

void hp_end_all(struct executor *x)
{
    for (int m = 0; m < x->program->iteration->n_micro; m++)
        hp_end_micro(x, x->micro[m]);
    x->loss[0] = hp_loss_value(x);
    x->over = true;
}
