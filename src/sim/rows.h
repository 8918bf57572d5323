/* sim/rows.h - task instances of a program: rows of tasks. Internal.
 *
 * A row is a micro-batch with the tasks of its body, or a round of a group of parameters with
 * its tasks of the tail: rows 0 .. n_micro - 1, then the rounds, group by group. */
#ifndef SIM_ROWS_H
#define SIM_ROWS_H

#include "sim/scene.h"

struct rows {
    const struct rhythm *rhythm;
    int n;            /* rows */
    const int *first; /* by body: the id of its first task; then of the tail, then past it */
    int *round;       /* by group: the row of its round 0 */
    int *group;       /* by task of the tail */
    int *place;       /* by task of the tail: among those of its group */
    int *start;       /* by group: where its tasks begin in `task`: n_groups + 1 */
    int *task;        /* ids */
};

/* Of blocks whose first[] and size[] are right; taken from `arena`. */
struct rows hp_rows_of(const struct blocks *blocks, int n_tasks, struct arena *arena);

static inline bool hp_in_tail(const struct rows *r, int task)
{
    return task >= r->first[r->rhythm->n_bodies];
}

/* The group of a round's row; -1: it is a micro-batch's. */
int hp_row_group(const struct rows *r, int row);

/* The row of a task of the tail, where `micro` is of the round. */
static inline int hp_tail_row(const struct rows *r, int task, int micro)
{
    int group = r->group[task - r->first[r->rhythm->n_bodies]];
    return r->round[group] + hp_round_of(r->rhythm, group, micro);
}

/* What a row's tasks are numbered with: its micro-batch, or the last of its round. */
int hp_row_micro(const struct rows *r, int row);

/* -1 - round of a round's row, else the micro-batch. */
int hp_row_name(const struct rows *r, int row);

/* Bodies, then groups: rows of one kind have the same tasks. */
static inline int hp_row_kind(const struct rows *r, int row)
{
    return row < r->rhythm->n_micro ? hp_body_number(r->rhythm, row)
                                    : r->rhythm->n_bodies + hp_row_group(r, row);
}

int hp_row_size(const struct rows *r, int row);

/* Place of a task in its rows, and back. */
static inline int hp_row_place(const struct rows *r, int row, int task)
{
    return row < r->rhythm->n_micro ? task - r->first[hp_body_number(r->rhythm, row)]
                                    : r->place[task - r->first[r->rhythm->n_bodies]];
}

int hp_row_task(const struct rows *r, int row, int place);

#endif /* SIM_ROWS_H */
