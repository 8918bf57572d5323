// What generated kernels use (generate.h). Before it the types Real, of numbers in memory that are not bf16, and Index
// are declared.
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/bf16.inc"

// Where numbers are bf16 in memory, arithmetic is in single precision; random numbers and arguments are not.
typedef double Exact;
#ifdef SINGLE
#define double float
#endif

static __device__ bool is_outside(long long position, long long size)
{
    return position < 0 || position >= size;
}

// Functions as exact as numbers in memory are: double precision takes long.
#ifndef SINGLE
static __device__ double exp_of(double x, double) { return exp(x); }
static __device__ double log_of(double x, double) { return log(x); }
static __device__ double tanh_of(double x, double) { return tanh(x); }
static __device__ double erf_of(double x, double) { return erf(x); }
static __device__ double ratio_of(double x, double y, double) { return x / y; }
static __device__ double rate_of(double x, double) { return 1 / sqrt(x); }
#endif
#if defined SINGLE && defined __CUDA_ARCH__ // results have eight bits
static __device__ double exp_of(double x, float) { return __expf(x); }
static __device__ double tanh_of(double x, float)
{
    const float bounded = x > 9 ? 9 : x < -9 ? -9 : x, power = __expf(2 * bounded);
    return x < 0.02f && x > -0.02f ? x - x * x * x * (1 / 3.f) : __fdividef(power - 1, power + 1);
}
static __device__ double ratio_of(double x, double y, float) { return __fdividef(x, y); }
static __device__ double rate_of(double x, float) { return rsqrtf(x); }
#else
static __device__ double exp_of(double x, float) { return double(expf(float(x))); }
static __device__ double tanh_of(double x, float) { return double(tanhf(float(x))); }
static __device__ double ratio_of(double x, double y, float) { return double(float(x) / float(y)); }
static __device__ double rate_of(double x, float) { return double(1 / sqrtf(float(x))); }
#endif
static __device__ double log_of(double x, float) { return double(logf(float(x))); }
static __device__ double erf_of(double x, float) { return double(erff(float(x))); }
#define exp(x)      exp_of(x, Real(0))
#define log(x)      log_of(x, Real(0))
#define tanh(x)     tanh_of(x, Real(0))
#define erf(x)      erf_of(x, Real(0))
#define ratio(x, y) ratio_of(x, y, Real(0))
#define rate(x)     rate_of(x, Real(0)) // 1 / sqrt(x)

// Formulas of element-wise operators.
struct constants {
    double alpha, beta;
};

#define SCALAR static __device__
#include "kernel/scalar.inc"

// As hp_draw() of the host.
static __device__ Exact draw(unsigned long long key, unsigned long long index)
{
    unsigned long long z = key + (index + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return Exact((z ^ (z >> 31)) >> 11) * 1.1102230246251565e-16; // 2^-53
}

// Softmax: a maximum, and the sum of exp(x - maximum).
static __device__ void join(double &max, double &sum, double x, double more, double least)
{
    if (more == 0 || x == least)
        return;
    if (x > max) {
        sum = sum * exp(max - x) + more;
        max = x;
    } else {
        sum += more * exp(x - max);
    }
}

// Norms: x normalised is (x - mean) rate.
struct moments {
    double mean, rate;
};

// From sums over elements, each of which has this share in a mean.
static __device__ moments moments_of(double first, double second, double share, double eps, double given)
{
    if (given != 0)
        return { first, rate(second + eps) };
    double mean = first * share, variance = second * share - mean * mean;
    return { mean, rate((variance > 0 ? variance : 0) + eps) };
}

// Windows: the positions first, first + step, ... below hi that an output sees, with the weight of each.
struct window {
    Index first, hi, step;
    double weight; // of each position; of linear windows that of the lower one
    bool linear;
    Index lower, last;
};

// generate.c writes the numbers of a window in this order.
enum { N_STRIDE, N_PAD, N_SPAN, N_DIVIDE, N_SIZE, N_DILATION, N_COUNT_PAD, N_PAD_AFTER, N_LINEAR };

template <class I> static __device__ I divide_down(I a, I b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

static __device__ window window_of(Index output, const long long *n)
{
    long long lo = output * n[N_STRIDE] - n[N_PAD], hi = lo + n[N_SPAN], first = lo;
    window w = { 0, 0, Index(n[N_DILATION]), 1, n[N_LINEAR] != 0, 0, Index(n[N_SIZE] - 1) };
    if (n[N_DIVIDE]) {
        first = divide_down(Index(lo), Index(n[N_DIVIDE]));
        w.weight = 1 - double(lo - first * n[N_DIVIDE]) / double(n[N_DIVIDE]);
        w.lower = Index(first);
        hi = divide_down(Index(hi - 1), Index(n[N_DIVIDE])) + 1;
    }
    if (w.linear) { // beyond the first and the last element, constant
        long long last = n[N_SIZE] - 1;
        w.first = Index(first < 0 ? 0 : first > last ? last : first);
        w.hi = Index((first + 1 < 0 ? 0 : first + 1 > last ? last : first + 1) + 1);
        return w;
    }
    if (first < 0)
        first += n[N_DILATION] == 1 ? -first : (-first + n[N_DILATION] - 1) / n[N_DILATION] * n[N_DILATION];
    w.first = Index(first);
    w.hi = Index(hi < n[N_SIZE] ? hi : n[N_SIZE]);
    long long least = n[N_COUNT_PAD] ? lo : 0;
    long long most = n[N_SIZE] + (n[N_COUNT_PAD] ? n[N_PAD_AFTER] : 0);
    long long taps = (hi < most ? hi : most) - (lo > least ? lo : least);
    if (n[N_DIVIDE])
        taps = w.hi - w.first;
    w.weight = taps > 0 ? 1 / double(taps) : 0;
    return w;
}

// Narrows the outputs lo .. hi - 1 to those whose window may see a position.
static __device__ void outputs_of(Index position, const long long *n, Index &lo, Index &hi)
{
    const Index each = Index(n[N_DIVIDE] ? n[N_DIVIDE] : 1), stride = Index(n[N_STRIDE]);
    const Index pad = Index(n[N_PAD]), span = Index(n[N_SPAN]);
    bool open = n[N_LINEAR] != 0;
    if (stride == 0)
        return;
    const Index first = divide_down(position * each + pad - span + stride, stride);
    const Index last = divide_down((position + 1) * each - 1 + pad, stride);
    if (first > lo && !(open && position == 0))
        lo = Index(first);
    if (last + 1 < hi && !(open && position == n[N_SIZE] - 1))
        hi = Index(last + 1);
}

static __device__ double weight_at(const window &w, Index position)
{
    if (position < w.first || position >= w.hi || (position - w.first) % w.step)
        return 0;
    if (!w.linear)
        return w.weight;
    Index upper = w.lower + 1, lower = w.lower;
    lower = lower < 0 ? 0 : lower > w.last ? w.last : lower;
    upper = upper < 0 ? 0 : upper > w.last ? w.last : upper;
    return (position == lower ? w.weight : 0) + (position == upper ? 1 - w.weight : 0);
}

// Positions along dimensions 1 to 5 of the first operand; those without a window have one, 0.
template <class F> static __device__ void for_window(const window *in, F f)
{
    for (Index p1 = in[0].first; p1 < in[0].hi; p1 += in[0].step)
        for (Index p2 = in[1].first; p2 < in[1].hi; p2 += in[1].step)
            for (Index p3 = in[2].first; p3 < in[2].hi; p3 += in[2].step)
                for (Index p4 = in[3].first; p4 < in[3].hi; p4 += in[3].step)
                    for (Index p5 = in[4].first; p5 < in[4].hi; p5 += in[4].step)
                        f(p1, p2, p3, p4, p5);
}

// The number, in the order of for_window(), of the largest element; -1: there is none.
template <class F> static __device__ int largest(const window *in, F x, double &found)
{
    int at = -1, n = 0;
    found = 0;
    for_window(in, [&](Index p1, Index p2, Index p3, Index p4, Index p5) {
        double here = x(p1, p2, p3, p4, p5);
        if (at < 0 || here > found || here != here) {
            found = here;
            at = n;
        }
        n++;
    });
    return at;
}

// The number of a position in that order; -1: the window does not see it.
static __device__ int number_in(const window *in, Index p1, Index p2, Index p3, Index p4, Index p5)
{
    const Index p[5] = { p1, p2, p3, p4, p5 };
    int number = 0;
    for (int d = 0; d < 5; d++) {
        Index away = p[d] - in[d].first, length = in[d].hi - in[d].first;
        if (away < 0 || away >= length)
            return -1;
        if (in[d].step != 1) { // division takes long
            if (away % in[d].step)
                return -1;
            away /= in[d].step;
            length = (length + in[d].step - 1) / in[d].step;
        }
        number = number * int(length) + int(away);
    }
    return number;
}

// Results go to memory: they replace what is there if it is fresh.
template <bool FRESH, class T> static __device__ void put_sum(T *to, double acc)
{
    *to = FRESH ? T(acc) : T(*to + Real(acc));
}

template <bool FRESH, class T> static __device__ void put_sums(T *to, long long second, double acc, double acc1)
{
    put_sum<FRESH>(to, acc);
    put_sum<FRESH>(to + second, acc1);
}

template <bool FRESH, class T> static __device__ void put_max(T *to, double acc)
{
    if (FRESH || Real(acc) > *to)
        *to = T(acc);
}

// Numbers that lie one after the other, from an aligned place on.
struct alignas(16) quarters {
    unsigned word[4];
};
template <class T, int N> union chunk {
    T at[N];
    quarters quarter[sizeof(T) * N / sizeof(quarters)];

    chunk() = default;
    explicit __device__ chunk(const T *from)
    {
        static_assert(sizeof(T) * N % sizeof(quarters) == 0, "a chunk is whole quarters");
#ifndef __CUDA_ARCH__
        if ((unsigned long long)from % sizeof(quarters)) // as a card does
            __builtin_trap();
#endif
#pragma unroll
        for (int i = 0; i < int(sizeof quarter / sizeof *quarter); i++)
            quarter[i] = ((const quarters *)from)[i];
    }
};

// The results of lanes; the number of those that are there is for spread ones alone.
template <bool FRESH, class T, int N> static __device__ void put_chunk(T *to, const double (&found)[N], long long)
{
    chunk<T, N> all;
    if (!FRESH)
        all = chunk<T, N>(to);
#pragma unroll
    for (int i = 0; i < N; i++)
        put_sum<FRESH>(all.at + i, found[i]);
#pragma unroll
    for (int i = 0; i < int(sizeof all / sizeof(quarters)); i++)
        ((quarters *)to)[i] = all.quarter[i];
}

template <bool FRESH, class T, int N> static __device__ void put_spread(T *to, const double (&found)[N], long long there)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        if (i * 32 < there)
            put_sum<FRESH>(to + i * 32, found[i]);
}

// The maximum is rounded, so that the sum belongs to what is in memory.
template <bool FRESH> static __device__ void put_softmax(Real *to, long long second, double acc, double acc1)
{
    double max = double(Real(acc)), sum = acc1 == 0 ? 0 : acc1 * exp(acc - max);
    if (!FRESH && double(to[second]) != 0) {
        if (double(*to) > max || sum == 0) {
            sum = double(to[second]) + (sum == 0 ? 0 : sum * exp(max - double(*to)));
            max = double(*to);
        } else {
            sum += double(to[second]) * exp(double(*to) - max);
        }
    }
    *to = Real(max);
    to[second] = Real(sum);
}
