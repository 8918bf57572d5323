// A convolution around its product of matrices (convolution.c): columns have an element for each channel, tap and output.
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/bf16.inc"

// The number of an element of [samples, channels x taps, outputs] as indices.
struct column {
    long long n, c, tap[3], out[3];
};

// With 32 bits where they suffice, because division takes much longer with 64.
template <class I> static __device__ column find(const cuda_convolution &v, I i, bool by_sample)
{
    const I outputs = I(v.outputs[0] * v.outputs[1] * v.outputs[2]);
    const I taps = I(v.taps[0] * v.taps[1] * v.taps[2]), rows = I(v.channels) * taps;
    I p = i % outputs, r = i / outputs, n = 0;
    if (by_sample) { // [samples, rows, outputs]
        n = r / rows;
        r -= n * rows;
    } else { // [rows, samples, outputs]
        n = r % I(v.samples);
        r /= I(v.samples);
    }
    column at;
    at.n = n;
    at.c = r / taps;
    r %= taps;
    for (int d = 2; d >= 0; d--) {
        at.tap[d] = r % I(v.taps[d]);
        r /= I(v.taps[d]);
        at.out[d] = p % I(v.outputs[d]);
        p /= I(v.outputs[d]);
    }
    return at;
}

template <class T, bool BY_SAMPLE> static __device__ void gather(const cuda_convolution &v)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < v.n; i += step) {
        const column at = v.n < 1LL << 32 ? find<unsigned>(v, unsigned(i), BY_SAMPLE) : find<long long>(v, i, BY_SAMPLE);
        long long place = at.n * v.x_sample + at.c * v.x_channel;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            long long position = (v.first_output[d] + at.out[d]) * v.stride[d] - v.pad[d] + at.tap[d] * v.dilation[d];
            inside = inside && position >= 0 && position < v.size[d];
            place += position * v.x_step[d];
        }
        ((T *)v.columns)[i] = inside ? ((const T *)v.x)[place] : T(0);
    }
}

extern "C" __global__ void gather_f32(cuda_convolution v) { gather<float, true>(v); }
extern "C" __global__ void gather_f64(cuda_convolution v) { gather<double, true>(v); }
extern "C" __global__ void gather_bf16(cuda_convolution v) { gather<bf16, true>(v); }
extern "C" __global__ void gather_rows_f32(cuda_convolution v) { gather<float, false>(v); }
extern "C" __global__ void gather_rows_f64(cuda_convolution v) { gather<double, false>(v); }
extern "C" __global__ void gather_rows_bf16(cuda_convolution v) { gather<bf16, false>(v); }

// dy[n, k, outputs] as [k, samples, outputs].
template <class T> static __device__ void turn(const cuda_convolution &v)
{
    const long long outputs = v.outputs[0] * v.outputs[1] * v.outputs[2];
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < v.n; i += step) {
        const long long p = i % outputs, n = i / outputs % v.samples, k = i / outputs / v.samples;
        ((T *)v.turned)[i] = ((const T *)v.dy)[n * v.dy_sample + k * v.dy_channel + p * v.dy_step];
    }
}

extern "C" __global__ void turn_f32(cuda_convolution v) { turn<float>(v); }
extern "C" __global__ void turn_f64(cuda_convolution v) { turn<double>(v); }
extern "C" __global__ void turn_bf16(cuda_convolution v) { turn<bf16>(v); }

// Each element of x sums the elements of columns that belong to it.
template <class T> static __device__ void scatter(const cuda_convolution &v)
{
    const long long outputs = v.outputs[0] * v.outputs[1] * v.outputs[2];
    const long long taps = v.taps[0] * v.taps[1] * v.taps[2];
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < v.n; i += step) {
        long long rest = i, position[3];
        for (int d = 2; d >= 0; d--) {
            position[d] = v.first_position[d] + rest % v.positions[d];
            rest /= v.positions[d];
        }
        const long long c = rest % v.channels, n = rest / v.channels;
        double sum = 0;
        for (long long tap = 0; tap < taps; tap++) {
            long long left = tap, place = 0, by = 1;
            bool meets = true;
            for (int d = 2; d >= 0; d--) {
                long long out = position[d] + v.pad[d] - left % v.taps[d] * v.dilation[d];
                left /= v.taps[d];
                meets = meets && out >= 0 && out % v.stride[d] == 0;
                out = out / v.stride[d] - v.first_output[d];
                meets = meets && out >= 0 && out < v.outputs[d];
                place += out * by;
                by *= v.outputs[d];
            }
            if (meets)
                sum += double(((const T *)v.columns)[((n * v.channels + c) * taps + tap) * outputs + place]);
        }
        T *to = (T *)v.x + n * v.x_sample + c * v.x_channel + position[0] * v.x_step[0] +
                position[1] * v.x_step[1] + position[2] * v.x_step[2];
        *to = v.fresh ? T(sum) : T(*to + T(sum));
    }
}

extern "C" __global__ void scatter_f32(cuda_convolution v) { scatter<float>(v); }
extern "C" __global__ void scatter_f64(cuda_convolution v) { scatter<double>(v); }
extern "C" __global__ void scatter_bf16(cuda_convolution v) { scatter<bf16>(v); }
