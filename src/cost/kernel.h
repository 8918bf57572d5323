/* cost/kernel.h - kernels: which passes run together on a device, and how long they take.
 * Internal.
 *
 * A kernel is one pass of an operator, or several that a framework runs as one. On a device
 * whose kernels were measured (struct hypar_kernel_figures) it takes
 *
 *     kernel_s + max(arithmetic, bytes / (bandwidth * efficiency of its class))
 *
 * plus reduction_s (along samples column_s) if it reduces; for each product, plus reduction_s,
 * and summed_s for each of up to HP_SUMMED_AT_ONCE elements that it sums over. Arithmetic is
 * that of its products, each at the rate of its shape, and of other operations, at the rate of
 * vectors. A tensor that several passes of the kernel touch counts once. A reduction along
 * samples depends on elements, not on bytes: it takes at least as long as one tensor at the
 * efficiency of columns, while all tensors stream.
 *
 * A kernel takes at least the time of its energy at the device's power limit, less the power of
 * running: E / (power_limit_w - busy_w). The figures above are those of kernels measured one by
 * one, with pauses; products that are repeated for seconds reach the limit.
 *
 * Fused attention has its own rate: that of dense products, times attention_efficiency (or
 * attention_backward) / (1 + attention_width / width of heads). Each query costs the keys that
 * it sees (causal: times attention_causal) and attention_keys further keys.
 *
 * The host launches kernels ahead of the device: sim/full/timeline_run.h. On other devices, and
 * without a framework, each pass is a kernel and takes the time of the roofline
 * (hp_pass_seconds()). */
#ifndef COST_KERNEL_H
#define COST_KERNEL_H

#include <hypar/sim.h>

#include "cost/work.h"

/* The share of the memory's bandwidth that a kernel reaches depends on its class; the slowest
 * of its passes decides. */
enum kernel_class {
    KERNEL_STREAM,
    KERNEL_PRODUCT,
    KERNEL_ROW,
    KERNEL_COLUMN,
    KERNEL_WINDOW,
    KERNEL_SCATTER,
    KERNEL_ROTATION, /* of positions: written out, several kernels */
};

/* A tile of a product adds up this many elements one after another; libraries divide longer
 * sums. */
enum { HP_SUMMED_AT_ONCE = 2048 };

/* Where and how passes run; made by hp_kernel_place(). */
struct kernel_place {
    const struct hypar_device *device;
    enum hypar_precision precision;
    enum hypar_kernel_mode kernels;
    const struct hypar_profile *profile; /* may be NULL */
    enum hypar_attention attention;      /* the kernel of fused attention */
    enum hypar_launches launches;
    bool fused_norms; /* norms and rotations are one kernel each, whatever `kernels` says */
    bool fp32_loss;   /* losses read and write fp32, if `precision` is shorter */
    bool autocast;    /* so do operators that autocast computes in fp32 */
};

/* The device and the framework that run passes, without a profile. */
struct kernel_place hp_kernel_place(const struct hypar_device *device,
                                    enum hypar_precision precision,
                                    const struct hypar_framework *framework);

/* Do passes run as kernels here, rather than each by itself? They do if the rates of kernels
 * are known, or if the framework's launches take time. */
bool hp_runs_kernels(const struct kernel_place *at);

/* One pass on one part. */
struct kernel_pass {
    double arithmetic_s, besides_s;
    double arithmetic_j; /* energy without memory's */
    double
        column_share;   /* if it is of that class: the share of the device that it keeps busy */
    double *bytes;      /* by operand of the nest: of its value, or of its gradient */
    double *cast_bytes; /* by operand: read and written by the kernel that converts it; 0 where
                           none does. NULL: not asked for */
};
/* Fill *out, whose `bytes` and `cast_bytes` have room for every operand of the nest. */
void hp_kernel_pass(const struct nest *nest, int pass, const struct range range[MAX_AXES],
                    const struct kernel_place *at, struct kernel_pass *out);

/* A lower bound for all parts of a pass together, however it is divided: rows are aligned, and
 * nothing is computed or read in vain. Fills *out as hp_kernel_pass() does. */
void hp_least_kernel_pass(const struct nest *nest, int pass, const struct kernel_place *at,
                          struct kernel_pass *out);

/* The largest share of the memory's bandwidth that a kernel with a pass of this class reaches;
 * 1 if passes do not run as kernels. */
double hp_most_efficiency(const struct kernel_place *at, enum kernel_class class);

/* The properties of a pass that determine its kernel; they follow from the graph alone. */
struct kernel_role {
    enum kernel_class class;
    bool has_statistics; /* its operator has statistics */
    /* The pass needs no kernel: a view; the gradient of a sum, which is also the gradient of
     * each term; sums over samples that an earlier pass computes, too (batch norm's gradients
     * of scale and offset are its statistics of the errors). */
    bool is_free;
};
struct kernel_role hp_kernel_role(const struct nest *nest, int pass);
enum kernel_class hp_kernel_class(const struct nest *nest, int pass);

/* Walks through passes one after another and groups them into kernels. */
struct kernel_walk {
    enum hypar_kernel_mode kernels;
    const struct kernel_role *before; /* the last pass that was not free; NULL: none */
};
/* How a pass is related to the one before. */
enum kernel_tie { TIE_NONE, TIE_TASK, TIE_OP };
/* The effect of the next pass: it needs no kernel, joins the current kernel, or begins one. */
enum kernel_step { STEP_FREE, STEP_JOINS, STEP_BEGINS };
enum kernel_step hp_kernel_step(struct kernel_walk *walk, const struct kernel_role *role,
                                enum kernel_tie tie);

struct kernel {
    double arithmetic_s, besides_s, column_share, bytes, arithmetic_j;
    double column_bytes; /* of reductions along samples: the longest tensor of each pass */
    enum kernel_class class;
};

/* Add a pass to a kernel; `values` and `grads` are the operands that no pass of the kernel
 * touched before. */
void hp_kernel_add(struct kernel *kernel, const struct kernel_pass *pass,
                   enum kernel_class class, operand_set values, operand_set grads);

/* The operands, of those present, that the framework converts to another precision for a pass,
 * each by a kernel of its own (hp_converted()); and operand `o` as such a kernel. */
operand_set hp_casts(const struct nest *nest, int pass, operand_set present,
                     const struct kernel_place *at);
struct kernel hp_cast_kernel(const struct kernel_pass *pass, int o);

/* Kernels that the framework runs for a pass in addition, where the model writes the operator
 * out step by step and the framework runs operator by operator (the graph's forward_steps and
 * backward_steps); all with the first pass of a half. Each is hp_step_kernel(), which reads and
 * writes a tensor; the rate of rotations includes their steps. */
int hp_more_steps(const struct nest *nest, int pass, const struct kernel_place *at);
struct kernel hp_step_kernel(const struct nest *nest, int pass, const struct kernel_pass *of);

/* Bytes of the gradient of operand `o` that the pass hands to the next one. */
double hp_handed_bytes(const struct kernel_pass *pass, int o);

/* Seconds; 0 for an empty kernel. */
double hp_kernel_seconds(const struct kernel *kernel, const struct kernel_place *at);

/* Joules of the kernel's operations and bytes, without the device's idle and running power. */
struct work_energy hp_kernel_energy(const struct kernel *kernel,
                                    const struct hypar_device *device);

/* Updates of parameters, or squares of gradients: one stream over all of them. */
double hp_stream_seconds(const struct work *work, const struct kernel_place *at);

/* How long the host takes to launch a kernel. */
double hp_launch_s(const struct kernel_place *at);

/* The passes (bits) of one operator on one part, kernel after kernel. */
double hp_op_seconds(const struct nest *nest, uint32_t passes,
                     const struct range range[MAX_AXES], operand_set present,
                     const struct kernel_place *at);

#endif /* COST_KERNEL_H */
