/* sim/task_costs.h - communications and updates as tasks: queues, times, bytes. Internal.
 *
 * What a comm takes depends on its pattern and on the bytes of an element, so it is worked out
 * once for all tensors that share them. */
#ifndef SIM_TASK_COSTS_H
#define SIM_TASK_COSTS_H

#include <hypar/sim.h>

#include "base/table.h"
#include "cost/collective.h"
#include "cost/kernel.h"
#include "program/blocks.h"
#include "sim/tasks.h"

/* HYPAR_USAGE if the options (may be NULL) contradict each other or name what is not there. */
enum hypar_status hp_check_sim_options(const struct hypar_sim_options *options,
                                       struct hypar_error *err);

/* The options as a plan keeps them, without minibatches, timeline and profile. */
struct hypar_simulation hp_simulation_of(const struct hypar_sim_options *options);

/* One comm of a pattern: one task, or one for each message. */
struct comm_cost {
    int n_tasks;
    const struct sim_task *task; /* numbers are given later */
    const char *algorithm;
    double sent_bytes, link_bytes; /* each byte once; on every link that it crosses */
    double link_j, dram_j;
    const struct hold *link; /* what it holds, links only, and the bytes on each */
    const double *bytes_on_link;
    int n_links;
};

struct pattern_cost {
    struct comm_cost *comm;
    struct comm_messages *messages; /* NULL: each comm is one task */
};

/* Layouts and patterns are those of one cache (lowering.h), which plans may share. */
struct task_costs {
    struct arena arena, scratch;
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    enum hypar_precision precision, gradients; /* of tensors; of parameters' gradients */
    enum hypar_optimizer optimizer;
    struct hypar_sim_options settings; /* all_reduce: the row's name; NULL: the fastest */
    int n_devices, n_queues;
    struct table model_keys;
    const struct comm_model **models;
    int n_models, model_capacity;
    struct pattern_cost **by_pattern[3]; /* [log2(element bytes) - 1][pattern id] */
    int pattern_capacity[3];
    struct sim_task **updates; /* by pattern id, of those of parameters */
    int update_capacity;
    struct op_parts_times {
        const ticks *of[MAX_PASSES]; /* of each part */
        const struct kernel_pass *const
            *kernel[MAX_PASSES]; /* likewise; equal parts share one */
    } * pass_time;               /* by parts id */
    int op_parts_capacity;
    bool *runs_kernels, any_kernels; /* by device; of any */
    bool any_launches;               /* does the host of any take time for them? */
    struct box *held;                /* by device: for copied.c, of the pattern at hand */
};

/* For plans of the same graph and machine, with the same precisions and optimizer. */
void hp_task_costs_begin(struct task_costs *costs, const struct hypar_plan *plan,
                         const struct hypar_sim_options *options);
void hp_task_costs_end(struct task_costs *costs);

/* The comms of a pattern as tasks, its elements being of so many bytes. */
const struct pattern_cost *hp_pattern_cost(struct task_costs *costs,
                                           const struct pattern *pattern, int element_bytes);

/* The same, not shared: taken from `arena`. `buckets`: NULL, or those that exchange `tail` of
 * the tail is in: the first comm of a bucket is all of it, the others are a moment after it. */
struct pattern_cost *hp_make_pattern_cost(struct task_costs *costs, struct arena *arena,
                                          const struct pattern *pattern, int element_bytes,
                                          const struct buckets *buckets, int tail);

/* Are messages what ranks of this computer copy, as the profile says? Then a comm holds those
 * who copy (copied.c); `scale`: times what it moves itself, as the first of a bucket. */
bool hp_is_copied(const struct task_costs *costs, const struct comm *comm);
void hp_copied_cost(struct task_costs *costs, struct arena *arena,
                    const struct pattern *pattern, const struct comm *comm,
                    double element_bytes, double scale, struct comm_cost *cost);

/* The updates of the parameter that `pattern` sums the gradient of, a task for each device. */
const struct sim_task *hp_update_tasks(struct task_costs *costs, const struct pattern *pattern,
                                       const struct update_devices *devices);

/* How long a device takes to update so many elements. */
ticks hp_update_time(const struct task_costs *costs, int device, double elements);

/* Of adding up the squares of so many elements of gradients. */
ticks hp_squares_time(const struct task_costs *costs, int device, double elements);

/* Where the passes of a device are run. */
struct kernel_place hp_kernel_place(const struct task_costs *costs, int device);

/* Each part of a pass, for devices that run kernels. */
const struct kernel_pass *const *hp_kernel_passes(struct task_costs *costs, int pass,
                                                  const struct op_parts *parts);

/* How long each part of a pass takes, by itself; of one that may be a part of a kernel, at
 * least. */
const ticks *hp_pass_times(struct task_costs *costs, int op, int pass,
                           const struct op_parts *parts);

#endif /* SIM_TASK_COSTS_H */
