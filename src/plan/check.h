/* plan/check.h - the parts of hypar_plan_check(). Internal to plan/.
 *
 * A plan that does not fit its graph or machine is HYPAR_INFEASIBLE: "op 'conv1': axis 'k':
 * ...". */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plan/plan.h"

enum { AXIS_LIST_BYTES = 3 * MAX_AXES + 1 };

/* "n, k, c, r": the axes of `nest` that may be split, into `text` of AXIS_LIST_BYTES. */
const char *hp_axis_list(const struct nest *nest, char *text);

/* Degrees and sizes of one operator against its axes. */
enum hypar_status hp_check_split(const struct nest *nest, const struct split *split,
                                 struct hypar_error *err);

/* Check `stage` alone: it has devices, in equal groups. */
enum hypar_status hp_check_stage(const struct hypar_stage *stage, struct hypar_error *err);

/* Where a device belongs. */
struct device_home {
    int stage;  /* the first that it is in; -1: none */
    int latest; /* ... and the last one looked at */
    int group;  /* replica; 0 unless the stage shares minibatches */
};

/* Every op in one stage, every device in at most one, or, where the schedule allows it, in
 * several on the same devices; fills in home[] for each device. */
enum hypar_status hp_check_stages(const struct hypar_plan *plan, struct device_home *home,
                                  struct hypar_error *err);

/* Schedules that put several stages on a device, or list their slots. */
enum hypar_status hp_check_sharing(const struct hypar_plan *plan,
                                   const struct device_home *home, struct hypar_error *err);
enum hypar_status hp_check_schedule(const struct hypar_plan *plan, struct hypar_error *err);

/* Each device of an operator's parts exists and, with stages, lies in its stage (and in its
 * replica's group). */
enum hypar_status hp_check_devices(const struct hypar_plan *plan, int op, const int *device,
                                   int n_parts, const struct device_home *home,
                                   struct hypar_error *err);

/* Replicas that share a batch split the samples of every op. */
enum hypar_status hp_check_replicas(const struct hypar_plan *plan, int op,
                                    const struct split *split, struct hypar_error *err);

/* No op reads from a later stage; under pipedream no parameter is used in two stages. */
enum hypar_status hp_check_order(const struct hypar_plan *plan, struct hypar_error *err);

/* Check sharding: a sharded operator has parameters, and all users of a parameter agree. */
enum hypar_status hp_check_shard(const struct hypar_plan *plan, int op,
                                 struct hypar_error *err);
enum hypar_status hp_check_shards(const struct hypar_plan *plan, struct hypar_error *err);

#endif /* PLAN_CHECK_H */
