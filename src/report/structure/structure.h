/* report/structure/structure.h - what a plan of a thousand operators is made of. Internal.
 *
 * Rows are layers that are alike, once for all of them, and what lies between; pieces are the
 * operators of a layer that are split alike; blocks are devices with their stages, and those
 * that differ in nothing but layers and devices are one group. Text and picture read this. */
#ifndef REPORT_STRUCTURE_STRUCTURE_H
#define REPORT_STRUCTURE_STRUCTURE_H

#include "plan/plan.h"

/* Neighbours that are split alike on the same devices of their stage. An operator that only
 * goes on with what its input is (an activation behind a convolution) is of its input's piece,
 * though its axes may be called otherwise. */
struct plan_piece {
    int first, n_ops;
};

/* Operators first .. first + count * n_ops - 1: `count` layers that are planned alike, in
 * whichever stages they are. The pieces are those of the first. */
struct plan_row {
    int first, n_ops, count;
    int first_piece, n_pieces;
};

/* Devices and the stages that they have: several where the schedule interleaves them. */
struct plan_block {
    int n_stages;
    const int *stage;
};

/* Neighbouring blocks that differ in nothing but layers and devices. */
struct plan_group {
    int first, count; /* blocks */
    bool same;        /* false: and in how many operators they have */
};

struct device_run {
    int first, last;
};

struct device_list {
    int n;
    const int *device; /* ascending */
};

/* Layers of the graph alone, however they are planned: stages are told by them. */
struct graph_layers {
    int first, n_ops, count;
};

struct plan_structure {
    const struct hypar_plan *plan;
    int n_rows, n_pieces, n_blocks, n_groups, n_idle, n_layers;
    struct plan_row *row;
    struct plan_piece *piece;
    struct plan_block *block;
    struct plan_group *group;
    struct device_run *idle; /* devices that have nothing to do */
    struct graph_layers *layers;
    struct device_list *home; /* by stage; without stages one: all that are used */
    bool *fills;              /* by operator: as hp_fills_home() tells */
};

struct plan_structure hp_plan_structure(struct arena *arena, const struct hypar_plan *plan);

/* How a stage uses its devices: replicas that divide the samples, parts of each. 0: its
 * operators differ in that. */
struct stage_degrees {
    int replicas, tensor;
};
struct stage_degrees hp_stage_degrees(const struct hypar_plan *plan, int stage);

/* The layers of the graph that `op` is in one of; NULL: it is in none. */
const struct graph_layers *hp_layers_of(const struct plan_structure *s, int op);

/* The devices that `op` may be on: its stage's. Is it on all of them, part by part in order? */
const struct device_list *hp_home(const struct plan_structure *s, int op);
bool hp_fills_home(const struct plan_structure *s, int op);

#endif /* REPORT_STRUCTURE_STRUCTURE_H */
