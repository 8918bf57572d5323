/* sim/timing.h - the tasks of a program with their times and queues, block by block, as the
 * simulator runs them. Internal. */
#ifndef SIM_TIMING_H
#define SIM_TIMING_H

#include <hypar/sim.h>

#include "sim/task_costs.h"

struct timing {
    struct arena arena, bucket_arena;
    struct lowering *lowering;
    struct task_costs own, *costs;      /* its own, or shared ones */
    struct blocks *own_blocks, *blocks; /* its own, or a program's */
    /* kernel_tasks.c; NULL: not known yet */
    struct kernel_role *role; /* by pass of an operator */
    operand_set *added;       /* by pass of an operator: gradients that it adds to */
    int *passed_on; /* by place: the exchange between writer and reader, if a compiler makes one
                       kernel of both when the exchange is aligned; negative: none */
    struct pattern_cost *
        *tail_cost; /* by exchange of the tail: the cost with the current buckets; NULL: none */
};

/* HYPAR_UNSUPPORTED if there are more separate messages than memory allows (some 300 bytes
 * each; micro-batches share them), or if messages of exchanges without a pattern cross more
 * links than time allows (10 ns each). Ask before a timing is made. The estimate is exact
 * except for exchanges without a pattern, whose pieces it counts. */
enum { HP_MAX_MESSAGES = 1 << 24, HP_MAX_CROSSED = 1 << 30 };
double hp_estimate_messages(const struct lowering *lowering); /* messages.c */
/* *crossed, if not NULL: the links that messages of exchanges without a pattern cross. */
enum hypar_status hp_check_messages(const struct lowering *lowering,
                                    const struct hypar_sim_options *options, double *crossed,
                                    struct hypar_error *err);

/* measured.c; `profile` may be NULL. */
struct hypar_sim_measured hp_count_measured(const struct lowering *lowering,
                                            const struct hypar_profile *profile);

/* HYPAR_UNSUPPORTED if the length is above the largest time. */
enum hypar_status hp_check_length(ticks length, struct hypar_error *err);

/* `costs` are shared with timings whose lowerings share one cache; NULL: the timing has its
 * own. `blocks` are those of a program; NULL: the timing has its own. If messages are simulated
 * one by one, they are tasks of the timing's own blocks. */
struct timing *hp_timing_new(struct lowering *lowering, struct blocks *blocks,
                             const struct hypar_sim_options *options, struct task_costs *costs);
void hp_timing_free(struct timing *timing); /* keeps the lowering; NULL is allowed */

/* The lowering has changed: find fusion groups and buckets anew. */
void hp_timing_update(struct timing *timing);

/* The comms of an exchange as tasks. */
const struct pattern_cost *hp_exchange_cost(struct timing *timing, int b, int exchange);

/* The comm of an exchange to which task `local` of its block belongs; the first task of a
 * comm. */
int hp_comm_at(const struct pattern_cost *cost, int n_comms, int local);
static inline int hp_first_of_comm(const struct pattern_cost *cost, int comm)
{
    return cost->messages ? cost->messages[comm].first : comm;
}

/* The message of task `local` of an exchange's block; NULL: the task is a whole comm. */
const struct message *hp_message_at(const struct pattern_cost *cost, int comm, int local);

/* The tasks of a block, size[number] of them, with their numbers. */
void hp_block_tasks(struct timing *timing, int number, struct sim_task *task);

/* Add the kernels of a fusion group to the tasks of devices that run kernels
 * (kernel_tasks.c). */
void hp_kernel_tasks(struct timing *timing, int body, int group, struct sim_task *task);

/* The energy of these kernels, on devices where it is counted by kernel
 * (hp_energy_by_kernel()). */
struct work_energy hp_kernels_energy(struct timing *timing, int body, int group);

/* Does it matter to these kernels whether an exchange is aligned? */
bool hp_may_pass_on(const struct timing *timing, int exchange);

/* Does one operator alone read a tensor, and is the tensor kept for no later pass? If nothing
 * moves, a compiler then makes one kernel of writer and reader, and the tensor is never in
 * memory. */
bool hp_is_passed_on(const struct hypar_graph *graph, int tensor);

/* The number of kernels in a step on the device whose host takes longest to launch them, and
 * this time. Updates are left out: one kernel updates many parameters. */
double hp_count_kernels(struct timing *timing, double *launch_s);

/* By task of the bodies, whose ids have no gaps: how long the host of its device takes to
 * launch it; NULL: no host takes any time. Taken from `arena`. */
ticks *hp_task_launches(struct timing *timing, int n_tasks, struct arena *arena);

/* The host of a device is ahead of it by no more kernels than this: CUDA takes about as many
 * before a launch waits for room. Twice as many hide twice as long a time in which a host is
 * slower than its device. By device: the time for so many launches. Taken from `arena`. */
enum { HP_QUEUED_LAUNCHES = 1024 };
ticks *hp_ahead(const struct timing *timing, struct arena *arena);

/* Do hosts wait for their devices, and for what these receive, between slots? */
bool hp_hosts_wait(const struct timing *timing);

/* All tasks as one graph: each body once, then the tail, which waits for the last micro-batch
 * of each body in its update period. Ids are in the order of numbers. Fills first[] and size[]
 * of the blocks. Taken from `arena`. */
struct task_graph hp_timed_graph(struct timing *timing, struct arena *arena);

/* The same with the edges of a program, whose blocks the timing uses. */
struct task_graph hp_timed_program(struct timing *timing, const struct hypar_program *program,
                                   struct arena *arena);

#endif /* SIM_TIMING_H */
