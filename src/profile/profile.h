/* profile/profile.h - measured times of passes, found by what determines them. Internal.
 *
 * A pass is identified by device, precision, operator kind, attributes, the given operands with
 * the axes that index them, its number, and the extent of each axis of the part. (An operand
 * that is broadcast, or absent, changes the work and the numbering of passes.) Attributes that
 * only set an extent (out, kernel, heads, ...) do not count: a part of a wide layer takes as
 * long as a narrow layer. */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <hypar/plan.h>
#include <hypar/profile.h>

#include "base/table.h"
#include "graph/nest.h"
#include "profile/source.h"

enum { HP_MAX_MEASURED = 1000000 };

/* One pass on one part of an operator. */
struct measured_pass {
    const char *device;
    enum hypar_precision precision;
    const struct nest *nest;
    int pass;
    const int64_t *extent; /* of the part, for each axis of the nest */
    uint32_t with;         /* later passes in the same call: bit i is pass i */
};

/* Add a measurement; one of the same pass is replaced. HYPAR_INVALID unless the seconds are
 * finite and positive and the device has a name; HYPAR_UNSUPPORTED for an opaque operator,
 * whose time these facts do not determine, and beyond HP_MAX_MEASURED. */
enum hypar_status hp_profile_add(struct hypar_profile *profile, const struct measured_pass *at,
                                 double seconds, struct hypar_error *err);

/* Set the distance between quartiles of an added pass, as a share of its seconds. */
void hp_profile_set_spread(struct hypar_profile *profile, const struct measured_pass *at,
                           double spread);

/* Seconds, or 0 if the pass is unknown. Safe to call from several threads. */
double hp_profile_find(const struct hypar_profile *profile, const struct measured_pass *at);

/* The time of a pass by itself (`at->with` is ignored). If it was measured with others in one
 * call, the first of them has all of the time, and the others 0. If the profile names its
 * machine, other extents are interpolated too. */
enum time_source hp_profile_time(const struct hypar_profile *profile,
                                 const struct measured_pass *at, double *seconds);

/* Curves: seconds by size, for work that is not a pass. hypar's own words:
 *   "message"             a rank sends so many bytes, or receives them (half of both)
 *   "message alone"       the same, while other ranks neither send nor compute
 *   "sum"                 so many bytes that came are added to what is there
 *   "row"                 a row of so many bytes is copied, of many that lie apart
 *   "sum over ranks"      so many bytes of each rank are summed, and everyone has the sum
 *   "gather over ranks"   each rank has a part of so many bytes, and everyone gets all
 *   "update sgd fp32"     so many parameters are updated
 *   "squares fp32"        so many elements of gradients are squared and added up
 * Points are kept by size; a new point replaces one of the same size. */
void hp_profile_add_point(struct hypar_profile *profile, const char *device, const char *of,
                          double size, double seconds);

/* The names of the curves of updates and squares. */
void hp_update_word(char *text, size_t size, const char *optimizer, const char *precision);
void hp_squares_word(char *text, size_t size, const char *precision);

/* Linear between two points; beyond the last, by the last two; before the first, constant. 0:
 * there is no such curve. */
double hp_profile_curve(const struct hypar_profile *profile, const char *device, const char *of,
                        double size);

/* The point of exactly this size; 0: there is none. */
double hp_profile_point(const struct hypar_profile *profile, const char *device, const char *of,
                        double size);

/* The members of struct hypar_profile_device, and the machine of struct hypar_profile_info. */
double hp_profile_efficiency(const struct hypar_profile *profile, const char *device);
bool hp_profile_has_links(const struct hypar_profile *profile, const char *device);
const struct hypar_profile_machine *hp_profile_machine(const struct hypar_profile *profile);

/* As hypar_profile_read(); `name` stands in front of messages. */
enum hypar_status hp_profile_read_text(struct hypar_profile **out, const char *text,
                                       size_t length, const char *name,
                                       struct hypar_error *err);

/* Inside -------------------------------------------------------------------------------- */

struct measured_axis {
    char name;
    int64_t extent;
};

struct measured_operand {
    char name;
    uint32_t axes; /* the letters that index it; bit 0 is a */
};

struct measured {
    int device;
    enum hypar_precision precision;
    enum op_kind kind;
    int pass;
    uint32_t with;                          /* done in the same call; bit i is pass i */
    int n_axes;                             /* without r */
    const struct measured_axis *axis;       /* in any order */
    int n_operands;                         /* -1: any */
    const struct measured_operand *operand; /* given ones, in the row's order */
    const struct attrs *attrs;              /* complete */
    double seconds;
    double spread;            /* between quartiles, as a share of the seconds; 0: unknown */
    uint64_t hash, part_hash; /* of all; without operands and attributes */
    uint64_t family;          /* of all but extents */
    int next, next_of_family; /* the next with the same hash, -1: none */
};

struct curve_point {
    double size, seconds;
};

struct curve {
    int device;
    const char *of;
    struct curve_point *point; /* by size */
    int n, capacity;
};

/* Passes of a kind that were measured in one call. */
struct joint_passes {
    enum op_kind kind;
    int pass;
    uint32_t with;
};

struct profile_device {
    const char *name;
    double efficiency; /* 0: not known */
};

struct hypar_profile {
    struct arena arena; /* holds everything, the profile itself included */
    const char *made_by;
    struct table device_names; /* -> device */
    struct profile_device *device;
    int n_devices, device_capacity;
    struct table hashes;      /* -> pass */
    struct table part_hashes; /* those present */
    struct measured **pass;
    int n_passes, pass_capacity;
    int n_of[OP_KIND_COUNT]; /* passes of this kind */
    bool any_operands;       /* is there one with n_operands -1? */
    struct table families;   /* -> the first pass of it */
    struct joint_passes *joint;
    int n_joint, joint_capacity;
    struct curve *curve;
    int n_curves, curve_capacity;
    struct hypar_profile_machine machine; /* ranks 0: unknown */
    uint64_t told[OP_KIND_COUNT];         /* bit a: attribute a sets an extent of this kind */
};

/* The number of the device called `name`, which is added if it is new; the name is copied. */
int hp_profile_device(struct hypar_profile *profile, const char *name);

/* The device called `name`; -1: none. */
int hp_profile_find_device(const struct hypar_profile *profile, const char *name);

/* A pass to look up, on the caller's stack. */
struct probe {
    struct measured pass;
    struct measured_axis axis[MAX_AXES];
    struct measured_operand operand[MAX_OPERANDS];
};

/* Fill everything but the hashes. */
void hp_profile_probe(const struct measured_pass *at, int device, struct probe *out);

/* Do two passes differ in extents alone? They have the same axis letters. */
bool hp_same_family(const struct hypar_profile *profile, const struct measured *m,
                    const struct measured *k);

/* The curve of a device; NULL: there is none. */
const struct curve *hp_profile_find_curve(const struct hypar_profile *profile,
                                          const char *device, const char *of);

/* The pass that equals `like` except for the seconds, or NULL. Sets the hashes of `like`. */
struct measured *hp_measured_find(const struct hypar_profile *profile, struct measured *like);

/* Add a copy of a pass that hp_measured_find() did not find; the objects that it points to must
 * stay. */
void hp_measured_insert(struct hypar_profile *profile, const struct measured *pass);

#endif /* PROFILE_PROFILE_H */
