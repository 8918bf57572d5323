// Attention in bf16 whose scores stay in registers (Dao, FlashAttention-2, 2023). Before it HEAD and VALUE, multiples of
// 16, are declared: the widths of keys and of values. A block has ROWS rows of scores, each warp 16 of them, and goes
// over their columns TILE at a time. Products are added in fp32, in an order that follows from the extents.
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/bf16.inc"

enum { WARP = 32, WARPS = CUDA_FLASH_THREADS / WARP, ROWS = 16 * WARPS, GAP = 8 };
enum { TILE = HEAD > 64 || VALUE > 64 ? 32 : 64 };

// Products of matrices of 16 x 16 and 16 x 8 by a warp. Thread 4 i + j has of the first matrix the numbers 2 j, 2 j + 1
// of rows i and i + 8, and those 8 further on; of the second matrix the same of column i; of the result the columns 2 j,
// 2 j + 1 of rows i and i + 8.
typedef unsigned pair; // two numbers, the first in the lower half

static __device__ int lane() { return int(threadIdx.x % WARP); }
static __device__ int lane_row() { return lane() / 4; }
static __device__ int lane_column() { return lane() % 4 * 2; }

static __device__ pair pair_of(float first, float second)
{
#ifdef __CUDA_ARCH__
    pair both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
#else
    return pair(bf16(first).bits) | pair(bf16(second).bits) << 16;
#endif
}

static __device__ void multiply(float *c, const pair *a, const pair *b)
{
#ifdef __CUDA_ARCH__
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    for (int k = 0; k < 16; k += 2) { // the same without units for products
        const int far = k / 8, column = k % 8 / 2;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const pair x0 = __shfl_sync(~0u, a[2 * far], lane_row() * 4 + column);
            const pair x1 = __shfl_sync(~0u, a[2 * far + 1], lane_row() * 4 + column);
            const pair y = __shfl_sync(~0u, b[far], (lane_column() + i % 2) * 4 + column);
            const pair x = i < 2 ? x0 : x1;
            bf16 lower[2], upper[2];
            lower[0].bits = (unsigned short)x, upper[0].bits = (unsigned short)(x >> 16);
            lower[1].bits = (unsigned short)y, upper[1].bits = (unsigned short)(y >> 16);
            c[i] += float(lower[0]) * float(lower[1]) + float(upper[0]) * float(upper[1]);
        }
    }
#endif
}

// Rows in shared memory. The gap lets the threads of a warp read from different banks.
template <int HEIGHT, int WIDTH> struct alignas(16) tile {
    bf16 at[HEIGHT][WIDTH + GAP];
};

struct alignas(16) chunk {
    pair pairs[4];
};
enum { CHUNK = 8 }; // numbers

static __device__ pair pair_at(const bf16 *at) { return *(const pair *)at; }

// TILE rows of which `n` are there; others are 0.
template <int WIDTH> static __device__ void load(tile<TILE, WIDTH> &to, const bf16 *from, long long step, long long n)
{
    for (int i = int(threadIdx.x); i < TILE * WIDTH / CHUNK; i += CUDA_FLASH_THREADS) {
        const int row = i / (WIDTH / CHUNK), column = i % (WIDTH / CHUNK) * CHUNK;
        *(chunk *)&to.at[row][column] = row < n ? *(const chunk *)(from + row * step + column) : chunk{ { 0, 0, 0, 0 } };
    }
}

// The same with rows as columns.
template <int WIDTH> static __device__ void load_turned(tile<WIDTH, TILE> &to, const bf16 *from, long long step, long long n)
{
    for (int i = int(threadIdx.x); i < TILE * WIDTH / CHUNK; i += CUDA_FLASH_THREADS) {
        const int row = i % TILE, column = i / TILE * CHUNK;
        const chunk c = row < n ? *(const chunk *)(from + row * step + column) : chunk{ { 0, 0, 0, 0 } };
        for (int j = 0; j < CHUNK; j++)
            to.at[column + j][row].bits = (unsigned short)(c.pairs[j / 2] >> (j % 2 * 16));
    }
}

// The warp's 16 rows as first matrices.
template <int WIDTH> static __device__ void take_rows(pair (*to)[4], const bf16 *from, long long step, long long first, long long n)
{
#pragma unroll
    for (int k = 0; k < WIDTH / 16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const long long row = first + lane_row() + i % 2 * 8;
            to[k][i] = row < n ? pair_at(from + row * step + k * 16 + lane_column() + i / 2 * 8) : 0;
        }
}

// The rows times those of a tile: 16 x TILE.
template <int WIDTH> static __device__ void multiply_rows(float (*c)[4], const pair (*a)[4], const tile<TILE, WIDTH> &b)
{
#pragma unroll
    for (int j = 0; j < TILE / 8; j++) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[j][i] = 0;
#pragma unroll
        for (int k = 0; k < WIDTH / 16; k++) {
            const bf16 *at = &b.at[j * 8 + lane_row()][k * 16 + lane_column()];
            const pair both[2] = { pair_at(at), pair_at(at + 8) };
            multiply(c[j], a[k], both);
        }
    }
}

// A result as first matrices, rounded; and its product with a tile, which is added.
template <int WIDTH> static __device__ void add_product(float (*sum)[4], const float (*c)[4], const tile<WIDTH, TILE> &b)
{
#pragma unroll
    for (int k = 0; k < TILE / 16; k++) {
        const float *left = c[2 * k], *right = c[2 * k + 1];
        const pair a[4] = { pair_of(left[0], left[1]), pair_of(left[2], left[3]), pair_of(right[0], right[1]),
                            pair_of(right[2], right[3]) };
#pragma unroll
        for (int j = 0; j < WIDTH / 8; j++) {
            const bf16 *at = &b.at[j * 8 + lane_row()][k * 16 + lane_column()];
            const pair both[2] = { pair_at(at), pair_at(at + 8) };
            multiply(sum[j], a, both);
        }
    }
}

template <int WIDTH>
static __device__ void put_rows(bf16 *to, long long step, long long first, long long n, float (*sum)[4], const float *factor, int fresh)
{
#pragma unroll
    for (int j = 0; j < WIDTH / 8; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const long long row = first + lane_row() + half * 8;
            if (row >= n)
                continue;
            bf16 *at = to + row * step + j * 8 + lane_column();
            float x = sum[j][2 * half] * factor[half], y = sum[j][2 * half + 1] * factor[half];
            if (!fresh) {
                x += float(at[0]);
                y += float(at[1]);
            }
            *(pair *)at = pair_of(x, y);
        }
}

// Heads, of which the block has one.
template <class T> static __device__ T *head_of(const cuda_heads &h, const cuda_flash &f, long long a, long long g)
{
    const long long n = blockIdx.z / f.windows, w = blockIdx.z % f.windows;
    return (T *)h.data + n * h.n + w * h.w + g * h.g + a * h.a;
}

static __device__ bool is_seen(const cuda_flash &f, long long query, long long key)
{
    return query < f.queries && key < f.keys && (!f.causal || f.first_key + key <= f.first_query + query);
}

static __device__ float power(float x) { return exp2f(x * 1.44269504f); }

static __device__ float over_row(float x, bool largest)
{
    for (int by = 1; by < 4; by *= 2) {
        const float other = __shfl_xor_sync(~0u, x, by);
        x = !largest ? x + other : other > x ? other : x;
    }
    return x;
}

// Past the last key that one of the block's queries sees.
static __device__ long long keys_of(const cuda_flash &f, long long first)
{
    const long long end = first + ROWS < f.queries ? first + ROWS : f.queries, all = f.first_query + end - f.first_key;
    return !f.causal || all > f.keys ? f.keys : all > 0 ? all : 0;
}

// The statistics m of each query, and y.
extern "C" __global__ void __launch_bounds__(CUDA_FLASH_THREADS) forward(cuda_flash f)
{
    __shared__ tile<TILE, HEAD> keys;
    __shared__ tile<VALUE, TILE> values;
    const long long a = blockIdx.y / f.group, g = blockIdx.y % f.group;
    const long long block = (long long)blockIdx.x * ROWS, first = block + threadIdx.x / WARP * 16;
    const bf16 *k = head_of<const bf16>(f.k, f, a, 0), *v = head_of<const bf16>(f.v, f, a, 0);
    const float least = float(f.least), scale = float(f.scale);
    pair x[HEAD / 16][4];
    float y[VALUE / 8][4] = {}, max[2] = { least, least }, sum[2] = { 0, 0 };
    take_rows<HEAD>(x, head_of<const bf16>(f.x, f, a, g), f.x.row, first, f.queries);
    for (long long s = 0, end = keys_of(f, block); s < end; s += TILE) {
        float c[TILE / 8][4];
        __syncthreads();
        load<HEAD>(keys, k + s * f.k.row, f.k.row, f.keys - s);
        load_turned<VALUE>(values, v + s * f.v.row, f.v.row, f.keys - s);
        __syncthreads();
        multiply_rows<HEAD>(c, x, keys);
        float most[2] = { max[0], max[1] }, factor[2];
#pragma unroll
        for (int j = 0; j < TILE / 8; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const bool seen = is_seen(f, first + lane_row() + i / 2 * 8, s + j * 8 + lane_column() + i % 2);
                c[j][i] = seen ? c[j][i] * scale : least;
                most[i / 2] = c[j][i] > most[i / 2] ? c[j][i] : most[i / 2];
            }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            most[half] = over_row(most[half], true);
            factor[half] = max[half] > least ? power(max[half] - most[half]) : 0;
            max[half] = most[half];
            sum[half] *= factor[half];
        }
#pragma unroll
        for (int j = 0; j < TILE / 8; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                c[j][i] = c[j][i] > least ? power(c[j][i] - most[i / 2]) : 0;
                sum[i / 2] += c[j][i];
            }
#pragma unroll
        for (int j = 0; j < VALUE / 8; j++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                y[j][i] *= factor[i / 2];
        add_product<VALUE>(y, c, values);
    }
    float share[2], *m = head_of<float>(f.m, f, a, g);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const long long row = first + lane_row() + half * 8;
        sum[half] = over_row(sum[half], false);
        share[half] = sum[half] > 0 ? 1 / sum[half] : 0;
        if (lane_column() == 0 && row < f.queries) {
            m[row * f.m.row] = max[half];
            m[row * f.m.row + f.m_second] = sum[half];
        }
    }
    put_rows<VALUE>(head_of<bf16>(f.y, f, a, g), f.y.row, first, f.queries, y, share, f.fresh_y);
}

// From a score: the probability of a key; the statistics are those of its query.
static __device__ float probability(float score, float max, float share) { return share > 0 ? power(score - max) * share : 0; }

// Gradients of queries.
extern "C" __global__ void __launch_bounds__(CUDA_FLASH_THREADS) of_queries(cuda_flash f)
{
    __shared__ tile<TILE, HEAD> keys;
    __shared__ tile<HEAD, TILE> turned;
    __shared__ tile<TILE, VALUE> values;
    const long long a = blockIdx.y / f.group, g = blockIdx.y % f.group;
    const long long block = (long long)blockIdx.x * ROWS, first = block + threadIdx.x / WARP * 16;
    const bf16 *k = head_of<const bf16>(f.k, f, a, 0), *v = head_of<const bf16>(f.v, f, a, 0);
    const float *m = head_of<const float>(f.m, f, a, g), *t = head_of<const float>(f.t, f, a, g);
    const float scale = float(f.scale), one[2] = { 1, 1 };
    pair x[HEAD / 16][4], dy[VALUE / 16][4];
    float dx[HEAD / 8][4] = {}, max[2], share[2], away[2];
    take_rows<HEAD>(x, head_of<const bf16>(f.x, f, a, g), f.x.row, first, f.queries);
    take_rows<VALUE>(dy, head_of<const bf16>(f.dy, f, a, g), f.dy.row, first, f.queries);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const long long row = first + lane_row() + half * 8;
        const float sum = row < f.queries ? m[row * f.m.row + f.m_second] : 0;
        max[half] = row < f.queries ? m[row * f.m.row] : 0;
        away[half] = row < f.queries ? t[row * f.t.row] : 0;
        share[half] = sum > 0 ? 1 / sum : 0;
    }
    for (long long s = 0, end = keys_of(f, block); s < end; s += TILE) {
        float c[TILE / 8][4], d[TILE / 8][4];
        __syncthreads();
        load<HEAD>(keys, k + s * f.k.row, f.k.row, f.keys - s);
        load_turned<HEAD>(turned, k + s * f.k.row, f.k.row, f.keys - s);
        load<VALUE>(values, v + s * f.v.row, f.v.row, f.keys - s);
        __syncthreads();
        multiply_rows<HEAD>(c, x, keys);
        multiply_rows<VALUE>(d, dy, values);
#pragma unroll
        for (int j = 0; j < TILE / 8; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int half = i / 2;
                const bool seen = is_seen(f, first + lane_row() + half * 8, s + j * 8 + lane_column() + i % 2);
                const float p = seen ? probability(c[j][i] * scale, max[half], share[half]) : 0;
                c[j][i] = p * (d[j][i] - away[half]) * scale;
            }
        add_product<HEAD>(dx, c, turned);
    }
    put_rows<HEAD>(head_of<bf16>(f.dx, f, a, g), f.dx.row, first, f.queries, dx, one, f.fresh_dx);
}

// Gradients of keys and of values, where there are any: sums over the queries of all members of a group. Rows of scores
// are keys here.
extern "C" __global__ void __launch_bounds__(CUDA_FLASH_THREADS) of_keys(cuda_flash f)
{
    __shared__ tile<TILE, HEAD> queries;
    __shared__ tile<HEAD, TILE> turned;
    __shared__ tile<TILE, VALUE> errors;
    __shared__ tile<VALUE, TILE> turned_errors;
    __shared__ float max[TILE], share[TILE], away[TILE];
    const long long a = blockIdx.y, block = (long long)blockIdx.x * ROWS, first = block + threadIdx.x / WARP * 16;
    const float scale = float(f.scale), one[2] = { 1, 1 };
    pair k[HEAD / 16][4], v[VALUE / 16][4];
    float dk[HEAD / 8][4] = {}, dv[VALUE / 8][4] = {};
    take_rows<HEAD>(k, head_of<const bf16>(f.k, f, a, 0), f.k.row, first, f.keys);
    if (f.dk.data) // for gradients of values alone, values and t are not given
        take_rows<VALUE>(v, head_of<const bf16>(f.v, f, a, 0), f.v.row, first, f.keys);
    long long begin = f.causal ? f.first_key + block - f.first_query : 0;
    begin = begin > 0 ? begin / TILE * TILE : 0;
    for (long long g = 0; g < f.group; g++) {
        const bf16 *x = head_of<const bf16>(f.x, f, a, g), *dy = head_of<const bf16>(f.dy, f, a, g);
        const float *m = head_of<const float>(f.m, f, a, g), *t = head_of<const float>(f.t, f, a, g);
        for (long long q = begin; q < f.queries; q += TILE) {
            float c[TILE / 8][4], d[TILE / 8][4];
            __syncthreads();
            load<HEAD>(queries, x + q * f.x.row, f.x.row, f.queries - q);
            load_turned<HEAD>(turned, x + q * f.x.row, f.x.row, f.queries - q);
            load<VALUE>(errors, dy + q * f.dy.row, f.dy.row, f.queries - q);
            load_turned<VALUE>(turned_errors, dy + q * f.dy.row, f.dy.row, f.queries - q);
            if (threadIdx.x < TILE) {
                const long long row = q + threadIdx.x;
                const float sum = row < f.queries ? m[row * f.m.row + f.m_second] : 0;
                max[threadIdx.x] = row < f.queries ? m[row * f.m.row] : 0;
                share[threadIdx.x] = sum > 0 ? 1 / sum : 0;
                away[threadIdx.x] = f.dk.data && row < f.queries ? t[row * f.t.row] : 0;
            }
            __syncthreads();
            multiply_rows<HEAD>(c, k, queries);
#pragma unroll
            for (int j = 0; j < TILE / 8; j++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int column = j * 8 + lane_column() + i % 2;
                    const bool seen = is_seen(f, q + column, first + lane_row() + i / 2 * 8);
                    c[j][i] = seen ? probability(c[j][i] * scale, max[column], share[column]) : 0;
                }
            add_product<VALUE>(dv, c, turned_errors);
            if (!f.dk.data)
                continue;
            multiply_rows<VALUE>(d, v, errors);
#pragma unroll
            for (int j = 0; j < TILE / 8; j++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    d[j][i] = c[j][i] * (d[j][i] - away[j * 8 + lane_column() + i % 2]) * scale;
            add_product<HEAD>(dk, d, turned);
        }
    }
    if (f.dv.data)
        put_rows<VALUE>(head_of<bf16>(f.dv, f, a, 0), f.dv.row, first, f.keys, dv, one, f.fresh_dv);
    if (f.dk.data)
        put_rows<HEAD>(head_of<bf16>(f.dk, f, a, 0), f.dk.row, first, f.keys, dk, one, f.fresh_dk);
}
