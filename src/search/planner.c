/* The table of planners, and the search with one of them. */
#include "search/planner.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/utf8.h"
#include "base/word.h"
#include "emit/target.h"
#include "plan/memory_terms.h"
#include "plan/schedules.h"
#include "program/lowering.h"
#include "search/bound.h"
#include "search/evaluate/judge.h"
#include "search/evaluate/room.h"
#include "search/fix.h"
#include "search/record.h"
#include "search/runnable.h"

static const struct planner *const built_in[] = {
    &hp_planner_auto,   &hp_planner_dp,     &hp_planner_mp,       &hp_planner_owt,
    &hp_planner_hypar,  &hp_planner_accpar, &hp_planner_optcnn,   &hp_planner_1f1b,
    &hp_planner_gpipe,  &hp_planner_zb_h1,  &hp_planner_zb_h2,    &hp_planner_pipedream,
    &hp_planner_hybrid, &hp_planner_3d,     &hp_planner_flexflow, &hp_planner_exhaustive,
};

enum { BUILT_IN = sizeof built_in / sizeof *built_in };

const struct planner *hp_planner_at(int i)
{
    return i < BUILT_IN ? built_in[i] : hp_own_planner(i - BUILT_IN);
}

const struct hypar_planner_info *hypar_planner(int i)
{
    const struct planner *planner = i >= 0 ? hp_planner_at(i) : NULL;
    return planner ? &planner->info : NULL;
}

void hypar_found_free(struct hypar_found *found)
{
    if (!found)
        return;
    hypar_plan_free(found->plan);
    hp_arena_free(&found->arena);
}

void hp_divide_batch(const struct problem *problem, struct hypar_plan *plan)
{
    int64_t n = problem->options->micro_batches;
    if (n <= 1 || plan->n_stages > 0)
        return;
    struct hypar_schedule schedule = plan->schedule;
    schedule.micro_batches = n;
    hp_plan_set_schedule(plan, &schedule);
}

/* Check that the target has the schedule of a planner of pipelines. */
static enum hypar_status check_schedule(const struct planner *planner,
                                        const struct problem *problem, struct hypar_error *err)
{
    if (hp_has_schedule(problem, planner->schedule))
        return HYPAR_OK;
    return hp_about(err, HYPAR_CAUSE_TARGET,
                    hp_check_target_schedule(problem->target, planner->schedule, true, err));
}

/* Check that the target runs the plan, or change the plan until it does. */
static enum hypar_status keep_to_target(const struct planner *planner,
                                        const struct problem *problem,
                                        struct hypar_found *found, struct hypar_error *err)
{
    struct hypar_memory fullest;
    enum hypar_status status = hp_check_runs(problem, found->plan, err);
    if (status == HYPAR_OK || !hp_change_for_target(problem, found))
        return hp_in(err, status, "%s", planner->info.name);
    if (!planner->checks_memory || problem->options->unlimited)
        return HYPAR_OK;
    return hp_in(err, hp_found_fits(found, problem->options->memory_bytes, &fullest, err), "%s",
                 planner->info.name);
}

enum hypar_status hp_try_planner(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct hypar_found *found = NEW(&arena, struct hypar_found, 1);
    found->arena = arena;
    found->info.planner = planner->info.name;
    double start = hp_now_s(), start_process = hp_process_s();
    enum hypar_status status = check_schedule(planner, problem, err);
    if (status == HYPAR_OK)
        status = planner->plan(planner, problem, found, err);
    found->info.seconds = hp_now_s() - start;
    found->info.processor_s = hp_process_s() - start_process;
    if (status == HYPAR_OK) {
        hp_predict_part(found);
        hp_divide_batch(problem, found->plan);
    }
    if (status == HYPAR_OK)
        status = hypar_plan_check(found->plan, err);
    if (status == HYPAR_OK)
        status = keep_to_target(planner, problem, found, err);
    if (status != HYPAR_OK) {
        hypar_found_free(found);
        found = NULL;
    }
    *out = found;
    return status;
}

enum hypar_status hp_try_divided(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err)
{
    struct hypar_search_options with = *problem->options;
    struct problem mine = *problem;
    bool later = hp_divided_later(planner, &with);
    enum hypar_status status = HYPAR_OK;
    mine.options = &with;
    if (later) /* the plan has to fit after sharding, not before */
        with.memory_bytes = INFINITY;
    TRY(hp_try_planner(planner, &mine, out, err));
    if (later)
        status = hypar_plan_shard_all((*out)->plan, with.shard, with.shard_over, err);
    if (later && status == HYPAR_OK)
        status =
            hp_in(err, hp_check_runs(problem, (*out)->plan, err), "%s", planner->info.name);
    if (status != HYPAR_OK) {
        hypar_found_free(*out);
        *out = NULL;
    }
    return status;
}

enum hypar_status hp_check_state(const struct planner *planner, const struct problem *problem,
                                 const struct hypar_found *found, struct hypar_error *err)
{
    if (planner->checks_memory)
        return HYPAR_OK;
    return hypar_plan_check_memory(found->plan, problem->options->memory_bytes, err);
}

enum hypar_status hp_run_planner(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err)
{
    TRY(hp_try_planner(planner, problem, out, err));
    enum hypar_status status = hp_check_state(planner, problem, *out, err);
    if (status != HYPAR_OK) {
        hypar_found_free(*out);
        *out = NULL;
    }
    return hp_in(err, status, "%s", planner->info.name);
}

const struct planner *hp_find_planner(const char *name)
{
    for (int i = 0; hp_planner_at(i); i++)
        if (strcmp(hp_planner_at(i)->info.name, name) == 0)
            return hp_planner_at(i);
    return NULL;
}

const struct hypar_planner_info *hypar_planner_find(const char *name)
{
    const struct planner *planner = hp_find_planner(name);
    return planner ? &planner->info : NULL;
}

static enum hypar_status find_planner(const char *name, const struct planner **out,
                                      struct hypar_error *err)
{
    const char *names[BUILT_IN + HYPAR_MAX_OWN_PLANNERS];
    char known[256];
    int n = 0;
    *out = hp_find_planner(name);
    if (*out)
        return HYPAR_OK;
    for (; hp_planner_at(n); n++)
        names[n] = hp_planner_at(n)->info.name;
    return hp_fail(err, HYPAR_USAGE, "unknown planner '%s', %s", name,
                   hp_expected(known, sizeof known, name, names, n, "hypar planners"));
}

/* Clip gradients. Clipping does not depend on the plan, so planners ignore it. */
static enum hypar_status clip_gradients(const struct problem *problem,
                                        struct hypar_found *found, struct hypar_error *err)
{
    const struct hypar_search_options *options = problem->options;
    if (options->clip <= 0)
        return HYPAR_OK;
    found->plan->clip = options->clip;
    return hp_check_clip(found->plan, err);
}

/* auto shards the plans that it tries before it evaluates them. */
bool hp_divided_later(const struct planner *planner, const struct hypar_search_options *options)
{
    return options->shard && !planner->random_search &&
           (!planner->shards || options->shard_over);
}

/* Run one planner. Its plan has to fit after its parameters are sharded. */
static enum hypar_status run_divided(const struct planner *planner,
                                     const struct problem *problem, struct hypar_found **out,
                                     struct hypar_error *err)
{
    const struct hypar_search_options *options = problem->options;
    TRY(hp_try_divided(planner, problem, out, err));
    enum hypar_status status = HYPAR_OK;
    if (!hp_divided_later(planner, options))
        status =
            hp_in(err, hp_check_state(planner, problem, *out, err), "%s", planner->info.name);
    else if (!options->unlimited)
        status = hypar_plan_fits((*out)->plan, options->memory_bytes, NULL, err);
    if (status != HYPAR_OK) {
        hypar_found_free(*out);
        *out = NULL;
    }
    return status;
}

/* Simulate the plan found, if the options ask for it and it was not simulated yet, or was
 * `changed` since. */
static void simulate_found(const struct planner *planner, const struct problem *problem,
                           struct hypar_found *found, bool changed)
{
    const struct hypar_sim_options *how = problem->options->simulation;
    if (hp_is_judged(found) && !changed)
        return;
    if (hp_in_part(found)) /* the plan was simulated in part before: repeat it, whatever the
                            * time */
        hp_simulate_part(problem, found);
    else if (found->has_simulated || (how && !planner->random_search))
        hp_simulate_found(problem, how, found);
}

/* A fixed operator may not have more parts of its layer than --max-tensor allows. */
static enum hypar_status check_most(const struct hypar_graph *graph, const struct fix *fix,
                                    int max_tensor, struct hypar_error *err)
{
    int sample = hp_sample_axis(graph->ops[fix->op].nest);
    int parts = fix->n_parts / (sample < 0 ? 1 : hp_degree(&fix->split, sample));
    if (!max_tensor || parts <= max_tensor)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_USAGE,
                   "fix '%.80s' has %d parts beside the samples', but "
                   "--max-tensor is %d",
                   fix->word, parts, max_tensor);
}

/* Check the fixes once, before any planner runs, so that a bad word is reported once. */
static enum hypar_status check_fixes(const struct hypar_graph *graph,
                                     const struct hypar_machine *machine,
                                     const struct hypar_search_options *options,
                                     struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct fixes fixes;
    enum hypar_status status = hp_read_fixes(&fixes, graph, hypar_machine_device_count(machine),
                                             options->fix, options->n_fix, &scratch, err);
    for (int i = 0; i < fixes.n && status == HYPAR_OK; i++)
        status = check_most(graph, &fixes.fix[i], options->max_tensor, err);
    hp_arena_free(&scratch);
    return status;
}

struct hypar_plan_settings hp_settings(const struct hypar_search_options *options)
{
    return (struct hypar_plan_settings){
        .model = options->model,
        .machine_word = options->machine,
        .precision = options->precision,
        .optimizer = options->optimizer,
        .fp32_gradients = options->fp32_gradients,
        .masks = options->masks,
        .framework_bytes = options->framework_bytes,
        .memory_certainty =
            options->memory_certainty > 0 ? options->memory_certainty : HP_USUAL_CERTAINTY,
        .memory_limit_bytes = options->memory_bytes,
        .seed = options->seed,
        .simulation = hp_simulation_of(options->simulation),
        .recompute = options->recompute,
    };
}

struct problem hp_problem(struct arena *arena, const struct hypar_graph *graph,
                          const struct hypar_machine *machine,
                          const struct hypar_search_options *options)
{
    struct problem problem = {
        .graph = graph,
        .machine = machine,
        .options = options,
        .layered = hp_layered(arena, graph),
    };
    problem.settings = hp_settings(options);
    problem.n_levels = hypar_machine_levels(machine, problem.level);
    return problem;
}

/* Add a hint if the target refused the plan. Other refusals are the same without a target. */
static void point_at_nearest(const struct target *target, struct hypar_error *err)
{
    size_t n = strlen(err->text);
    if (err->cause != HYPAR_CAUSE_TARGET)
        return;
    snprintf(err->text + n, sizeof err->text - n,
             " (or plan without --for, then 'hypar export --to %s --nearest FILE')",
             target->name);
}

/* Simulate steps as the target runs them, unless the caller sets the framework. */
static struct hypar_sim_options simulation_for(const struct target *target,
                                               const struct hypar_sim_options *given)
{
    struct hypar_sim_options out = { 0 };
    if (given)
        out = *given;
    if (target && !out.framework_given) {
        out.framework = *hp_framework_row(target->framework);
        out.framework_given = true;
    }
    return hp_settled(&out);
}

/* A report compares a plan with all memory of its devices: only planners keep a margin. */
static void tell_all_memory(struct hypar_found *found, const struct hypar_search_options *asked)
{
    struct hypar_plan *plan = found->plan;
    double limit_bytes = asked->unlimited ? 0 : asked->memory_bytes;
    plan->memory_certainty = 0;
    if (found->has_simulated) {
        struct hypar_simulated *s = &found->simulated;
        s->fullest.limit = hp_plan_device_memory(plan, s->step.fullest_device, limit_bytes);
        s->step.fits = s->fullest.peak <= s->fullest.limit;
    }
    if (hp_in_part(found)) {
        struct hypar_partial_step *part = &found->info.part;
        part->fullest.limit = hp_plan_device_memory(plan, part->fullest_device, limit_bytes);
    }
}

enum hypar_status hypar_search(struct hypar_found **out, const struct hypar_graph *graph,
                               const struct hypar_machine *machine,
                               const struct hypar_search_options *options,
                               struct hypar_error *err)
{
    static const struct hypar_search_options defaults;
    const struct planner *planner = NULL;
    *out = NULL;
    if (!options)
        options = &defaults;
    TRY(hp_check_option_values(options, err));
    TRY(hp_check_sim_options(options->simulation, err));
    const struct target *target = NULL;
    if (options->target)
        TRY(hp_find_target(&target, options->target, err));
    if (target)
        TRY(hp_target_takes(target, graph, err));
    TRY(find_planner(options->planner ? options->planner : "auto", &planner, err));
    TRY(hp_check_options(options, &planner, err));
    TRY(check_fixes(graph, machine, options, err));
    if (options->model && !hp_is_utf8(options->model))
        return hp_fail(err, HYPAR_USAGE,
                       "'%.80s': the path is not UTF-8, which a plan cannot name",
                       options->model);

    double placements = (double)graph->n_ops * hypar_machine_device_count(machine);
    if (placements > HP_MAX_PLACEMENTS)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "%d operators on %d devices are %.3g parts, expected at most %d",
                       graph->n_ops, hypar_machine_device_count(machine), placements,
                       HP_MAX_PLACEMENTS);

    struct arena arena = { 0 };
    struct hypar_search_options with = *options;
    struct hypar_sim_options simulation = simulation_for(target, options->simulation);
    with.simulation = options->simulation || target ? &simulation : NULL;
    if (options->unlimited)
        with.memory_bytes = INFINITY;
    struct problem problem = hp_problem(&arena, graph, machine, &with);
    problem.settings.memory_limit_bytes = options->memory_bytes; /* as given */
    if (target)
        hp_keep_to_target(&problem, target, &arena);
    struct hypar_plan *start =
        options->start ? hp_plan_copy_with(options->start, &problem.settings) : NULL;
    with.start = start; /* the start plan with the settings of the search */
    enum hypar_status status = hp_check_room(&problem, err);
    if (status == HYPAR_OK)
        status = planner->random_search ? hp_run_auto(planner, &problem, out, err)
                                        : run_divided(planner, &problem, out, err);
    if (status == HYPAR_OK && !hp_is_delayed((*out)->plan))
        (*out)->info.bound = hp_step_bound(&problem);
    if (status == HYPAR_OK) {
        (*out)->info.interrupted = hp_stopped(options->stop);
        (*out)->info.target = target ? target->name : NULL;
    }
    if (status == HYPAR_OK)
        status = clip_gradients(&problem, *out, err);
    if (status == HYPAR_OK) {
        bool changed = options->clip > 0 || hp_divided_later(planner, options);
        with.memory_bytes = options->memory_bytes;
        simulate_found(planner, &problem, *out, changed);
        tell_all_memory(*out, options);
        hp_record_search(*out, options);
    }
    if (status != HYPAR_OK) {
        hypar_found_free(*out);
        *out = NULL;
    }
    if (status == HYPAR_INFEASIBLE && target && err)
        point_at_nearest(target, err);
    hypar_plan_free(start);
    hp_arena_free(&arena);
    return status;
}

const struct hypar_plan *hypar_found_plan(const struct hypar_found *found)
{
    return found->plan;
}

struct hypar_prediction hypar_found_prediction(const struct hypar_found *found)
{
    return found->prediction;
}

const struct hypar_simulated *hypar_found_simulated(const struct hypar_found *found)
{
    return found->has_simulated ? &found->simulated : NULL;
}

struct hypar_search_info hypar_found_info(const struct hypar_found *found)
{
    return found->info;
}

const struct hypar_layerwise_view *hypar_found_layerwise(const struct hypar_found *found)
{
    return found->layerwise;
}

const struct hypar_partition_view *hypar_found_partition(const struct hypar_found *found)
{
    return found->has_view ? &found->view : NULL;
}

const struct hypar_pipeline_view *hypar_found_pipeline(const struct hypar_found *found)
{
    return found->has_pipeline ? &found->pipeline : NULL;
}
