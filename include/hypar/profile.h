/* hypar/profile.h - measured times: what a device really takes for a pass of an operator.
 *
 * A profile's file form, hypar-profile/1, is JSON (docs/formats-profile.md). Where a profile
 * knows a pass, the simulator uses its time instead of the roofline; where it does not, the
 * roofline with the profile's efficiency of that device. */
#ifndef HYPAR_PROFILE_H
#define HYPAR_PROFILE_H

#include <hypar/base.h>

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_profile; /* opaque */

/* Read the profile at `path` ("-": standard input). On success *out is to be released with
 * hypar_profile_free(). On failure *out is NULL: HYPAR_UNREADABLE, HYPAR_SYNTAX or
 * HYPAR_INVALID. */
HYPAR_API enum hypar_status hypar_profile_read(struct hypar_profile **out, const char *path,
                                               struct hypar_error *err);

/* Write it in the form hypar-profile/1, one pass per line, which reads back and is written
 * again byte for byte. Write errors are left in the stream. */
HYPAR_API void hypar_profile_write(const struct hypar_profile *profile, FILE *to);
HYPAR_API void hypar_profile_free(struct hypar_profile *profile); /* NULL is allowed */

/* An empty one, to be filled. */
HYPAR_API struct hypar_profile *hypar_profile_new(void);

/* What made it, for people; copied. A new one says "hypar" and the version. A text without
 * control characters, not empty. */
HYPAR_API void hypar_profile_set_made_by(struct hypar_profile *profile, const char *text);
HYPAR_API const char *hypar_profile_made_by(const struct hypar_profile *profile);

/* The share of its peak that dense kernels reach on the devices called `device`; above 0, at
 * most 1. Replaces what was set before. */
HYPAR_API void hypar_profile_set_efficiency(struct hypar_profile *profile, const char *device,
                                            double efficiency);

/* 0 where it is not known. */
HYPAR_API double hypar_profile_efficiency(const struct hypar_profile *profile,
                                          const char *device);

/* How many passes it knows. */
HYPAR_API int hypar_profile_pass_count(const struct hypar_profile *profile);

/* On what it was measured. */
struct hypar_profile_machine {
    const char *processor; /* as the system names it */
    const char *kernels;   /* what computes: "fast, OpenBLAS 0.3.21" */
    int cores;
    int ranks, threads; /* processes, all at once; threads of each */
};

/* Texts are copied; they have no control characters. A profile that says this is also asked
 * for extents between those that were measured. */
HYPAR_API void hypar_profile_set_machine(struct hypar_profile *profile,
                                         const struct hypar_profile_machine *machine);

/* NULL where it does not say. */
HYPAR_API const struct hypar_profile_machine *
hypar_profile_machine(const struct hypar_profile *profile);

/* Does it know what messages between devices called `device` take? */
HYPAR_API bool hypar_profile_has_links(const struct hypar_profile *profile, const char *device);

/* The spread between the quartiles of runs of the same call, as a share of their time: the mean
 * of all passes whose spread is known, weighted by their time; 0: not known. */
HYPAR_API double hypar_profile_spread(const struct hypar_profile *profile);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_PROFILE_H */
