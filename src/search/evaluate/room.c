/* Does it fit: room, bounds of the need, and the exact need. */
#include "search/evaluate/room.h"

#include <math.h>

#include "plan/memory_terms.h"
#include "program/memory/memory.h"
#include "search/estimate/needs.h"
#include "search/evaluate/size.h"

/* Room --------------------------------------------------------------------------------- */

static struct memory_how memory_how(const struct problem *problem)
{
    return (struct memory_how){ .framework = hp_framework_memory(&problem->settings.simulation),
                                .framework_bytes = problem->options->framework_bytes,
                                .certainty = problem->settings.memory_certainty };
}

double hp_room(const struct problem *problem, int device)
{
    struct memory_how how = memory_how(problem);
    return hp_device_room(hypar_machine_device(problem->machine, device),
                          problem->options->memory_bytes, &how);
}

enum hypar_status hp_check_room(const struct problem *problem, struct hypar_error *err)
{
    struct memory_how how = memory_how(problem);
    double has = 0, taken = 0;
    for (int d = 0; d < hypar_machine_device_count(problem->machine); d++) {
        const struct hypar_device *device = hypar_machine_device(problem->machine, d);
        struct hypar_memory memory = { 0 };
        double limit_bytes = problem->options->memory_bytes;
        hp_add_framework_terms(&memory, device, &how);
        has = limit_bytes > 0 ? limit_bytes : hp_usable_bytes(device, &how);
        taken = memory.peak;
        if (taken < has)
            return HYPAR_OK;
    }
    char takes[32], room[32];
    return hp_fail(
        err, HYPAR_INFEASIBLE,
        "the framework alone takes %s of a device's memory, which is %s%s: expected "
        "more (--framework-memory and --as say what the framework takes)",
        hypar_format_quantity(takes, taken, HYPAR_UNIT_BYTES),
        hypar_format_quantity(room, has, HYPAR_UNIT_BYTES),
        hp_room_words(problem->machine, problem->options->memory_bytes, &how, false));
}

double hp_group_bytes(const struct problem *problem)
{
    struct memory_how none = memory_how(problem), one = none;
    double least = INFINITY;
    one.groups = 1;
    for (int d = 0; d < hypar_machine_device_count(problem->machine); d++) {
        const struct hypar_device *device = hypar_machine_device(problem->machine, d);
        struct hypar_memory memory = { 0 };
        if (d > 0 && device == hypar_machine_device(problem->machine, d - 1))
            continue;
        hp_add_framework_terms(&memory, device, &one);
        least = fmin(least, hp_memory_need(&memory, device, &none));
    }
    return least;
}

void hp_note_device(struct fullest *f, const struct problem *problem, int device,
                    const struct hypar_memory *memory)
{
    struct memory_how how = memory_how(problem);
    hp_note_memory(f, device,
                   hp_memory_need(memory, hypar_machine_device(problem->machine, device), &how),
                   hp_room(problem, device));
}

double hp_least_room(const struct problem *problem)
{
    double least = INFINITY;
    for (int d = 0; d < hypar_machine_device_count(problem->machine); d++)
        least = fmin(least, hp_room(problem, d));
    return least;
}

double hp_room_for_params(const struct problem *problem)
{
    return hp_least_room(problem) / hp_param_state_bytes(problem, false);
}

struct prices hp_prices(int lowest, int highest)
{
    return (struct prices){ lowest - 1, highest + 1, highest, highest };
}

bool hp_price(const struct prices *p, double *price)
{
    if (p->enough - p->too_low <= 1)
        return false;
    *price = ldexp(1, p->at);
    return true;
}

bool hp_price_tried(struct prices *p, bool fits)
{
    bool keep = fits || p->at == p->highest;
    *(fits ? &p->enough : &p->too_low) = p->at;
    p->at = (p->too_low + p->enough) / 2;
    return keep;
}

void hp_room_together(const struct problem *problem, double *need, double *has)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(problem->machine);
    double *bytes = NEW(&scratch, double, n);
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    hypar_plan_state_bytes(plan, bytes); /* all of it is on the first device */
    *need = bytes[0];
    hypar_plan_free(plan);
    hp_arena_free(&scratch);
    *has = 0;
    for (int d = 0; d < n; d++)
        *has += hp_room(problem, d);
}

/* Exact -------------------------------------------------------------------------------- */

struct fullest hp_program_need(const struct problem *problem,
                               const struct hypar_program *program)
{
    struct fullest f = { .device = -1 };
    struct memory_model *model = hp_memory(program, NULL);
    for (int d = 0; d < model->n_devices; d++)
        hp_note_device(&f, problem, d, &model->device[d]);
    hp_memory_free(model);
    return f;
}

enum hypar_status hp_exact_need(const struct problem *problem, const struct hypar_plan *plan,
                                struct lowering_cache *cache, struct fullest *out,
                                struct hypar_error *err)
{
    struct hypar_program *program;
    TRY(hp_lower(&program, plan, NULL, cache, err));
    *out = hp_program_need(problem, program);
    hypar_program_free(program);
    return HYPAR_OK;
}

int hp_find_measured(const struct hypar_graph *graph)
{
    struct op_measure measure;
    for (int op = 0; op < graph->n_ops; op++)
        if (hp_op_measured(graph, op, &measure))
            return op;
    return -1;
}

/* The need of a plan that would take long to lower, as if devices kept everything. */
static enum hypar_status large_fits(const struct hypar_plan *plan, double limit_bytes,
                                    struct hypar_memory *fullest, struct hypar_error *err)
{
    struct hypar_search_options options = { .memory_bytes = limit_bytes,
                                            .framework_bytes = plan->framework_bytes };
    struct problem problem = { .graph = plan->graph,
                               .machine = plan->machine,
                               .options = &options,
                               .settings = hypar_plan_settings(plan) };
    struct fullest f = hp_plan_need(NEED_WRITTEN, &problem, NULL, plan);
    struct memory_how how = hp_memory_how(plan);
    *fullest = hp_memory_of_need(f.need, hypar_machine_device(plan->machine, f.device), &how);
    fullest->limit = hp_plan_device_memory(plan, f.device, limit_bytes);
    return hp_fits(&f) ? HYPAR_OK : hp_fail_memory(&f, &problem, NULL, err);
}

enum hypar_status hp_found_fits(const struct hypar_found *found, double limit_bytes,
                                struct hypar_memory *fullest, struct hypar_error *err)
{
    if (hp_in_part(found)) {
        *fullest = found->info.part.fullest;
        return hypar_check_fullest(found->plan, fullest, found->info.part.fullest_device, err);
    }
    if (!found->has_simulated && hp_is_large(found->plan))
        return large_fits(found->plan, limit_bytes, fullest, err);
    if (found->has_simulated) {
        *fullest = found->simulated.fullest;
        return hypar_check_fullest(found->plan, fullest, found->simulated.step.fullest_device,
                                   err);
    }
    *fullest = (struct hypar_memory){ 0 };
    enum hypar_status status = hypar_plan_fits(found->plan, limit_bytes, fullest, err);
    bool known = status == HYPAR_OK || status == HYPAR_INFEASIBLE;
    const struct planner *planner = hp_find_planner(found->info.planner);
    bool taken =
        (planner && planner->checks_memory) || hp_find_measured(found->plan->graph) >= 0;
    return !known && taken ? HYPAR_OK : status;
}

const char *hp_problem_room_words(const struct problem *problem)
{
    struct memory_how how = memory_how(problem);
    return hp_room_words(problem->machine, problem->options->memory_bytes, &how, true);
}

enum hypar_status hp_fail_memory(const struct fullest *f, const struct problem *problem,
                                 const char *planner, struct hypar_error *err)
{
    struct memory_text text = hp_memory_text(f->need, f->has);
    hp_fail(err, HYPAR_INFEASIBLE,
            "no plan found that fits; the nearest%s%s%s needs %s on device %d, which has "
            "%s%s",
            planner ? " (" : "", planner ? planner : "", planner ? ")" : "", text.need,
            f->device, text.has, hp_problem_room_words(problem));
    return hp_about(err, HYPAR_CAUSE_MEMORY, HYPAR_INFEASIBLE);
}
