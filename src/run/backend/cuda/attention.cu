// Attention between its products of matrices (attention.c), for queries and keys of several heads.
#include "run/backend/cuda/arguments.h"

// From scale * (query . key): the score, and its derivative.
template <class T> static __device__ double score_of(const cuda_attention &a, long long h, long long q, long long s, double x, double &slope)
{
    slope = 1;
    if (a.cap > 0) {
        double part = tanh(x / a.cap);
        x = a.cap * part;
        slope = 1 - part * part;
    }
    if (a.bias)
        x += double(((const T *)a.bias)[h * a.bias_step[0] + q * a.bias_step[1] + s * a.bias_step[2]]);
    return a.causal && a.first_key + s > a.first_query + q ? a.least : x;
}

template <class T> static __device__ const T *statistic(const cuda_attention &a, long long h, long long q)
{
    return (const T *)a.m + h * a.m_step[0] + q * a.m_step[1];
}

static __device__ double power(double x, double) { return exp(x); }
static __device__ double power(double x, float) { return double(expf(float(x))); }

// Products become probabilities, where WEIGHTS; dp becomes the errors of scores, where ERRORS: for operands times the
// scale. A block has a query.
template <class T, bool WEIGHTS, bool ERRORS> static __device__ void weigh(const cuda_attention &a)
{
    const long long row = blockIdx.x, h = row / a.queries, q = row - h * a.queries;
    const T *m = statistic<T>(a, h, q);
    const double max = double(m[0]), sum = double(m[a.m_second]);
    const double t = ERRORS ? double(((const T *)a.t)[h * a.t_step[0] + q * a.t_step[1]]) : 0;
    T *scores = (T *)a.scores + row * a.keys, *dp = (T *)a.dp + row * a.keys;
    for (long long s = threadIdx.x; s < a.keys; s += blockDim.x) {
        double slope;
        const double score = score_of<T>(a, h, q, s, double(scores[s]), slope);
        const double p = score > a.least ? power(score - max, T(0)) / sum : 0;
        if (ERRORS) {
            const double error = p * (double(dp[s]) - t);
            dp[s] = T(a.of_bias ? error : error * slope * a.scale);
        }
        if (WEIGHTS)
            scores[s] = T(p);
    }
}

extern "C" __global__ void weigh_f32(cuda_attention a) { weigh<float, true, false>(a); }
extern "C" __global__ void weigh_f64(cuda_attention a) { weigh<double, true, false>(a); }
extern "C" __global__ void errors_f32(cuda_attention a) { weigh<float, false, true>(a); }
extern "C" __global__ void errors_f64(cuda_attention a) { weigh<double, false, true>(a); }
extern "C" __global__ void weigh_errors_f32(cuda_attention a) { weigh<float, true, true>(a); }
extern "C" __global__ void weigh_errors_f64(cuda_attention a) { weigh<double, true, true>(a); }

template <class T> static __device__ void join(double &max, double &sum, double x, double more, double least)
{
    if (more == 0 || x == least)
        return;
    if (x > max) {
        sum = sum * power(max - x, T(0)) + more;
        max = x;
    } else {
        sum += more * power(x - max, T(0));
    }
}

// A block for each query: the maximum of its scores, and the sum of exp(score - maximum), joined with what is there.
template <class T> static __device__ void statistics(const cuda_attention &a)
{
    __shared__ double maxima[CUDA_ATTENTION_THREADS], sums[CUDA_ATTENTION_THREADS];
    const long long row = blockIdx.x, h = row / a.queries, q = row - h * a.queries;
    double max = a.least, sum = 0, slope;
    for (long long s = threadIdx.x; s < a.keys; s += blockDim.x)
        join<T>(max, sum, score_of<T>(a, h, q, s, double(((const T *)a.scores)[row * a.keys + s]), slope), 1, a.least);
    maxima[threadIdx.x] = max;
    sums[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            join<T>(maxima[threadIdx.x], sums[threadIdx.x], maxima[threadIdx.x + half], sums[threadIdx.x + half], a.least);
    }
    if (threadIdx.x == 0) {
        T *m = (T *)statistic<T>(a, h, q);
        max = maxima[0];
        sum = sums[0];
        if (!a.fresh)
            join<T>(max, sum, double(m[0]), double(m[a.m_second]), a.least);
        m[0] = T(max);
        m[a.m_second] = sum == 0 ? T(0) : T(sum * exp(max - double(T(max))));
    }
}

extern "C" __global__ void statistics_f32(cuda_attention a) { statistics<float>(a); }
extern "C" __global__ void statistics_f64(cuda_attention a) { statistics<double>(a); }

template <class T> static __device__ void statistics_weigh(const cuda_attention &a)
{
    statistics<T>(a);
    __syncthreads(); // the statistics of the block's query are in memory
    weigh<T, true, false>(a);
}

extern "C" __global__ void statistics_weigh_f32(cuda_attention a) { statistics_weigh<float>(a); }
extern "C" __global__ void statistics_weigh_f64(cuda_attention a) { statistics_weigh<double>(a); }
