/* The functions of cuDNN that the stand-in has. */
#ifndef TESTS_CUDA_DNN_H
#define TESTS_CUDA_DNN_H

#include <stdint.h>

extern int stand_in_convolutions;

int cudnnCreate(void **handle);
int cudnnDestroy(void *handle);
int cudnnSetStream(void *handle, void *stream);
int cudnnBackendCreateDescriptor(int kind, void **descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n,
                             const void *value);
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t most, int64_t *n,
                             void *value);
int cudnnBackendFinalize(void *descriptor);
int cudnnBackendExecute(void *handle, void *plan, void *pack);

#endif /* TESTS_CUDA_DNN_H */
