/* A plan from degrees: stages, and each operator's split and devices.
 *
 * Device number = (group of the stage * data + replica) * tensor + part: the parts of a layer
 * are neighbours (in a node), then replicas, then stages (Megatron's order). */
#include "plan/schedules.h"
#include "plan/threed/threed.h"

#include <string.h>

/* Sizes of the parts of an axis that has `units` pieces, none of which is cut; NULL: even. */
static const int64_t *unit_sizes(struct arena *arena, int64_t extent, int degree, int64_t units)
{
    if (units == 0 || units % degree == 0)
        return NULL;
    int64_t *sizes = NEW(arena, int64_t, degree);
    for (int i = 0; i < degree; i++) {
        struct range part = hp_even_part(units, degree, i);
        sizes[i] = (part.hi - part.lo) * (extent / units);
    }
    return sizes;
}

/* The samples (without any, copies) by `data`, the tensor axis (without one, copies) by
 * `tensor`; parts go to the devices from `first` on. */
static void place_op(struct hypar_plan *plan, int op, const struct hypar_layout *layout,
                     const struct tensor_axis *tensor, int first)
{
    struct arena scratch = { 0 };
    const struct nest *nest = plan->graph->ops[op].nest;
    int sample = hp_sample_axis(nest), copies = nest->n_axes - 1, coordinate[MAX_AXES];
    int n_devices = layout->data * layout->tensor, axis = tensor->axis;
    struct split split = { .degree = { 0 } };
    split.degree[copies] = (sample < 0 ? layout->data : 1) * (axis < 0 ? layout->tensor : 1);
    if (sample >= 0)
        split.degree[sample] = layout->data;
    if (axis >= 0) {
        split.degree[axis] = layout->tensor;
        split.sizes[axis] =
            unit_sizes(&scratch, nest->axis[axis].extent, layout->tensor, tensor->units);
    }
    int *device = NEW(&scratch, int, n_devices);
    bool in_order = true;
    for (int i = 0; i < n_devices; i++) {
        hp_part_coordinates(nest, &split, i, coordinate);
        int replica = coordinate[sample >= 0 ? sample : copies];
        int part = coordinate[axis >= 0 ? axis : copies];
        int at = sample < 0 && axis < 0 ? i : replica * layout->tensor + part;
        device[i] = first + at;
        in_order &= at == i;
    }
    hp_plan_set(plan, op, &split, in_order ? NULL : device);
    hp_arena_free(&scratch);
}

/* A parameter of several stages (the embedding that is the output layer, too) has its optimizer
 * divided, and no more. */
static enum hypar_shard shard_of(const struct hypar_plan *plan, int op, enum hypar_shard most)
{
    const struct op *o = &plan->graph->ops[op];
    if (!hp_op_has_params(plan->graph, op))
        return HYPAR_SHARD_NONE;
    for (int i = 0; i < o->nest->n_inputs && most > HYPAR_SHARD_OPTIMIZER; i++) {
        int t = o->tensor[i];
        if (t >= 0 && plan->graph->tensors[t].kind == TENSOR_PARAM &&
            hp_param_crosses_stages(plan, t))
            return HYPAR_SHARD_OPTIMIZER;
    }
    return most;
}

static enum hypar_status check(const struct hypar_plan *plan, const struct hypar_layout *l,
                               struct hypar_error *err)
{
    int64_t product = (int64_t)l->data * l->tensor;
    product = product <= plan->n_all_devices ? product * l->pipeline : product;
    int64_t batch = plan->graph->batch;
    if (product != plan->n_all_devices)
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "data %d x tensor %d x pipeline %d, expected %d, the devices of the machine",
            l->data, l->tensor, l->pipeline, plan->n_all_devices);
    if (l->micro_batches > batch / l->data)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%lld micro-batches x data %d, expected at most %lld, the samples of "
                       "the batch",
                       (long long)l->micro_batches, l->data, (long long)batch);
    if (!hp_schedule[l->schedule].fill)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "schedule '%s', expected one that ends with a flush and whose order of "
                       "slots is not listed",
                       hypar_schedule_text(l->schedule));
    if (l->pipeline == 1 && l->schedule != HYPAR_SCHEDULE_NONE)
        return hp_fail(err, HYPAR_INFEASIBLE, "schedule '%s' needs a pipeline, expected '%s'",
                       hypar_schedule_text(l->schedule),
                       hypar_schedule_text(HYPAR_SCHEDULE_NONE));
    if (l->shard != HYPAR_SHARD_NONE && l->data == 1)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "shard '%s' needs replicas, expected data above 1",
                       hypar_shard_text(l->shard));
    if (l->first_layers < 0 || l->last_layers < 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "first_layers %d, last_layers %d, expected some",
                       l->first_layers, l->last_layers);
    if (l->pipeline == 1 && (l->first_layers || l->last_layers))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "first_layers %d, last_layers %d, expected a pipeline of two or more "
                       "stages",
                       l->first_layers, l->last_layers);
    if (l->shard_over < 0 || (l->shard_over && l->data % l->shard_over))
        return hp_fail(err, HYPAR_INFEASIBLE, "shard_over %d, expected a divisor of data %d",
                       l->shard_over, l->data);
    if (l->shard_over && l->shard == HYPAR_SHARD_NONE)
        return hp_fail(err, HYPAR_INFEASIBLE, "shard_over %d, but nothing is sharded",
                       l->shard_over);
    if (l->chunks > 1 && !hp_schedule[l->schedule].interleaves)
        return hp_fail(err, HYPAR_INFEASIBLE, "chunks %d need schedule '%s', not '%s'",
                       l->chunks, hp_schedule_with(SCHEDULE_INTERLEAVES),
                       hypar_schedule_text(l->schedule));
    if ((double)plan->graph->n_ops * l->data * l->tensor > HP_MAX_PLACEMENTS)
        return hp_fail(err, HYPAR_INFEASIBLE, "more than %d parts in all", HP_MAX_PLACEMENTS);
    return HYPAR_OK;
}

static struct hypar_layout complete(const struct hypar_layout *given)
{
    struct hypar_layout layout = *given;
    int *degrees[] = { &layout.data, &layout.tensor, &layout.pipeline, &layout.chunks };
    for (int i = 0; i < 4; i++)
        *degrees[i] = *degrees[i] > 0 ? *degrees[i] : 1;
    layout.micro_batches = layout.micro_batches > 0 ? layout.micro_batches : 1;
    return layout;
}

static enum hypar_status build(struct hypar_plan *plan, const struct hypar_layout *layout,
                               const struct layout_limits *limits, struct arena *scratch,
                               struct hypar_error *err)
{
    struct tensor_axes axes;
    int *begin;
    TRY(check(plan, layout, err));
    int each = layout->data * layout->tensor; /* checked: at most all devices */
    struct pipeline_size size = { layout->pipeline, layout->chunks, layout->micro_batches };
    TRY(hp_tensor_axes(scratch, plan->graph, layout, limits->axes, &axes, err));
    hp_plan_set_recompute(plan, layout->recompute); /* stages are cut by their times */
    if (layout->pipeline > 1) {
        TRY(hp_cut_stages(scratch, plan, layout, &axes, limits->borders, &begin, err));
        for (int s = 0; s < layout->pipeline * layout->chunks; s++)
            hp_plan_add_range(plan, begin[s], begin[s + 1],
                              hp_stage_group(layout->schedule, &size, s) * each, each,
                              layout->data);
    }
    hp_plan_set_schedule(plan, &(struct hypar_schedule){
                                   .kind = layout->schedule,
                                   .micro_batches = layout->micro_batches,
                                   .chunks = layout->chunks,
                               });
    for (int op = 0; op < plan->graph->n_ops; op++) {
        int stage = plan->ops[op].stage < 0 ? 0 : plan->ops[op].stage;
        plan->ops[op].resend = axes.op[op].gathered;
        plan->ops[op].shard = shard_of(plan, op, layout->shard);
        plan->ops[op].shard_over = plan->ops[op].shard ? layout->shard_over : 0;
        place_op(plan, op, layout, &axes.op[op],
                 hp_stage_group(layout->schedule, &size, stage) * each);
    }
    return HYPAR_OK;
}

enum hypar_status hp_plan_set_layout_at(struct hypar_plan *plan,
                                        const struct hypar_layout *layout,
                                        const struct layout_limits *limits,
                                        struct hypar_error *err)
{
    struct arena scratch = { 0 };
    plan->layout = complete(layout);
    plan->has_layout = true;
    enum hypar_status status = build(plan, &plan->layout, limits, &scratch, err);
    hp_arena_free(&scratch);
    return hp_in(err, status, "layout");
}

enum hypar_status hp_plan_set_layout(struct hypar_plan *plan, const struct hypar_layout *layout,
                                     struct hypar_error *err)
{
    return hp_plan_set_layout_at(plan, layout, &(struct layout_limits){ 0 }, err);
}
