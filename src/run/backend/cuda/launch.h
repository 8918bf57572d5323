/* run/backend/cuda/launch.h - what the parts of the CUDA back end share. Internal to
 * run/backend/cuda. */
#ifndef RUN_BACKEND_CUDA_LAUNCH_H
#define RUN_BACKEND_CUDA_LAUNCH_H

#include "run/backend/backend.h"
#include "run/backend/cuda/cuda.h"
#include "run/backend/cuda/generate.h"
#include "run/backend/narrow.h"

/* "add" and REAL_F32 are add_f32 of the module. */
struct cuda_function *hp_cuda_function_of(struct cuda *c, const char *module,
                                          const char *source, const char *name, enum real real);

/* A grid whose threads have one element each, or several if there are very many. */
struct cuda_grid hp_cuda_grid(int64_t n);

/* Passes of operators: the functions `compute`, `joint` and `move_running` of a back end
 * (compute.c). */
void hp_cuda_compute(const struct backend *b, const struct kernel_call *call);
/* Do these kernels read and write the call's bf16, if it has any? */
bool hp_cuda_is_narrow(const struct kernel_call *call);
pass_set hp_cuda_joint(const struct nest *nest, int pass);
void hp_cuda_move_running(const struct backend *b, const struct kernel_call *call, int operand,
                          const struct view *running);

/* Compute a target by a kernel that is generated for it (kernels.c). */
void hp_cuda_run_target(const struct backend *b, const struct kernel_call *call,
                        const struct target *target);

/* Fill what a call writes of an operand with the neutral element. */
void hp_cuda_clear(const struct backend *b, const struct kernel_call *call, int o, bool grad);

/* Does the pass of an LSTM or a GRU have a kernel of its own? If so it is begun; what it writes
 * has been cleared where it is fresh (recurrent.c). */
bool hp_cuda_is_recurrent(const struct kernel_call *call);
void hp_cuda_recurrent_pass(const struct backend *b, const struct kernel_call *call);

/* All passes of a call of an attention by cuBLAS. False: nothing is done, since it is no
 * attention, or a pass writes t or db, or cuBLAS is missing, or vectors are not contiguous
 * (attention.c). */
bool hp_cuda_attend(const struct backend *b, const struct kernel_call *call);

/* The same for a convolution by cuBLAS (convolution.c) and by cuDNN (dnn.c). */
bool hp_cuda_convolve(const struct backend *b, const struct kernel_call *call);
bool hp_cuda_convolve_dnn(const struct backend *b, const struct kernel_call *call);

#endif /* RUN_BACKEND_CUDA_LAUNCH_H */
