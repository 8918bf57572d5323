/* Times of passes that were measured together with others in one call, or at other extents. */
#include <math.h>

#include "profile/profile.h"

/* Letters of the axes that a call's passes loop over. */
static uint32_t looped_letters(const struct measured_pass *at)
{
    uint32_t letters = 0;
    axis_set axes = 0;
    for (int p = 0; p < at->nest->n_passes; p++)
        if (p == at->pass || at->with >> p & 1)
            axes |= at->nest->pass[p].axes;
    for (int a = 0; a < at->nest->n_axes; a++)
        if (axes >> a & 1 && at->nest->axis[a].role != HYPAR_COPY)
            letters |= (uint32_t)1 << (hp_letter_by_rank(at->nest, a) - 'a');
    return letters;
}

static double log_loops(const struct measured *m, uint32_t letters)
{
    double sum = 0;
    for (int a = 0; a < m->n_axes; a++)
        if (letters >> (m->axis[a].name - 'a') & 1)
            sum += log((double)m->axis[a].extent);
    return sum;
}

/* The squared distance of two passes in the logarithms of their extents. */
static double distance(const struct measured *m, const struct measured *k)
{
    double sum = 0;
    for (int a = 0; a < m->n_axes; a++)
        for (int b = 0; b < k->n_axes; b++)
            if (m->axis[a].name == k->axis[b].name) {
                double d = log((double)m->axis[a].extent / (double)k->axis[b].extent);
                sum += d * d;
            }
    return sum;
}

/* The time of one loop is the mean of logarithms over measured passes, weighted by nearness. At
 * a measured extent it is the measured time; between two extents it lies between theirs. */
static double family_time(const struct hypar_profile *profile, const struct measured_pass *at)
{
    struct probe probe;
    double weights = 0, sum = 0;
    int device = hp_profile_find_device(profile, at->device);
    if (device < 0)
        return 0;
    hp_profile_probe(at, device, &probe);
    hp_measured_find(profile, &probe.pass); /* sets the hashes of the pass */
    uint32_t letters = looped_letters(at);
    int i = hp_table_get(&profile->families, &probe.pass.family, sizeof probe.pass.family);
    for (; i >= 0; i = profile->pass[i]->next_of_family) {
        const struct measured *m = profile->pass[i];
        double apart = distance(&probe.pass, m);
        if (!hp_same_family(profile, m, &probe.pass) || !(apart > 0))
            continue;
        double weight = 1 / (apart * apart);
        weights += weight;
        sum += weight * (log(m->seconds) - log_loops(m, letters));
    }
    return weights > 0 ? exp(sum / weights + log_loops(&probe.pass, letters)) : 0;
}

/* The time of a pass that was only measured together with others, as one call: the first pass
 * of the call gets the whole time, the other passes get 0. False: `time_of` has no time for
 * such a call. */
static bool joint_time(const struct hypar_profile *profile, const struct measured_pass *at,
                       double (*time_of)(const struct hypar_profile *profile,
                                         const struct measured_pass *at),
                       double *seconds)
{
    for (int i = 0; i < profile->n_joint; i++) {
        const struct joint_passes *j = &profile->joint[i];
        bool first = j->pass == at->pass;
        if (j->kind != at->nest->kind || (!first && !(j->with >> at->pass & 1)))
            continue;
        struct measured_pass call = *at;
        call.pass = j->pass;
        call.with = j->with;
        double all = time_of(profile, &call);
        *seconds = first ? all : 0;
        if (all > 0)
            return true;
    }
    return false;
}

enum time_source hp_profile_time(const struct hypar_profile *profile,
                                 const struct measured_pass *at, double *seconds)
{
    struct measured_pass alone = *at;
    alone.with = 0;
    *seconds = 0;
    if (!profile || !profile->n_of[at->nest->kind])
        return TIME_UNKNOWN;
    if ((*seconds = hp_profile_find(profile, &alone)) > 0 ||
        joint_time(profile, &alone, hp_profile_find, seconds))
        return TIME_MEASURED;
    if (!profile->machine.ranks)
        return TIME_UNKNOWN;
    if ((*seconds = family_time(profile, &alone)) > 0 ||
        joint_time(profile, &alone, family_time, seconds))
        return TIME_INTERPOLATED;
    return TIME_UNKNOWN;
}
