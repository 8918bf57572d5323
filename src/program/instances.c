/* Rows of task instances: the tasks of each micro-batch and of each update period. */
#include "program/instances.h"
#include "base/csr.h"

/* The tasks of the tail by the group of parameters that they update. */
static void group_tail(struct rows *r, const struct blocks *s, int n_tasks, struct arena *arena)
{
    const struct lowering *lowering = s->lowering;
    int first = r->first[r->iteration->n_bodies], n_groups = r->iteration->n_groups;
    r->group = NEW(arena, int, n_tasks - first);
    r->place = NEW(arena, int, n_tasks - first);
    r->start = NEW(arena, int, n_groups + 2);
    r->task = NEW(arena, int, n_tasks - first);
    for (int i = lowering->n_bodies * lowering->training.n_items; i < s->n_blocks; i++) {
        int group = hp_exchange_group(lowering, hp_block_at(s, i).index);
        for (int t = s->first[i]; t < s->first[i] + s->size[i]; t++) {
            r->group[t - first] = group;
            r->place[t - first] = r->start[group + 2]++;
        }
    }
    hp_csr_sum(r->start, n_groups);
    for (int t = first; t < n_tasks; t++)
        r->task[hp_csr_place(r->start, r->group[t - first])] = t;
}

struct rows hp_rows_of(const struct blocks *s, int n_tasks, struct arena *arena)
{
    const struct iteration *iteration = &s->lowering->iteration;
    int n_items = s->lowering->training.n_items;
    int *first = NEW(arena, int, iteration->n_bodies + 2);
    for (int b = 0; b <= iteration->n_bodies; b++)
        first[b] = s->first[b * n_items];
    first[iteration->n_bodies + 1] = n_tasks;
    struct rows r = { .iteration = iteration, .n = iteration->n_micro, .first = first };
    r.period = NEW(arena, int, iteration->n_groups);
    for (int g = 0; g < iteration->n_groups; g++) {
        r.period[g] = r.n;
        r.n += hp_period_count(iteration, g);
    }
    group_tail(&r, s, n_tasks, arena);
    return r;
}

int hp_row_group(const struct rows *r, int row)
{
    int low = 0, high = r->iteration->n_groups; /* find the last group that begins no later */
    if (row < r->iteration->n_micro)
        return -1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (r->period[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int hp_row_micro(const struct rows *r, int row)
{
    int group = hp_row_group(r, row);
    return group < 0 ? row : (row - r->period[group] + 1) * r->iteration->period[group] - 1;
}

int hp_row_name(const struct rows *r, int row)
{
    int group = hp_row_group(r, row);
    return group < 0 ? row : -1 - (row - r->period[group]);
}

int hp_row_size(const struct rows *r, int row)
{
    int group = hp_row_group(r, row);
    if (group >= 0)
        return r->start[group + 1] - r->start[group];
    int body = hp_body_number(r->iteration, row);
    return r->first[body + 1] - r->first[body];
}

int hp_row_task(const struct rows *r, int row, int place)
{
    int group = hp_row_group(r, row);
    return group >= 0 ? r->task[r->start[group] + place]
                      : r->first[hp_body_number(r->iteration, row)] + place;
}
