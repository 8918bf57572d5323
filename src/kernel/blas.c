#include "kernel/blas.h"

#include "kernel/kernel.h"

#ifdef HYPAR_WITH_BLAS
#include <cblas.h>
#include <string.h>

/* Of x86-64 oneDNN's products in single precision are faster by a tenth. */
#if defined HYPAR_WITH_DNNL && defined __x86_64__
#define HYPAR_DNNL_PRODUCTS
#include <dnnl.h>
#include <omp.h>
#endif

static CBLAS_TRANSPOSE stored(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

#ifdef HYPAR_DNNL_PRODUCTS
void hp_gemm_f32(const struct gemm *g, float alpha, const float *a, const float *b, float beta,
                 float *c)
{
    omp_set_num_threads(1); /* a call is divided before it comes here */
    dnnl_sgemm(g->a_transposed ? 'T' : 'N', g->b_transposed ? 'T' : 'N', g->m, g->n, g->k,
               alpha, a, g->lda, b, g->ldb, beta, c, g->ldc);
}
#else
void hp_gemm_f32(const struct gemm *g, float alpha, const float *a, const float *b, float beta,
                 float *c)
{
    cblas_sgemm(CblasRowMajor, stored(g->a_transposed), stored(g->b_transposed), (blasint)g->m,
                (blasint)g->n, (blasint)g->k, alpha, a, (blasint)g->lda, b, (blasint)g->ldb,
                beta, c, (blasint)g->ldc);
}

#endif

void hp_gemm_f64(const struct gemm *g, double alpha, const double *a, const double *b,
                 double beta, double *c)
{
    cblas_dgemm(CblasRowMajor, stored(g->a_transposed), stored(g->b_transposed), (blasint)g->m,
                (blasint)g->n, (blasint)g->k, alpha, a, (blasint)g->lda, b, (blasint)g->ldb,
                beta, c, (blasint)g->ldc);
}

void hp_blas_threads(int threads)
{
    openblas_set_num_threads(threads);
}

/* OpenBLAS takes a processor that is newer than itself for one of twenty years ago, and then
 * computes without its vectors. */
#ifdef __x86_64__
static const char *core_of_processor(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
    return __builtin_cpu_supports("avx") ? "Sandybridge" : NULL;
}

const char *hp_blas_core_wanted(void)
{
    static const char *const old[] = { "Prescott", "Core2", "Penryn",  "Dunnington", "Nehalem",
                                       "Atom",     "Nano",  "Generic", "Unknown" };
    const char *core = openblas_get_corename();
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcmp(core, old[i]) == 0)
            return core_of_processor();
    return NULL;
}
#else
const char *hp_blas_core_wanted(void)
{
    return NULL;
}
#endif

#else /* built without BLAS: there are no fast kernels, which are those who ask for speed */

#define PLAIN_GEMM(name, real)                                                           \
    void name(const struct gemm *g, real alpha, const real *a, const real *b, real beta, \
              real *c)                                                                   \
    {                                                                                    \
        for (int64_t i = 0; i < g->m; i++)                                               \
            for (int64_t j = 0; j < g->n; j++) {                                         \
                real sum = 0;                                                            \
                for (int64_t k = 0; k < g->k; k++)                                       \
                    sum += a[g->a_transposed ? k * g->lda + i : i * g->lda + k] *        \
                           b[g->b_transposed ? j * g->ldb + k : k * g->ldb + j];         \
                real old = beta == 0 ? 0 : beta * c[i * g->ldc + j];                     \
                c[i * g->ldc + j] = alpha * sum + old;                                   \
            }                                                                            \
    }

PLAIN_GEMM(hp_gemm_f32, float)
PLAIN_GEMM(hp_gemm_f64, double)

void hp_blas_threads(int threads)
{
    (void)threads;
}

const char *hp_blas_core_wanted(void)
{
    return NULL;
}
#endif
