#include "sim/rows.h"

/* Tasks of the tail by the group that they are updated with. */
static void group_tail(struct rows *r, const struct blocks *s, int n_tasks, struct arena *arena)
{
    const struct sketch *sketch = s->sketch;
    int first = r->first[r->rhythm->n_bodies], n_groups = r->rhythm->n_groups;
    r->group = NEW(arena, int, n_tasks - first);
    r->place = NEW(arena, int, n_tasks - first);
    r->start = NEW(arena, int, n_groups + 2);
    r->task = NEW(arena, int, n_tasks - first);
    for (int i = sketch->n_bodies * sketch->skeleton.n_items; i < s->n_blocks; i++) {
        int group = hp_deal_group(sketch, hp_block_at(s, i).index);
        for (int t = s->first[i]; t < s->first[i] + s->size[i]; t++) {
            r->group[t - first] = group;
            r->place[t - first] = r->start[group + 2]++;
        }
    }
    for (int g = 0; g < n_groups; g++)
        r->start[g + 2] += r->start[g + 1];
    for (int t = first; t < n_tasks; t++)
        r->task[r->start[r->group[t - first] + 1]++] = t;
}

struct rows hp_rows_of(const struct blocks *s, int n_tasks, struct arena *arena)
{
    const struct rhythm *rhythm = &s->sketch->rhythm;
    int n_items = s->sketch->skeleton.n_items;
    int *first = NEW(arena, int, rhythm->n_bodies + 2);
    for (int b = 0; b <= rhythm->n_bodies; b++)
        first[b] = s->first[b * n_items];
    first[rhythm->n_bodies + 1] = n_tasks;
    struct rows r = { .rhythm = rhythm, .n = rhythm->n_micro, .first = first };
    r.round = NEW(arena, int, rhythm->n_groups);
    for (int g = 0; g < rhythm->n_groups; g++) {
        r.round[g] = r.n;
        r.n += hp_round_count(rhythm, g);
    }
    group_tail(&r, s, n_tasks, arena);
    return r;
}

int hp_row_group(const struct rows *r, int row)
{
    int low = 0, high = r->rhythm->n_groups; /* the last that begins no later */
    if (row < r->rhythm->n_micro)
        return -1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (r->round[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int hp_row_micro(const struct rows *r, int row)
{
    int group = hp_row_group(r, row);
    return group < 0 ? row : (row - r->round[group] + 1) * r->rhythm->round[group] - 1;
}

int hp_row_name(const struct rows *r, int row)
{
    int group = hp_row_group(r, row);
    return group < 0 ? row : -1 - (row - r->round[group]);
}

int hp_row_size(const struct rows *r, int row)
{
    int group = hp_row_group(r, row);
    if (group >= 0)
        return r->start[group + 1] - r->start[group];
    int body = hp_body_number(r->rhythm, row);
    return r->first[body + 1] - r->first[body];
}

int hp_row_task(const struct rows *r, int row, int place)
{
    int group = hp_row_group(r, row);
    return group >= 0 ? r->task[r->start[group] + place]
                      : r->first[hp_body_number(r->rhythm, row)] + place;
}
