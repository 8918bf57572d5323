/* sim/full/timeline_run.h - the state of a full simulation, which timeline.c and
 * timeline_slots.c share. Internal to them. */
#ifndef SIM_FULL_TIMELINE_RUN_H
#define SIM_FULL_TIMELINE_RUN_H

#include "sim/full/heap.h"
#include "sim/full/links.h"
#include "sim/full/timeline.h"

/* The tasks that wait for each task: the reversed edges. */
struct waiting {
    const int64_t *start; /* n_tasks + 1 */
    const int *task;
};

/* The counters of a row that is under way. */
struct under_way {
    int *missing; /* by position: predecessors that have not ended */
    ticks *ready; /* by position: the latest end of the others */
    int left;     /* tasks to be served */
};

/* Arrays of closed rows of one kind, to be reused. */
struct spare {
    struct under_way *list;
    int n, capacity;
};

/* The progress of a device through its slots. */
struct progress {
    int slot; /* the current slot */
    int left; /* tasks of this slot that are not served */
    ticks time;
    struct task_instance by; /* the instance that ended then */
    ticks host;              /* when its host has launched all slots so far */
};

/* The hosts of devices, if launching takes time. The host of a device launches the tasks of a
 * slot in the order of their numbers, and no task starts before it is launched. A host that
 * does not wait is ahead of its device by at most HP_QUEUED_LAUNCHES kernels. A host that waits
 * begins a slot when the inputs of the slot's first task are ready. */
struct hosts {
    bool wait;
    const ticks *ahead; /* by device: the most */
    ticks *launched;    /* by task in a slot: since the host began the slot; NULL: no host takes
                           any time */
};

/* The updates of a stage's parameters that a device waits for: its own, and parameters that it
 * receives. */
struct updates {
    int each;     /* in a period */
    int64_t done; /* in all periods so far ... */
    ticks last;   /* ... and when */
    struct task_instance by;
};

/* The state of a full simulation. */
struct timeline_run {
    struct timing *timing;            /* of a program; or NULL */
    const struct timeline_part *part; /* some tasks of a program; if both are NULL: a graph
                                         without a program, in one row */
    struct times *times;              /* by task of this graph */
    struct arena arena;
    struct task_graph graph;
    struct rows rows;
    const struct iteration *iteration;
    int n_devices;
    struct waiting before;
    int *missing;             /* by task of a body: all its predecessors */
    int ***missing_in;        /* the same for the tail: [group][kind][position] */
    struct under_way *of_row; /* closed ones have no arrays */
    struct spare *spare;      /* by kind of row */
    /* Slots of the program's schedule; compute tasks by (stage, phase, device). */
    bool gated;
    const struct schedule *schedule;
    int **group_start, **group;
    int *group_of;                /* by task of a body; -1: it waits for no slot */
    int **gather_start, **gather; /* by body: comms that gather parameters in a slot; or NULL */
    struct progress *progress;    /* by device */
    struct hosts hosts;
    struct updates *updates; /* [stage * n_devices + device]; NULL: no slot waits for updates */
    int *updated_start,
        *updated; /* by task of the tail: the devices whose parameters it completes */
    struct queues queues;
    struct flows flows;
    ticks *from; /* scratch: when each hold of a task starts */
    struct ready_heap heap;
    struct timeline *keep;
    const struct observer *observer;
    const volatile sig_atomic_t *stop; /* NULL: it cannot be stopped */
    int64_t served;
    ticks length;
};

/* timeline.c: a predecessor of a task has ended, the instance `by`. */
void hp_release(struct timeline_run *s, int row, int task, ticks end, struct task_instance by);

/* timeline_slots.c: the tasks of each slot; every device begins its first slot. */
void hp_make_slots(struct timeline_run *s);
void hp_start_slots(struct timeline_run *s);

/* A task of a slot has all that it needs at `ready`, as `by` has ended. Returns when it can
 * start: a host that waits begins to launch the slot. */
ticks hp_launch_slot(struct timeline_run *s, int row, int task, ticks ready,
                     struct task_instance by);

/* A compute task of a slot has ended; a task of the tail has ended, which updates parameters.
 */
void hp_leave_slot(struct timeline_run *s, int row, int task, ticks end);
void hp_note_updates(struct timeline_run *s, int row, int task, ticks end);

#endif /* SIM_FULL_TIMELINE_RUN_H */
