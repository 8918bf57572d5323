#include "search/planner.h"

#include <string.h>
#include <time.h>

const struct planner *const hp_planners[] = {
    &hp_planner_auto,      &hp_planner_dp,
    &hp_planner_mp,        &hp_planner_owt,
    &hp_planner_hypar,     &hp_planner_accpar,
    &hp_planner_1f1b,      &hp_planner_gpipe,
    &hp_planner_pipedream, NULL,
};

const struct hypar_planner_info *hypar_planner(int i)
{
    int n = 0;
    while (hp_planners[n])
        n++;
    return i >= 0 && i < n ? &hp_planners[i]->info : NULL;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void hypar_found_free(struct hypar_found *found)
{
    if (!found)
        return;
    hypar_plan_free(found->plan);
    struct arena arena = found->arena; /* it lives in it */
    hp_arena_free(&arena);
}

enum hypar_status hp_run_planner(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct hypar_found *found = NEW(&arena, struct hypar_found, 1);
    found->arena = arena;
    found->info.planner = planner->info.name;
    double start = seconds_now();
    enum hypar_status status = planner->plan(planner, problem, found, err);
    found->info.seconds = seconds_now() - start;
    if (status == HYPAR_OK)
        status = hp_in(
            err, hypar_plan_check_memory(found->plan, problem->options->memory_bytes, err),
            "%s", planner->info.name);
    if (status == HYPAR_OK)
        status = hypar_plan_check(found->plan, err);
    if (status != HYPAR_OK) {
        hypar_found_free(found);
        found = NULL;
    }
    *out = found;
    return status;
}

static double merit(const struct problem *problem, const struct hypar_found *found)
{
    switch (problem->options->objective) {
    case HYPAR_COMM:
        return found->prediction.comm_bytes;
    case HYPAR_ENERGY:
        return found->prediction.energy_j;
    default:
        return found->prediction.step_s;
    }
}

/* What was tried and cannot be had, for the report: "dp (weights, ... need ...), owt (...)". */
static void note_refusal(char *note, size_t size, const char *planner, const char *why)
{
    size_t n = strlen(note), skip = strlen(planner);
    if (strncmp(why, planner, skip) == 0 && why[skip] == ':')
        why += skip + 2; /* the reason names the planner already */
    snprintf(note + n, size - n, "%s%s: %s", n ? "; " : "", planner, why);
}

/* The best of all planners; the first among equals. */
static enum hypar_status run_auto(const struct problem *problem, struct hypar_found **out,
                                  struct hypar_error *err)
{
    struct hypar_found *best = NULL;
    struct hypar_error why;
    char refused[1024] = "";
    double seconds = 0;
    int64_t evaluated = 0;
    for (int i = 0; hp_planners[i]; i++) {
        struct hypar_found *found;
        if (!hp_planners[i]->plan || hp_planners[i]->apart)
            continue; /* auto itself, or not to be compared */
        if (hp_run_planner(hp_planners[i], problem, &found, &why) != HYPAR_OK) {
            note_refusal(refused, sizeof refused, hp_planners[i]->info.name, why.text);
            continue;
        }
        seconds += found->info.seconds;
        evaluated += found->info.evaluated;
        bool better = !best || merit(problem, found) < merit(problem, best);
        hypar_found_free(better ? best : found);
        best = better ? found : best;
    }
    *out = best;
    if (!best)
        return hp_fail(err, HYPAR_INFEASIBLE, "no planner has a plan: %s", refused);
    best->info.seconds = seconds;
    best->info.evaluated = evaluated;
    best->info.refused = hp_arena_strdup(&best->arena, refused);
    return HYPAR_OK;
}

const struct planner hp_planner_auto = {
    { "auto", "the best of the others by predicted time, within memory", "" },
    NULL,
    NULL,
    false,
};

static enum hypar_status find_planner(const char *name, const struct planner **out,
                                      struct hypar_error *err)
{
    char known[256] = "";
    for (int i = 0; hp_planners[i]; i++) {
        if (strcmp(hp_planners[i]->info.name, name) == 0) {
            *out = hp_planners[i];
            return HYPAR_OK;
        }
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", hp_planners[i]->info.name);
    }
    return hp_fail(err, HYPAR_USAGE, "unknown planner '%s', expected one of %s", name, known);
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
    TRY(find_planner(options->planner ? options->planner : "auto", &planner, err));

    double placements = (double)graph->n_ops * hypar_machine_device_count(machine);
    if (placements > HP_MAX_PLACEMENTS)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "%d operators on %d devices are %.3g parts, expected at most %d",
                       graph->n_ops, hypar_machine_device_count(machine), placements,
                       HP_MAX_PLACEMENTS);

    struct arena arena = { 0 };
    struct problem problem = { .graph = graph, .machine = machine, .options = options };
    problem.settings =
        (struct plan_settings){ options->model, options->machine, options->precision,
                                options->optimizer, options->seed };
    problem.layered = hp_layered(&arena, graph);
    problem.n_levels = hypar_machine_levels(machine, problem.level);
    enum hypar_status status = planner == &hp_planner_auto
                                   ? run_auto(&problem, out, err)
                                   : hp_run_planner(planner, &problem, out, err);
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

struct hypar_search_info hypar_found_info(const struct hypar_found *found)
{
    return found->info;
}

const struct hypar_partition_view *hypar_found_partition(const struct hypar_found *found)
{
    return found->has_view ? &found->view : NULL;
}

const struct hypar_pipeline_view *hypar_found_pipeline(const struct hypar_found *found)
{
    return found->has_pipeline ? &found->pipeline : NULL;
}
