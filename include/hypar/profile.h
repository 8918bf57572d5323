/* hypar/profile.h - profiles: measured times of the passes of operators.
 *
 * The file form of a profile, hypar-profile/1, is JSON (docs/formats-profile.md). If a profile
 * knows a pass, the simulator uses its time instead of the roofline; otherwise it uses the
 * roofline with the profile's efficiency of the device. */
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

/* Write a profile in the form hypar-profile/1, one pass per line; it reads back and is written
 * again byte for byte. Write errors stay in the stream. */
HYPAR_API void hypar_profile_write(const struct hypar_profile *profile, FILE *to);
HYPAR_API void hypar_profile_free(struct hypar_profile *profile); /* NULL is allowed */

/* An empty profile. */
HYPAR_API struct hypar_profile *hypar_profile_new(void);

/* The name of the tool that made the profile, for people; copied. A new profile has "hypar" and
 * the version. The text has no control characters and is not empty. */
HYPAR_API void hypar_profile_set_made_by(struct hypar_profile *profile, const char *text);

/* The share of the peak that dense kernels reach on the devices called `device`; above 0, at
 * most 1. Replaces an earlier value. */
HYPAR_API void hypar_profile_set_efficiency(struct hypar_profile *profile, const char *device,
                                            double efficiency);

/* A summary of a profile's measurements on the devices called `device`. */
struct hypar_profile_device {
    double efficiency; /* 0: unknown */
    bool links;        /* it contains times of messages between them */
};
HYPAR_API struct hypar_profile_device hypar_profile_device(const struct hypar_profile *profile,
                                                           const char *device);

/* The machine on which a profile was measured. */
struct hypar_profile_machine {
    const char *processor; /* the system's name */
    const char *kernels;   /* what computes: "fast, OpenBLAS 0.3.21" */
    int cores;
    int ranks, threads; /* simultaneous processes; threads of each */
};

/* Texts are copied; they have no control characters. A profile with a machine is also
 * interpolated between measured extents. */
HYPAR_API void hypar_profile_set_machine(struct hypar_profile *profile,
                                         const struct hypar_profile_machine *machine);

/* A profile as a whole; the profile owns texts and machine. */
struct hypar_profile_info {
    const char *made_by;
    int n_passes;
    const struct hypar_profile_machine *machine; /* NULL: none */
    /* The distance between the quartiles of runs of the same call, as a share of their time:
     * the mean over all passes for which it is known, weighted by their time; 0: unknown. */
    double spread;
};
HYPAR_API struct hypar_profile_info hypar_profile_info(const struct hypar_profile *profile);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_PROFILE_H */
