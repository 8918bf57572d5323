/* sim/full/timeline.h - full simulation of a timing, with its micro-batches and stages.
 * Internal. */
#ifndef SIM_FULL_TIMELINE_H
#define SIM_FULL_TIMELINE_H

#include <signal.h>

#include "program/instances.h"
#include "sim/timing.h"

/* A task in one of its rows; row -1: none. */
struct task_instance {
    int row, task;
};

/* The times of every task instance: of each micro-batch, then of each period. */
struct timeline {
    struct arena arena;
    struct task_graph graph; /* each body once, then the tail (hp_timed_graph()) */
    struct rows rows;
    struct times **times;      /* [row][position of the task in the row] */
    struct task_instance **by; /* [row][position]: the instance whose end, at `ready`, made it
                                  ready; of several, the one served last */
    ticks **held;              /* [row]: when each hold starts, from hold_start[task] on */
    int *hold_start;           /* by task */
    int64_t n_instances;
    ticks length;
};

/* Run the simulation; returns the length. `keep`: NULL, or filled in, to be released with
 * hp_timeline_end(). */
ticks hp_timeline_run(struct timing *timing, struct timeline *keep);
void hp_timeline_end(struct timeline *timeline);

/* The times of a task instance, known when it has been given all its queues. */
struct served {
    struct times times;
    const ticks *from; /* by hold: when it starts; NULL without holds */
    ticks now;         /* instances that are served later start no earlier */
};

/* Receives the simulation as it runs: `begin` when the tasks are known, then `served` for every
 * task instance when it is served. `micro` is -1 - period in the tail. */
struct observer {
    void (*begin)(void *who, const struct task_graph *graph);
    void (*served)(void *who, int task, int micro, const struct served *what);
    void *who;
};
/* `program`: its blocks are those of the timing; it must outlive `keep`. NULL: the timing
 * writes blocks of its own. */
ticks hp_timeline_observe(struct timing *timing, const struct hypar_program *program,
                          struct timeline *keep, const struct observer *observer);

/* Some tasks of a program without delayed updates, those of bodies first; ids are dense, in the
 * order of numbers. */
struct timeline_part {
    struct task_graph graph;
    int n_bodies;
    const int *first; /* by body: its first task; then of the tail, then past it */
    const int
        *action; /* by task: stage * PHASE_UPDATE + phase of a compute task of a body; -1 */
    const ticks *launch; /* by task: hp_task_launches() */
    const ticks *ahead;  /* by device: hp_ahead() */
    bool host_waits;
    /* Comms of bodies that gather parameters start no sooner than a device begins an action.
     */
    int n_gathers;
    const struct part_gather {
        int task, action, device;
    } * gather;
};

/* Simulate these tasks in the order of `schedule`, in the micro-batches of `iteration`, which
 * has as many bodies. Returns the length; HP_NEVER if it was asked to stop. */
ticks hp_timeline_run_part(const struct timeline_part *part, const struct iteration *iteration,
                           const struct schedule *schedule, int n_devices,
                           const volatile sig_atomic_t *stop);

/* Simulate a graph without a program, by the tasks' own numbers: fills times[id], returns the
 * largest end. `observer` may be NULL. */
ticks hp_run_graph(const struct task_graph *graph, struct times *times,
                   const struct observer *observer);

#endif /* SIM_FULL_TIMELINE_H */
