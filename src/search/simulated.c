/* What was found, simulated. */
#include "search/planner.h"

/* Beyond that the step of a plan takes seconds to simulate, of some plans a minute. */
enum { MAX_PARTS = 1 << 18 };

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

void hp_simulate_found(const struct problem *problem, const struct hypar_sim_options *options,
                       int64_t parts, struct hypar_found *found)
{
    struct hypar_error why;
    struct hypar_sim *sim;
    if (parts > MAX_PARTS) {
        found->info.not_simulated =
            hp_arena_printf(&found->arena, "a plan of %lld parts, more than %d, takes long",
                            (long long)parts, MAX_PARTS);
        return;
    }
    if (hypar_simulate(&sim, found->plan, options, &why) != HYPAR_OK) {
        found->info.not_simulated = hp_arena_strdup(&found->arena, why.text);
        return;
    }
    hypar_sum_up(sim, problem->limit_bytes, &found->simulated);
    keep_stages(sim, found);
    found->has_simulated = true;
    hypar_sim_free(sim);
}
