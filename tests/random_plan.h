/* random_plan.h - random plans for a graph: any split of any axes, any placement.
 *
 * Several axes at once, copies, degrees above the extent, explicit sizes with zeros, two parts
 * on one device; stages under all schedules: pipedream with replicas that take turns,
 * interleaved and by hand with several stages on a device and stages without operators;
 * micro-batches that do not divide the batch. */
#ifndef TESTS_RANDOM_PLAN_H
#define TESTS_RANDOM_PLAN_H

#include "plan/plan.h"
#include "tests/random_graph.h"

/* What must be split: axes a and b (-1: nothing in particular) of operator `op`; and whether
 * the schedule must be pipedream, if the graph has two stages that share no parameter. */
struct plan_focus {
    int op, a, b;
    bool delayed;
};

/* A plan for `graph` on `machine` that passes hypar_plan_check(). */
struct hypar_plan *random_plan(struct random *random, const struct hypar_graph *graph,
                               const struct hypar_machine *machine,
                               const struct plan_focus *focus);

/* What an environment variable says, as the first seed of a longer run. */
uint64_t number_from(const char *variable, uint64_t otherwise);

#endif /* TESTS_RANDOM_PLAN_H */
