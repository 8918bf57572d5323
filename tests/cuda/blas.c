/* A stand-in for cuBLAS: products of matrices, in the queue of the driver's stand-in. */
#include "tests/cuda/blas.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tests/cuda/numbers.h"

enum { DONE, NO_MEMORY = 3, BAD_VALUE = 7, NOT_SUPPORTED = 15 };
enum { COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_TF32 = 77 };

struct product {
    int op[2], type, to_type, m, n, k, ld[3], each;
    double alpha, beta;
    const void *from[2];
    void *to;
    long long step[3];
};

static begin_later *later;

int cublasCreate_v2(void **handle)
{
    later = find_later((void *)(size_t)cublasCreate_v2);
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
                    sum += number_at(p->from[0], e * p->step[0] + a, p->type) *
                           number_at(p->from[1], e * p->step[1] + b, p->type);
                }
                long long c = e * p->step[2] + (long long)j * p->ld[2] + i;
                sum = p->alpha * sum +
                      (p->beta != 0 ? p->beta * number_at(p->to, c, p->to_type) : 0);
                put_number(p->to, c, p->to_type, sum);
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
    int compute = a_type == NUMBER_F64 ? COMPUTE_F64 : COMPUTE_F32;
    int scalar = a_type == NUMBER_F64 ? NUMBER_F64 : NUMBER_F32;
    bool widens = a_type == NUMBER_BF16 && c_type == NUMBER_F32;
    if (handle != &later || a_type != b_type || (a_type != c_type && !widens) ||
        (compute_type != compute && (compute_type != COMPUTE_TF32 || a_type != NUMBER_F32)) ||
        algorithm != -1 || m < 0 || n < 0 || k < 0 || n_products < 0 ||
        lda < at_least(op_a ? k : m) || ldb < at_least(op_b ? n : k) || ldc < at_least(m))
        return BAD_VALUE;
    struct product *p = malloc(sizeof *p);
    if (!p)
        return NO_MEMORY;
    *p = (struct product){ .op = { op_a, op_b },
                           .type = a_type,
                           .to_type = c_type,
                           .m = m,
                           .n = n,
                           .k = k,
                           .ld = { lda, ldb, ldc },
                           .each = n_products,
                           .alpha = number_at(alpha, 0, scalar),
                           .beta = number_at(beta, 0, scalar),
                           .from = { a, b },
                           .to = c,
                           .step = { a_step, b_step, c_step } };
    later(run, p);
    return DONE;
}
