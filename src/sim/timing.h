/* sim/timing.h - the blocks of a program as the simulator takes them: times and queues.
 * Internal.
 */
#ifndef SIM_TIMING_H
#define SIM_TIMING_H

#include <hypar/sim.h>

#include "sim/task_costs.h"

struct timing {
    struct arena arena, bucket_arena;
    struct lowering *lowering;
    struct task_costs own, *costs;      /* its own, or some that it shares */
    struct blocks *own_blocks, *blocks; /* likewise */
    /* kernel_tasks.c; NULL: not known yet */
    struct kernel_role *role; /* by pass of an operator */
    operand_set *added;       /* likewise: gradients that it adds to */
    int *passed_on; /* by place: the exchange, if it is aligned, that a compiler makes one
                       kernel of writer and reader instead of; negative: none */
    struct pattern_cost **tail_cost; /* by exchange of the tail, of the buckets as they are;
                                        NULL: none */
};

/* More messages than could be kept, each by itself (some 300 bytes each; micro-batches share
 * them), or more links on the way of those without a pattern than could be looked at (10 ns
 * each): HYPAR_UNSUPPORTED. To be asked before the timing is made, which has them. The estimate
 * is exact but for exchanges without a pattern, of which it counts the pieces. */
enum { HP_MAX_MESSAGES = 1 << 24, HP_MAX_CROSSED = 1 << 30 };
double hp_estimate_messages(const struct lowering *lowering); /* messages.c */
/* *crossed, if asked for: the links that the messages of exchanges without a pattern cross. */
enum hypar_status hp_check_messages(const struct lowering *lowering,
                                    const struct hypar_sim_options *options, double *crossed,
                                    struct hypar_error *err);

/* measured.c; `profile` may be NULL. */
struct hypar_sim_measured hp_count_measured(const struct lowering *lowering,
                                            const struct hypar_profile *profile);

/* What is longer than time can be counted: HYPAR_UNSUPPORTED. */
enum hypar_status hp_check_length(ticks length, struct hypar_error *err);

/* `costs` are shared with others whose lowerings share its cache; NULL: it has its own.
 * `blocks` are those of a program; NULL: it has its own. Where messages are simulated one by
 * one, they are tasks of its own blocks. */
struct timing *hp_timing_new(struct lowering *lowering, struct blocks *blocks,
                             const struct hypar_sim_options *options, struct task_costs *costs);
void hp_timing_free(struct timing *timing); /* not the lowering; NULL is allowed */

/* The lowering has changed: fusion groups and buckets anew. */
void hp_timing_update(struct timing *timing);

/* The comms of an exchange as tasks. */
const struct pattern_cost *hp_exchange_cost(struct timing *timing, int b, int exchange);

/* Which comm of an exchange has task `local` of its block; the first task of a comm there. */
int hp_comm_at(const struct pattern_cost *cost, int n_comms, int local);
static inline int hp_first_of_comm(const struct pattern_cost *cost, int comm)
{
    return cost->messages ? cost->messages[comm].first : comm;
}

/* The message that task `local` of an exchange's block is; NULL: it is all of a comm. */
const struct message *hp_message_at(const struct pattern_cost *cost, int comm, int local);

/* The tasks of a block, size[number] of them; numbers included. */
void hp_block_tasks(struct timing *timing, int number, struct sim_task *task);

/* kernel_tasks.c: adds the kernels of a fusion group to the tasks of devices that run such. */
void hp_kernel_tasks(struct timing *timing, int body, int group, struct sim_task *task);

/* ... does it make a difference to them whether an exchange is aligned? */
bool hp_may_pass_on(const struct timing *timing, int exchange);

/* Is a tensor read by one operator alone, and kept for nobody? A compiler then makes one kernel
 * of those that write and read it, and it is never in memory, if nothing moves between them. */
bool hp_is_passed_on(const struct hypar_graph *graph, int tensor);

/* How many kernels a step has on the device whose host is longest at launching them; in
 * how many seconds. Updates are many parameters in one kernel, and not counted. */
double hp_count_kernels(struct timing *timing, double *launch_s);

/* The whole as one graph: all bodies once, then the tail, which waits for the last micro-batch
 * of each body in its update period; ids follow numbers. Fills first[] and size[] of the
 * blocks. Taken from `arena`. */
struct task_graph hp_timed_graph(struct timing *timing, struct arena *arena);

/* The same with the edges that a program has, whose blocks the timing is of. */
struct task_graph hp_timed_program(struct timing *timing, const struct hypar_program *program,
                                   struct arena *arena);

#endif /* SIM_TIMING_H */
