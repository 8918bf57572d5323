/* The functions of the driver that the stand-in has. */
#ifndef TESTS_CUDA_DRIVER_H
#define TESTS_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuGetErrorString(int result, const char **text);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *device, int i);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *all);
int cuMemAlloc_v2(uint64_t *data, size_t bytes);
int cuMemFree_v2(uint64_t data);
int cuMemHostAlloc(void **area, size_t bytes, unsigned flags);
int cuMemFreeHost(void *area);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuModuleLoadData(void **module, const void *code);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuFuncSetAttribute(void *function, int attribute, int value);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **arg, void **extra);

/* Run something that touches the memory of the card, after what was begun. */
void stand_in_later(void (*run)(void *arg), void *arg);

#endif /* TESTS_CUDA_DRIVER_H */
