// The gradient of an embedding's table. The block of an id's first place adds up all rows of that id in the order of
// their places, so that results are the same in every run; blocks of other places have nothing to do.
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/bf16.inc"

enum { EACH = 8 }; // columns of a thread

struct spot {
    long long a, b, c;
};
static __device__ spot spot_of(const cuda_lookup &l, long long i)
{
    const int rest = int(i), c = int(l.extent[2]), b = int(l.extent[1]); // division takes longer with 64 bits
    return { rest / c / b, rest / c % b, rest % c };
}

static __device__ int id_at(const cuda_lookup &l, long long i)
{
    const spot s = spot_of(l, i);
    return l.ids[s.a * l.id_step[0] + s.b * l.id_step[1] + s.c * l.id_step[2]];
}

// Numbers in memory are of type T, sums of type S.
template <class T, class S> static __device__ void add_rows(const cuda_lookup &l)
{
    __shared__ bool is_same[CUDA_LOOKUP_IDS];
    __shared__ long long last; // the beginning of the last ids of which one was the same
    const long long n = l.extent[0] * l.extent[1] * l.extent[2];
    const long long column = (long long)blockIdx.y * blockDim.x * EACH + threadIdx.x;
    for (long long i = blockIdx.x; i < n; i += gridDim.x) {
        const int id = id_at(l, i);
        if (id < l.lo || id >= l.hi)
            continue;
        S sum[EACH] = {};
        bool earlier = false;
        for (long long k = threadIdx.x; k < i && !earlier; k += blockDim.x)
            earlier = id_at(l, k) == id;
        __syncthreads();
        last = -1;
        __syncthreads();
        if (earlier)
            last = n;
        __syncthreads();
        if (last == n)
            continue;
        for (long long first = i; first < n; first += CUDA_LOOKUP_IDS) {
            const int here = int(n - first < CUDA_LOOKUP_IDS ? n - first : CUDA_LOOKUP_IDS);
            __syncthreads();
            for (int k = int(threadIdx.x); k < here; k += int(blockDim.x)) {
                is_same[k] = id_at(l, first + k) == id;
                if (is_same[k])
                    last = first;
            }
            __syncthreads();
            for (int k = 0; last == first && k < here; k++) {
                if (!is_same[k])
                    continue;
                const spot s = spot_of(l, first + k);
                const T *from = (const T *)l.from + s.a * l.from_step[0] + s.b * l.from_step[1] + s.c * l.from_step[2];
#pragma unroll
                for (int e = 0; e < EACH; e++)
                    if (column + e * blockDim.x < l.width)
                        sum[e] += S(from[(column + e * blockDim.x) * l.from_column]);
            }
        }
        T *to = (T *)l.to + id * l.to_row;
#pragma unroll
        for (int e = 0; e < EACH; e++)
            if (column + e * blockDim.x < l.width) {
                T *at = to + (column + e * blockDim.x) * l.to_column;
                *at = T(S(*at) + sum[e]);
            }
    }
}

extern "C" __global__ void add_rows_f32(cuda_lookup l) { add_rows<float, float>(l); }
extern "C" __global__ void add_rows_f64(cuda_lookup l) { add_rows<double, double>(l); }
extern "C" __global__ void add_rows_bf16(cuda_lookup l) { add_rows<bf16, float>(l); }
