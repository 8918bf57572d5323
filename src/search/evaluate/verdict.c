/* What plans are compared by: a simulated step, and memory. */
#include "search/evaluate/verdict.h"

#include <math.h>

#include "plan/schedules.h"
#include "program/lowering.h"
#include "search/evaluate/judge.h"
#include "search/evaluate/reduced.h"

/* Bytes that part `i` of an operator writes in one micro-batch. */
static double written_bytes(const struct hypar_plan *plan, int op, int i)
{
    const struct op *at = &plan->graph->ops[op];
    struct range range[MAX_AXES];
    double bytes = 0;
    if (!hp_part_ranges(at->nest, &plan->ops[op].split, i, range))
        return 0;
    for (int o = 0; o < at->nest->n_operands; o++) {
        if (at->tensor[o] < 0 || plan->graph->tensors[at->tensor[o]].producer != op)
            continue;
        struct box box = hp_region(at->nest, o, range);
        bytes += hp_held_bytes(plan, (struct place){ .tensor = at->tensor[o] }) *
                 (double)hp_box_elements(&box);
    }
    return bytes / (double)plan->schedule.micro_batches;
}

/* Micro-batches of a stage that are begun and not ended, at most; without stages one is. */
static double in_flight(const struct hypar_plan *plan, int op)
{
    struct pipeline_size size = hp_pipeline_size(plan);
    return plan->n_stages ? hp_in_flight(plan->schedule.kind, &size, plan->ops[op].stage) : 1;
}

struct fullest hp_closed_need(const struct problem *problem, const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    struct fullest f = { .device = -1 };
    int n = hypar_machine_device_count(plan->machine);
    double *bytes = NEW(&scratch, double, n);
    hypar_plan_state_bytes(plan, bytes);
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct op_plan *placed = &plan->ops[op];
        double flying = in_flight(plan, op);
        for (int i = 0; i < placed->n_devices; i++)
            bytes[placed->device[i]] += flying * written_bytes(plan, op, i % placed->n_parts);
    }
    for (int d = 0; d < n; d++)
        hp_look_at_memory(&f, d, bytes[d], hp_room(problem, d));
    hp_arena_free(&scratch);
    return f;
}

/* Each part keeps an equal share, or more where it copies; the fullest device has no less than
 * the mean of the parts. */
struct fullest hp_bounded_need(const struct problem *problem, const struct op_needs *needs,
                               const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    struct fullest f = { .device = -1 };
    int n = hypar_machine_device_count(plan->machine);
    double *bytes = NEW(&scratch, double, n);
    hypar_plan_state_bytes(plan, bytes);
    for (int op = 0; op < plan->graph->n_ops && needs; op++) {
        const struct op_plan *placed = &plan->ops[op];
        double kept =
            needs[op].kept / (double)placed->n_parts / (double)plan->schedule.micro_batches;
        for (int i = 0; i < placed->n_devices; i++)
            bytes[placed->device[i]] += kept;
    }
    for (int d = 0; d < n; d++)
        hp_look_at_memory(&f, d, bytes[d], hp_room(problem, d));
    hp_arena_free(&scratch);
    return f;
}

/* A large plan, from a part of it. */
static bool judge_part(const struct problem *problem, struct hypar_found *found,
                       struct verdict *v)
{
    const struct hypar_part *part = &found->info.part;
    if (!hp_in_part(found) && !hp_simulate_part(problem, found))
        return false;
    *v = (struct verdict){ BY_PART, part->step_s, { .device = -1 } };
    hp_look_at_memory(&v->memory, part->fullest_device, part->need_bytes, part->has_bytes);
    return true;
}

/* Needs and rooms of planners are without framework_bytes (fit.h); the memory that was
 * simulated includes them. */
struct verdict hp_simulated_verdict(const struct hypar_found *found)
{
    const struct hypar_simulated *s = &found->simulated;
    double framework = s->fullest.framework;
    struct verdict v = { .by = BY_SIMULATION, .step_s = s->step.step_s };
    hp_look_at_memory(&v.memory, s->step.fullest_device, s->fullest.peak - framework,
                      s->fullest.limit - framework);
    return v;
}

struct verdict hp_verdict(const struct problem *problem, struct hypar_found *found)
{
    struct verdict v = { BY_CLOSED_FORM, found->prediction.step_s, { .device = -1 } };
    if (hp_is_large(found->plan)) {
        if (judge_part(problem, found, &v))
            return v;
    } else {
        hp_simulate_found(problem, problem->options->simulation, found);
    }
    if (found->has_simulated)
        return hp_simulated_verdict(found);
    v.memory = hp_closed_need(problem, found->plan);
    return v;
}
