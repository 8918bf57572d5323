/* The functions of cuDNN that the stand-in has. */
#ifndef TESTS_CUDA_DNN_H
#define TESTS_CUDA_DNN_H

#include <stddef.h>

struct choice {
    int algorithm, status;
    float time;
    size_t bytes;
    int deterministic, math, reserved[3];
};

extern int stand_in_convolutions;

int cudnnCreate(void **handle);
int cudnnDestroy(void *handle);
int cudnnSetStream(void *handle, void *stream);
int cudnnCreateTensorDescriptor(void **tensor);
int cudnnDestroyTensorDescriptor(void *tensor);
int cudnnSetTensorNdDescriptor(void *tensor, int type, int n_dims, const int *size,
                               const int *stride);
int cudnnCreateFilterDescriptor(void **filter);
int cudnnDestroyFilterDescriptor(void *filter);
int cudnnSetFilterNdDescriptor(void *filter, int type, int format, int n_dims, const int *size);
int cudnnCreateConvolutionDescriptor(void **convolution);
int cudnnDestroyConvolutionDescriptor(void *convolution);
int cudnnSetConvolutionNdDescriptor(void *convolution, int n, const int *pad, const int *stride,
                                    const int *dilation, int mode, int type);
int cudnnSetConvolutionMathType(void *convolution, int math);
int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *w, void *convolution,
                                           void *y, int most, int *n, struct choice *choice);
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *handle, void *w, void *dy,
                                                void *convolution, void *dx, int most, int *n,
                                                struct choice *choice);
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *handle, void *x, void *dy,
                                                  void *convolution, void *dw, int most, int *n,
                                                  struct choice *choice);
int cudnnConvolutionForward(void *handle, const void *factor, void *of_x, const void *x,
                            void *of_w, const void *w, void *convolution, int algorithm,
                            void *workspace, size_t bytes, const void *keep, void *of_y,
                            void *y);
int cudnnConvolutionBackwardData(void *handle, const void *factor, void *of_w, const void *w,
                                 void *of_dy, const void *dy, void *convolution, int algorithm,
                                 void *workspace, size_t bytes, const void *keep, void *of_dx,
                                 void *dx);
int cudnnConvolutionBackwardFilter(void *handle, const void *factor, void *of_x, const void *x,
                                   void *of_dy, const void *dy, void *convolution,
                                   int algorithm, void *workspace, size_t bytes,
                                   const void *keep, void *of_dw, void *dw);

#endif /* TESTS_CUDA_DNN_H */
