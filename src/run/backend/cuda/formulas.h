/* run/backend/cuda/formulas.h - the formulas of operators, as CUDA C++ for generated kernels.
 * Internal to run/backend/cuda.
 *
 * A formula adds a term to acc (of pairs also to acc1), whose sum goes into the operand that
 * the row names. It is written with these symbols:
 *
 *     $x  $dx     an operand, its gradient; 0 where it is absent (w: 1)
 *     $m0  $m1    the first and the second of a pair
 *     $x[c=i]     the operand at index i of axis c; $x[*=i] of the dimension without an axis
 *     @c          the index of axis c; @<c and @>c the part's range, @#c the extent;
 *                 @^ the axis of a matrix's rows, @| that of a cumulative sum
 *     @=          the row-major number of the element;  %  the mask of a dropout
 *     whole       the index of the target in the dimension without an axis
 *     p1 .. p5    of the target, its position along a dimension with windows; in: the windows
 *     k0 .. k3    constants (hp_cuda_constants())
 *
 * and `continue` leaves the term out. */
#ifndef RUN_BACKEND_CUDA_FORMULAS_H
#define RUN_BACKEND_CUDA_FORMULAS_H

#include "kernel/kernel.h"
#include "run/backend/cuda/arguments.h"

enum formula_kind {
    FORMULA_PRODUCT, /* no text: the product of all that the pass reads */
    FORMULA_TEXT,
    FORMULA_COPIES, /* each operand that is read is copied, times k0, to each that is written */
    FORMULA_NONE,   /* nothing is added */
};

struct formula {
    enum formula_kind kind;
    const char *text;
    const char *left_out; /* axes that the formula goes over itself */
};

/* The formula of what a pass writes: operand `o`, or its gradient. `room` holds texts that are
 * made for it. */
enum { FORMULA_BYTES = 512 };
struct formula hp_cuda_formula(const struct kernel_call *call, int o, bool grad,
                               char room[FORMULA_BYTES]);

void hp_cuda_constants(const struct kernel_call *call, double k[CUDA_CONSTANTS]);

#endif /* RUN_BACKEND_CUDA_FORMULAS_H */
