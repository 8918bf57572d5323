/* The functions of cuBLAS that the stand-in has. */
#ifndef TESTS_CUDA_BLAS_H
#define TESTS_CUDA_BLAS_H

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetStream_v2(void *handle, void *stream);
int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k,
                               const void *alpha, const void *a, int a_type, int lda,
                               long long a_step, const void *b, int b_type, int ldb,
                               long long b_step, const void *beta, void *c, int c_type, int ldc,
                               long long c_step, int n_products, int compute_type,
                               int algorithm);

#endif /* TESTS_CUDA_BLAS_H */
