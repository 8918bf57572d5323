#include "kernel/blas.h"

#include "kernel/kernel.h"

#ifdef HYPAR_WITH_BLAS
#include <cblas.h>
#include <string.h>

static CBLAS_TRANSPOSE stored(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

void hp_gemm_f32(const struct gemm *g, float alpha, const float *a, const float *b, float beta,
                 float *c)
{
    cblas_sgemm(CblasRowMajor, stored(g->a_transposed), stored(g->b_transposed), (blasint)g->m,
                (blasint)g->n, (blasint)g->k, alpha, a, (blasint)g->lda, b, (blasint)g->ldb,
                beta, c, (blasint)g->ldc);
}

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

#else /* built without BLAS: there are no fast kernels, and nobody calls the rest */
void hp_blas_threads(int threads)
{
    (void)threads;
}

const char *hp_blas_core_wanted(void)
{
    return NULL;
}
#endif
