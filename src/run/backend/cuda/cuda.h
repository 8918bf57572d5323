/* run/backend/cuda/cuda.h - one card of NVIDIA: its memory, its stream, and kernels that are
 * compiled when they are first needed. Internal to run/.
 *
 * The libraries (the driver, and the compiler NVRTC) are loaded by hp_cuda_open(); the build
 * needs neither them nor their headers. Work is begun in the order of the calls, on one stream;
 * hp_cuda_finish() waits for all of it.
 *
 * Functions that begin work return nothing. The first failure is kept (hp_cuda_status()), and
 * after it nothing more is begun. */
#ifndef RUN_BACKEND_CUDA_CUDA_H
#define RUN_BACKEND_CUDA_CUDA_H

#include <hypar/run.h>

#include "base/arena.h"
#include "base/error.h"

struct cuda;
struct cuda_driver;
struct cuda_module;   /* a compiled source */
struct cuda_function; /* a kernel of a module */

/* Are the libraries and a card there? */
enum hypar_status hp_cuda_loads(struct hypar_error *err);

/* The number of cards, 0 with a reason if there are none. Needs no context. */
int hp_cuda_count(const struct cuda_driver **driver, struct hypar_error *err);
bool hp_cuda_describe(int card, struct hypar_card *out);

/* Card number `card`. HYPAR_RUNTIME: a library is missing, there is no such card, or the driver
 * refuses. */
enum hypar_status hp_cuda_open(struct cuda **out, int card, struct hypar_error *err);
void hp_cuda_close(struct cuda *c); /* NULL is allowed */

/* The first failure since hp_cuda_open(); and another reason to fail. */
enum hypar_status hp_cuda_status(const struct cuda *c, struct hypar_error *err);
void hp_cuda_fail(struct cuda *c, enum hypar_status status, const char *fmt, ...)
    HYPAR_PRINTF(3, 4);

/* Memory of the card. NULL: there is no room, which is no failure; NULL may be freed. Contents
 * are unknown. A pinned area is memory of the process that kernels read and write too, at the
 * same address. Pinned areas are kept for the next one of their size, as the driver takes long
 * to make one: work that uses an area must be done when it is freed. */
void *hp_cuda_alloc(struct cuda *c, size_t bytes);
void hp_cuda_free(struct cuda *c, void *data);
void *hp_cuda_pinned_alloc(struct cuda *c, size_t bytes);
void hp_cuda_pinned_free(struct cuda *c, void *area);

/* Memory of the card for work that is begun before the next call. NULL: there is no room, which
 * is a failure. */
void *hp_cuda_scratch(struct cuda *c, size_t bytes);

/* The same, for the operands of a product (multiply.c), which may be in scratch themselves. */
void *hp_cuda_product_scratch(struct cuda *c, size_t bytes);

/* The module called `name`, NULL if hp_cuda_module() was not called with this name yet. */
struct cuda_module *hp_cuda_find(struct cuda *c, const char *name);

/* The same, from its source, CUDA C++ that includes no header. It is compiled at the first call
 * with this name, or taken from the user's cache folder. NULL: it failed. The source must
 * declare kernels as extern "C" __global__ void; each is compiled without fused multiply-add,
 * so that results are those of the host up to the functions of the mathematical library. */
struct cuda_module *hp_cuda_module(struct cuda *c, const char *name, const char *source);

/* A kernel of a module; NULL if the module is NULL, or has no such kernel, which is a
 * failure. */
struct cuda_function *hp_cuda_function(struct cuda *c, struct cuda_module *module,
                                       const char *name);

/* Begin a kernel. arg[i] points to the value of its parameter i, which is copied. Nothing is
 * done if `function` is NULL. `shared` bytes of dynamic shared memory may exceed 48 KiB. */
struct cuda_grid {
    unsigned blocks[3], threads[3]; /* 0 counts as 1 */
    unsigned shared;
};
void hp_cuda_launch(struct cuda *c, struct cuda_function *function,
                    const struct cuda_grid *grid, void **arg);

/* cuBLAS for this card, whose work is begun in order with all other work; NULL: it is missing,
 * which is no failure. hp_cuda_blas_done() checks the result of a function of cuBLAS. */
struct cuda_blas;
void *hp_cuda_blas(struct cuda *c, const struct cuda_blas **blas);
void hp_cuda_blas_done(struct cuda *c, int result);

/* cuDNN in the same way; and a descriptor that is destroyed with the card. */
struct cuda_dnn;
void *hp_cuda_dnn(struct cuda *c, const struct cuda_dnn **dnn);
void hp_cuda_own_descriptor(struct cuda *c, void *descriptor);

/* Where something that was computed for a key on this card is kept: NULL at first. It is taken
 * from hp_cuda_kept_arena(). The next call may forget everything that is kept. */
void **hp_cuda_kept(struct cuda *c, const void *key, size_t length);
struct arena *hp_cuda_kept_arena(struct cuda *c);

/* Whether products in single precision may round their factors to tf32; they may not at
 * first. */
void hp_cuda_allow_tf32(struct cuda *c);
bool hp_cuda_has_tf32(const struct cuda *c);

/* Wait until all work is done. */
void hp_cuda_finish(struct cuda *c);

/* What is known about the card; and how much of its memory is free. */
struct hypar_card hp_cuda_card(const struct cuda *c);
double hp_cuda_free_bytes(struct cuda *c);

/* Compile a source for an architecture, without a card; the code is taken from `arena`.
 * HYPAR_RUNTIME: NVRTC is missing, or refuses the source. */
struct cuda_code {
    const void *bytes;
    size_t n;
};
enum hypar_status hp_cuda_compile(struct arena *arena, const char *name, const char *source,
                                  int arch, struct cuda_code *out, struct hypar_error *err);

#endif /* RUN_BACKEND_CUDA_CUDA_H */
