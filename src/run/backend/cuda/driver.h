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

/* cuDNN's graphs. Descriptors of several kinds have attributes with names and types; the
 * numbers are those of its header cudnn_graph.h. */
enum dnn_descriptor {
    DNN_CONVOLUTION = 1,
    DNN_ENGINE = 2,
    DNN_CONFIG = 3,
    DNN_PROPOSALS = 4, /* of engines */
    DNN_PLAN = 5,
    DNN_FORWARD = 10,
    DNN_GRADIENT_OF_W = 11,
    DNN_GRADIENT_OF_X = 12,
    DNN_GRAPH = 15,
    DNN_PACK = 16, /* of addresses */
    DNN_TENSOR = 17,
};
enum dnn_type {
    DNN_HANDLE = 0,
    DNN_DATA_TYPE = 1,
    DNN_INT64 = 3,
    DNN_F32 = 4,
    DNN_F64 = 5,
    DNN_POINTER = 6,
    DNN_MODE = 7,
    DNN_PROPOSALS_MODE_TYPE = 8,
    DNN_NOTE = 11,
    DNN_DESCRIPTOR = 15,
};
enum dnn_attribute {
    DNN_CONVOLUTION_SUM_TYPE = 100,
    DNN_CONVOLUTION_MODE = 101,
    DNN_CONVOLUTION_DILATIONS = 102,
    DNN_CONVOLUTION_STRIDES = 103,
    DNN_CONVOLUTION_PADDING_AFTER = 104,
    DNN_CONVOLUTION_PADDING_BEFORE = 105,
    DNN_CONVOLUTION_DIMENSIONS = 106,
    DNN_PROPOSALS_MODE = 200,
    DNN_PROPOSALS_GRAPH = 201,
    DNN_PROPOSALS_RESULTS = 202,
    DNN_CONFIG_ENGINE = 300,
    DNN_PLAN_HANDLE = 400,
    DNN_PLAN_CONFIG = 401,
    DNN_PLAN_WORKSPACE = 402,
    DNN_GRAPH_HANDLE = 800,
    DNN_GRAPH_OPERATIONS = 801,
    DNN_TENSOR_ALIGNMENT = 900,
    DNN_TENSOR_DATA_TYPE = 901,
    DNN_TENSOR_DIMENSIONS = 902,
    DNN_TENSOR_STRIDES = 903,
    DNN_TENSOR_NUMBER = 906,
    DNN_PACK_NUMBERS = 1000,
    DNN_PACK_DATA = 1001,
    DNN_PACK_WORKSPACE = 1003,
    DNN_ENGINE_NOTES = 1303,
};
struct cuda_dnn {
    int (*cudnnCreate)(void **handle);
    int (*cudnnDestroy)(void *handle);
    int (*cudnnSetStream)(void *handle, void *stream);
    int (*cudnnBackendCreateDescriptor)(int kind, void **descriptor);
    int (*cudnnBackendDestroyDescriptor)(void *descriptor);
    int (*cudnnBackendSetAttribute)(void *descriptor, int name, int type, int64_t n,
                                    const void *value);
    int (*cudnnBackendGetAttribute)(void *descriptor, int name, int type, int64_t most,
                                    int64_t *n, void *value);
    int (*cudnnBackendFinalize)(void *descriptor);
    int (*cudnnBackendExecute)(void *handle, void *plan, void *pack);
};

/* Load them at the first call; they stay. HYPAR_RUNTIME: missing, and where they were looked
 * for. */
enum hypar_status hp_cuda_driver(const struct cuda_driver **out, struct hypar_error *err);
enum hypar_status hp_cuda_blas_library(const struct cuda_blas **out, struct hypar_error *err);
enum hypar_status hp_cuda_dnn_library(const struct cuda_dnn **out, struct hypar_error *err);
enum hypar_status hp_cuda_compiler(const struct cuda_compiler **out, struct hypar_error *err);

#endif /* RUN_BACKEND_CUDA_DRIVER_H */
