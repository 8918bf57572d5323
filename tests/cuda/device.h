// What CUDA C++ means on the host: included before a source that the stand-in of NVRTC compiles
// (nvrtc.c). A launch runs the blocks of the grid one after the other. The threads of a block
// run one after the other, or in turns where the source waits for other threads.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__    static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __restrict__ __restrict

struct dim3 {
    unsigned x, y, z;
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;

static inline float rsqrtf(float x)
{
    return 1 / std::sqrt(x);
}
static inline double rsqrt(double x)
{
    return 1 / std::sqrt(x);
}
using std::isfinite;
using std::isinf;
using std::isnan;
template <class T> static inline T min(T a, T b)
{
    return b < a ? b : a;
}
template <class T> static inline T max(T a, T b)
{
    return a < b ? b : a;
}

namespace stand_in
{

// An argument list lies in one piece of memory, so that a launch can run later than it was
// asked for.
template <class... A> struct packed;
template <class F, class... R> struct packed<F, R...> {
    F first;
    packed<R...> rest;
    explicit packed(void **arg) : first(*static_cast<F *>(arg[0])), rest(arg + 1)
    {
    }
    template <class C, class... B> void call(C f, B... before)
    {
        rest.call(f, before..., first);
    }
};
template <> struct packed<> {
    explicit packed(void **)
    {
    }
    template <class C, class... B> void call(C f, B... before)
    {
        f(before...);
    }
};

template <class... A> void *pack(void (*)(A...), void **arg)
{
    return new packed<std::remove_cv_t<A>...>(arg);
}

static void at(unsigned i)
{
    threadIdx = { i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y };
}

#ifdef STAND_IN_TURNS
} // namespace stand_in
#include <csetjmp>
#include <ucontext.h>
namespace stand_in
{

// Threads of a block as contexts of this thread. Each runs until it waits; then the next one
// does.
enum { MOST_THREADS = 1024, STACK = 1 << 16, WARP = 32 };
struct thread {
    jmp_buf place;
    bool begun, ended, at_barrier;
};
static thread threads[MOST_THREADS];
static char *stacks;
static unsigned now, n_threads;
static jmp_buf outside;
static ucontext_t enter, context;
static void (*body)(void *);
static void *body_arg;

static void first()
{
    body(body_arg);
    threads[now].ended = true;
    _longjmp(outside, 1);
}

// Runs thread `i` until it waits or ends.
static void run_on(unsigned i)
{
    now = i;
    at(i);
    if (_setjmp(outside))
        return;
    if (threads[i].begun)
        _longjmp(threads[i].place, 1);
    threads[i].begun = true;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks + size_t(i) * STACK;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, first, 0);
    setcontext(&context);
}

static void wait()
{
    if (!_setjmp(threads[now].place))
        _longjmp(outside, 1);
}

// Until all threads that have not ended are here.
static void barrier()
{
    threads[now].at_barrier = true;
    wait();
}

static void block(void (*f)(void *), void *arg)
{
    bool left = true;
    if (!stacks)
        stacks = static_cast<char *>(malloc(size_t(MOST_THREADS) * STACK));
    body = f;
    body_arg = arg;
    for (unsigned i = 0; i < n_threads; i++)
        threads[i].begun = threads[i].ended = threads[i].at_barrier = false;
    while (left) {
        bool ran = false;
        left = false;
        for (unsigned i = 0; i < n_threads; i++)
            if (!threads[i].ended && !threads[i].at_barrier) {
                run_on(i);
                ran = true;
            }
        for (unsigned i = 0; i < n_threads; i++) {
            left = left || !threads[i].ended;
            threads[i].at_barrier = threads[i].at_barrier && ran;
        }
    }
}

// What the threads of a warp tell each other. All of them, or all that are named, must come
// here.
static uint64_t told[MOST_THREADS];
template <class T> static T exchange(T mine, unsigned from)
{
    uint64_t bits = 0;
    T theirs;
    memcpy(&bits, &mine, sizeof mine);
    unsigned warp = now / WARP * WARP, lane = now - warp;
    told[now] = bits;
    wait();
    bits = told[warp + from < n_threads ? warp + from : warp + lane];
    memcpy(&theirs, &bits, sizeof theirs);
    wait();
    return theirs;
}
#else
static unsigned n_threads;
static void block(void (*f)(void *), void *arg)
{
    for (unsigned i = 0; i < n_threads; i++) {
        at(i);
        f(arg);
    }
}
#endif

template <class... A>
void run(void (*kernel)(A...), void *arg, const unsigned *grid, const unsigned *size)
{
    struct call {
        void (*kernel)(A...);
        packed<std::remove_cv_t<A>...> *arg;
    } c = { kernel, static_cast<packed<std::remove_cv_t<A>...> *>(arg) };
    gridDim = { grid[0], grid[1], grid[2] };
    blockDim = { size[0], size[1], size[2] };
    n_threads = size[0] * size[1] * size[2];
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++) {
                blockIdx = { x, y, z };
                block(
                    [](void *p) {
                        static_cast<call *>(p)->arg->call(static_cast<call *>(p)->kernel);
                    },
                    &c);
            }
    delete c.arg;
}

} // namespace stand_in

#ifdef STAND_IN_TURNS
static inline void __syncthreads()
{
    stand_in::barrier();
}
static inline void __syncwarp(unsigned = ~0u)
{
    stand_in::wait();
}
template <class T> static inline T __shfl_sync(unsigned, T x, int from)
{
    return stand_in::exchange(x, unsigned(from));
}
template <class T> static inline T __shfl_xor_sync(unsigned, T x, int with)
{
    return stand_in::exchange(x, stand_in::now % stand_in::WARP ^ unsigned(with));
}
template <class T> static inline T __shfl_down_sync(unsigned, T x, int by)
{
    unsigned from = stand_in::now % stand_in::WARP + unsigned(by);
    return stand_in::exchange(x, from < stand_in::WARP ? from : stand_in::now % stand_in::WARP);
}
#endif

// What the driver's stand-in looks for, beside a kernel.
#define STAND_IN_KERNEL(name)                                                         \
    extern "C" void *name##_pack(void **arg)                                          \
    {                                                                                 \
        return stand_in::pack(name, arg);                                             \
    }                                                                                 \
    extern "C" void name##_run(void *arg, const unsigned *grid, const unsigned *size) \
    {                                                                                 \
        stand_in::run(name, arg, grid, size);                                         \
    }
