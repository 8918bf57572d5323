/* profile/source.h - how the time of a pass is known: measured, interpolated, or not.
 * Internal. */
#ifndef PROFILE_SOURCE_H
#define PROFILE_SOURCE_H

/* How the time of a pass is known. */
enum time_source {
    TIME_UNKNOWN,
    TIME_INTERPOLATED, /* from passes of the same family, which differ in extents alone */
    TIME_MEASURED,
};

#endif /* PROFILE_SOURCE_H */
