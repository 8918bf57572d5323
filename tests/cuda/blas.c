/* A stand-in for cuBLAS: products of matrices, in the queue of the driver's stand-in. */
#define _GNU_SOURCE /* dladdr */
#include "tests/cuda/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE, NO_MEMORY = 3, BAD_VALUE = 7, NOT_SUPPORTED = 15 };
enum { F32, F64, COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_TF32 = 77 };

struct product {
    int op[2], type, m, n, k, ld[3], each;
    double alpha, beta;
    const void *from[2];
    void *to;
    long long step[3];
};

static void (*later)(void (*run)(void *arg), void *arg);

/* The driver's stand-in, which lies in the same folder. */
int cublasCreate_v2(void **handle)
{
    Dl_info here;
    char path[4096];
    if (!dladdr((void *)(size_t)cublasCreate_v2, &here))
        return NOT_SUPPORTED;
    snprintf(path, sizeof path, "%.*slibcuda.so.1",
             (int)(strrchr(here.dli_fname, '/') + 1 - here.dli_fname), here.dli_fname);
    void *driver = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        return NOT_SUPPORTED;
    *(void **)&later = dlsym(driver, "stand_in_later");
    *handle = &later;
    return later ? DONE : NOT_SUPPORTED;
}

int cublasDestroy_v2(void *handle)
{
    return handle == &later ? DONE : BAD_VALUE;
}

int cublasSetStream_v2(void *handle, void *stream)
{
    return handle == &later && stream ? DONE : BAD_VALUE;
}

static double get(const void *data, long long i, int type)
{
    return type == F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void run(void *arg)
{
    struct product *p = arg;
    for (int e = 0; e < p->each; e++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                double sum = 0;
                for (int l = 0; l < p->k; l++) {
                    long long a =
                        p->op[0] ? (long long)i * p->ld[0] + l : (long long)l * p->ld[0] + i;
                    long long b =
                        p->op[1] ? (long long)l * p->ld[1] + j : (long long)j * p->ld[1] + l;
                    sum += get(p->from[0], e * p->step[0] + a, p->type) *
                           get(p->from[1], e * p->step[1] + b, p->type);
                }
                long long c = e * p->step[2] + (long long)j * p->ld[2] + i;
                sum = p->alpha * sum + (p->beta != 0 ? p->beta * get(p->to, c, p->type) : 0);
                if (p->type == F32)
                    ((float *)p->to)[c] = (float)sum;
                else
                    ((double *)p->to)[c] = sum;
            }
    free(p);
}

static int at_least(int n)
{
    return n > 1 ? n : 1;
}

int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k,
                               const void *alpha, const void *a, int a_type, int lda,
                               long long a_step, const void *b, int b_type, int ldb,
                               long long b_step, const void *beta, void *c, int c_type, int ldc,
                               long long c_step, int n_products, int compute_type,
                               int algorithm)
{
    int compute = a_type == F32 ? COMPUTE_F32 : COMPUTE_F64;
    if (handle != &later || a_type != b_type || a_type != c_type ||
        (compute_type != compute && (compute_type != COMPUTE_TF32 || a_type != F32)) ||
        algorithm != -1 || m < 0 || n < 0 || k < 0 || n_products < 0 ||
        lda < at_least(op_a ? k : m) || ldb < at_least(op_b ? n : k) || ldc < at_least(m))
        return BAD_VALUE;
    struct product *p = malloc(sizeof *p);
    if (!p)
        return NO_MEMORY;
    *p = (struct product){ .op = { op_a, op_b },
                           .type = a_type,
                           .m = m,
                           .n = n,
                           .k = k,
                           .ld = { lda, ldb, ldc },
                           .each = n_products,
                           .alpha = get(alpha, 0, a_type),
                           .beta = get(beta, 0, a_type),
                           .from = { a, b },
                           .to = c,
                           .step = { a_step, b_step, c_step } };
    later(run, p);
    return DONE;
}
