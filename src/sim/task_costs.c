/* The times of passes and updates, in tables that grow with the lowering's cache. */
#include "sim/task_costs.h"

#include <string.h>

#include "cost/collective_rounds.h"
#include "cost/stragglers.h"
#include "profile/profile.h"

void hp_task_costs_begin(struct task_costs *a, const struct hypar_plan *plan,
                         const struct hypar_sim_options *options)
{
    *a = (struct task_costs){ .graph = plan->graph,
                              .machine = plan->machine,
                              .precision = plan->precision,
                              .gradients = hp_plan_gradients(plan),
                              .optimizer = plan->optimizer,
                              .settings = *options };
    if (options->all_reduce) {
        const struct comm_algorithm *row =
            hp_find_comm_algorithm(COMM_ALL_REDUCE, options->all_reduce);
        a->settings.all_reduce = row ? row->name : NULL;
    }
    a->n_devices = hypar_machine_device_count(a->machine);
    a->n_queues = a->n_devices + 2 * hypar_machine_link_count(a->machine);
    a->runs_kernels = NEW(&a->arena, bool, a->n_devices);
    a->slower = NEW(&a->arena, double, a->n_devices);
    a->launch_s = NEW(&a->arena, double, a->n_devices);
    for (int d = 0; d < a->n_devices; d++) {
        struct kernel_place at = hp_costs_place(a, d);
        a->slower[d] = d > 0 && at.device == hypar_machine_device(a->machine, d - 1)
                           ? a->slower[d - 1]
                           : hp_slowest_of(a->n_devices, at.device->kernels.jitter);
        a->runs_kernels[d] = hp_runs_kernels(&at);
        a->any_kernels |= a->runs_kernels[d];
        a->launch_s[d] = a->runs_kernels[d] ? hp_launch_s(&at) : 0;
        a->tasks_launch |= a->launch_s[d] > 0;
    }
    const struct hypar_framework *as = &a->settings.framework;
    a->tasks_launch |= as->layer_s > 0 || as->slot_s > 0;
    a->any_launches = a->tasks_launch || as->bucket_s > 0;
    NEW(&a->scratch, char, 1); /* keep the arena's first block */
}

void hp_task_costs_end(struct task_costs *a)
{
    hp_arena_free(&a->arena);
    hp_arena_free(&a->scratch);
}

enum waiting_comms hp_waiting_comms(const struct task_costs *a, const struct exchange *exchange,
                                    bool crosses)
{
    const bool *waits = a->settings.framework.waits;
    bool param = a->graph->tensors[exchange->place.tensor].kind == TENSOR_PARAM;
    enum hypar_traffic of =
        exchange->place.grad ? HYPAR_TRAFFIC_GRADIENTS : HYPAR_TRAFFIC_GATHERS;
    if (!param && !crosses)
        return (enum waiting_comms)((waits[HYPAR_TRAFFIC_TENSOR] ? WAITING_SUMS : 0) |
                                    (waits[HYPAR_TRAFFIC_SEQUENCE] ? WAITING_OTHERS : 0));
    return waits[param ? of : HYPAR_TRAFFIC_STAGES] ? WAITING_ALL : WAITING_NONE;
}

struct kernel_place hp_costs_place(const struct task_costs *a, int device)
{
    struct kernel_place at = hp_kernel_place(hypar_machine_device(a->machine, device),
                                             a->precision, &a->settings.framework);
    at.profile = a->settings.profile;
    return at;
}

/* Does part `part` do the same as the part before, on an equal device? Most parts do. */
static bool as_before(const struct task_costs *a, const struct op_parts *l, int part,
                      axis_set positional)
{
    const struct range *range = l->range + part * l->nest->n_axes;
    return part > 0 && !l->empty[part - 1] &&
           hypar_machine_device(a->machine, l->device[part - 1]) ==
               hypar_machine_device(a->machine, l->device[part]) &&
           hp_same_work(range, range - l->nest->n_axes, l->nest->n_axes, positional);
}

bool hp_energy_by_kernel(const struct task_costs *a, int device)
{
    return a->runs_kernels[device] &&
           hypar_machine_device(a->machine, device)->power_limit_w > 0;
}

/* The time of a part by itself; within a kernel only a lower bound: its arithmetic. */
static ticks time_part(struct task_costs *a, int op, int pass, const struct op_parts *l,
                       int part)
{
    struct kernel_place at = hp_costs_place(a, l->device[part]);
    if (!a->runs_kernels[l->device[part]])
        return hp_busy_ticks(a, l->device[part],
                             hp_pass_seconds(l->nest, pass, l->range + part * l->nest->n_axes,
                                             hp_present(&a->graph->ops[op]), at.device,
                                             at.precision, at.profile));
    ticks sure =
        hp_busy_ticks(a, l->device[part], hp_kernel_passes(a, pass, l)[part]->arithmetic_s);
    return sure > 0 ? sure - 1 : 0; /* rounded down */
}

static const ticks *time_parts(struct task_costs *a, int op, int pass, const struct op_parts *l)
{
    ticks *time = NEW(&a->arena, ticks, l->n_parts);
    axis_set positional = hp_positional_axes(l->nest);
    for (int part = 0; part < l->n_parts; part++)
        if (!l->empty[part])
            time[part] = as_before(a, l, part, positional) ? time[part - 1]
                                                           : time_part(a, op, pass, l, part);
    return time;
}

static const struct kernel_pass *const *find_kernel_passes(struct task_costs *a, int pass,
                                                           const struct op_parts *l)
{
    const struct kernel_pass **of = NEW(&a->arena, const struct kernel_pass *, l->n_parts);
    axis_set positional = hp_positional_axes(l->nest);
    for (int part = 0; part < l->n_parts; part++) {
        if (l->empty[part])
            continue;
        if (as_before(a, l, part, positional)) {
            of[part] = of[part - 1];
            continue;
        }
        struct kernel_place at = hp_costs_place(a, l->device[part]);
        struct kernel_pass *made = NEW(&a->arena, struct kernel_pass, 1);
        made->bytes = NEW(&a->arena, double, l->nest->n_operands);
        made->cast_bytes = NEW(&a->arena, double, l->nest->n_operands);
        hp_kernel_pass(l->nest, pass, l->range + part * l->nest->n_axes, &at, made);
        of[part] = made;
    }
    return of;
}

const struct kernel_pass *const *hp_kernel_passes(struct task_costs *a, int pass,
                                                  const struct op_parts *parts)
{
    a->pass_time =
        REACH(&a->arena, struct op_parts_times, a->pass_time, parts->id, &a->op_parts_capacity);
    if (!a->pass_time[parts->id].kernel[pass]) {
        const struct kernel_pass *const *found = find_kernel_passes(a, pass, parts);
        a->pass_time[parts->id].kernel[pass] = found;
    }
    return a->pass_time[parts->id].kernel[pass];
}

const ticks *hp_pass_times(struct task_costs *a, int op, int pass, const struct op_parts *parts)
{
    a->pass_time =
        REACH(&a->arena, struct op_parts_times, a->pass_time, parts->id, &a->op_parts_capacity);
    if (!a->pass_time[parts->id].of[pass]) {
        const ticks *time = time_parts(a, op, pass, parts); /* this may move the table */
        a->pass_time[parts->id].of[pass] = time;
    }
    return a->pass_time[parts->id].of[pass];
}

/* Updates ----------------------------------------------------------------------------- */

static ticks stream_time(const struct task_costs *a, int device, const struct work *work)
{
    struct kernel_place at = hp_costs_place(a, device);
    at.precision = hp_master_precision(a->precision);
    return hp_busy_ticks(a, device, hp_stream_seconds(work, &at));
}

static double curve(const struct task_costs *a, int device, const char *of, double size)
{
    return hp_profile_curve(a->settings.profile, hypar_machine_device(a->machine, device)->name,
                            of, size);
}

ticks hp_update_time(const struct task_costs *a, int device, double elements)
{
    char of[64];
    hp_update_word(of, sizeof of, hypar_optimizer_text(a->optimizer),
                   hypar_precision_text(a->precision));
    double measured = curve(a, device, of, elements);
    if (measured > 0)
        return hp_busy_ticks(a, device, measured);
    struct work work = hp_update_work(elements, a->precision, a->gradients, a->optimizer);
    return stream_time(a, device, &work);
}

ticks hp_squares_time(const struct task_costs *a, int device, double elements)
{
    char of[64];
    hp_squares_word(of, sizeof of, hypar_precision_text(a->precision));
    double measured = curve(a, device, of, elements);
    if (measured > 0)
        return hp_busy_ticks(a, device, measured);
    struct work work = hp_squares_work(elements, a->gradients);
    return stream_time(a, device, &work);
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
                                           int bytes, enum waiting_comms waiting)
{
    int size = bytes == 2 ? 0 : bytes == 4 ? 1 : 2;
    struct pattern_cost ***known = &a->by_pattern[waiting][size];
    *known = REACH(&a->arena, struct pattern_cost *, *known, pattern->id,
                   &a->pattern_capacity[waiting][size]);
    if (!(*known)[pattern->id]) {
        struct pattern_cost *made =
            hp_make_pattern_cost(a, &a->arena, pattern, bytes, waiting, NULL, 0);
        (*known)[pattern->id] = made;
    }
    return (*known)[pattern->id];
}
