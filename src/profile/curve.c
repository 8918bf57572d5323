/* Curves of seconds by size, for messages, sums and updates; and the machine on which a profile
 * was measured. */
#include <string.h>

#include "profile/profile.h"

const struct curve *hp_profile_find_curve(const struct hypar_profile *profile,
                                          const char *device, const char *of)
{
    int d = profile && profile->n_curves ? hp_profile_find_device(profile, device) : -1;
    for (int i = 0; d >= 0 && i < profile->n_curves; i++)
        if (profile->curve[i].device == d && strcmp(profile->curve[i].of, of) == 0)
            return &profile->curve[i];
    return NULL;
}

static struct curve *curve_of(struct hypar_profile *profile, const char *device, const char *of)
{
    const struct curve *known = hp_profile_find_curve(profile, device, of);
    if (known)
        return &profile->curve[known - profile->curve];
    int d = hp_profile_device(profile, device);
    profile->curve = GROW(&profile->arena, struct curve, profile->curve, profile->n_curves,
                          &profile->curve_capacity);
    struct curve *curve = &profile->curve[profile->n_curves++];
    *curve = (struct curve){ .device = d, .of = hp_arena_strdup(&profile->arena, of) };
    return curve;
}

void hp_profile_add_point(struct hypar_profile *profile, const char *device, const char *of,
                          double size, double seconds)
{
    struct curve *c = curve_of(profile, device, of);
    int at = c->n;
    while (at > 0 && c->point[at - 1].size >= size)
        at--;
    if (at == c->n || c->point[at].size > size) {
        c->point = GROW(&profile->arena, struct curve_point, c->point, c->n, &c->capacity);
        memmove(c->point + at + 1, c->point + at, (size_t)(c->n++ - at) * sizeof *c->point);
    }
    c->point[at] = (struct curve_point){ size, seconds };
}

void hp_update_word(char *text, size_t size, const char *optimizer, const char *precision)
{
    snprintf(text, size, "update %s %s", optimizer, precision);
}

void hp_squares_word(char *text, size_t size, const char *precision)
{
    snprintf(text, size, "squares %s", precision);
}

double hp_profile_curve(const struct hypar_profile *profile, const char *device, const char *of,
                        double size)
{
    const struct curve *c = hp_profile_find_curve(profile, device, of);
    if (!c)
        return 0;
    int hi = 1;
    while (hi < c->n - 1 && c->point[hi].size < size)
        hi++;
    const struct curve_point *a = &c->point[hi - 1], *b = &c->point[hi];
    if (c->n == 1 || size <= a->size)
        return a->seconds;
    double slope = (b->seconds - a->seconds) / (b->size - a->size);
    if (size > b->size && slope < 0) /* noise */
        return b->seconds;
    return a->seconds + slope * (size - a->size);
}

double hp_profile_point(const struct hypar_profile *profile, const char *device, const char *of,
                        double size)
{
    const struct curve *c = hp_profile_find_curve(profile, device, of);
    for (int i = 0; c && i < c->n; i++)
        if (c->point[i].size == size)
            return c->point[i].seconds;
    return 0;
}

bool hp_profile_has_links(const struct hypar_profile *profile, const char *device)
{
    return hp_profile_find_curve(profile, device, "message") != NULL;
}

/* The measured machine ------------------------------------------------------------------ */

void hypar_profile_set_machine(struct hypar_profile *profile,
                               const struct hypar_profile_machine *machine)
{
    profile->machine = *machine;
    profile->machine.processor = hp_arena_strdup(&profile->arena, machine->processor);
    profile->machine.kernels = hp_arena_strdup(&profile->arena, machine->kernels);
}

const struct hypar_profile_machine *hp_profile_machine(const struct hypar_profile *profile)
{
    return profile->machine.ranks ? &profile->machine : NULL;
}

static double spread(const struct hypar_profile *profile)
{
    double seconds = 0, spread_s = 0;
    for (int i = 0; i < profile->n_passes; i++) {
        const struct measured *pass = profile->pass[i];
        if (!(pass->spread > 0))
            continue;
        seconds += pass->seconds;
        spread_s += pass->spread * pass->seconds;
    }
    return seconds > 0 ? spread_s / seconds : 0;
}

struct hypar_profile_info hypar_profile_info(const struct hypar_profile *profile)
{
    return (struct hypar_profile_info){ .made_by = profile->made_by,
                                        .n_passes = profile->n_passes,
                                        .machine = hp_profile_machine(profile),
                                        .spread = spread(profile) };
}

struct hypar_profile_device hypar_profile_device(const struct hypar_profile *profile,
                                                 const char *device)
{
    return (struct hypar_profile_device){ hp_profile_efficiency(profile, device),
                                          hp_profile_has_links(profile, device) };
}
