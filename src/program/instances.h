/* program/instances.h - task instances of a program: rows of tasks. Internal.
 *
 * A row is a micro-batch with the tasks of its body, or an update period of a group of
 * parameters with the group's tasks of the tail. Rows 0 .. n_micro - 1 are the micro-batches;
 * the periods follow, group by group. */
#ifndef PROGRAM_INSTANCES_H
#define PROGRAM_INSTANCES_H

#include "program/blocks.h"

struct rows {
    const struct iteration *iteration;
    int n; /* rows */
    const int
        *first;  /* by body: the id of its first task; then of the tail, then past the tail */
    int *period; /* by group: the row of its period 0 */
    int *group;  /* by task of the tail */
    int *place;  /* by task of the tail: its position within its group */
    int *start;  /* by group: where its tasks begin in `task`: n_groups + 1 */
    int *task;   /* ids */
};

/* Make the rows of blocks whose first[] and size[] are right; taken from `arena`. */
struct rows hp_rows_of(const struct blocks *blocks, int n_tasks, struct arena *arena);

static inline bool hp_in_tail(const struct rows *r, int task)
{
    return task >= r->first[r->iteration->n_bodies];
}

/* The group of a row that is a period; -1: the row is a micro-batch. */
int hp_row_group(const struct rows *r, int row);

/* The row of a task of the tail for the period that contains `micro`. */
static inline int hp_tail_row(const struct rows *r, int task, int micro)
{
    int group = r->group[task - r->first[r->iteration->n_bodies]];
    return r->period[group] + micro / r->iteration->period[group];
}

/* The micro-batch that numbers a row's instances: its own, or the last of its period. */
int hp_row_micro(const struct rows *r, int row);

/* The micro-batch of a row; -1 - period for a period. */
int hp_row_name(const struct rows *r, int row);

/* The kind of a row: its body, or n_bodies + its group. Rows of one kind have the same
 * tasks. */
static inline int hp_row_kind(const struct rows *r, int row)
{
    return row < r->iteration->n_micro ? hp_body_number(r->iteration, row)
                                       : r->iteration->n_bodies + hp_row_group(r, row);
}

int hp_row_size(const struct rows *r, int row);

/* The position of a task in its rows, and back. */
static inline int hp_row_place(const struct rows *r, int row, int task)
{
    return row < r->iteration->n_micro ? task - r->first[hp_body_number(r->iteration, row)]
                                       : r->place[task - r->first[r->iteration->n_bodies]];
}

int hp_row_task(const struct rows *r, int row, int place);

#endif /* PROGRAM_INSTANCES_H */
