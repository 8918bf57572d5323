/* run/backend/cuda/driver.h - the functions of NVIDIA's driver and of NVRTC that are used.
 * Internal to run/backend/cuda.
 *
 * They are declared here, with types of the same size, because the build needs no toolkit.
 * Names are those of the driver's interface, with the number of the version that is meant. */
#ifndef RUN_BACKEND_CUDA_DRIVER_H
#define RUN_BACKEND_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef uint64_t card_address; /* CUdeviceptr */

enum { CUDA_DONE = 0, CUDA_NO_ROOM = 2, CUDA_NO_CARD = 100 };
enum cuda_attribute {
    CUDA_MULTIPROCESSORS = 16,
    CUDA_ARCH_MAJOR = 75,
    CUDA_ARCH_MINOR = 76,
};
enum { CUDA_DYNAMIC_SHARED_BYTES = 8 };
enum { CUDA_PINNED_IN_ALL_CONTEXTS = 1, CUDA_PINNED_SEEN_BY_CARD = 2 };

struct cuda_driver {
    int (*cuInit)(unsigned flags);
    int (*cuDriverGetVersion)(int *version);
    int (*cuGetErrorString)(int result, const char **text);
    int (*cuDeviceGetCount)(int *n);
    int (*cuDeviceGet)(int *device, int i);
    int (*cuDeviceGetName)(char *name, int size, int device);
    int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
    int (*cuDeviceTotalMem_v2)(size_t *bytes, int device);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuDevicePrimaryCtxRelease_v2)(int device);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuMemGetInfo_v2)(size_t *free, size_t *all);
    int (*cuMemAlloc_v2)(card_address *data, size_t bytes);
    int (*cuMemFree_v2)(card_address data);
    int (*cuMemHostAlloc)(void **area, size_t bytes, unsigned flags);
    int (*cuMemFreeHost)(void *area);
    int (*cuStreamCreate)(void **stream, unsigned flags);
    int (*cuStreamDestroy_v2)(void *stream);
    int (*cuStreamSynchronize)(void *stream);
    int (*cuModuleLoadData)(void **module, const void *code);
    int (*cuModuleUnload)(void *module);
    int (*cuModuleGetFunction)(void **function, void *module, const char *name);
    int (*cuFuncSetAttribute)(void *function, int attribute, int value);
    int (*cuLaunchKernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **arg, void **extra);
};

struct cuda_compiler {
    int (*nvrtcVersion)(int *major, int *minor);
    const char *(*nvrtcGetErrorString)(int result);
    int (*nvrtcCreateProgram)(void **program, const char *source, const char *name,
                              int n_headers, const char *const *header,
                              const char *const *header_name);
    int (*nvrtcDestroyProgram)(void **program);
    int (*nvrtcCompileProgram)(void *program, int n_options, const char *const *option);
    int (*nvrtcGetCUBINSize)(void *program, size_t *bytes);
    int (*nvrtcGetCUBIN)(void *program, char *code);
    int (*nvrtcGetProgramLogSize)(void *program, size_t *bytes);
    int (*nvrtcGetProgramLog)(void *program, char *log);
};

/* cuBLAS. An operation is 0, or 1: of the transposed matrix. */
struct cuda_blas {
    int (*cublasCreate_v2)(void **handle);
    int (*cublasDestroy_v2)(void *handle);
    int (*cublasSetStream_v2)(void *handle, void *stream);
    int (*cublasGemmStridedBatchedEx)(void *handle, int op_a, int op_b, int m, int n, int k,
                                      const void *alpha, const void *a, int a_type, int lda,
                                      long long a_step, const void *b, int b_type, int ldb,
                                      long long b_step, const void *beta, void *c, int c_type,
                                      int ldc, long long c_step, int n_products,
                                      int compute_type, int algorithm);
};

/* cuDNN's functions of convolutions. Descriptors are made once and set for each call. */
struct cudnn_choice { /* cudnnConvolutionFwdAlgoPerf_t, and those of the gradients */
    int algorithm, status;
    float time;
    size_t bytes; /* of workspace */
    int deterministic, math, reserved[3];
};
struct cuda_dnn {
    int (*cudnnCreate)(void **handle);
    int (*cudnnDestroy)(void *handle);
    int (*cudnnSetStream)(void *handle, void *stream);
    int (*cudnnCreateTensorDescriptor)(void **tensor);
    int (*cudnnDestroyTensorDescriptor)(void *tensor);
    int (*cudnnSetTensorNdDescriptor)(void *tensor, int type, int n_dims, const int *size,
                                      const int *stride);
    int (*cudnnCreateFilterDescriptor)(void **filter);
    int (*cudnnDestroyFilterDescriptor)(void *filter);
    int (*cudnnSetFilterNdDescriptor)(void *filter, int type, int format, int n_dims,
                                      const int *size);
    int (*cudnnCreateConvolutionDescriptor)(void **convolution);
    int (*cudnnDestroyConvolutionDescriptor)(void *convolution);
    int (*cudnnSetConvolutionNdDescriptor)(void *convolution, int n, const int *pad,
                                           const int *stride, const int *dilation, int mode,
                                           int type);
    int (*cudnnSetConvolutionMathType)(void *convolution, int math);
    int (*cudnnGetConvolutionForwardAlgorithm_v7)(void *handle, void *x, void *w,
                                                  void *convolution, void *y, int most, int *n,
                                                  struct cudnn_choice *choice);
    int (*cudnnGetConvolutionBackwardDataAlgorithm_v7)(void *handle, void *w, void *dy,
                                                       void *convolution, void *dx, int most,
                                                       int *n, struct cudnn_choice *choice);
    int (*cudnnGetConvolutionBackwardFilterAlgorithm_v7)(void *handle, void *x, void *dy,
                                                         void *convolution, void *dw, int most,
                                                         int *n, struct cudnn_choice *choice);
    int (*cudnnConvolutionForward)(void *handle, const void *factor, void *of_x, const void *x,
                                   void *of_w, const void *w, void *convolution, int algorithm,
                                   void *workspace, size_t bytes, const void *keep, void *of_y,
                                   void *y);
    int (*cudnnConvolutionBackwardData)(void *handle, const void *factor, void *of_w,
                                        const void *w, void *of_dy, const void *dy,
                                        void *convolution, int algorithm, void *workspace,
                                        size_t bytes, const void *keep, void *of_dx, void *dx);
    int (*cudnnConvolutionBackwardFilter)(void *handle, const void *factor, void *of_x,
                                          const void *x, void *of_dy, const void *dy,
                                          void *convolution, int algorithm, void *workspace,
                                          size_t bytes, const void *keep, void *of_dw,
                                          void *dw);
};

/* Load them at the first call; they stay. HYPAR_RUNTIME: missing, and where they were looked
 * for. */
enum hypar_status hp_cuda_driver(const struct cuda_driver **out, struct hypar_error *err);
enum hypar_status hp_cuda_blas_library(const struct cuda_blas **out, struct hypar_error *err);
enum hypar_status hp_cuda_dnn_library(const struct cuda_dnn **out, struct hypar_error *err);
enum hypar_status hp_cuda_compiler(const struct cuda_compiler **out, struct hypar_error *err);

#endif /* RUN_BACKEND_CUDA_DRIVER_H */
