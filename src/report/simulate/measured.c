/* Reports the energy of a step by its consumers, which of its times come from a profile, and
 * which depend on opaque operators. */
#include <math.h>

#include "cost/calibration.h"
#include "report/put.h"

static double total_j(const void *energy)
{
    return hypar_energy_total_j(energy);
}

const struct column hp_energy_columns[] = {
    { NULL, "arithmetic_j", AS_JOULES, AT(struct hypar_energy, arithmetic_j) },
    { NULL, "sram_j", AS_JOULES, AT(struct hypar_energy, sram_j) },
    { NULL, "dram_j", AS_JOULES, AT(struct hypar_energy, dram_j) },
    { NULL, "link_j", AS_JOULES, AT(struct hypar_energy, link_j) },
    { NULL, "idle_j", AS_JOULES, AT(struct hypar_energy, idle_j) },
    { NULL, "total_j", AS_JOULES, .get = total_j },
    { 0 },
};

/* " Why so wide: ..." of an interval whose ends differ by more than this factor. */
static const double WIDE = 1.5;

/* The terms of a wide interval, the larger one first: the scatter of measured steps, and the
 * addition for messages and launches (hp_less_known()). The terms add up as squares, so a term
 * that is much smaller than the other is left out. */
static char *width_text(struct arena *arena, const struct hypar_interval *i)
{
    static const double SMALL = 0.3;
    if (i->high_s < WIDE * i->low_s)
        return hp_arena_strdup(arena, "");
    double scatter = i->from.spread, added = hp_added_spread(i);
    char *steps = hp_arena_printf(arena, "%s (%.0f %%)",
                                  hp_measured_apart(&i->from)
                                      ? "no step was measured with this device and this "
                                        "framework together"
                                      : "the measured steps scatter",
                                  100 * scatter);
    char *waits = hp_arena_printf(
        arena, "messages and launches that a step waits for are predicted less well (%.0f %%)",
        100 * added);
    bool more = added > scatter;
    if (fmin(added, scatter) < SMALL * fmax(added, scatter))
        return hp_arena_printf(arena, " Why so wide: %s.", more ? waits : steps);
    return hp_arena_printf(arena, " Why so wide: %s; %s.", more ? waits : steps,
                           more ? steps : waits);
}

char *hp_interval_text(struct arena *arena, const struct hypar_interval *i)
{
    const char *why = i->from.on ? hp_arena_printf(arena, "figures of %s were changed",
                                                   hp_shown(arena, i->from.on))
                                 : "no such step was measured";
    if (!i->from.rows)
        return hp_arena_printf(arena, "Not calibrated, %s: expect %s to %s.", why,
                               hp_time_text(arena, i->low_s), hp_time_text(arena, i->high_s));
    return hp_arena_printf(arena, "8 of 10 such steps take %s to %s (%s measured: %s).%s",
                           hp_time_text(arena, i->low_s), hp_time_text(arena, i->high_s),
                           hp_thousands(arena, i->from.rows), i->from.on, width_text(arena, i));
}

const struct column hp_interval_columns[] = {
    { NULL, "step_low_s", AS_NUMBER, AT(struct hypar_interval, low_s) },
    { NULL, "step_high_s", AS_NUMBER, AT(struct hypar_interval, high_s) },
    { NULL, "calibrated_rows", AS_INT, AT(struct hypar_interval, from.rows) },
    { 0 },
};

char *hp_alike_text(struct arena *arena, const struct hypar_calibration *calibration,
                    const char *names)
{
    return hp_arena_printf(arena,
                           "%s cannot be told apart from it: the ratio of two such steps is "
                           "off by up to %.1f %% (8 of 10).",
                           names, 100 * (hp_pair_factor(calibration) - 1));
}

void hp_put_profile(struct json_writer *w, const struct hypar_sim_summary *s)
{
    const struct hypar_sim_measured *m = &s->measured;
    if (m->asked)
        PUT_OBJECT(w, "profile", true, INT("passes", m->passes),
                   INT("measured_passes", m->measured),
                   NUMBER("measured_share", m->measured_share),
                   ONLY_IF(m->interpolated > 0, INT("interpolated_passes", m->interpolated)),
                   ONLY_IF(m->interpolated_share > 0,
                           NUMBER("interpolated_share", m->interpolated_share)),
                   FLAG("calibrated", m->calibrated));
    if (s->opaque)
        PUT_OBJECT(w, "opaque", true, INT("operators", s->opaque),
                   INT("measured", s->opaque_measured), NUMBER("share", s->opaque_share));
}

char *hp_measured_text(struct arena *arena, const struct hypar_sim_measured *m)
{
    const struct {
        int passes;
        double share;
        const char *how;
    } kind[] = {
        { m->measured, m->measured_share, "measured" },
        { m->interpolated, m->interpolated_share, "estimated from other sizes" },
        { m->passes - m->measured - m->interpolated,
          1 - m->measured_share - m->interpolated_share,
          m->calibrated ? "at the calibrated efficiency" : "by the roofline" },
    };
    char *text = NULL;
    for (int i = 0; i < 3; i++) {
        if (kind[i].passes == m->passes)
            return hp_arena_printf(arena, "all %d passes %s", m->passes, kind[i].how);
        if (!kind[i].passes)
            continue;
        text =
            text ? hp_arena_printf(arena, "%s, %d %s (%.1f %%)", text, kind[i].passes,
                                   kind[i].how, 100 * kind[i].share)
                 : hp_arena_printf(arena, "of %d passes %d %s (%.1f %% of computing)",
                                   m->passes, kind[i].passes, kind[i].how, 100 * kind[i].share);
    }
    return text;
}

char *hp_kernels_text(struct arena *arena, const struct hypar_sim_summary *s)
{
    const char *framework = hypar_kernel_mode_text(s->how.framework.kernels);
    const char *kernels = hp_count(arena, llround(s->kernels), "kernel");
    if (!(s->launch_s > 0))
        return hp_arena_printf(arena, "%s: %s", framework, kernels);
    return hp_arena_printf(arena, "%s: %s, launched in %s%s", framework, kernels,
                           hp_time_text(arena, s->launch_s),
                           s->launch_s >= s->step_s ? ", which the step waits for" : "");
}

char *hp_opaque_text(struct arena *arena, const struct hypar_sim_summary *s)
{
    const char *how = s->opaque_measured == s->opaque ? "as measured"
                      : s->opaque_measured
                          ? "as measured, or as long as their tensors are read and written once"
                          : "as long as their tensors are read and written once";
    return hp_arena_printf(arena, "%s, %.1f %% of what is computed, %s",
                           hp_count(arena, s->opaque, "operator"), 100 * s->opaque_share, how);
}
