// Joins what the threads of a column have found, in a fixed order, in the thread with threadIdx.y 0. Behind generic.cu.
// A column may go over several blocks, each with its slice of the terms: their sums are joined by a second kernel.
__shared__ double column_acc[CUDA_COLUMN_THREADS], column_acc1[CUDA_COLUMN_THREADS];

template <class F> static __device__ void join_column(double &acc, double &acc1, F f)
{
    const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
    column_acc[at] = acc;
    column_acc1[at] = acc1;
    unsigned groups = 1; // each thread of the first ones joins those of its group, and the first one the groups
    while (groups * groups < blockDim.y)
        groups *= 2;
    __syncthreads();
    for (unsigned y = threadIdx.y + groups; threadIdx.y < groups && y < blockDim.y; y += groups) {
        const unsigned other = y * blockDim.x + threadIdx.x;
        f(column_acc[at], column_acc1[at], column_acc[other], column_acc1[other]);
    }
    __syncthreads();
    for (unsigned y = 1; threadIdx.y == 0 && y < groups && y < blockDim.y; y++) {
        const unsigned other = y * blockDim.x + threadIdx.x;
        f(column_acc[at], column_acc1[at], column_acc[other], column_acc1[other]);
    }
    __syncthreads();
    acc = column_acc[threadIdx.x];
    acc1 = column_acc1[threadIdx.x];
}

static __device__ void join_two_sum(double &acc, double &acc1, double x, double x1)
{
    acc += x;
    acc1 += x1;
}

static __device__ void join_two_max(double &acc, double &, double x, double)
{
    acc = x > acc ? x : acc;
}

static __device__ void join_two_softmax(double &acc, double &acc1, double x, double x1)
{
    if (x1 != 0)
        join(acc, acc1, x, x1, -x1 / 0.0);
}
