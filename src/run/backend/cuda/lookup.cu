// The gradient of an embedding's table: each block owns the rows whose number leaves a certain rest, and adds to them
// in the order of the ids, so that results are the same in every run.
#include "run/backend/cuda/arguments.h"

template <class T> static __device__ void add_rows(const cuda_lookup &l)
{
    __shared__ int ids[CUDA_LOOKUP_IDS];
    const long long n = l.extent[0] * l.extent[1] * l.extent[2];
    for (long long first = 0; first < n; first += CUDA_LOOKUP_IDS) {
        const int here = int(n - first < CUDA_LOOKUP_IDS ? n - first : CUDA_LOOKUP_IDS);
        __syncthreads();
        for (int i = int(threadIdx.x); i < here; i += int(blockDim.x)) {
            const long long at = first + i, c = at % l.extent[2], b = at / l.extent[2] % l.extent[1];
            const long long a = at / l.extent[2] / l.extent[1];
            ids[i] = l.ids[a * l.id_step[0] + b * l.id_step[1] + c * l.id_step[2]];
        }
        __syncthreads();
        for (int i = 0; i < here; i++) {
            const int id = ids[i];
            if (id % gridDim.x != blockIdx.x || id < l.lo || id >= l.hi)
                continue;
            const long long at = first + i, c = at % l.extent[2], b = at / l.extent[2] % l.extent[1];
            const long long a = at / l.extent[2] / l.extent[1];
            const T *from = (const T *)l.from + a * l.from_step[0] + b * l.from_step[1] + c * l.from_step[2];
            T *to = (T *)l.to + id * l.to_row;
            for (long long k = threadIdx.x; k < l.width; k += blockDim.x)
                to[k * l.to_column] += from[k * l.from_column];
        }
    }
}

extern "C" __global__ void add_rows_f32(cuda_lookup l) { add_rows<float>(l); }
extern "C" __global__ void add_rows_f64(cuda_lookup l) { add_rows<double>(l); }
