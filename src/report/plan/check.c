/* Reports whether a plan fits in memory. */
#include "plan/plan.h"
#include "report/put.h"

#include <hypar/report.h>

static void check_json(FILE *to, const struct hypar_plan *plan,
                       const struct hypar_memory *fullest, const char *warning,
                       const struct hypar_error *why)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, true);
    hp_json_put_bool(&w, "ok", plan);
    if (plan) {
        const struct hypar_graph *graph = hypar_plan_graph(plan);
        struct hypar_schedule schedule = hypar_plan_schedule(plan);
        PUT(&w, INT("batch", graph->batch), INT("ops", graph->n_ops),
            INT("parts", hp_plan_parts(plan)),
            INT("devices", hypar_machine_device_count(hypar_plan_machine(plan))),
            INT("stages", hypar_plan_stage_count(plan)),
            TEXT("schedule", hypar_schedule_text(schedule.kind)),
            INT("micro_batches", schedule.micro_batches));
        if (fullest) {
            PUT(&w, NUMBER("peak_memory_bytes", fullest->peak),
                ONLY_IF(fullest->error_spread > 0,
                        NUMBER("fits_probability", hypar_memory_probability(fullest))),
                RECORD("memory", hp_memory_columns, fullest));
        } else {
            hp_json_put_null(&w, "peak_memory_bytes");
        }
        if (warning)
            hp_json_put_string(&w, "warning", warning);
    } else {
        hp_json_put_string(&w, "error", why->text);
    }
    hp_json_end_object(&w);
}

static void check_text(FILE *to, const struct hypar_plan *plan,
                       const struct hypar_memory *fullest, const char *warning,
                       const struct hypar_error *why)
{
    struct arena arena = { 0 };
    if (!plan) {
        hp_put_line(to, "no: %s", why->text);
        hp_arena_free(&arena);
        return;
    }
    const struct hypar_graph *graph = hypar_plan_graph(plan);
    struct hypar_schedule schedule = hypar_plan_schedule(plan);
    int stages = hypar_plan_stage_count(plan);
    const char *pipeline = "";
    if (stages > 0)
        pipeline = hp_arena_printf(
            &arena, "; %s, schedule %s, micro-batches %lld", hp_count(&arena, stages, "stage"),
            hypar_schedule_text(schedule.kind), (long long)schedule.micro_batches);
    hp_put_line(
        to, "ok: %s, batch %lld: %s in %s on a machine of %s%s", graph->name,
        (long long)graph->batch, hp_count(&arena, graph->n_ops, "operator"),
        hp_count(&arena, hp_plan_parts(plan), "part"),
        hp_count(&arena, hypar_machine_device_count(hypar_plan_machine(plan)), "device"),
        pipeline);
    if (fullest)
        hp_put_line(to, "%s",
                    hp_run_as_text(&arena, plan->machine, &plan->simulation.framework));
    if (fullest)
        hp_put_line(to, "memory: %s of %s%s on the fullest device%s",
                    hp_bytes_text(&arena, fullest->peak), hp_bytes_text(&arena, fullest->limit),
                    hp_limit_words(plan, fullest->limit), hp_fits_text(&arena, fullest));
    if (fullest && fullest->error_spread > 0)
        hp_put_line(to, "  %s", hp_memory_items(&arena, fullest));
    if (warning)
        hp_put_line(to, "warning: %s", warning);
    hp_arena_free(&arena);
}

void hypar_report_check(FILE *to, const struct hypar_plan *plan,
                        const struct hypar_memory *fullest, const char *warning,
                        const struct hypar_error *why, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        check_json(to, plan, fullest, warning, why);
    else
        check_text(to, plan, fullest, warning, why);
}
