/* Writes into a plan how the search found it. */
#include "search/record.h"

struct hypar_other hp_figures(const struct hypar_found *found, double step_s)
{
    const struct hypar_sim_summary *s = &found->simulated.step;
    const struct hypar_prediction *p = &found->prediction;
    bool whole = found->has_simulated;
    return (struct hypar_other){ .planner = found->info.planner,
                                 .step_s = step_s,
                                 .compute_s = whole ? found->simulated.compute_s : 0,
                                 .comm_bytes = whole ? s->comm_bytes : p->comm_bytes,
                                 .energy_j =
                                     whole ? hypar_energy_total_j(&s->energy) : p->energy_j };
}

void hp_record_search(struct hypar_found *found, const struct hypar_search_options *options)
{
    const struct hypar_search_info *info = &found->info;
    double step_s =
        found->has_simulated ? found->simulated.step.step_s : found->prediction.step_s;
    struct hypar_plan_search search = {
        .asked = options->planner ? options->planner : "auto",
        .options = hp_options_words(&found->arena, options),
        .made_for = info->made_for,
        .exact = info->exact ? hp_find_planner(info->planner)->info.exact : NULL,
        .lower_bound_s = info->lower_bound_s,
        .self = hp_figures(found, step_s),
        .plan_hash = hypar_plan_hash(found->plan),
        .n_others = info->n_others,
        .other = info->other,
        .n_left_out = info->n_left_out,
        .left_out = info->left_out,
    };
    hp_plan_set_search(found->plan, &search);
}
