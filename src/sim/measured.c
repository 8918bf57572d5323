/* How much of a step's time comes from measurements of a profile. */
#include "profile/profile.h"
#include "sim/timing.h"

/* A pass with its parts: how well the profile knows the least known part, and how long they
 * take. */
struct laid_pass {
    bool known;
    enum time_source source;
    double seconds;
};

static struct laid_pass look_at_parts(const struct lowering *s, const struct op_parts *l,
                                      const struct op_pass *at,
                                      const struct hypar_profile *profile)
{
    struct laid_pass out = { .known = true, .source = TIME_MEASURED };
    operand_set present = hp_present(&s->graph->ops[at->op]);
    for (int part = 0; part < l->n_parts; part++) {
        const struct range *range = l->range + (ptrdiff_t)part * l->nest->n_axes;
        const struct hypar_device *device =
            hypar_machine_device(s->plan->machine, l->device[part]);
        if (l->empty[part])
            continue;
        enum time_source source =
            hp_pass_source(l->nest, at->pass, range, device, s->plan->precision, profile);
        out.source = source < out.source ? source : out.source;
        out.seconds += hp_pass_seconds(l->nest, at->pass, range, present, device,
                                       s->plan->precision, profile);
    }
    return out;
}

/* Many operators share parts: laid[id of the parts * MAX_PASSES + pass]. Its seconds are those
 * of a step. */
static struct laid_pass look_at(const struct lowering *s, const struct op_pass *op_pass,
                                const struct hypar_profile *profile, struct laid_pass *laid)
{
    struct laid_pass out = { .known = true, .source = TIME_MEASURED };
    for (int b = 0; b < s->n_bodies; b++) {
        const struct op_parts *l = s->body[b].parts[op_pass->op];
        struct laid_pass *at = &laid[(size_t)l->id * MAX_PASSES + (size_t)op_pass->pass];
        if (!at->known)
            *at = look_at_parts(s, l, op_pass, profile);
        out.source = at->source < out.source ? at->source : out.source;
        out.seconds += at->seconds * hp_body_times(&s->iteration, b);
    }
    return out;
}

static bool is_calibrated(const struct hypar_machine *machine,
                          const struct hypar_profile *profile)
{
    int n = hypar_machine_is_uniform(machine) ? 1 : hypar_machine_device_count(machine);
    for (int d = 0; d < n; d++)
        if (hp_profile_efficiency(profile, hypar_machine_device(machine, d)->name) > 0)
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
    struct laid_pass *laid =
        NEW(&scratch, struct laid_pass, (size_t)s->cache->n_op_parts * MAX_PASSES);
    double all_s = 0, by_source_s[TIME_MEASURED + 1] = { 0 };
    for (int i = 0; i < k->n_op_passes; i++) {
        if (hp_is_view(s->graph->ops[k->op_pass[i].op].nest))
            continue; /* takes no time */
        struct laid_pass pass = look_at(s, &k->op_pass[i], profile, laid);
        out.passes++;
        out.measured += pass.source == TIME_MEASURED;
        out.interpolated += pass.source == TIME_INTERPOLATED;
        by_source_s[pass.source] += pass.seconds;
        all_s += pass.seconds;
    }
    if (all_s > 0) {
        out.measured_share = by_source_s[TIME_MEASURED] / all_s;
        out.interpolated_share = by_source_s[TIME_INTERPOLATED] / all_s;
    }
    out.calibrated = is_calibrated(s->plan->machine, profile);
    out.links = hp_profile_has_links(profile, hypar_machine_device(s->plan->machine, 0)->name);
    hp_arena_free(&scratch);
    return out;
}
