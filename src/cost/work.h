/* cost/work.h - the work of one pass on one part: operations, bytes, seconds, joules. Internal.
 *
 * Seconds follow the roofline of the device: the longer of the operations at the rate of dense
 * kernels and the bytes at the memory's bandwidth; or they were measured in a profile. */
#ifndef COST_WORK_H
#define COST_WORK_H

#include <hypar/machine.h>
#include <hypar/plan.h>
#include <hypar/profile.h>

#include "base/precision.h"
#include "profile/source.h"
#include "split/split.h"

/* The peak operations per second of a device in this precision. */
double hp_peak_op_per_s(const struct hypar_device *device, enum hypar_precision precision);

/* The same for large products. Where devices differ, they share work in proportion to it
 * (AccPar). */
double hp_dense_op_per_s(const struct hypar_device *device, enum hypar_precision precision);

/* Bytes of one element in this precision; an integer (ids, labels) always has 4. */
static inline int hp_element_bytes(enum hypar_precision precision, bool index)
{
    return index ? 4 : hp_precision_bytes(precision);
}

struct work {
    double macs, other; /* multiply-adds; other arithmetic operations */
    double bytes;       /* read and written, each tensor once */
};

/* Does the graph state how long a pass takes (of a measured opaque operator)? If so, *seconds
 * are the share of the loops `range`. */
bool hp_told_seconds(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                     double *seconds);

/* The work of `pass` over the loops `range`: its share of the pass's operations, and the
 * regions of all operands (values and gradients) that it reads and writes; of a look-up table
 * only the rows that are read. Bit o of `present`: operand o is given (optional ones may be
 * absent). Zero for a view, and if a loop of the pass is empty. */
struct work hp_pass_work(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                         operand_set present, enum hypar_precision precision);

/* Bytes of operand `o`, or of its gradient, that a pass over these loops touches. */
double hp_operand_bytes(const struct nest *nest, int pass, int o,
                        const struct range range[MAX_AXES], enum hypar_precision precision);

/* The axes along which the work of a part depends on its place: a window slides along them and
 * is clipped, an operand is shorter (an input of a concat), or queries see only earlier
 * keys. */
axis_set hp_positional_axes(const struct nest *nest);

/* Do two parts have the same work, over n axes? They have equal lengths and, along positional
 * axes, the same place. */
bool hp_same_work(const struct range *a, const struct range *b, int n, axis_set positional);

/* Seconds on a device. */
double hp_work_seconds(const struct work *work, const struct hypar_device *device,
                       enum hypar_precision precision);

/* The same, but as measured if `profile` (may be NULL) knows this pass with these extents on
 * this kind of device; otherwise the profile's calibrated efficiency replaces the device's. */
double hp_pass_seconds(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                       operand_set present, const struct hypar_device *device,
                       enum hypar_precision precision, const struct hypar_profile *profile);

/* How the profile knows this pass with these extents on this kind of device. */
enum time_source hp_pass_source(const struct nest *nest, int pass,
                                const struct range range[MAX_AXES],
                                const struct hypar_device *device,
                                enum hypar_precision precision,
                                const struct hypar_profile *profile);

/* Arrays as large as the parameter that the optimizer keeps from step to step. */
int hp_optimizer_moments(enum hypar_optimizer optimizer);

/* Updating `elements` parameters in hp_master_precision(): the gradient is read; the weight (of
 * short ones the master copy) and the moments are read and written; short weights are
 * written. */
struct work hp_update_work(double elements, enum hypar_precision precision,
                           enum hypar_precision gradients, enum hypar_optimizer optimizer);

/* Adding up the squares of this many gradient elements. */
struct work hp_squares_work(double elements, enum hypar_precision gradients);

/* Joules of the work itself. On a device with a power limit: operations of products, other
 * operations, DRAM words; SRAM is in them. Otherwise multiply-adds (one add, one multiply,
 * three SRAM words), other operations (one add each), DRAM words. DRAM, adds, multiplications
 * and SRAM are for a word of 32 bits; other widths scale with the width (assumed). */
enum { HP_WORD_BYTES = 4, HP_SRAM_WORDS_PER_MAC = 3 };
struct work_energy {
    double arithmetic_j, sram_j, dram_j;
};
struct work_energy hp_work_energy(const struct work *work, const struct hypar_device *device,
                                  enum hypar_precision precision);

/* The least time of a kernel of this energy: at the device's power limit, less the power of
 * running. */
double hp_power_seconds(double joules, const struct hypar_device *device);

/* The power of a device that runs kernels, above its idle power. */
double hp_running_w(const struct hypar_device *device);

/* A message: one DRAM read at the sender, one DRAM write at the receiver (without the links).
 */
double hp_message_dram_j(double bytes, const struct hypar_device *from,
                         const struct hypar_device *to);

#endif /* COST_WORK_H */
