// The gradient of an embedding's table: each block owns the rows whose number leaves a certain rest, and adds to them
// in the order of the ids, so that results are the same in every run.
#include "run/backend/cuda/arguments.h"

template <class T> static __device__ void add_rows(const cuda_lookup &l)
{
    const long long n = l.extent[0] * l.extent[1] * l.extent[2];
    for (long long i = 0; i < n; i++) {
        const long long c = i % l.extent[2], b = i / l.extent[2] % l.extent[1], a = i / l.extent[2] / l.extent[1];
        const int id = l.ids[a * l.id_step[0] + b * l.id_step[1] + c * l.id_step[2]];
        if (id % gridDim.x != blockIdx.x || id < l.lo || id >= l.hi)
            continue;
        const T *from = (const T *)l.from + a * l.from_step[0] + b * l.from_step[1] + c * l.from_step[2];
        T *to = (T *)l.to + id * l.to_row;
        for (long long k = threadIdx.x; k < l.width; k += blockDim.x)
            to[k * l.to_column] += from[k * l.from_column];
    }
}

extern "C" __global__ void add_rows_f32(cuda_lookup l) { add_rows<float>(l); }
extern "C" __global__ void add_rows_f64(cuda_lookup l) { add_rows<double>(l); }
