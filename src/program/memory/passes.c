/* The passes of a body in the order in which each device does them. */
#include "program/memory/passes.h"

#include "base/csr.h"

static void sort_by_device(struct body_passes *p, int n_devices, struct arena *arena)
{
    struct csr sorted = { .arena = arena, .n_keys = n_devices };
    while (hp_csr_pass(&sorted))
        for (int i = 0; i < p->order.n; i++)
            hp_csr_put(&sorted, hp_device_at(p, i), i);
    p->start = sorted.start;
    p->number = sorted.item;
}

/* Are the passes of one part and one action, and each a task of its own? */
static bool are_one(const struct body_passes *p, int a, int b)
{
    const struct op_pass *x = hp_pass_at(p, a), *y = hp_pass_at(p, b);
    return x->op == y->op && x->phase == y->phase && x->again == y->again &&
           p->order.at[a].part == p->order.at[b].part &&
           p->order.stride[p->order.at[a].op_pass] == 1 &&
           p->order.stride[p->order.at[b].op_pass] == 1;
}

static void join(struct body_passes *p, int n_devices, struct arena *arena)
{
    p->first = NEW(arena, int, p->order.n);
    p->last = NEW(arena, int, p->order.n);
    for (int d = 0; d < n_devices; d++) {
        const int *number = p->number + p->start[d];
        int n = p->start[d + 1] - p->start[d];
        for (int i = 0; i < n; i++)
            p->first[number[i]] = i > 0 && are_one(p, number[i - 1], number[i])
                                      ? p->first[number[i - 1]]
                                      : number[i];
        for (int i = n - 1; i >= 0; i--)
            p->last[number[i]] = i + 1 < n && p->first[number[i + 1]] == p->first[number[i]]
                                     ? p->last[number[i + 1]]
                                     : number[i];
    }
}

struct body_passes hp_body_passes(const struct hypar_program *program, int body,
                                  struct arena *arena)
{
    struct body_passes p = { .program = program, .body = body };
    int n_devices = hypar_machine_device_count(program->plan->machine);
    p.order = hp_pass_order(program->blocks, body, arena);
    sort_by_device(&p, n_devices, arena);
    join(&p, n_devices, arena);
    return p;
}

int hp_pass_after(const struct body_passes *p, int action, int exchange)
{
    const struct training_graph *k = &p->program->lowering->training;
    const int *head = p->program->blocks->head[p->body];
    int item = k->exchange[exchange].item, low = 0, high = p->order.n;
    while (low < high) {
        int middle = (low + high) / 2, there = hp_action_at(p, middle);
        if (there < action ||
            (there == action && k->op_pass[head[p->order.at[middle].op_pass]].item < item))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int hp_next_pass(const struct body_passes *p, int device, int number, int action)
{
    const int *list = p->number + p->start[device];
    int n = p->start[device + 1] - p->start[device], at = hp_place_in(list, n, number);
    return at < n && hp_action_at(p, list[at]) == action ? list[at] : -1;
}

int hp_task_end(const struct body_passes *p, int number)
{
    const struct pass_part *at = &p->order.at[number];
    int head = p->program->blocks->head[p->body][at->op_pass];
    int first = hp_pass_number(&p->order, hp_parts_at(p, number), head, at->part);
    return first + p->order.stride[head] - 1;
}
