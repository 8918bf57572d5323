/* What a profile told of a step's times, and what of them rests on opaque operators. */
#include <math.h>

#include "report/columns.h"
#include "report/put.h"

void hp_put_measured(struct json_writer *w, const struct hypar_sim_measured *m)
{
    if (!m->asked)
        return;
    hp_json_begin_object(w, "profile", true);
    hp_json_put_int(w, "passes", m->passes);
    hp_json_put_int(w, "measured_passes", m->measured);
    hp_json_put_number(w, "measured_share", m->measured_share);
    if (m->interpolated) {
        hp_json_put_int(w, "interpolated_passes", m->interpolated);
        hp_json_put_number(w, "interpolated_share", m->interpolated_share);
    }
    hp_json_put_bool(w, "calibrated", m->calibrated);
    hp_json_end_object(w);
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
    char launch[32], kernels[64];
    const char *framework = hypar_framework_text(s->how.framework);
    hp_count(kernels, llround(s->kernels), "kernel", "kernels");
    if (!(s->launch_s > 0))
        return hp_arena_printf(arena, "%s: %s", framework, kernels);
    return hp_arena_printf(arena, "%s: %s, launched in %s%s", framework, kernels,
                           hypar_format_quantity(launch, s->launch_s, HYPAR_UNIT_SECONDS),
                           s->launch_s >= s->step_s ? ", which the step waits for" : "");
}

char *hp_opaque_text(struct arena *arena, const struct hypar_sim_summary *s)
{
    char count[64];
    const char *how = s->opaque_measured == s->opaque ? "as measured"
                      : s->opaque_measured
                          ? "as measured, or as long as their tensors are read and written once"
                          : "as long as their tensors are read and written once";
    return hp_arena_printf(arena, "%s, %.1f %% of what is computed, %s",
                           hp_count(count, s->opaque, "operator", "operators"),
                           100 * s->opaque_share, how);
}

void hp_put_opaque(struct json_writer *w, const struct hypar_sim_summary *s)
{
    if (!s->opaque)
        return;
    hp_json_begin_object(w, "opaque", true);
    hp_json_put_int(w, "operators", s->opaque);
    hp_json_put_int(w, "measured", s->opaque_measured);
    hp_json_put_number(w, "share", s->opaque_share);
    hp_json_end_object(w);
}
