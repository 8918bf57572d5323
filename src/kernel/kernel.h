/* kernel/kernel.h - computing one part of one pass of an operator. Internal.
 *
 * Kernels work in global coordinates: a part is a range for each axis of the nest, a tensor is
 * a view that holds at least the region which the part touches, so one kernel serves every
 * split, the unsplit operator included.
 *
 * There are several tables of them. "reference" is plain C that reads like the formula; another
 * one computes the same faster, up to rounding, and leaves to the reference what it has not.
 *
 * A kernel ADDS what its part contributes into the views it writes; whoever calls it has filled
 * them with the neutral element of the operand's combination (hp_view_clear()), or says that
 * they are fresh. Operands that are added once, after partial sums (a bias), are left to
 * hp_kernel_add_after() unless the call asks for them.
 *
 * Of several outputs, those that nobody uses have no gradient: left out, it counts as 0. Of
 * several gradients that one pass writes, those that nobody needs may be left out. */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "split/split.h"

enum real { REAL_F32, REAL_F64 };

static inline size_t hp_real_bytes(enum real real)
{
    return real == REAL_F32 ? sizeof(float) : sizeof(double);
}

/* Numbers, or int32_t where the operand is an index, over `box`: all of an array, or a piece of
 * a larger one. */
struct view {
    void *data; /* the element at the box's lower corner; NULL: not there */
    struct box box;
    int64_t stride[MAX_DIMS]; /* elements from one index to the next */
};

/* A dense row-major array over `box`. */
struct view hp_dense_view(void *data, const struct box *box);

/* The piece of a view that lies in `box`, which it contains. */
struct view hp_view_piece(const struct view *view, const struct box *box, size_t element_bytes);

typedef uint32_t pass_set; /* bit i: pass i */

struct kernel_call {
    const struct nest *nest;
    int pass;
    /* Passes to do in this one call, `pass` being the first; 0: `pass` alone. What one of them
     * reads and an earlier one writes is whole in its view (nothing is left to be exchanged).
     */
    pass_set passes;
    enum real real;
    struct range range[MAX_AXES];    /* the part */
    struct view value[MAX_OPERANDS]; /* what the pass reads and writes */
    struct view grad[MAX_OPERANDS];
    /* Of what is written, these values and gradients are overwritten over the part's region
     * (hp_region()); the others are added to. */
    operand_set fresh, fresh_grad;
    bool add_after; /* there are no partial sums: do what hp_kernel_add_after() does as well */
    /* The samples that belong together: all of the batch, or one micro-batch. Statistics over
     * samples (batch norm) are means over these. */
    struct range samples;
    /* Not training: the statistics s of batch norm are a running mean and variance instead of
     * sums, and dropout lets everything through. */
    bool inference;
    uint64_t key; /* of an operator that draws random numbers (dropout): its seed and place */
    /* Of dropout, over its output: bytes that are 1 where it lets an element through, else 0.
     * Its forward pass writes them, the backward pass reads them; without data it draws the
     * same again. */
    struct view mask;
    void *workspace; /* hp_kernel_workspace() bytes; NULL: a kernel that needs none */
};

struct kernels; /* a table: for each kind of operator what computes its passes */

/* The table called "reference" or "fast", with what it computes with; NULL: fast, of a build
 * without BLAS reference. HYPAR_USAGE: there is none of that name in this build, HYPAR_RUNTIME:
 * a library that it needs cannot be loaded. */
enum hypar_status hp_kernels_open(const struct kernels **out, const char *name,
                                  struct hypar_error *err);

/* The same; NULL where it fails. */
const struct kernels *hp_kernels_find(const char *name);

/* Threads that a call of the fast kernels may use; 1 until told otherwise. For a number of
 * threads results are the same in every run. To be called while no kernel runs, after a process
 * has forked; with more than one thread there is one call at a time. */
void hp_kernels_threads(int threads);

/* Call job(arg, lo, hi) on pieces of 0..n-1, each on its own thread; for few elements on this
 * one alone. */
void hp_kernels_share(int64_t n, void (*job)(void *arg, int64_t lo, int64_t hi), void *arg);

/* The passes that a call for `pass` may do besides: `pass` itself, and later ones. To be asked
 * for or not, the result is the same up to rounding. */
pass_set hp_kernel_joint(const struct kernels *kernels, const struct nest *nest, int pass);

/* Bytes that the call wants as its workspace, at an address which is a multiple of 64. They
 * follow from nest, passes, ranges, precision and threads; views need not be there yet. */
size_t hp_kernel_workspace(const struct kernels *kernels, const struct kernel_call *call);

/* Compute the pass on the part. */
void hp_kernel(const struct kernels *kernels, const struct kernel_call *call);

/* Add what `pass` adds after partial sums (pass->adds) to the operand it writes, over
 * call->range. Nothing to do for most passes. */
void hp_kernel_add_after(const struct kernels *kernels, const struct kernel_call *call);

/* Fill with the neutral element of `combine`; put `from` together with what `to` holds, where
 * their boxes overlap. Softmax statistics are pairs in the last dimension. */
void hp_view_clear(const struct view *view, enum combine combine, enum real real);
void hp_view_combine(const struct view *to, const struct view *from, enum combine combine,
                     enum real real);

/* Does the table have a kernel for this kind? (Opaque operators have none.) */
bool hp_kernel_exists(enum op_kind kind);

#endif /* KERNEL_KERNEL_H */
