/* cost/kernel.h - what runs at once on a device, and how long it takes. Internal.
 *
 * A kernel is one pass of an operator, or several that a framework runs as one. On a device
 * whose kernels were measured (struct hypar_kernel_figures) it takes
 *
 *     kernel_s + max(arithmetic, bytes / (bandwidth * efficiency of its class))
 *
 * and besides reduction_s (along samples column_s) if it reduces, or for each product
 * reduction_s, and summed_s for each of up to HP_SUMMED_AT_ONCE elements that it sums over,
 * arithmetic being that of its products, each at the rate of its shape, and of other
 * operations, element by element at the rate of vectors; a tensor that several passes of the
 * kernel touch is counted once. Reducing along samples goes by elements, not by bytes: it takes
 * no less than one tensor does at the efficiency of columns, while all stream. The host
 * launches kernels ahead of the device: a step takes no less than all its launches. Of other
 * devices, and without a framework, each pass is a kernel, and takes what the roofline says
 * (hp_pass_seconds()). */
#ifndef COST_KERNEL_H
#define COST_KERNEL_H

#include <hypar/sim.h>

#include "cost/work.h"

/* What of the memory's bandwidth a kernel reaches; the slowest of its passes decides. */
enum kernel_class {
    KERNEL_STREAM,
    KERNEL_PRODUCT,
    KERNEL_ROW,
    KERNEL_COLUMN,
    KERNEL_WINDOW,
    KERNEL_SCATTER,
};

/* A tile of a product adds up so many elements one after another; of longer sums libraries make
 * several. */
enum { HP_SUMMED_AT_ONCE = 2048 };

/* Where passes are run. */
struct kernel_place {
    const struct hypar_device *device;
    enum hypar_precision precision;
    enum hypar_framework framework;
    const struct hypar_profile *profile; /* may be NULL */
};

/* Is it known how fast the device's kernels run? */
bool hp_has_kernels(const struct hypar_device *device);

/* Are passes run as kernels there, rather than each for itself? */
bool hp_runs_kernels(const struct kernel_place *at);

/* One pass on one part. */
struct kernel_pass {
    double arithmetic_s, besides_s;
    double column_share; /* of the device that it keeps busy, if it is of that class */
    double *bytes;       /* by operand of the nest: of its value, or of its gradient */
};
/* Fills *out, whose `bytes` has room for every operand of the nest. */
void hp_kernel_pass(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                    const struct kernel_place *at, struct kernel_pass *out);

/* What decides which kernel a pass is in; it follows from the graph alone. */
struct kernel_role {
    enum kernel_class class;
    bool has_statistics; /* its operator */
    /* It is no work for a framework. A view; the gradient of a sum, which is that of each of
     * its terms; sums over samples that an earlier pass makes as well (batch norm's gradients
     * of scale and offset are its statistics of the errors). */
    bool is_free;
};
struct kernel_role hp_kernel_role(const struct nest *nest, int pass);
enum kernel_class hp_kernel_class(const struct nest *nest, int pass);

/* Passes one after another, as they run in kernels. */
struct kernel_walk {
    enum hypar_framework framework;
    const struct kernel_role *before; /* the last that was no free one; NULL: none */
};
/* How a pass lies to the one before. */
enum kernel_tie { TIE_NONE, TIE_TASK, TIE_OP };
/* What comes next. */
enum kernel_step { STEP_FREE, STEP_JOINS, STEP_BEGINS };
enum kernel_step hp_kernel_step(struct kernel_walk *walk, const struct kernel_role *role,
                                enum kernel_tie tie);

struct kernel {
    double arithmetic_s, besides_s, column_share, bytes;
    double column_bytes; /* of what is reduced along samples, the longest tensor of each pass */
    enum kernel_class class;
};

/* A pass joins a kernel, and touches so many operands' values and gradients that no pass of it
 * touched before. */
void hp_kernel_add(struct kernel *kernel, const struct kernel_pass *pass,
                   enum kernel_class class, operand_set values, operand_set grads);

/* Seconds; 0 for a kernel that does nothing. */
double hp_kernel_seconds(const struct kernel *kernel, const struct kernel_place *at);

/* Updating parameters, or the squares of gradients: one stream over all of them. */
double hp_stream_seconds(const struct work *work, const struct kernel_place *at);

/* How long the host takes to launch a kernel. */
double hp_launch_s(const struct kernel_place *at);

/* The passes (bits) of one operator on one part, kernel after kernel. */
double hp_op_seconds(const struct nest *nest, uint32_t passes,
                     const struct range range[MAX_AXES], operand_set present,
                     const struct kernel_place *at);

#endif /* COST_KERNEL_H */
