/* Writes a report as one HTML page that loads nothing else. */
#include "report/html/page.h"

#include <string.h>

#include "plan/plan.h"
#include "report/explain/compare.h"
#include "report/explain/explain.h"
#include "report/put.h"
#include "report/train/measured_step.h"
#include "report/train/torch_step.h"

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
                           hypar_plan_is_as_found(plan) ? "" : ", changed since");
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
    hp_json_begin_object(w, "headline", false);
    hp_json_put_string(w, "model", hypar_plan_model(plan));
    hp_json_put_string(w, "planner", planner_words(arena, plan));
    hp_json_put_string(w, "figures", hp_graph_figures(arena, plan->graph));
    hp_json_put_int(w, "batch", plan->graph->batch);
    hp_json_put_string(
        w, "precision",
        hp_precision_words(arena, plan->precision, hypar_plan_gradient_precision(plan)));
    hp_json_put_string(w, "optimizer", hypar_optimizer_text(plan->optimizer));
    hp_json_put_string(w, "machine", machine ? machine : hypar_machine_topology(plan->machine));
    hp_json_put_string(w, "device", hypar_machine_device(plan->machine, 0)->name);
    hp_json_put_int(w, "devices", s.n_devices);
    hp_json_put_int(w, "stages", hypar_plan_stage_count(plan));
    hp_json_put_string(w, "schedule", hypar_schedule_text(schedule.kind));
    hp_json_put_int(w, "micro_batches", schedule.micro_batches);
    hp_json_put_bool(w, "forward", s.forward);
    hp_json_put_number(w, "step_s", s.step_s);
    hp_json_put_number(w, "samples_per_s", s.samples_per_s);
    hp_json_put_known(w, "tokens_per_s", s.tokens_per_s > 0, s.tokens_per_s);
    hp_json_put_number(w, "mfu", s.mfu);
    hp_json_put_number(w, "peak_memory_bytes", s.peak_memory_bytes);
    hp_json_put_number(w, "memory_limit_bytes",
                       hypar_sim_device(sim, s.fullest_device).memory.limit);
    hp_json_put_int(w, "fullest_device", s.fullest_device);
    hp_json_put_bool(w, "fits", s.fits);
    hp_json_put_number(w, "energy_j", hypar_energy_total_j(&s.energy));
    hp_json_put_number(w, "comm_bytes", s.comm_bytes);
    hp_json_put_int(w, "tasks", s.tasks);
    hp_json_put_known(w, "bound_s", bound.step_s > 0, bound.step_s);
    hp_json_put_string(w, "bound_by", bound.by ? bound.by : "");
    hp_json_end_object(w);
}

/* The measured and the simulated step, of a run of hypar or of PyTorch. */
static void put_measured(struct json_writer *w, const struct hypar_measured_step *step,
                         const struct hypar_sim *sim, const struct truth *truth)
{
    if (step->torch) {
        hp_put_torch(w, "measured", step, sim);
        return;
    }
    hp_json_begin_object(w, "measured", false);
    hp_json_put_int(w, "ranks", truth->n_ranks);
    hp_json_put_int(w, "steps", truth->n_steps);
    hp_json_put_bool(w, "in_process", truth->in_turn);
    hp_json_put_number(w, "predicted_s", truth->step.predicted_s);
    hp_json_put_number(w, "measured_s", truth->step.measured_s);
    hp_put_truth(w, truth);
    hp_json_end_object(w);
}

static void put_data(struct json_writer *w, const struct hypar_page *page,
                     const struct truth *truth)
{
    struct arena arena = { 0 };
    const struct hypar_explanation *e = page->explanation;
    const struct hypar_sim *sim = hypar_explanation_info(e).sim;
    hp_json_begin_object(w, NULL, false);
    put_headline(w, &arena, e);
    hp_put_explanation(w, &arena, e);
    hp_put_page_plan(w, hypar_sim_plan(sim));
    hp_put_page_timeline(w, sim, page->measured);
    hp_put_page_memory(w, sim);
    hp_put_page_traffic(w, sim);
    if (page->comparison)
        hp_put_comparison(w, "comparison", page->comparison);
    if (page->measured)
        put_measured(w, page->measured, sim, truth);
    hp_json_end_object(w);
    hp_arena_free(&arena);
}

static void write_page(FILE *to, const struct hypar_page *page, const struct truth *truth)
{
    struct json_writer w = { .file = to, .in_page = true };
    fwrite(hp_page_head, 1, hp_page_head_bytes, to);
    put_data(&w, page, truth);
    fwrite(hp_page_tail, 1, hp_page_tail_bytes, to);
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
    if (status == HYPAR_OK && format == HYPAR_JSON)
        put_data(&w, page, &truth);
    else if (status == HYPAR_OK)
        write_page(to, page, &truth);
    hp_truth_free(&truth);
    return status;
}
