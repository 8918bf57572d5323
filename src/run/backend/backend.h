/* run/backend/backend.h - the arrays of a rank, and the work on them. Internal to run/.
 *
 * The executor decides which task runs when; a back end carries it out. A back end has ARRAYS,
 * whose numbers the process may be unable to read at their addresses, and begins work on them:
 * copies, sums, kernels, updates. Work is done in the order in which it was begun; finish()
 * waits for all of it. STAGING AREAS are memory that the process and the back end both read and
 * write: messages, and numbers that go in or come out, pass through them. The process touches a
 * staging area only after finish().
 *
 * CONTRIBUTING.md lists what a new back end touches. tests/far_backend.c is the smallest one;
 * tests/program/test_proof.c runs programs on it. */
#ifndef RUN_BACKEND_BACKEND_H
#define RUN_BACKEND_BACKEND_H

#include "run/data.h"
#include "run/optimizer/optimizer.h"

/* An update of elements that are contiguous in every array. */
struct update_run {
    const struct optimizer *optimizer;
    struct update_step step;
    enum real real; /* of the optimizer's state */
    int64_t n;
    /* The parameter before the update, and after it; both may be the same. With a master copy
     * in the state the parameter is bf16, and is rounded from the copy, which is updated. */
    const void *old;
    void *new;
    const void *gradient;
    enum real gradient_real; /* `real`, or with a master copy bf16 */
    struct optimizer_state state;
};

/* Contiguous elements whose squares are summed. */
struct square_run {
    const void *data;
    enum real real;
    int64_t n;
};

struct cuda; /* backend/cuda/cuda.h */

struct backend {
    const char *name;
    const struct kernels *kernels; /* the host's */
    bool visible;                  /* the process reads and writes arrays at their addresses */
    struct cuda *card;             /* NULL: the back end is no card */

    /* NULL: there is no room; status() may tell more. NULL may be freed. */
    void *(*array_new)(const struct backend *b, size_t bytes);
    void (*array_free)(const struct backend *b, void *data);
    void *(*staging_new)(const struct backend *b, size_t bytes);
    void (*staging_free)(const struct backend *b, void *area);
    void (*finish)(const struct backend *b);
    /* The first failure of work that was begun; later work is not done. */
    enum hypar_status (*status)(const struct backend *b, struct hypar_error *err);

    /* Views of arrays or of staging areas. Copy the elements of to->box, which `from` contains;
     * the same as numbers of another precision; hp_view_clear(); hp_view_combine(). */
    void (*copy)(const struct backend *b, const struct view *to, const struct view *from,
                 size_t element_bytes);
    void (*convert)(const struct backend *b, const struct view *to, enum real to_real,
                    const struct view *from, enum real from_real);
    void (*clear)(const struct backend *b, const struct view *view, enum combine combine,
                  enum real real);
    void (*combine)(const struct backend *b, const struct view *to, const struct view *from,
                    enum combine combine, enum real real);

    /* Should images have their channels innermost in arrays, if numbers are bf16 in memory, or
     * if they are not? NULL: no. */
    bool (*channels_last)(const struct backend *b, bool narrow);

    /* hp_kernel_joint(); hp_kernel_workspace(); hp_kernel(); hp_move_running(). */
    pass_set (*joint)(const struct backend *b, const struct nest *nest, int pass);
    size_t (*workspace)(const struct backend *b, const struct kernel_call *call);
    void (*compute)(const struct backend *b, const struct kernel_call *call);
    void (*move_running)(const struct backend *b, const struct kernel_call *call, int operand,
                         const struct view *running);

    void (*update)(const struct backend *b, const struct update_run *run);
    /* Put the sum of the squares of all runs into the number of `real` at `sum`. */
    void (*square)(const struct backend *b, const struct square_run *run, int n, enum real real,
                   void *sum);
};

/* The memory of the process and a table of its kernels. */
struct backend hp_host_backend(const struct kernels *kernels);

/* A card and its kernels; a second back end of the same card shares it. HYPAR_RUNTIME: it
 * cannot be used. `kernels` are the host's: they decide which passes one call may compute. */
enum hypar_status hp_cuda_backend(struct backend *out, int card, const struct kernels *kernels,
                                  struct hypar_error *err);
void hp_cuda_backend_free(struct backend *b);

/* Products of matrices in single precision may round their factors to tf32. */
void hp_cuda_backend_tf32(struct backend *b);

/* Copy the elements of to->box from a view of an array to a view of the process's own memory;
 * and those of from->box the other way. */
void hp_backend_get(const struct backend *b, const struct view *to, const struct view *from,
                    size_t element_bytes);
void hp_backend_put(const struct backend *b, const struct view *to, const struct view *from,
                    size_t element_bytes);

/* The same with numbers of another precision; the process's views are dense.
 * hp_backend_put_as() destroys what it copies. */
void hp_backend_get_as(const struct backend *b, const struct view *to, enum real to_real,
                       const struct view *from, enum real from_real);
void hp_backend_put_as(const struct backend *b, const struct view *to, enum real to_real,
                       const struct view *from, enum real from_real);

/* The number at an address of an array. */
double hp_backend_number(const struct backend *b, void *at, enum real real);
void hp_backend_set_number(const struct backend *b, void *at, double value, enum real real);

#endif /* RUN_BACKEND_BACKEND_H */
