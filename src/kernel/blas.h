/* kernel/blas.h - matrix products by OpenBLAS. Internal to kernel/.
 *
 * Matrices are row-major; a leading dimension is the distance of rows in elements. */
#ifndef KERNEL_BLAS_H
#define KERNEL_BLAS_H

#include <hypar/base.h>

/* A product of an m by k and a k by n matrix; either may be stored transposed. */
struct gemm {
    int64_t m, n, k;
    bool a_transposed, b_transposed;
    int64_t lda, ldb, ldc;
};

/* c = alpha a b + beta c */
void hp_gemm_f32(const struct gemm *g, float alpha, const float *a, const float *b, float beta,
                 float *c);
void hp_gemm_f64(const struct gemm *g, double alpha, const double *a, const double *b,
                 double beta, double *c);

/* Load OpenBLAS, before the first product; a product then uses the caller's thread alone.
 * HYPAR_RUNTIME: it is missing. */
enum hypar_status hp_blas_load(struct hypar_error *err);

/* Its name and the processor whose code it uses, once it is loaded. */
const char *hp_blas_text(void);

#endif /* KERNEL_BLAS_H */
