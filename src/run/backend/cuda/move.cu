// Copying, filling and combining the elements of views.
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/bf16.inc"

// The offsets of element i, in I: 32 bits where they suffice, because division takes much longer with 64.
template <class I> static __device__ void find(const cuda_elements &e, long long i, long long &to, long long &from)
{
    I rest = I(i);
    to = from = 0;
    for (int d = e.n_dims - 1; d > 0; d--) {
        I above = rest / I(e.extent[d]), index = rest - above * I(e.extent[d]);
        to += index * e.to_stride[d];
        from += index * e.from_stride[d];
        rest = above;
    }
    if (e.n_dims > 0) {
        to += rest * e.to_stride[0];
        from += rest * e.from_stride[0];
    }
}

template <class F> static __device__ void for_each(const cuda_elements &e, F f)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < e.n; i += step) {
        long long to, from;
        if (e.n < 1LL << 31)
            find<unsigned>(e, i, to, from);
        else
            find<long long>(e, i, to, from);
        f(to, from);
    }
}

template <class T> static __device__ void copy(const cuda_elements &e)
{
    for_each(e, [&](long long to, long long from) { ((T *)e.to)[to] = ((const T *)e.from)[from]; });
}

extern "C" __global__ void copy_1(cuda_elements e) { copy<unsigned char>(e); }
extern "C" __global__ void copy_2(cuda_elements e) { copy<unsigned short>(e); }
extern "C" __global__ void copy_4(cuda_elements e) { copy<unsigned>(e); }
extern "C" __global__ void copy_8(cuda_elements e) { copy<unsigned long long>(e); }

// Rows of contiguous elements; what `from` lacks becomes 0. A thread has several loads under way.
extern "C" __global__ void rows_2(cuda_rows r)
{
    enum { EACH = 8 };
    for (long long row = blockIdx.y; row < r.rows; row += gridDim.y) {
        unsigned short *to = (unsigned short *)r.to + row * r.to_step, part[EACH];
        const unsigned short *from = (const unsigned short *)r.from + row * r.from_step;
        for (long long first = (long long)blockIdx.x * blockDim.x * EACH; first < r.columns;
             first += (long long)gridDim.x * blockDim.x * EACH) {
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const long long at = first + i * blockDim.x + threadIdx.x;
                part[i] = row < r.from_rows && at < r.from_columns ? from[at] : 0;
            }
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const long long at = first + i * blockDim.x + threadIdx.x;
                if (at < r.columns)
                    to[at] = part[i];
            }
        }
    }
}

extern "C" __global__ void widen_bf16(cuda_elements e)
{
    for_each(e, [&](long long to, long long from) { ((float *)e.to)[to] = float(((const bf16 *)e.from)[from]); });
}

extern "C" __global__ void narrow_bf16(cuda_elements e)
{
    for_each(e, [&](long long to, long long from) { ((bf16 *)e.to)[to] = bf16(((const float *)e.from)[from]); });
}

template <class T> static __device__ void fill(const cuda_elements &e, T value)
{
    for_each(e, [&](long long to, long long) { ((T *)e.to)[to] = value; });
}

extern "C" __global__ void fill_f32(cuda_elements e, double value) { fill<float>(e, float(value)); }
extern "C" __global__ void fill_f64(cuda_elements e, double value) { fill<double>(e, value); }

extern "C" __global__ void fill_bf16(cuda_elements e, double value) { fill<bf16>(e, bf16(value)); }

// Statistics of softmax are pairs: a maximum, and the sum of exp(x - maximum).
template <class T> static __device__ void fill_pairs(const cuda_elements &e, double least)
{
    for_each(e, [&](long long to, long long) {
        ((T *)e.to)[to] = T(least);
        ((T *)e.to)[to + e.to_second] = 0;
    });
}

extern "C" __global__ void fill_pairs_f32(cuda_elements e, double least) { fill_pairs<float>(e, least); }
extern "C" __global__ void fill_pairs_f64(cuda_elements e, double least) { fill_pairs<double>(e, least); }

template <class T> static __device__ void add(const cuda_elements &e)
{
    for_each(e, [&](long long to, long long from) { ((T *)e.to)[to] = T(((T *)e.to)[to] + ((const T *)e.from)[from]); });
}

extern "C" __global__ void add_f32(cuda_elements e) { add<float>(e); }
extern "C" __global__ void add_bf16(cuda_elements e) { add<bf16>(e); }
extern "C" __global__ void add_f64(cuda_elements e) { add<double>(e); }

template <class T> static __device__ void larger(const cuda_elements &e)
{
    for_each(e, [&](long long to, long long from) {
        T other = ((const T *)e.from)[from];
        if (other > ((T *)e.to)[to])
            ((T *)e.to)[to] = other;
    });
}

extern "C" __global__ void larger_f32(cuda_elements e) { larger<float>(e); }
extern "C" __global__ void larger_bf16(cuda_elements e) { larger<bf16>(e); }
extern "C" __global__ void larger_f64(cuda_elements e) { larger<double>(e); }

// As softmax_join() of the reference kernels.
template <class T> static __device__ void join(const cuda_elements &e, double least)
{
    for_each(e, [&](long long to, long long from) {
        T *t = (T *)e.to + to, *t_sum = t + e.to_second;
        const T *f = (const T *)e.from + from;
        double max = double(f[0]), sum = double(f[e.from_second]);
        if (sum == 0 || max == least)
            return;
        if (f[0] > t[0]) {
            *t_sum = T(double(*t_sum) * exp(double(t[0]) - max));
            t[0] = f[0];
        }
        *t_sum += T(sum * exp(max - double(t[0])));
    });
}

extern "C" __global__ void join_f32(cuda_elements e, double least) { join<float>(e, least); }
extern "C" __global__ void join_f64(cuda_elements e, double least) { join<double>(e, least); }
