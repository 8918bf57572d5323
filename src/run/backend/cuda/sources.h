/* run/backend/cuda/sources.h - the CUDA C++ sources of this folder as text, made at build time
 * (cmake/cuda.cmake): hp_cuda_NAME of NAME.cu. */
#ifndef RUN_BACKEND_CUDA_SOURCES_H
#define RUN_BACKEND_CUDA_SOURCES_H

extern const char hp_cuda_move[], hp_cuda_update[], hp_cuda_reshape[], hp_cuda_recurrent[],
    hp_cuda_lookup[], hp_cuda_attention[], hp_cuda_convolution[], hp_cuda_flash[];
extern const char hp_cuda_generic[], hp_cuda_columns[]; /* what generated kernels use */

#endif /* RUN_BACKEND_CUDA_SOURCES_H */
