// Updates of parameters by the formulas of run/optimizer/update.inc, and sums of squares.
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/bf16.inc"
#include "run/optimizer/coefficients.h"

template <class F> static __device__ void for_each(long long n, F f)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        f(i);
}

static __device__ float root_of(float x) { return sqrtf(x); }
static __device__ double root_of(double x) { return sqrt(x); }

// Element i of the parameter, and of its copy in bf16.
template <class T> static __device__ void put(const cuda_update &p, long long i, T value)
{
    ((T *)p.param)[i] = value;
    if (p.rounded)
        ((bf16 *)p.rounded)[i] = bf16(value);
}

// Gradients are of type G, all else of type T.
template <class T, class G> static __device__ void sgd(const cuda_update &p, const struct update &u)
{
    const T scale = T(u.scale), decay = T(u.decay), rate = T(u.rate);
    const T *old = (const T *)p.old;
    const G *g = (const G *)p.gradient;
    for_each(p.n, [&](long long i) { put(p, i, T(old[i] - rate * (scale * T(g[i]) + decay * old[i]))); });
}

template <class T, class G> static __device__ void momentum(const cuda_update &p, const struct update &u)
{
    const T scale = T(u.scale), decay = T(u.decay), rate = T(u.rate), beta = T(u.beta1);
    const T *old = (const T *)p.old;
    const G *g = (const G *)p.gradient;
    T *v = (T *)p.state[0];
    for_each(p.n, [&](long long i) {
        v[i] = beta * v[i] + (scale * T(g[i]) + decay * old[i]);
        put(p, i, T(old[i] - rate * v[i]));
    });
}

template <class T, class G> static __device__ void adam(const cuda_update &p, const struct update &u)
{
    const T scale = T(u.scale), decay = T(u.decay), rate = T(u.rate);
    const T beta1 = T(u.beta1), beta2 = T(u.beta2), rest1 = T(1 - u.beta1), rest2 = T(1 - u.beta2);
    const T keep = T(u.keep), root = T(u.root), epsilon = T(u.epsilon);
    const T *old = (const T *)p.old;
    const G *g = (const G *)p.gradient;
    T *m = (T *)p.state[0], *v = (T *)p.state[1];
    for_each(p.n, [&](long long i) {
        T gradient = scale * T(g[i]) + decay * old[i];
        m[i] = beta1 * m[i] + rest1 * gradient;
        v[i] = beta2 * v[i] + rest2 * gradient * gradient;
        put(p, i, T(keep * old[i] - rate * m[i] / (root * root_of(v[i]) + epsilon)));
    });
}

extern "C" __global__ void sgd_f32(cuda_update p, struct update u) { sgd<float, float>(p, u); }
extern "C" __global__ void sgd_f64(cuda_update p, struct update u) { sgd<double, double>(p, u); }
extern "C" __global__ void sgd_bf16(cuda_update p, struct update u) { sgd<float, bf16>(p, u); }
extern "C" __global__ void momentum_f32(cuda_update p, struct update u) { momentum<float, float>(p, u); }
extern "C" __global__ void momentum_f64(cuda_update p, struct update u) { momentum<double, double>(p, u); }
extern "C" __global__ void momentum_bf16(cuda_update p, struct update u) { momentum<float, bf16>(p, u); }
extern "C" __global__ void adam_f32(cuda_update p, struct update u) { adam<float, float>(p, u); }
extern "C" __global__ void adam_f64(cuda_update p, struct update u) { adam<double, double>(p, u); }
extern "C" __global__ void adam_bf16(cuda_update p, struct update u) { adam<float, bf16>(p, u); }

// Squares. The order of all additions follows from the number of elements alone.

// The sum over a block, in thread 0.
static __device__ double block_sum(double mine)
{
    __shared__ double part[CUDA_SQUARE_THREADS];
    part[threadIdx.x] = mine;
    for (unsigned half = CUDA_SQUARE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    return part[0];
}

// Block b adds its part of a run to sums[b].
template <class T> static __device__ void square(const T *x, long long n, double *sums)
{
    double mine = 0;
    for_each(n, [&](long long i) { mine += double(x[i]) * double(x[i]); });
    mine = block_sum(mine);
    if (threadIdx.x == 0)
        sums[blockIdx.x] += mine;
}

extern "C" __global__ void square_f32(const float *x, long long n, double *sums)
{
    square(x, n, sums);
}
extern "C" __global__ void square_bf16(const bf16 *x, long long n, double *sums)
{
    square(x, n, sums);
}
extern "C" __global__ void square_f64(const double *x, long long n, double *sums)
{
    square(x, n, sums);
}

// One block: the sum of the blocks' sums.
template <class T> static __device__ void total(const double *sums, T *to)
{
    double mine = threadIdx.x < CUDA_SQUARE_BLOCKS ? sums[threadIdx.x] : 0;
    mine = block_sum(mine);
    if (threadIdx.x == 0)
        *to = T(mine);
}

extern "C" __global__ void total_f32(const double *sums, float *to) { total(sums, to); }
extern "C" __global__ void total_f64(const double *sums, double *to) { total(sums, to); }

// Running statistics of batch norms, as hp_move_running().
template <class T> static __device__ void move(T *at, double towards)
{
    *at = T((1 - 0.1) * double(*at) + 0.1 * towards);
}

template <class T> static __device__ void running(const cuda_running &r)
{
    for_each(r.n, [&](long long c) {
        const T *sums = (const T *)r.sums + c * r.sums_stride;
        T *to = (T *)r.running + c * r.running_stride;
        double mean = double(sums[0]) / r.count, square = double(sums[r.sums_second]) / r.count;
        double variance = square > mean * mean ? square - mean * mean : 0;
        move(to, mean);
        move(to + r.running_second, r.count > 1 ? variance * r.count / (r.count - 1) : variance);
    });
}

extern "C" __global__ void running_f32(cuda_running r) { running<float>(r); }
extern "C" __global__ void running_f64(cuda_running r) { running<double>(r); }
