/* Plans judged by the simulator: a step and memory. */
#include "search/evaluate/judge.h"

#include "search/estimate/needs.h"
#include "search/evaluate/reduced.h"
#include "search/predict.h"

const struct hypar_sim_options *hp_simulation(const struct problem *problem)
{
    static const struct hypar_sim_options by_default;
    return problem->options->simulation ? problem->options->simulation : &by_default;
}

void hypar_sum_up(const struct hypar_sim *sim, double limit_bytes, struct hypar_simulated *out)
{
    struct arena scratch = { 0 };
    out->step = hypar_sim_summary(sim);
    out->compute_s = out->comm_s = 0;
    int n = out->step.n_devices;
    struct hypar_memory *memory = NEW(&scratch, struct hypar_memory, n);
    for (int d = 0; d < n; d++) {
        struct hypar_sim_device device = hypar_sim_device(sim, d);
        memory[d] = device.memory;
        out->compute_s = device.busy_s > out->compute_s ? device.busy_s : out->compute_s;
        out->comm_s = device.comm_s > out->comm_s ? device.comm_s : out->comm_s;
    }
    out->step.fullest_device = hypar_fullest_memory(memory, n, limit_bytes, &out->fullest);
    out->step.peak_memory_bytes = out->fullest.peak;
    out->step.fits = out->fullest.peak <= out->fullest.limit;
    out->stage = NULL;
    hp_arena_free(&scratch);
}

static void keep_stages(const struct hypar_sim *sim, struct hypar_found *found)
{
    int n = hypar_plan_stage_count(found->plan);
    struct hypar_sim_stage *stage = NEW(&found->arena, struct hypar_sim_stage, n);
    for (int s = 0; s < n; s++)
        stage[s] = hypar_sim_stage(sim, s);
    found->simulated.stage = n ? stage : NULL;
}

void hp_drop_views(struct hypar_found *found)
{
    found->has_view = found->has_pipeline = found->has_simulated = false;
    found->layerwise = NULL;
    found->info.exact = false;
    found->info.lower_bound_s = found->info.lower_bound_elements = 0;
    found->info.not_simulated = NULL;
    found->info.part = (struct hypar_partial_step){ 0 };
}

void hp_note_part(struct hypar_found *found, const struct reduced_step *r)
{
    found->info.part = (struct hypar_partial_step){
        .step_s = r->step_s,
        .error_s = r->error_s,
        .devices = r->devices,
        .all_devices = r->all_devices,
        .micro_batches = r->micro_batches,
        .fullest_device = r->memory.device,
        .fullest = r->fullest,
        .comm_bytes = r->totals.comm_bytes,
        .link_bytes = r->totals.link_bytes,
        .energy = r->totals.energy,
    };
    found->info.not_simulated = hp_arena_printf(
        &found->arena, "a step of %lld tasks takes long", (long long)r->all_instances);
}

void hp_predict_part(struct hypar_found *found)
{
    struct hypar_prediction *p = &found->prediction;
    const struct hypar_partial_step *part = &found->info.part;
    double step_s = part->step_s;
    if (!hp_in_part(found))
        return;
    p->samples_per_s *= p->step_s / step_s;
    p->mfu *= p->step_s / step_s;
    p->step_s = step_s;
    p->comm_bytes = part->comm_bytes;
    p->energy_j = hypar_energy_total_j(&part->energy);
}

bool hp_simulate_part(const struct problem *problem, struct hypar_found *found)
{
    struct reduced_step r;
    struct hypar_error why;
    if (hp_simulate_reduced(problem, found->plan, problem->options->stop, &r, &why) !=
        HYPAR_OK) {
        found->info.not_simulated = hp_arena_strdup(&found->arena, why.text);
        return false;
    }
    hp_note_part(found, &r);
    hp_predict_part(found);
    return true;
}

void hp_simulate_found(const struct problem *problem, const struct hypar_sim_options *options,
                       struct hypar_found *found)
{
    struct hypar_error why;
    struct hypar_sim *sim;
    if (hp_in_part(found))
        return;
    if (hp_takes_too_long(found->plan, options)) {
        found->info.not_simulated =
            hp_arena_printf(&found->arena, "a step of about %.2g tasks takes long",
                            hp_plan_instances(found->plan));
        return;
    }
    if (hp_is_large(found->plan)) {
        hp_simulate_part(problem, found);
        return;
    }
    if (hypar_simulate(&sim, found->plan, options, &why) != HYPAR_OK) {
        found->info.not_simulated = hp_arena_strdup(&found->arena, why.text);
        return;
    }
    hypar_sum_up(sim, 0, &found->simulated);
    keep_stages(sim, found);
    found->has_simulated = true;
    hypar_sim_free(sim);
}

enum hypar_status hp_judge(const struct problem *problem, struct hypar_found *found,
                           struct hypar_error *err)
{
    struct hypar_prediction *p = &found->prediction;
    hp_simulate_found(problem, problem->options->simulation, found);
    if (!hp_is_judged(found))
        return hp_fail(err, HYPAR_UNSUPPORTED, "%s", found->info.not_simulated);
    if (hp_in_part(found)) {
        *p = (struct hypar_prediction){ .step_s = found->info.part.step_s };
        hp_predict_step(problem, found);
        p->comm_s = 0; /* not told apart */
        hp_predict_part(found);
        return HYPAR_OK;
    }
    const struct hypar_simulated *s = &found->simulated;
    *p = (struct hypar_prediction){ .simulated = true,
                                    .step_s = s->step.step_s,
                                    .compute_s = s->compute_s,
                                    .comm_s = s->comm_s,
                                    .samples_per_s = s->step.samples_per_s,
                                    .mfu = s->step.mfu,
                                    .comm_bytes = s->step.comm_bytes,
                                    .energy_j = hypar_energy_total_j(&s->step.energy) };
    p->state_bytes = hp_plan_fullest(found->plan, 0).need;
    return HYPAR_OK;
}

/* A large plan, from a part of it. */
static bool judge_part(const struct problem *problem, struct hypar_found *found,
                       struct verdict *v)
{
    const struct hypar_partial_step *part = &found->info.part;
    if (!hp_in_part(found) && !hp_simulate_part(problem, found))
        return false;
    *v = (struct verdict){ BY_PART, part->step_s, { .device = -1 } };
    hp_note_device(&v->memory, problem, part->fullest_device, &part->fullest);
    return true;
}

struct verdict hp_simulated_verdict(const struct problem *problem,
                                    const struct hypar_found *found)
{
    const struct hypar_simulated *s = &found->simulated;
    struct verdict v = { .by = BY_SIMULATION, .step_s = s->step.step_s };
    hp_note_device(&v.memory, problem, s->step.fullest_device, &s->fullest);
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
        return hp_simulated_verdict(problem, found);
    v.memory = hp_plan_need(NEED_WRITTEN, problem, NULL, found->plan);
    return v;
}
