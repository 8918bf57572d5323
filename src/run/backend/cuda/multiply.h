/* run/backend/cuda/multiply.h - products of matrices by cuBLAS. Internal to run/backend/cuda.
 */
#ifndef RUN_BACKEND_CUDA_MULTIPLY_H
#define RUN_BACKEND_CUDA_MULTIPLY_H

#include "run/backend/cuda/generate.h"

struct cuda;

/* to[row, column] = factor * the sum of from[0][row, summed] from[1][summed, column], for each
 * of `each` such products; added to what is there unless it is fresh. Steps count elements. */
struct hp_cuda_product {
    enum real real, from_real; /* of to; of both factors */
    bool fresh;
    double factor;
    void *to;
    const void *from[2];
    int64_t rows, columns, summed, each;
    int64_t to_row, to_column, to_each;
    int64_t from_row, from_summed[2], from_column, from_each[2];
};

/* False: cuBLAS is missing, or no dimension of a matrix is contiguous; nothing is done. */
bool hp_cuda_multiply_matrices(struct cuda *c, const struct hp_cuda_product *product);

/* The target, if it is such a product. False: nothing is done. */
bool hp_cuda_multiply(struct cuda *c, const struct kernel_call *call, const struct target *t);

#endif /* RUN_BACKEND_CUDA_MULTIPLY_H */
