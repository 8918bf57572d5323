// Attention between its products of matrices (attention.c), for queries and keys of several heads.
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/bf16.inc"

// Statistics, scores and arithmetic are of type T; operands, and the factors that scores become, of type O.

// From scale * (query . key): the score, and its derivative.
template <class T, class O> static __device__ T score_of(const cuda_attention &a, long long h, long long q, long long s, T x, T &slope)
{
    slope = 1;
    if (a.cap > 0) {
        const T part = tanh(x / T(a.cap));
        x = T(a.cap) * part;
        slope = 1 - part * part;
    }
    if (a.bias)
        x += T(((const O *)a.bias)[h * a.bias_step[0] + q * a.bias_step[1] + s * a.bias_step[2]]);
    return x;
}

// The keys before which a query has its last one.
static __device__ long long keys_of(const cuda_attention &a, long long q)
{
    const long long all = a.first_query + q - a.first_key + 1;
    return !a.causal || all > a.keys ? a.keys : all > 0 ? all : 0;
}

template <class T> static __device__ const T *statistic(const cuda_attention &a, long long h, long long q)
{
    return (const T *)a.m + h * a.m_step[0] + q * a.m_step[1];
}

static __device__ double power(double x) { return exp(x); }
static __device__ float power(float x) { return expf(x); }

// A warp has a query.
enum { WARP = 32 };

template <class T> static __device__ T warp_sum(T x)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        x += __shfl_xor_sync(~0u, x, by);
    return x;
}

template <class T> static __device__ T warp_max(T x)
{
    for (int by = WARP / 2; by > 0; by /= 2) {
        const T other = __shfl_xor_sync(~0u, x, by);
        x = other > x ? other : x;
    }
    return x;
}

struct row {
    long long number, h, q, keys;
    int lane;
};

// False: there is no such query.
static __device__ bool find_row(const cuda_attention &a, row &r)
{
    r.number = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    r.lane = int(threadIdx.x % WARP);
    r.h = r.number / a.queries;
    r.q = r.number - r.h * a.queries;
    r.keys = keys_of(a, r.q);
    return r.number < a.heads * a.queries;
}

// Factors take the memory of a row's scores, from its beginning. The threads of a warp write theirs when all of them
// have read their scores; scores that are read later lie behind.
template <class T, class O> static __device__ void put(T *scores, long long s, bool is_there, T value)
{
    if (sizeof(O) != sizeof(T))
        __syncwarp();
    if (is_there)
        ((O *)scores)[s] = O(value);
}

// Products become probabilities, where WEIGHTS; dp becomes the errors of scores, where ERRORS: for operands times the
// scale.
template <class T, class O, bool WEIGHTS, bool ERRORS> static __device__ void weigh(const cuda_attention &a)
{
    row r;
    if (!find_row(a, r))
        return;
    const T *m = statistic<T>(a, r.h, r.q);
    const T max = m[0], share = m[a.m_second] > 0 ? 1 / m[a.m_second] : T(0);
    const T t = ERRORS ? ((const T *)a.t)[r.h * a.t_step[0] + r.q * a.t_step[1]] : T(0);
    T *scores = (T *)a.scores + r.number * a.keys, *dp = (T *)a.dp + r.number * a.keys;
    for (long long first = 0; first < a.keys; first += WARP) {
        const long long s = first + r.lane;
        T p = 0, slope = 0, error = 0;
        if (s < r.keys) {
            const T score = score_of<T, O>(a, r.h, r.q, s, scores[s], slope);
            p = score > T(a.least) ? power(score - max) * share : T(0);
            error = ERRORS ? p * (dp[s] - t) : T(0);
        }
        if (ERRORS)
            put<T, O>(dp, s, s < a.keys, a.of_bias ? error : error * slope * T(a.scale));
        if (WEIGHTS)
            put<T, O>(scores, s, s < a.keys, p);
    }
}

extern "C" __global__ void weigh_f32(cuda_attention a) { weigh<float, float, true, false>(a); }
extern "C" __global__ void weigh_f64(cuda_attention a) { weigh<double, double, true, false>(a); }
extern "C" __global__ void weigh_bf16(cuda_attention a) { weigh<float, bf16, true, false>(a); }
extern "C" __global__ void errors_f32(cuda_attention a) { weigh<float, float, false, true>(a); }
extern "C" __global__ void errors_f64(cuda_attention a) { weigh<double, double, false, true>(a); }
extern "C" __global__ void errors_bf16(cuda_attention a) { weigh<float, bf16, false, true>(a); }
extern "C" __global__ void weigh_errors_f32(cuda_attention a) { weigh<float, float, true, true>(a); }
extern "C" __global__ void weigh_errors_f64(cuda_attention a) { weigh<double, double, true, true>(a); }
extern "C" __global__ void weigh_errors_bf16(cuda_attention a) { weigh<float, bf16, true, true>(a); }

// The maximum of a query's scores, and the sum of exp(score - maximum), joined with what is there; where WEIGHTS, its
// products become probabilities.
template <class T, class O, bool WEIGHTS> static __device__ void statistics(const cuda_attention &a)
{
    row r;
    if (!find_row(a, r))
        return;
    const T least = T(a.least);
    T *scores = (T *)a.scores + r.number * a.keys, *m = (T *)statistic<T>(a, r.h, r.q);
    T max = least, sum = 0, slope;
    for (long long s = r.lane; s < r.keys; s += WARP) {
        const T score = score_of<T, O>(a, r.h, r.q, s, scores[s], slope);
        max = score > max ? score : max;
    }
    max = warp_max(max);
    const T before = a.fresh ? T(0) : m[a.m_second], other = before > 0 ? m[0] : least;
    max = other > max ? other : max;
    for (long long s = r.lane; s < r.keys; s += WARP) {
        const T score = score_of<T, O>(a, r.h, r.q, s, scores[s], slope);
        const T part = score > least ? power(score - max) : T(0);
        sum += part;
        if (WEIGHTS)
            scores[s] = part;
    }
    sum = warp_sum(sum);
    if (before > 0)
        sum += before * power(other - max);
    const T share = sum > 0 ? 1 / sum : T(0);
    if (WEIGHTS)
        for (long long first = 0; first < a.keys; first += WARP) {
            const long long s = first + r.lane;
            put<T, O>(scores, s, s < a.keys, s < r.keys ? scores[s] * share : T(0));
        }
    if (r.lane == 0) {
        m[0] = max;
        m[a.m_second] = sum;
    }
}

extern "C" __global__ void statistics_f32(cuda_attention a) { statistics<float, float, false>(a); }
extern "C" __global__ void statistics_f64(cuda_attention a) { statistics<double, double, false>(a); }
extern "C" __global__ void statistics_bf16(cuda_attention a) { statistics<float, bf16, false>(a); }
extern "C" __global__ void statistics_weigh_f32(cuda_attention a) { statistics<float, float, true>(a); }
extern "C" __global__ void statistics_weigh_f64(cuda_attention a) { statistics<double, double, true>(a); }
extern "C" __global__ void statistics_weigh_bf16(cuda_attention a) { statistics<float, bf16, true>(a); }
