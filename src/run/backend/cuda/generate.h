/* run/backend/cuda/generate.h - a kernel for a pass of an operator, from its nest. Internal to
 * run/backend/cuda.
 *
 * Each element that the pass writes has one thread, or a column of threads of one block. It
 * goes over the axes that do not index the element and adds up the formula of the pass
 * (formulas.h). So no two threads write the same element, and sums are taken in an order that
 * follows from the extents alone: results are the same in every run.
 *
 * The text of a kernel follows from the structure of the nest. Extents, strides and places are
 * numbers that it is called with, so few texts serve many shapes. Generating a call again gives
 * the same text and the new numbers. */
#ifndef RUN_BACKEND_CUDA_GENERATE_H
#define RUN_BACKEND_CUDA_GENERATE_H

#include "base/arena.h"
#include "kernel/kernel.h"
#include "run/backend/cuda/arguments.h"

struct generated {
    char *text;        /* room for GENERATED_BYTES; behind types and hp_cuda_generic */
    const char *types; /* declarations of Real and Index */
    struct cuda_call call;
    int64_t outer, inner; /* elements that are written; terms of each */
    int64_t items, terms; /* of threads, or columns; steps of each */
    bool in_columns;      /* a column of threads computes an element, or lanes of elements */
    /* The reads of consecutive threads are contiguous if they have consecutive elements. */
    bool along_outer;
    bool leaves_out; /* not every element of the region is written: fresh ones must be cleared
                        before, and `fresh` counts for nothing */
};
/* A kernel is called by the operator and its first target, so that profilers show what it
 * computes: make_add_z, make_relu_dx. */
#define GENERATED_PREFIX "make_"
#define JOINED_PREFIX    "join_"
enum { GENERATED_BYTES = 1 << 15, GENERATED_AT_ONCE = 4 };

/* What is computed: a formula for operand `to` of the call, or for its gradient. */
struct target {
    int to;
    bool grad, fresh;
    const char *formula; /* NULL: the product of all that is read, times k0 */
    operand_set reads, reads_grad;
    axis_set axes; /* over which the formula is computed, and summed where they do not index
                      the target */
    double constant[CUDA_CONSTANTS];
    /* Another target with the same elements and terms, whose sum is computed beside this one's
     * if that is done by columns; NULL: none. Its constants are the same, or it is a product
     * times 1. A formula that is computed beside another leaves out no terms. */
    const struct target *also;
};

/* Calls f(who, call, target) for everything that a pass writes, in order. */
typedef void each_target(void *who, const struct kernel_call *call, const struct target *t);
void hp_cuda_targets(const struct kernel_call *call, each_target *f, void *who);

/* Fill `g` (but g->text, which it writes to). `in_columns` may be refused. */
void hp_cuda_generate(struct generated *g, const struct kernel_call *call,
                      const struct target *target, bool in_columns);

/* The whole source. */
char *hp_cuda_source(struct arena *arena, const struct generated *g);

#endif /* RUN_BACKEND_CUDA_GENERATE_H */
