/* Writes a report as one HTML page that loads nothing else. */
#include "report/html/page.h"

#include <string.h>

#include "measured/torch_trace.h"
#include "plan/plan.h"
#include "report/explain/explain.h"
#include "report/put.h"
#include "report/train/truth.h"

/* The planner that found the plan: "hypar", "auto: hybrid", "hypar, changed since"; "": not
 * recorded. */
static const char *planner_words(struct arena *arena, const struct hypar_plan *plan)
{
    const struct hypar_plan_search *search = hypar_plan_search(plan);
    if (!search || !search->self.planner)
        return "";
    bool other = search->asked && strcmp(search->asked, search->self.planner) != 0;
    return hp_arena_printf(arena, "%s%s%s%s", other ? search->asked : "", other ? ": " : "",
                           search->self.planner,
                           hp_plan_is_as_found(plan) ? "" : ", changed since");
}

/* The figures at the top of the page. */
static void put_headline(struct json_writer *w, struct arena *arena,
                         const struct hypar_explanation *e)
{
    const struct hypar_sim *sim = hypar_explanation_info(e).sim;
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    struct hypar_bound bound = hypar_explanation_info(e).bound;
    struct hypar_schedule schedule = hypar_plan_schedule(plan);
    const char *machine = hypar_machine_word(plan->machine);
    PUT_OBJECT(
        w, "headline", false, TEXT("model", hypar_plan_model(plan)),
        TEXT("planner", planner_words(arena, plan)),
        TEXT("figures", hp_graph_figures(arena, plan->graph)), INT("batch", plan->graph->batch),
        TEXT("precision",
             hp_precision_words(arena, plan->precision, hypar_plan_gradient_precision(plan))),
        TEXT("optimizer", hypar_optimizer_text(plan->optimizer)),
        TEXT("machine", machine ? machine : hypar_machine_topology(plan->machine)),
        TEXT("device", hypar_machine_device(plan->machine, 0)->name),
        TEXT("run_as", hp_run_as_text(arena, plan->machine, &s.how.framework)),
        INT("devices", s.n_devices), INT("stages", hypar_plan_stage_count(plan)),
        TEXT("schedule", hypar_schedule_text(schedule.kind)),
        INT("micro_batches", schedule.micro_batches), FLAG("forward", s.forward),
        NUMBER("step_s", s.step_s), FIELDS(hp_interval_columns, &s.interval),
        NUMBER("samples_per_s", s.samples_per_s),
        NUMBER("tokens_per_s", s.tokens_per_s > 0 ? s.tokens_per_s : NAN), NUMBER("mfu", s.mfu),
        NUMBER("peak_memory_bytes", s.peak_memory_bytes),
        NUMBER("memory_limit_bytes", hypar_sim_device(sim, s.fullest_device).memory.limit),
        INT("fullest_device", s.fullest_device), FLAG("fits", s.fits),
        NUMBER("energy_j", hypar_energy_total_j(&s.energy)), NUMBER("comm_bytes", s.comm_bytes),
        INT("tasks", s.tasks), NUMBER("bound_s", bound.step_s > 0 ? bound.step_s : NAN),
        TEXT("bound_by", bound.by ? bound.by : ""));
}

/* The measured and the simulated step, of a run of hypar or of PyTorch. */
static void put_measured(struct json_writer *w, const struct hypar_measured_step *step,
                         const struct hypar_sim *sim, struct truth *truth)
{
    if (step->torch) {
        hp_put_torch(w, "measured", step, sim);
        return;
    }
    hp_json_begin_object(w, "measured", false);
    hp_put_measured(w, truth);
    hp_json_end_object(w);
}

static void put_data(struct json_writer *w, const struct hypar_page *page, struct truth *truth)
{
    struct arena arena = { 0 };
    const struct hypar_explanation *e = page->explanation;
    const struct hypar_sim *sim = hypar_explanation_info(e).sim;
    hp_json_begin_object(w, NULL, false);
    put_headline(w, &arena, e);
    hp_put_explanation(w, &arena, e);
    hp_put_what_if_columns(w, "what_if_columns");
    hp_put_page_plan(w, hypar_sim_plan(sim));
    hp_put_page_timeline(w, sim, page->measured);
    hp_put_page_memory(w, sim);
    hp_put_page_traffic(w, sim);
    if (page->comparison) {
        hp_put_comparison_columns(w, "comparison_columns");
        hp_put_comparison(w, "comparison", page->comparison);
    }
    if (page->measured)
        put_measured(w, page->measured, sim, truth);
    hp_json_end_object(w);
    hp_arena_free(&arena);
}

enum hypar_status hypar_report_page(FILE *to, const struct hypar_page *page,
                                    enum hypar_format format, struct hypar_error *err)
{
    const struct hypar_sim *sim = hypar_explanation_info(page->explanation).sim;
    const struct hypar_measured_step *step = page->measured;
    struct truth truth = { .n_ranks = 0 };
    struct json_writer w = { .file = to };
    enum hypar_status status = HYPAR_OK;
    if (step)
        status = step->torch ? hp_check_torch_rank(step->torch, sim, err)
                             : hp_truth_make(&truth, step, sim, err);
    w.in_page = format != HYPAR_JSON;
    if (status == HYPAR_OK && w.in_page)
        fwrite(hp_page_head, 1, hp_page_head_bytes, to);
    if (status == HYPAR_OK)
        put_data(&w, page, &truth);
    if (status == HYPAR_OK && w.in_page)
        fwrite(hp_page_tail, 1, hp_page_tail_bytes, to);
    hp_truth_free(&truth);
    return status;
}
