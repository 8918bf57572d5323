/* sim/task_costs.h - communications, updates and passes as tasks: queues, times, bytes.
 * Internal.
 *
 * The cost of a comm depends on its pattern and on the bytes of an element, so it is computed
 * once for all tensors that share both. */
#ifndef SIM_TASK_COSTS_H
#define SIM_TASK_COSTS_H

#include <hypar/sim.h>

#include "base/table.h"
#include "cost/collective.h"
#include "cost/kernel.h"
#include "program/blocks.h"
#include "sim/tasks.h"

/* HYPAR_USAGE if the options (may be NULL) contradict each other or name something unknown. */
enum hypar_status hp_check_sim_options(const struct hypar_sim_options *options,
                                       struct hypar_error *err);

/* The options with their framework adjusted: without overlap or with other buckets, if the
 * options ask for that. */
struct hypar_sim_options hp_settled(const struct hypar_sim_options *options);

/* The options as a plan keeps them, without minibatches, timeline and profile. */
struct hypar_simulation hp_simulation_of(const struct hypar_sim_options *options);

/* Tasks and memory follow from the plan's own framework and batch norm. If the options have
 * others, the plan that is simulated is a copy with these. hp_take_simulation() changes a plan
 * in place, and hp_simulated_plan() makes the copy; NULL: the plan itself is simulated. */
void hp_take_simulation(struct hypar_plan *plan, const struct hypar_sim_options *options);
struct hypar_plan *hp_simulated_plan(const struct hypar_plan *plan,
                                     const struct hypar_sim_options *options);

/* One comm of a pattern: one task, or one for each message. */
struct comm_cost {
    int n_tasks;
    const struct sim_task *task; /* numbers are given later */
    const char *algorithm;
    double sent_bytes, link_bytes; /* each byte once; and once for every link that it crosses */
    double link_j, dram_j;
    const struct hold *link; /* the links that it holds, and the bytes on each */
    const double *bytes_on_link;
    int n_links;
};

struct pattern_cost {
    struct comm_cost *comm;
    struct comm_messages *messages; /* NULL: each comm is one task */
};

/* Which comms of an exchange hold their devices, which compute nothing meanwhile. */
enum waiting_comms {
    WAITING_NONE,
    WAITING_SUMS,   /* all-reduces */
    WAITING_OTHERS, /* all but these */
    WAITING_ALL,
    N_WAITING,
};

/* Costs by parts and patterns of one cache (lowering.h), which plans may share. */
struct task_costs {
    struct arena arena, scratch;
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    enum hypar_precision precision, gradients; /* of tensors; of parameter gradients */
    enum hypar_optimizer optimizer;
    struct hypar_sim_options
        settings; /* all_reduce: the name of an algorithm; NULL: the fastest */
    int n_devices, n_queues;
    struct table model_keys;
    const struct comm_model **models;
    int n_models, model_capacity;
    /* [waiting comms][log2(element bytes) - 1][pattern id] */
    struct pattern_cost **by_pattern[N_WAITING][3];
    int pattern_capacity[N_WAITING][3];
    struct sim_task **updates; /* by pattern id, for patterns of parameters */
    int update_capacity;
    struct op_parts_times {
        const ticks *of[MAX_PASSES]; /* by part */
        const struct kernel_pass *const
            *kernel[MAX_PASSES]; /* by part; equal parts share one */
    } * pass_time;               /* by id of the parts */
    int op_parts_capacity;
    bool *runs_kernels, any_kernels; /* by device; of any device */
    double *slower;    /* by device: times as long as usual, as the slowest of all decides */
    double *launch_s;  /* by device: how long its host takes to launch a kernel */
    bool any_launches; /* does any host take time for anything? */
    bool tasks_launch; /* ... for tasks that devices compute? */
    struct box *held;  /* by device: for copied.c, of the current pattern */
};

/* Computing for so long, on this device. */
static inline ticks hp_busy_ticks(const struct task_costs *a, int device, double seconds)
{
    return hp_ticks(seconds * a->slower[device]);
}

/* For plans of the same graph and machine, with the same precisions and optimizer. */
void hp_task_costs_begin(struct task_costs *costs, const struct hypar_plan *plan,
                         const struct hypar_sim_options *options);
void hp_task_costs_end(struct task_costs *costs);

/* The exchanges that the framework makes devices wait for: of parameters or between their
 * readers; `crosses`: the devices are in several stages. */
enum waiting_comms hp_waiting_comms(const struct task_costs *costs,
                                    const struct exchange *exchange, bool crosses);

/* The comms of a pattern as tasks, for elements of this many bytes. */
const struct pattern_cost *hp_pattern_cost(struct task_costs *costs,
                                           const struct pattern *pattern, int element_bytes,
                                           enum waiting_comms waiting);

/* The same without sharing; taken from `arena`. `buckets`: NULL, or the buckets of exchange
 * `tail` of the tail: the first comm of a bucket carries the whole bucket, the others take no
 * time after it. */
struct pattern_cost *hp_make_pattern_cost(struct task_costs *costs, struct arena *arena,
                                          const struct pattern *pattern, int element_bytes,
                                          enum waiting_comms waiting,
                                          const struct buckets *buckets, int tail);

/* Do ranks of this computer copy the messages, as the profile says? Then a comm occupies the
 * ranks that copy (copied.c). `scale`: the bytes of the comm's bucket over its own. */
bool hp_is_copied(const struct task_costs *costs, const struct comm *comm);
void hp_copied_cost(struct task_costs *costs, struct arena *arena,
                    const struct pattern *pattern, const struct comm *comm,
                    double element_bytes, double scale, struct comm_cost *cost);

/* The updates of the parameter whose gradient `pattern` sums: a task for each device. */
const struct sim_task *hp_update_tasks(struct task_costs *costs, const struct pattern *pattern,
                                       const struct update_devices *devices);

/* How long a device takes to update this many elements. */
ticks hp_update_time(const struct task_costs *costs, int device, double elements);

/* How long a device takes to add up the squares of this many gradient elements. */
ticks hp_squares_time(const struct task_costs *costs, int device, double elements);

/* Where the passes of a device are run. */
struct kernel_place hp_costs_place(const struct task_costs *costs, int device);

/* Is the energy of a device that of its kernels, which the power limit bounds, rather than that
 * of each pass by itself? */
bool hp_energy_by_kernel(const struct task_costs *costs, int device);

/* The kernel passes of each part, for devices that run kernels. */
const struct kernel_pass *const *hp_kernel_passes(struct task_costs *costs, int pass,
                                                  const struct op_parts *parts);

/* How long each part of a pass takes by itself; for a pass within a kernel, a lower bound. */
const ticks *hp_pass_times(struct task_costs *costs, int op, int pass,
                           const struct op_parts *parts);

#endif /* SIM_TASK_COSTS_H */
