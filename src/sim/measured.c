/* What a profile told of a step's times. */
#include "profile/profile.h"
#include "sim/timing.h"

/* How the parts of a pass are known, as they lie: as the worst of them. */
static enum time_source source_of_parts(const struct lowering *s, const struct part_layout *l,
                                        int pass, const struct hypar_profile *profile)
{
    enum time_source worst = TIME_MEASURED;
    for (int part = 0; part < l->n_parts && worst; part++) {
        if (l->empty[part])
            continue;
        enum time_source source =
            hp_pass_source(l->nest, pass, l->range + (ptrdiff_t)part * l->nest->n_axes,
                           hypar_machine_device(s->plan->machine, l->device[part]),
                           s->plan->precision, profile);
        worst = source < worst ? source : worst;
    }
    return worst;
}

/* Layouts are shared by many operators: [layout * MAX_PASSES + pass] 0: not known yet, else one
 * more than the source. */
static enum time_source source_of(const struct lowering *s, const struct op_pass *op_pass,
                                  const struct hypar_profile *profile, char *known)
{
    enum time_source worst = TIME_MEASURED;
    for (int b = 0; b < s->n_bodies && worst; b++) {
        const struct part_layout *l = s->body[b].layout[op_pass->op];
        char *at = &known[(size_t)l->id * MAX_PASSES + (size_t)op_pass->pass];
        if (!*at)
            *at = (char)(source_of_parts(s, l, op_pass->pass, profile) + 1);
        worst = *at - 1 < (int)worst ? (enum time_source)(*at - 1) : worst;
    }
    return worst;
}

static bool is_calibrated(const struct hypar_machine *machine,
                          const struct hypar_profile *profile)
{
    int n = hypar_machine_is_uniform(machine) ? 1 : hypar_machine_device_count(machine);
    for (int d = 0; d < n; d++)
        if (hypar_profile_efficiency(profile, hypar_machine_device(machine, d)->name) > 0)
            return true;
    return false;
}

struct hypar_sim_measured hp_count_measured(const struct lowering *s,
                                            const struct hypar_profile *profile)
{
    const struct training_graph *k = &s->training;
    struct hypar_sim_measured out = { .asked = profile != NULL };
    struct arena scratch = { 0 };
    if (!profile)
        return out;
    char *known = NEW(&scratch, char, (size_t)s->cache->n_layouts *MAX_PASSES);
    for (int i = 0; i < k->n_op_passes; i++) {
        if (hp_is_view(s->graph->ops[k->op_pass[i].op].nest))
            continue; /* takes no time */
        enum time_source source = source_of(s, &k->op_pass[i], profile, known);
        out.passes++;
        out.measured += source == TIME_MEASURED;
        out.interpolated += source == TIME_INTERPOLATED;
    }
    out.calibrated = is_calibrated(s->plan->machine, profile);
    out.links =
        hypar_profile_has_links(profile, hypar_machine_device(s->plan->machine, 0)->name);
    hp_arena_free(&scratch);
    return out;
}
