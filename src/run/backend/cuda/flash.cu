// Attention in bf16 whose scores stay in registers (Dao, FlashAttention-2, 2023). Before it HEAD and VALUE, multiples of
// 16, are declared: the widths of keys and of values. A block has ROWS rows of scores, each warp 16 of them, and goes
// over their columns tile by tile; the next tile is read while one is computed. Products are added in fp32, in an order
// that follows from the extents. Scores are powers of two: they are multiplied by the logarithm of e.
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/bf16.inc"

enum { WARP = 32, WARPS = CUDA_FLASH_THREADS / WARP, ROWS = 16 * WARPS, GAP = 8 };
// Columns of scores at a time; two blocks of the first two kernels run at the same time where registers suffice.
enum { IS_WIDE = HEAD > 64 || VALUE > 64, KEYS = IS_WIDE ? 32 : 64, KEYS_BACKWARD = 32, QUERIES = IS_WIDE ? 32 : 64 };
enum { BLOCKS = IS_WIDE ? 1 : 2 };

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

#ifdef __CUDA_ARCH__
static __device__ unsigned shared_address(const void *at)
{
    unsigned address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(address) : "l"(at));
    return address;
}
#endif

// Matrices of 8 x 8 in shared memory, four at a time: `row` is row lane() % 8 of matrix lane() / 8. Thread 4 i + j gets of
// each matrix the numbers 2 j, 2 j + 1 of row i.
static __device__ void read_matrices(pair *to, const bf16 *row)
{
#ifdef __CUDA_ARCH__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
#else
    for (int m = 0; m < 4; m++)
        to[m] = pair_at(__shfl_sync(~0u, row, m * 8 + lane_row()) + lane_column());
#endif
}

// The same of column i.
static __device__ void read_turned(pair *to, const bf16 *row)
{
#ifdef __CUDA_ARCH__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
#else
    for (int m = 0; m < 4; m++) {
        const bf16 *first = __shfl_sync(~0u, row, m * 8 + lane_column());
        const bf16 *second = __shfl_sync(~0u, row, m * 8 + lane_column() + 1);
        to[m] = pair(first[lane_row()].bits) | pair(second[lane_row()].bits) << 16;
    }
#endif
}

// Begin to copy the rows of a tile of which `n` are there; others are 0. Copies that were begun before end_copies() are one group.
template <int TILE, int WIDTH> static __device__ void load(tile<TILE, WIDTH> &to, const bf16 *from, long long step, int n)
{
    for (int i = int(threadIdx.x); i < TILE * WIDTH / CHUNK; i += CUDA_FLASH_THREADS) {
        const int row = i / (WIDTH / CHUNK), column = i % (WIDTH / CHUNK) * CHUNK;
        const bf16 *at = row < n ? from + row * step + column : from;
#ifdef __CUDA_ARCH__
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&to.at[row][column])), "l"(at),
                     "r"(row < n ? 16 : 0)
                     : "memory");
#else
        *(chunk *)&to.at[row][column] = row < n ? *(const chunk *)at : chunk{ { 0, 0, 0, 0 } };
#endif
    }
}

static __device__ void end_copies()
{
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Wait for all groups but the last one.
static __device__ void wait_for_copies()
{
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
    __syncthreads();
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
template <int TILE, int WIDTH> static __device__ void multiply_rows(float (*c)[4], const pair (*a)[4], const tile<TILE, WIDTH> &b)
{
#pragma unroll
    for (int j = 0; j < TILE / 8; j++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[j][i] = 0;
#pragma unroll
    for (int k = 0; k < WIDTH / 16; k++)
#pragma unroll
        for (int j = 0; j < TILE / 16; j++) {
            pair both[4]; // columns 0 .. 7 and 8 .. 15 of the tile's rows j * 16 .., then of the eight after them
            read_matrices(both, &b.at[j * 16 + lane() / 16 * 8 + lane() % 8][k * 16 + lane() / 8 % 2 * 8]);
            multiply(c[2 * j], a[k], both);
            multiply(c[2 * j + 1], a[k], both + 2);
        }
}

// A result as first matrices, rounded; and its product with a tile, which is added.
template <int TILE, int WIDTH> static __device__ void add_product(float (*sum)[4], const float (*c)[4], const tile<TILE, WIDTH> &b)
{
#pragma unroll
    for (int k = 0; k < TILE / 16; k++) {
        const float *left = c[2 * k], *right = c[2 * k + 1];
        const pair a[4] = { pair_of(left[0], left[1]), pair_of(left[2], left[3]), pair_of(right[0], right[1]),
                            pair_of(right[2], right[3]) };
#pragma unroll
        for (int j = 0; j < WIDTH / 16; j++) {
            pair both[4];
            read_turned(both, &b.at[k * 16 + lane() / 8 % 2 * 8 + lane() % 8][j * 16 + lane() / 16 * 8]);
            multiply(sum[2 * j], a, both);
            multiply(sum[2 * j + 1], a, both + 2);
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

// Two to the power of x.
static __device__ float power(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

static __device__ float over_row(float x, bool largest)
{
    for (int by = 1; by < 4; by *= 2) {
        const float other = __shfl_xor_sync(~0u, x, by);
        x = largest ? fmaxf(other, x) : x + other;
    }
    return x;
}

// Scores as powers of two: a factor, and what is taken away for the probability of a key.
static __device__ float binary(float scale) { return scale * 1.44269504f; }
static __device__ float away_of(const float *m, long long second)
{
    return m[second] > 0 ? binary(m[0]) + log2f(m[second]) : 1e30f; // nothing is seen: the probability is 0
}

// Extents; query i sees key j if j <= i + ahead.
struct extents {
    int queries, keys, ahead;
};
static __device__ extents extents_of(const cuda_flash &f)
{
    const int all = 1 << 30;
    return { int(f.queries), int(f.keys), f.causal ? int(f.first_query - f.first_key) : all };
}

// Past the last key that one of `n` queries sees.
static __device__ int keys_of(const extents &e, int first, int n)
{
    const int last = (first + n < e.queries ? first + n : e.queries) - 1;
    const int end = e.keys - 1 - last <= e.ahead ? e.keys : last + e.ahead + 1;
    return end > 0 ? end : 0;
}

// The statistics m of each query, and y.
extern "C" __global__ void __launch_bounds__(CUDA_FLASH_THREADS, BLOCKS) forward(cuda_flash f)
{
    __shared__ tile<KEYS, HEAD> keys[2];
    __shared__ tile<KEYS, VALUE> values[2];
    const extents e = extents_of(f);
    const long long a = blockIdx.y / f.group, g = blockIdx.y % f.group;
    const int block = int(gridDim.x - 1 - blockIdx.x) * ROWS, first = block + int(threadIdx.x) / WARP * 16;
    const int end = keys_of(e, block, ROWS), own_end = keys_of(e, first, 16);
    const bf16 *k = head_of<const bf16>(f.k, f, a, 0), *v = head_of<const bf16>(f.v, f, a, 0);
    const float least = float(f.least), scale = binary(float(f.scale));
    pair x[HEAD / 16][4];
    float y[VALUE / 8][4] = {}, max[2] = { least, least }, sum[2] = { 0, 0 };
    take_rows<HEAD>(x, head_of<const bf16>(f.x, f, a, g), f.x.row, first, e.queries);
    const auto begin = [&](int s) {
        if (s < end) {
            load(keys[s / KEYS % 2], k + s * f.k.row, f.k.row, e.keys - s);
            load(values[s / KEYS % 2], v + s * f.v.row, f.v.row, e.keys - s);
        }
        end_copies();
    };
    begin(0);
    for (int s = 0; s < end; s += KEYS) {
        begin(s + KEYS);
        wait_for_copies();
        if (s < own_end) {
            float c[KEYS / 8][4];
            multiply_rows(c, x, keys[s / KEYS % 2]);
            const bool whole = s + KEYS <= e.keys && s + KEYS - 1 - first <= e.ahead;
            float most[2] = { max[0], max[1] }, base[2];
            if (!whole) {
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const int row = first + lane_row() + i / 2 * 8, key = s + j * 8 + lane_column() + i % 2;
                        c[j][i] = key < e.keys && key - row <= e.ahead ? c[j][i] : least;
                    }
            }
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    most[i / 2] = fmaxf(c[j][i], most[i / 2]);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                most[half] = over_row(most[half], true);
                base[half] = most[half] > least ? most[half] * scale : 0;
                const float factor = power(fmaf(max[half], scale, -base[half]));
                max[half] = most[half];
                sum[half] *= factor;
#pragma unroll
                for (int j = 0; j < VALUE / 8; j++) {
                    y[j][2 * half] *= factor;
                    y[j][2 * half + 1] *= factor;
                }
            }
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    c[j][i] = power(fmaf(c[j][i], scale, -base[i / 2]));
                    sum[i / 2] += c[j][i];
                }
            add_product(y, c, values[s / KEYS % 2]);
        }
        __syncthreads();
    }
    float share[2], *m = head_of<float>(f.m, f, a, g);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = first + lane_row() + half * 8;
        sum[half] = over_row(sum[half], false);
        share[half] = sum[half] > 0 ? 1 / sum[half] : 0;
        if (lane_column() == 0 && row < e.queries) {
            m[row * f.m.row] = max[half] * float(f.scale);
            m[row * f.m.row + f.m_second] = sum[half];
        }
    }
    put_rows<VALUE>(head_of<bf16>(f.y, f, a, g), f.y.row, first, e.queries, y, share, f.fresh_y);
}

// Gradients of queries.
extern "C" __global__ void __launch_bounds__(CUDA_FLASH_THREADS, BLOCKS) of_queries(cuda_flash f)
{
    __shared__ tile<KEYS_BACKWARD, HEAD> keys[2];
    __shared__ tile<KEYS_BACKWARD, VALUE> values[2];
    const extents e = extents_of(f);
    const long long a = blockIdx.y / f.group, g = blockIdx.y % f.group;
    const int block = int(gridDim.x - 1 - blockIdx.x) * ROWS, first = block + int(threadIdx.x) / WARP * 16;
    const int end = keys_of(e, block, ROWS), own_end = keys_of(e, first, 16);
    const bf16 *k = head_of<const bf16>(f.k, f, a, 0), *v = head_of<const bf16>(f.v, f, a, 0);
    const float *m = head_of<const float>(f.m, f, a, g), *t = head_of<const float>(f.t, f, a, g);
    const float scale = binary(float(f.scale)), factor[2] = { float(f.scale), float(f.scale) };
    pair x[HEAD / 16][4], dy[VALUE / 16][4];
    float dx[HEAD / 8][4] = {}, away[2], mean[2];
    take_rows<HEAD>(x, head_of<const bf16>(f.x, f, a, g), f.x.row, first, e.queries);
    take_rows<VALUE>(dy, head_of<const bf16>(f.dy, f, a, g), f.dy.row, first, e.queries);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = first + lane_row() + half * 8;
        away[half] = row < e.queries ? away_of(m + row * f.m.row, f.m_second) : 1e30f;
        mean[half] = row < e.queries ? t[row * f.t.row] : 0;
    }
    const auto begin = [&](int s) {
        if (s < end) {
            load(keys[s / KEYS_BACKWARD % 2], k + s * f.k.row, f.k.row, e.keys - s);
            load(values[s / KEYS_BACKWARD % 2], v + s * f.v.row, f.v.row, e.keys - s);
        }
        end_copies();
    };
    begin(0);
    for (int s = 0; s < end; s += KEYS_BACKWARD) {
        begin(s + KEYS_BACKWARD);
        wait_for_copies();
        if (s < own_end) {
            float c[KEYS_BACKWARD / 8][4], d[KEYS_BACKWARD / 8][4];
            multiply_rows(c, x, keys[s / KEYS_BACKWARD % 2]);
            multiply_rows(d, dy, values[s / KEYS_BACKWARD % 2]);
            const bool whole = s + KEYS_BACKWARD <= e.keys && s + KEYS_BACKWARD - 1 - first <= e.ahead;
#pragma unroll
            for (int j = 0; j < KEYS_BACKWARD / 8; j++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    c[j][i] = power(fmaf(c[j][i], scale, -away[i / 2])) * (d[j][i] - mean[i / 2]);
            if (!whole) {
#pragma unroll
                for (int j = 0; j < KEYS_BACKWARD / 8; j++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const int row = first + lane_row() + i / 2 * 8, key = s + j * 8 + lane_column() + i % 2;
                        c[j][i] = key < e.keys && key - row <= e.ahead ? c[j][i] : 0;
                    }
            }
            add_product(dx, c, keys[s / KEYS_BACKWARD % 2]);
        }
        __syncthreads();
    }
    put_rows<HEAD>(head_of<bf16>(f.dx, f, a, g), f.dx.row, first, e.queries, dx, factor, f.fresh_dx);
}

// Gradients of keys and of values, where there are any: sums over the queries of all members of a group. Rows of scores
// are keys here.
extern "C" __global__ void __launch_bounds__(CUDA_FLASH_THREADS) of_keys(cuda_flash f)
{
    __shared__ tile<QUERIES, HEAD> queries[2];
    __shared__ tile<QUERIES, VALUE> errors[2];
    __shared__ float away[2][QUERIES], mean[2][QUERIES];
    const extents e = extents_of(f);
    const long long a = blockIdx.y;
    const int block = int(blockIdx.x) * ROWS, first = block + int(threadIdx.x) / WARP * 16;
    const float scale = binary(float(f.scale)), one[2] = { 1, 1 }, factor[2] = { float(f.scale), float(f.scale) };
    pair k[HEAD / 16][4], v[VALUE / 16][4];
    float dk[HEAD / 8][4] = {}, dv[VALUE / 8][4] = {};
    take_rows<HEAD>(k, head_of<const bf16>(f.k, f, a, 0), f.k.row, first, e.keys);
    if (f.dk.data) // for gradients of values alone, values and t are not given
        take_rows<VALUE>(v, head_of<const bf16>(f.v, f, a, 0), f.v.row, first, e.keys);
    const int from = block > e.ahead ? (block - e.ahead) / QUERIES : 0; // the first tile with a query that sees a key
    const int tiles = (e.queries + QUERIES - 1) / QUERIES - from, n = tiles > 0 ? tiles * int(f.group) : 0;
    const auto begin = [&](int i) {
        if (i < n) {
            const long long g = i / tiles;
            const int q = (from + i % tiles) * QUERIES, row = q + int(threadIdx.x);
            load(queries[i % 2], head_of<const bf16>(f.x, f, a, g) + q * f.x.row, f.x.row, e.queries - q);
            load(errors[i % 2], head_of<const bf16>(f.dy, f, a, g) + q * f.dy.row, f.dy.row, e.queries - q);
            if (threadIdx.x < QUERIES) {
                const bool there = row < e.queries;
                away[i % 2][threadIdx.x] = there ? away_of(head_of<const float>(f.m, f, a, g) + row * f.m.row, f.m_second) : 1e30f;
                mean[i % 2][threadIdx.x] = f.dk.data && there ? head_of<const float>(f.t, f, a, g)[row * f.t.row] : 0;
            }
        }
        end_copies();
    };
    begin(0);
    for (int i = 0; i < n; i++) {
        const int q = (from + i % tiles) * QUERIES;
        begin(i + 1);
        wait_for_copies();
        if (first - (q + QUERIES - 1) <= e.ahead) {
            float c[QUERIES / 8][4], d[QUERIES / 8][4];
            const bool whole = first + 15 - q <= e.ahead;
            multiply_rows(c, k, queries[i % 2]);
            if (f.dk.data)
                multiply_rows(d, v, errors[i % 2]);
#pragma unroll
            for (int j = 0; j < QUERIES / 8; j++)
#pragma unroll
                for (int l = 0; l < 4; l++)
                    c[j][l] = power(fmaf(c[j][l], scale, -away[i % 2][j * 8 + lane_column() + l % 2]));
            if (!whole) {
#pragma unroll
                for (int j = 0; j < QUERIES / 8; j++)
#pragma unroll
                    for (int l = 0; l < 4; l++) {
                        const int column = j * 8 + lane_column() + l % 2, key = first + lane_row() + l / 2 * 8;
                        c[j][l] = key - (q + column) <= e.ahead ? c[j][l] : 0;
                    }
            }
            if (f.dk.data) {
#pragma unroll
                for (int j = 0; j < QUERIES / 8; j++)
#pragma unroll
                    for (int l = 0; l < 4; l++)
                        d[j][l] = c[j][l] * (d[j][l] - mean[i % 2][j * 8 + lane_column() + l % 2]);
            }
            add_product(dv, c, errors[i % 2]);
            if (f.dk.data)
                add_product(dk, d, queries[i % 2]);
        }
        __syncthreads();
    }
    if (f.dv.data)
        put_rows<VALUE>(head_of<bf16>(f.dv, f, a, 0), f.dv.row, first, e.keys, dv, one, f.fresh_dv);
    if (f.dk.data)
        put_rows<HEAD>(head_of<bf16>(f.dk, f, a, 0), f.dk.row, first, e.keys, dk, factor, f.fresh_dk);
}
