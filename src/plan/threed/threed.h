/* plan/threed/threed.h - a plan from three degrees: data, tensor, pipeline. Internal.
 *
 * Every operator is split by samples into `data`, and by one more axis into `tensor` (Megatron:
 * Shoeybi et al. 2019; sequence parallelism: Korthikanti et al., MLSys 2023); the operators are
 * cut into stages, `pipeline` devices deep (Narayanan et al., SC 2021). Which axis that is
 * follows from the operator table: a layer with weights is split by what it writes (columns),
 * then each operator that computes element by element along that axis (activations, heads of an
 * attention), then a layer by its summed axis (rows). */
#ifndef PLAN_THREED_THREED_H
#define PLAN_THREED_THREED_H

#include "plan/plan.h"

/* How the tensor degree divides one operator. */
struct tensor_axis {
    int axis;      /* -1: copies */
    int64_t units; /* equal pieces of the axis, none of which is cut (a head); 0: any */
    int region;    /* of the same split: columns .. rows; -1: none */
    bool gathered; /* by sequence, and columns read all of it: gathered again, not kept whole */
};

/* Operators lo .. hi (and perhaps not all between them) are split along the same elements. */
struct region {
    int lo, hi;
};

struct tensor_axes {
    struct tensor_axis *op; /* by operator */
    int n_regions;
    struct region *region;
};

/* Find the axis of each operator for a tensor degree. `allowed`, by nest: axes that may be
 * split; NULL: all. HYPAR_INFEASIBLE where an attention has fewer heads than that. */
enum hypar_status hp_tensor_axes(struct arena *arena, const struct hypar_graph *graph,
                                 const struct hypar_layout *layout, const axis_set *allowed,
                                 struct tensor_axes *out, struct hypar_error *err);

/* Stage s is operators begin[s] .. begin[s + 1] - 1; all `n_stages` have some. Layers that the
 * model repeats are not cut, nor is a region; where the number of layers allows it each stage
 * has as many, else the slowest stage is as fast as can be. They begin where `borders`, by
 * operator, says that one may; NULL: anywhere. HYPAR_INFEASIBLE: too many stages. */
enum hypar_status hp_cut_stages(struct arena *arena, const struct hypar_plan *plan,
                                const struct hypar_layout *layout,
                                const struct tensor_axes *axes, const bool *borders,
                                int **begin, struct hypar_error *err);

#endif /* PLAN_THREED_THREED_H */
