/* kernel/kernel.h - computing one part of one pass of an operator. Internal.
 *
 * Kernels work in global coordinates: a part is a range for each axis of the nest, a tensor is
 * a view that holds at least the region which the part touches, so one kernel serves every
 * split, the unsplit operator included.
 *
 * There are two tables of kernels. "reference" is plain C that reads like the formula. "fast"
 * has the same results, up to rounding; a kernel that it lacks runs from "reference".
 *
 * A kernel ADDS its part's contributions to the views that it writes. The caller has filled
 * these views with the neutral element of the operand's combination (hp_view_clear()), or marks
 * them as fresh. Operands that are added once, after partial sums (a bias), are left to
 * hp_kernel_add_after() unless the call asks for them.
 *
 * An unused output has no gradient: a view without data counts as 0. The caller may leave out
 * gradients that no pass needs. */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "split/split.h"

/* bf16 is a form of storage: arithmetic is in fp32 (run/backend/narrow.h). */
enum real { REAL_F32, REAL_F64, REAL_BF16 };

static inline size_t hp_real_bytes(enum real real)
{
    return real == REAL_F32   ? sizeof(float)
           : real == REAL_F64 ? sizeof(double)
                              : sizeof(uint16_t);
}

/* Element i of an array; NULL if there is none. */
static inline void *hp_real_at(void *data, int64_t i, enum real real)
{
    return data ? (char *)data + (size_t)i * hp_real_bytes(real) : NULL;
}

/* Numbers, or int32_t where the operand is an index, over `box`: all of an array, or a piece of
 * a larger one. */
struct view {
    void *data; /* the element at the box's lower corner; NULL: not there */
    struct box box;
    int64_t stride[MAX_DIMS]; /* elements from one index to the next */
};

/* The offset of the element at `index`, in global coordinates. */
static inline int64_t hp_view_offset(const struct view *view, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < view->box.n_dims; d++)
        at += (index[d] - view->box.dim[d].lo) * view->stride[d];
    return at;
}

/* The next row of a box, a row being all of its last dimension; false: there is none. */
static inline bool hp_next_row(const struct box *box, int64_t *index)
{
    int d = box->n_dims - 2;
    for (; d >= 0 && ++index[d] == box->dim[d].hi; d--)
        index[d] = box->dim[d].lo;
    return d >= 0;
}

/* A dense row-major array over `box`. */
struct view hp_dense_view(void *data, const struct box *box);

/* The same with dimension `inner` innermost; 0: the last one is. */
struct view hp_inner_view(void *data, const struct box *box, int inner);

/* The piece of a view that lies in `box`, which it contains. */
struct view hp_view_piece(const struct view *view, const struct box *box, size_t element_bytes);

typedef uint32_t pass_set; /* bit i: pass i */

struct kernel_call {
    const struct nest *nest;
    int pass;
    /* Passes to run in this call, of which `pass` is the first; 0: `pass` alone. If one of them
     * reads what an earlier one writes, the view has the whole of it (nothing remains to be
     * exchanged). */
    pass_set passes;
    enum real real;
    /* Values and gradients that are bf16 in memory; only a back end takes such a call. */
    operand_set narrow, narrow_grad;
    struct range range[MAX_AXES];    /* the part */
    struct view value[MAX_OPERANDS]; /* read and written by the pass */
    struct view grad[MAX_OPERANDS];
    /* These written values and gradients are overwritten over the part's region (hp_region());
     * others are added to. */
    operand_set fresh, fresh_grad;
    bool add_after; /* there are no partial sums: also do what hp_kernel_add_after() does */
    /* The samples that belong together: the whole batch, or one micro-batch. Statistics over
     * samples (batch norm) are means over these. */
    struct range samples;
    /* Not training: the statistics s of batch norm are a running mean and variance instead of
     * sums, and dropout keeps everything. */
    bool inference;
    uint64_t
        key; /* of an operator that draws random numbers (dropout): from its seed and place */
    /* Of dropout, over its output: a byte is 1 where the element is kept, else 0. The forward
     * pass writes the bytes, the backward pass reads them; without data both draw the same
     * numbers. */
    struct view mask;
    void *workspace; /* hp_kernel_workspace() bytes; NULL: the kernel needs none */
};

static inline pass_set hp_passes_of(const struct kernel_call *call)
{
    return call->passes ? call->passes : (pass_set)1 << call->pass;
}

static inline bool hp_in_set(operand_set set, int operand)
{
    return set >> operand & 1;
}

struct kernels; /* a table: the kernels of each kind of operator */

/* The table called "reference" or "fast", with its libraries; NULL: fast, or reference in a
 * build without BLAS. HYPAR_USAGE: this build has no such table, HYPAR_RUNTIME: a library
 * cannot be loaded. */
enum hypar_status hp_kernels_open(const struct kernels **out, const char *name,
                                  struct hypar_error *err);

/* The same; NULL on failure. */
const struct kernels *hp_kernels_find(const char *name);

/* The number of threads that a call of the fast kernels may use; 1 by default. For a given
 * number, results are the same in every run. Call while no kernel runs, and after forking; with
 * several threads only one call may run at a time. */
void hp_kernels_threads(int threads);

/* Call job(arg, lo, hi) on pieces of 0..n-1, each on its own thread; for few elements on this
 * thread alone. */
void hp_kernels_share(int64_t n, void (*job)(void *arg, int64_t lo, int64_t hi), void *arg);

/* The passes that a call for `pass` may include: `pass` itself, and later ones. The result is
 * the same up to rounding. */
pass_set hp_kernel_joint(const struct kernels *kernels, const struct nest *nest, int pass);

/* The bytes of workspace that the call needs, at a multiple of 64. They follow from nest,
 * passes, ranges, precision and threads; views are not needed. */
size_t hp_kernel_workspace(const struct kernels *kernels, const struct kernel_call *call);

/* Compute the pass on the part. */
void hp_kernel(const struct kernels *kernels, const struct kernel_call *call);

/* Add the term that `pass` adds after partial sums (pass->adds) to its output, over
 * call->range. Most passes have none. */
void hp_kernel_add_after(const struct kernels *kernels, const struct kernel_call *call);

/* Fill with the neutral element of `combine`; combine `from` with the contents of `to`, where
 * their boxes overlap. Softmax statistics are pairs in the last dimension. */
void hp_view_clear(const struct view *view, enum combine combine, enum real real);
void hp_view_combine(const struct view *to, const struct view *from, enum combine combine,
                     enum real real);

/* Does the table have a kernel for this kind? (Opaque operators have none.) */
bool hp_kernel_exists(enum op_kind kind);

#endif /* KERNEL_KERNEL_H */
