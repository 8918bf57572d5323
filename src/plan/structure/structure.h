/* plan/structure/structure.h - the structure of a plan of a thousand operators. Internal.
 *
 * A row is a set of equal layers, or the operators between layers. A piece is the operators of
 * a layer with the same split. A block is a set of devices with its stages; blocks that differ
 * only in layers and devices form a group. The text and the picture of a plan use this
 * structure. */
#ifndef PLAN_STRUCTURE_STRUCTURE_H
#define PLAN_STRUCTURE_STRUCTURE_H

#include "graph/structure/repeated.h"
#include "plan/plan.h"

/* Neighbours with the same split on the same devices of their stage. An operator that only
 * continues with its input (an activation after a convolution) belongs to its input's piece,
 * even if its axes have other names. */
struct plan_piece {
    int first, n_ops;
};

/* Operators first .. first + count * n_ops - 1: `count` layers with equal plans, in any stages.
 * The pieces are those of the first layer. */
struct plan_row {
    int first, n_ops, count;
    int first_piece, n_pieces;
};

/* Devices and their stages: several if the schedule interleaves stages. */
struct plan_block {
    int n_stages;
    const int *stage;
};

/* Neighbouring blocks that differ only in layers and devices. */
struct plan_group {
    int first, count; /* blocks */
    bool same;        /* false: they also differ in the number of operators */
};

struct idle_run {
    int first, last;
};

struct device_list {
    int n;
    const int *device; /* ascending */
};

struct plan_structure {
    const struct hypar_plan *plan;
    int n_rows, n_pieces, n_blocks, n_groups, n_idle, n_layers;
    struct plan_row *row;
    struct plan_piece *piece;
    struct plan_block *block;
    struct plan_group *group;
    struct idle_run *idle;    /* idle devices */
    struct run *layers;       /* repeated layers of the graph, whatever their plan */
    struct device_list *home; /* by stage; without stages a single list: all devices used */
    bool *fills;              /* by operator: the result of hp_fills_home() */
};

struct plan_structure hp_plan_structure(struct arena *arena, const struct hypar_plan *plan);

/* The use of a stage's devices: replicas that divide the samples, and parts of each. 0: its
 * operators differ. */
struct stage_degrees {
    int replicas, tensor;
};
struct stage_degrees hp_stage_degrees(const struct hypar_plan *plan, int stage);

/* The repeated layers that `op` belongs to; NULL: none. */
const struct run *hp_layers_of(const struct plan_structure *s, int op);

/* The devices that `op` may be on: those of its stage. Is it on all of them, part by part in
 * order? */
const struct device_list *hp_home(const struct plan_structure *s, int op);
bool hp_fills_home(const struct plan_structure *s, int op);

#endif /* PLAN_STRUCTURE_STRUCTURE_H */
