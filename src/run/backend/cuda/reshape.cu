// Copies between shapes without common factors: elements with the same row-major number.
#include "run/backend/cuda/arguments.h"

template <class T> static __device__ void reshape(const cuda_reshape &r)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < r.n; i += step) {
        long long rest = i, number = 0, stride = 1, to = r.to_base, from = r.from_base;
        for (int d = r.to_dims - 1; d >= 0; d--) {
            long long index = r.to_lo[d] + rest % r.to_extent[d];
            rest /= r.to_extent[d];
            number += index * stride;
            stride *= r.to_size[d];
            to += index * r.to_stride[d];
        }
        for (int d = r.from_dims - 1; d >= 0; d--) {
            from += number % r.from_size[d] * r.from_stride[d];
            number /= r.from_size[d];
        }
        ((T *)r.to)[to] += ((const T *)r.from)[from];
    }
}

extern "C" __global__ void reshape_f32(cuda_reshape r) { reshape<float>(r); }
extern "C" __global__ void reshape_f64(cuda_reshape r) { reshape<double>(r); }
