/* Times of passes and updates; tables that grow with the cache. */
#include "sim/task_costs.h"

#include <string.h>

#include "cost/collective_rounds.h"

void hp_task_costs_begin(struct task_costs *a, const struct hypar_plan *plan,
                         const struct hypar_sim_options *options)
{
    *a = (struct task_costs){ .graph = plan->graph,
                              .machine = plan->machine,
                              .precision = plan->precision,
                              .gradients = hp_plan_gradients(plan),
                              .optimizer = plan->optimizer,
                              .settings = *options };
    if (options->all_reduce)
        a->settings.all_reduce = hp_comm_algorithm_name(COMM_ALL_REDUCE, options->all_reduce);
    a->n_devices = hypar_machine_device_count(a->machine);
    a->n_queues = a->n_devices + 2 * hypar_machine_link_count(a->machine);
    NEW(&a->scratch, char, 1); /* the first block stays */
}

void hp_task_costs_end(struct task_costs *a)
{
    hp_arena_free(&a->arena);
    hp_arena_free(&a->scratch);
}

/* Axes along which what a part reads depends on where it is: a window slides along them, is
 * clipped, or an operand is shorter (one of a concat's). */
static axis_set positional_axes(const struct nest *nest)
{
    axis_set axes = 0;
    for (int o = 0; o < nest->n_operands; o++)
        for (int d = 0; d < nest->operand[o].n_dims; d++) {
            const struct dim_map *map = &nest->operand[o].dim[d];
            if (map->kind == DIM_AXIS &&
                (map->stride != 1 || map->span != 1 || map->pad != 0 ||
                 nest->operand[o].size[d] != nest->axis[map->axis[0]].extent))
                axes |= (axis_set)1 << map->axis[0];
        }
    return axes;
}

/* Is the work of two parts the same? They are as long, and along positional axes in the same
 * place. */
static bool same_work(const struct range *a, const struct range *b, int n, axis_set positional)
{
    for (int i = 0; i < n; i++)
        if (a[i].hi - a[i].lo != b[i].hi - b[i].lo ||
            (positional >> i & 1 && a[i].lo != b[i].lo))
            return false;
    return true;
}

/* Most parts do the same as the one before, on the same kind of device. */
static const ticks *time_parts(struct task_costs *a, int op, int pass,
                               const struct part_layout *l)
{
    ticks *time = NEW(&a->arena, ticks, l->n_parts);
    operand_set present = hp_present(&a->graph->ops[op]);
    axis_set positional = positional_axes(l->nest);
    const struct hypar_device *before = NULL;
    for (int part = 0; part < l->n_parts; part++) {
        if (l->empty[part])
            continue;
        const struct range *range = l->range + part * l->nest->n_axes;
        const struct hypar_device *device = hypar_machine_device(a->machine, l->device[part]);
        if (before == device && !l->empty[part - 1] &&
            same_work(range, range - l->nest->n_axes, l->nest->n_axes, positional))
            time[part] = time[part - 1];
        else
            time[part] = hp_ticks(hp_pass_seconds(l->nest, pass, range, present, device,
                                                  a->precision, a->settings.profile));
        before = device;
    }
    return time;
}

const ticks *hp_pass_times(struct task_costs *a, int op, int pass,
                           const struct part_layout *layout)
{
    a->pass_time =
        REACH(&a->arena, struct layout_times, a->pass_time, layout->id, &a->layout_capacity);
    const ticks **time = &a->pass_time[layout->id].of[pass];
    if (!*time)
        *time = time_parts(a, op, pass, layout);
    return *time;
}

/* Updates ----------------------------------------------------------------------------- */

ticks hp_update_time(const struct task_costs *a, int device, double elements)
{
    struct work work = hp_update_work(elements, a->precision, a->gradients, a->optimizer);
    return hp_ticks(hp_work_seconds(&work, hypar_machine_device(a->machine, device),
                                    hp_master_precision(a->precision)));
}

ticks hp_squares_time(const struct task_costs *a, int device, double elements)
{
    struct work work = hp_squares_work(elements, a->gradients);
    return hp_ticks(hp_work_seconds(&work, hypar_machine_device(a->machine, device),
                                    hp_master_precision(a->precision)));
}

static struct sim_task *make_updates(struct task_costs *a, const struct update_devices *u)
{
    struct sim_task *task = NEW(&a->arena, struct sim_task, u->n);
    for (int i = 0; i < u->n; i++)
        task[i] =
            (struct sim_task){ .duration = hp_update_time(a, u->device[i], u->elements[i]),
                               .n_holds = 1,
                               .queue = u->device[i] };
    return task;
}

const struct sim_task *hp_update_tasks(struct task_costs *a, const struct pattern *pattern,
                                       const struct update_devices *devices)
{
    a->updates =
        REACH(&a->arena, struct sim_task *, a->updates, pattern->id, &a->update_capacity);
    if (!a->updates[pattern->id])
        a->updates[pattern->id] = make_updates(a, devices);
    return a->updates[pattern->id];
}

const struct pattern_cost *hp_pattern_cost(struct task_costs *a, const struct pattern *pattern,
                                           int bytes)
{
    int size = bytes == 2 ? 0 : bytes == 4 ? 1 : 2;
    a->by_pattern[size] = REACH(&a->arena, struct pattern_cost *, a->by_pattern[size],
                                pattern->id, &a->pattern_capacity[size]);
    if (!a->by_pattern[size][pattern->id])
        a->by_pattern[size][pattern->id] =
            hp_make_pattern_cost(a, &a->arena, pattern, bytes, NULL, 0);
    return a->by_pattern[size][pattern->id];
}
