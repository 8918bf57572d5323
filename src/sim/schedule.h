/* sim/schedule.h - full simulation of a scene with its micro-batches and stages. Internal. */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "sim/rows.h"

/* The times of every task instance: of each micro-batch, then of each round. */
struct timeline {
    struct arena arena;
    struct task_graph graph; /* each body once, then the tail (hp_scene_graph()) */
    struct rows rows;
    struct times **times; /* [row][place of the task in it] */
    int64_t n_instances;
    ticks length;
};

/* Play it; returns the length. `keep`: NULL, or filled in, to be released with
 * hp_timeline_end(). */
ticks hp_play_scene(struct scene *scene, struct timeline *keep);
void hp_timeline_end(struct timeline *timeline);

/* As it is played, for those who add up: `begin` when the tasks are known, then `served` for
 * every task instance when it is served. `micro` is -1 - round in the tail. */
struct audience {
    void (*begin)(void *who, const struct task_graph *graph);
    void (*served)(void *who, int task, int micro, const struct times *times);
    void *who;
};
/* `program`: whose blocks the scene plays; it must outlive `keep`. NULL: blocks are written. */
ticks hp_play_scene_for(struct scene *scene, const struct hypar_program *program,
                        struct timeline *keep, const struct audience *audience);

#endif /* SIM_SCHEDULE_H */
