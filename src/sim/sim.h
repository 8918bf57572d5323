/* sim/sim.h - the result of a simulated step: timeline, totals, memory, critical path, events.
 * Internal to sim/. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <hypar/sim.h>

#include "program/memory/memory.h"
#include "sim/flat/file.h"
#include "sim/full/timeline.h"

struct hypar_sim {
    struct arena arena; /* holds everything, the struct itself included */
    struct hypar_sim_summary summary;
    struct hypar_sim_pipeline pipeline;
    struct hypar_sim_device *device;
    struct hypar_sim_link *link;
    /* of a plan */
    struct hypar_program *program;
    struct timing *timing;
    struct memory_model *memory;
    int *block_of; /* by task of the graph */
    bool has_timeline;
    struct timeline timeline;
    int64_t *row_start; /* by row of the timeline: its first event; then past the last */
    struct hypar_sim_memory_point *point;
    int64_t n_points;
    struct hypar_sim_segment *segment; /* of the critical path, in order */
    int64_t n_segments;
    /* of a program file */
    struct flat_file *file;
    struct times *file_times;
    ticks *file_held;         /* when each hold of each task starts, ... */
    int64_t *file_hold_start; /* ... from here on */
    int *file_order;          /* tasks in the order of their numbers */
    /* arrays that the last event points to */
    int *event_link;
    double *event_busy_s, *event_offset_s;
};

/* Simulate a program. The result takes ownership of the program, also on failure. */
enum hypar_status hp_simulate_program(struct hypar_sim **out, struct hypar_program *program,
                                      const struct hypar_sim_options *options,
                                      struct hypar_error *err);

/* The time of a step alone, as hypar_simulate() finds it: memory, which takes as long to count
 * as the step takes to simulate, is left out. */
enum hypar_status hp_simulated_seconds(const struct hypar_plan *plan,
                                       const struct hypar_sim_options *options, double *step_s,
                                       struct hypar_error *err);

/* Fill an event's links from a task that started at `start`, with its holds at from[]; queues
 * from n_devices on are links. */
void hp_put_event_links(const struct hypar_sim *sim, const struct sim_task *task, ticks start,
                        const ticks *from, struct hypar_sim_event *event);

/* The event of a task instance; -1: none (row -1). */
int64_t hp_event_number(const struct hypar_sim *sim, struct task_instance at);

/* A quick hypar_sim_event(): it fills only `id`, `device`, the links, `micro`, `after` and the
 * times. */
bool hp_event_place(const struct hypar_sim *sim, int64_t i, struct hypar_sim_event *event);

/* Number the events of each row, and make room for the arrays that events point to. */
void hp_make_events(struct hypar_sim *sim);

/* Memory over time, for hypar_sim_memory_point(). */
void hp_make_memory_points(struct hypar_sim *sim);

/* The critical path, for hypar_sim_segment(). Needs the events. */
void hp_make_path(struct hypar_sim *sim);

bool hp_file_event(const struct hypar_sim *sim, int64_t i, struct hypar_sim_event *event);

#endif /* SIM_SIM_H */
