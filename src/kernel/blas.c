/* Loading OpenBLAS when it is first needed, and calling its matrix products. */
#include "kernel/blas.h"

#include "base/error.h"

#ifdef HYPAR_WITH_BLAS
#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/library.h"

/* The library's functions, once it is loaded. */
static struct {
    void (*sgemm)(CBLAS_ORDER order, CBLAS_TRANSPOSE a_stored, CBLAS_TRANSPOSE b_stored,
                  blasint m, blasint n, blasint k, float alpha, const float *a, blasint lda,
                  const float *b, blasint ldb, float beta, float *c, blasint ldc);
    void (*dgemm)(CBLAS_ORDER order, CBLAS_TRANSPOSE a_stored, CBLAS_TRANSPOSE b_stored,
                  blasint m, blasint n, blasint k, double alpha, const double *a, blasint lda,
                  const double *b, blasint ldb, double beta, double *c, blasint ldc);
    void (*set_num_threads)(int threads);
    char *(*get_corename)(void);
} blas;

static const struct library_symbol symbols[] = {
    { "cblas_sgemm", &blas.sgemm },
    { "cblas_dgemm", &blas.dgemm },
    { "openblas_set_num_threads", &blas.set_num_threads },
    { "openblas_get_corename", &blas.get_corename },
};

static enum hypar_status load(void **out, struct hypar_error *err)
{
    return hp_library_load(out, HYPAR_BLAS_LIBRARY, LIBRARY_SEEN, symbols,
                           sizeof symbols / sizeof *symbols, err);
}

/* The core type that OpenBLAS should have assumed; NULL: it is right. OpenBLAS takes a
 * processor that is newer than itself for one of twenty years ago, and then computes without
 * vector instructions. */
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

static const char *better_core(const char *core)
{
    static const char *const old[] = { "Prescott", "Core2", "Penryn",  "Dunnington", "Nehalem",
                                       "Atom",     "Nano",  "Generic", "Unknown" };
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcmp(core, old[i]) == 0)
            return core_of_processor();
    return NULL;
}
#else
static const char *better_core(const char *core)
{
    (void)core;
    return NULL;
}
#endif

static enum hypar_status load_status;
static struct hypar_error load_error;

/* OpenBLAS reads its variables when it is loaded: it is loaded again with the right core
 * type. */
static void load_once(void)
{
    static const char variable[] = "OPENBLAS_CORETYPE";
    void *library;
    load_status = load(&library, &load_error);
    const char *core = load_status == HYPAR_OK ? better_core(blas.get_corename()) : NULL;
    if (core && !getenv(variable)) {
        setenv(variable, core, 1);
        hp_library_unload(library);
        load_status = load(&library, &load_error);
    }
    if (load_status == HYPAR_OK)
        blas.set_num_threads(1);
}

enum hypar_status hp_blas_load(struct hypar_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    if (load_status == HYPAR_OK)
        return HYPAR_OK;
    return hp_fail(err, load_status,
                   "OpenBLAS cannot be loaded: %.300s; --kernels reference does without it",
                   load_error.text);
}

const char *hp_blas_text(void)
{
    static char text[80];
    const char *core = blas.get_corename ? blas.get_corename() : "not loaded";
    snprintf(text, sizeof text, "OpenBLAS for %.40s", core);
    return text;
}

static CBLAS_TRANSPOSE stored(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

void hp_gemm_f32(const struct gemm *g, float alpha, const float *a, const float *b, float beta,
                 float *c)
{
    blas.sgemm(CblasRowMajor, stored(g->a_transposed), stored(g->b_transposed), (blasint)g->m,
               (blasint)g->n, (blasint)g->k, alpha, a, (blasint)g->lda, b, (blasint)g->ldb,
               beta, c, (blasint)g->ldc);
}

void hp_gemm_f64(const struct gemm *g, double alpha, const double *a, const double *b,
                 double beta, double *c)
{
    blas.dgemm(CblasRowMajor, stored(g->a_transposed), stored(g->b_transposed), (blasint)g->m,
               (blasint)g->n, (blasint)g->k, alpha, a, (blasint)g->lda, b, (blasint)g->ldb,
               beta, c, (blasint)g->ldc);
}

#else /* without BLAS there are no fast kernels */

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

enum hypar_status hp_blas_load(struct hypar_error *err)
{
    return hp_fail(err, HYPAR_USAGE, "built without OpenBLAS");
}

const char *hp_blas_text(void)
{
    return "no BLAS";
}
#endif
