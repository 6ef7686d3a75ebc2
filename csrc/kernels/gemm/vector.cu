// gemm / vector
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), row-major.
// Idea     With a vector for an operand, or a matrix of few rows or columns, nothing is used often enough for tiles:
//          the other operand, here the matrix, is read once, and the time is that of its bytes. So all that counts is
//          wide reads, many of them under way at once.
//          - Its rows lie along k (b is the vector): a group of `lanes` lanes takes ROWS rows (rows), each lane
//            16 bytes of each row, and at the end the lanes of the group add up what they have.
//          - Its rows lie across k (a is the vector): a warp takes a stripe of 32 x 16 bytes (columns), which it walks
//            down, and the warps of a block take turns with the rows and add up their sums at the end.
//          - The vector, of which there are R at a time, is staged in shared memory, DEPTH of k at a time.
//          - Where that makes too few blocks, k is cut into parts, whose sums are added in order (add; gemm/split_k).
//          - One launch makes a stack of products: blockIdx.z is the item.
// Differs  from gemm/split_k: no tiles; the vectors alone go through shared memory.
// Claims   shared.load.conflicts = 0
// Length   more than an exhibit has: it is the fast one for vectors, and has both orientations.
// Source   the shape of BLAS's gemv; measured on an H200

struct alignas(16) gemm_vector_pack {
    static constexpr int V = 16 / sizeof(T), WARPS = 8, DEPTH = WARPS * 32 * V;
    T at[V];
};

// Of the item of the stack. The matrix: element (row, i) at w[row * w_row + i * w_i], i along k. Vectors: element i of
// the one with index r at x[i * x_i + r * x_r]. Sums: of the part with index p at sums[p * elements + row * c_row +
// r * c_r], where `elements` counts those of the whole stack.
struct gemm_vector_call {
    const T *w, *x;
    T *sums;
    long long rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k;
};

// Stages R vectors from `first` to `end`, with zeros behind the last vector: an element of index i and r at
// staged[i * to_i + r * to_r].
template <int R>
static __device__ __forceinline__ void gemm_vector_stage(const gemm_vector_call &g, T *staged, long long first,
                                                         long long end, long long first_r, int to_i, int to_r)
{
    const int count = end - first < gemm_vector_pack::DEPTH ? int(end - first) : gemm_vector_pack::DEPTH;

    // All threads have read what was staged before: none may write over it earlier.
    __syncthreads();
    for (int j = threadIdx.x; j < R * count; j += 256) {
        const int r = g.x_i == 1 ? j / count : j % R, i = g.x_i == 1 ? j % count : j / R;
        staged[i * to_i + r * to_r] = first_r + r < g.vectors ? g.x[(first + i) * g.x_i + (first_r + r) * g.x_r] : T(0);
    }

    // All threads have staged a part of the vectors: none may read them before the last has written.
    __syncthreads();
}

// Rows that lie along k.
template <int R> static __device__ __forceinline__ void gemm_vector_in_rows(const gemm_vector_call &g, int lanes)
{
    constexpr int V = gemm_vector_pack::V, DEPTH = gemm_vector_pack::DEPTH, ROWS = 4;
    __shared__ alignas(16) T staged[R][DEPTH];

    // Who am I: a lane of a group, which has ROWS rows. Behind the last row it is taken again, and not written.
    const int lane = threadIdx.x % lanes, block_rows = 256 / lanes * ROWS;
    const long long row_blocks = (g.rows + block_rows - 1) / block_rows, part = blockIdx.x / row_blocks;
    const long long row = blockIdx.x % row_blocks * block_rows + threadIdx.x / lanes * ROWS, first_r = blockIdx.y * R;
    const long long first_k = part * g.part_k, end = first_k + g.part_k < g.k ? first_k + g.part_k : g.k;
    const bool whole = g.w_i == 1 && g.w_row % V == 0 && g.part_k % V == 0 && (size_t)g.w % 16 == 0;
    const T *from[ROWS];
    for (int q = 0; q < ROWS; ++q)
        from[q] = g.w + (row + q < g.rows ? row + q : g.rows - 1) * g.w_row;

    T sum[ROWS][R] = {};
    for (long long first = first_k; first < end; first += DEPTH) {
        gemm_vector_stage<R>(g, staged[0], first, end, first_r, 1, DEPTH);

        // Read and compute: vectors of 16 bytes where rows begin at multiples of them, then single elements.
        const int count = end - first < DEPTH ? int(end - first) : DEPTH, packs = whole ? count / V : 0;
#pragma unroll 2
        for (int i = lane; i < packs; i += lanes) {
            gemm_vector_pack read[ROWS];
            for (int q = 0; q < ROWS; ++q)
                read[q] = reinterpret_cast<const gemm_vector_pack *>(from[q] + first)[i];
            for (int r = 0; r < R; ++r) {
                const gemm_vector_pack with = reinterpret_cast<const gemm_vector_pack *>(staged[r])[i];
                for (int e = 0; e < V; ++e)
                    for (int q = 0; q < ROWS; ++q)
                        sum[q][r] += read[q].at[e] * with.at[e];
            }
        }
#pragma unroll 4
        for (int i = packs * V + lane; i < count; i += lanes)
            for (int q = 0; q < ROWS; ++q) {
                const T read = from[q][(first + i) * g.w_i];
                for (int r = 0; r < R; ++r)
                    sum[q][r] += read * staged[r][i];
            }
    }

    // Add up, and write.
    for (int q = 0; q < ROWS; ++q)
        for (int r = 0; r < R; ++r) {
            for (int other = lanes / 2; other > 0; other /= 2)
                sum[q][r] += __shfl_xor_sync(~0u, sum[q][r], other);
            if (lane == 0 && row + q < g.rows && first_r + r < g.vectors)
                g.sums[part * g.elements + (row + q) * g.c_row + (first_r + r) * g.c_r] = sum[q][r];
        }
}

// Rows that lie across k: the columns of the stripe are rows of the matrix.
template <int R> static __device__ __forceinline__ void gemm_vector_in_columns(const gemm_vector_call &g)
{
    constexpr int V = gemm_vector_pack::V, WARPS = gemm_vector_pack::WARPS, DEPTH = gemm_vector_pack::DEPTH;
    constexpr int WIDE = 32 * V;
    __shared__ alignas(16) T staged[WARPS * R * WIDE]; // [DEPTH][R], and at the end [WARPS][R][WIDE]

    // Who am I: V columns of the stripe; neighbours where those are read in one piece.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long stripes = (g.rows + WIDE - 1) / WIDE, part = blockIdx.x / stripes;
    const long long first_col = blockIdx.x % stripes * WIDE, first_r = blockIdx.y * R;
    const long long first_k = part * g.part_k, end = first_k + g.part_k < g.k ? first_k + g.part_k : g.k;
    const bool whole = g.w_row == 1 && g.rows % V == 0 && g.w_i % V == 0 && (size_t)g.w % 16 == 0;
    const int step = whole ? 1 : 32, col = whole ? lane * V : lane;
    const T *from[V];
    for (int e = 0; e < V; ++e)
        from[e] = g.w + (first_col + col + e * step < g.rows ? first_col + col + e * step : 0) * g.w_row;

    T sum[R][V] = {};
    for (long long first = first_k; first < end; first += DEPTH) {
        gemm_vector_stage<R>(g, staged, first, end, first_r, R, 1);
        const int count = end - first < DEPTH ? int(end - first) : DEPTH;
        const auto add = [&](int i, const gemm_vector_pack &read) {
            for (int r = 0; r < R; ++r)
                for (int e = 0; e < V; ++e)
                    sum[r][e] += read.at[e] * staged[i * R + r];
        };

        // Read and compute.
        if (whole) {
#pragma unroll 4
            for (int i = warp; i < count; i += WARPS) {
                const T *const at = from[0] + (first + i) * g.w_i;
                const gemm_vector_pack read = *reinterpret_cast<const gemm_vector_pack *>(at);
                add(i, read);
            }
        } else {
#pragma unroll 4
            for (int i = warp; i < count; i += WARPS) {
                gemm_vector_pack read;
                for (int e = 0; e < V; ++e)
                    read.at[e] = from[e][(first + i) * g.w_i];
                add(i, read);
            }
        }
    }

    // All warps have read the vectors, whose place their sums take.
    __syncthreads();
    for (int r = 0; r < R; ++r)
        for (int e = 0; e < V; ++e)
            staged[(warp * R + r) * WIDE + col + e * step] = sum[r][e];

    // The sums of all warps are read: all must be there.
    __syncthreads();
    for (int j = threadIdx.x; j < R * WIDE; j += 256) {
        T all = staged[j];
        for (int other = 1; other < WARPS; ++other)
            all += staged[other * R * WIDE + j];
        if (first_r + j / WIDE < g.vectors && first_col + j % WIDE < g.rows)
            g.sums[part * g.elements + (first_col + j % WIDE) * g.c_row + (first_r + j / WIDE) * g.c_r] = all;
    }
}

// Adds the sums of all parts: a group of lanes makes one element, each lane every so many parts.
extern "C" __global__ void __launch_bounds__(256)
gemm_vector_add(const T *__restrict__ sums, T *__restrict__ c, long long elements, long long parts, long long lanes)
{
    const long long i = (blockIdx.x * 256ll + threadIdx.x) / lanes;
    const int lane = int(threadIdx.x % lanes);
    T sum = 0;
#pragma unroll 4
    for (long long part = lane; part < parts; part += lanes)
        sum += i < elements ? sums[part * elements + i] : T(0);
    for (int other = int(lanes) / 2; other > 0; other /= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
    if (lane == 0 && i < elements)
        c[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_across8(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ sums, long long rows,
                    long long k, long long vectors, long long w_row, long long w_i, long long x_i, long long x_r,
                    long long c_row, long long c_r, long long part_k, long long lanes, long long w_stack,
                    long long x_stack)
{
    const long long elements = rows * vectors * gridDim.z, item = blockIdx.z;
    w += item * w_stack;
    x += item * x_stack;
    sums += item * rows * vectors;
    const gemm_vector_call g = {w, x, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k};
    gemm_vector_in_columns<8>(g);
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_across4(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ sums, long long rows,
                    long long k, long long vectors, long long w_row, long long w_i, long long x_i, long long x_r,
                    long long c_row, long long c_r, long long part_k, long long lanes, long long w_stack,
                    long long x_stack)
{
    const long long elements = rows * vectors * gridDim.z, item = blockIdx.z;
    w += item * w_stack;
    x += item * x_stack;
    sums += item * rows * vectors;
    const gemm_vector_call g = {w, x, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k};
    gemm_vector_in_columns<4>(g);
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_across2(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ sums, long long rows,
                    long long k, long long vectors, long long w_row, long long w_i, long long x_i, long long x_r,
                    long long c_row, long long c_r, long long part_k, long long lanes, long long w_stack,
                    long long x_stack)
{
    const long long elements = rows * vectors * gridDim.z, item = blockIdx.z;
    w += item * w_stack;
    x += item * x_stack;
    sums += item * rows * vectors;
    const gemm_vector_call g = {w, x, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k};
    gemm_vector_in_columns<2>(g);
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_across(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ sums, long long rows,
                   long long k, long long vectors, long long w_row, long long w_i, long long x_i, long long x_r,
                   long long c_row, long long c_r, long long part_k, long long lanes, long long w_stack,
                   long long x_stack)
{
    const long long elements = rows * vectors * gridDim.z, item = blockIdx.z;
    w += item * w_stack;
    x += item * x_stack;
    sums += item * rows * vectors;
    const gemm_vector_call g = {w, x, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k};
    gemm_vector_in_columns<1>(g);
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_along8(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ sums, long long rows,
                   long long k, long long vectors, long long w_row, long long w_i, long long x_i, long long x_r,
                   long long c_row, long long c_r, long long part_k, long long lanes, long long w_stack,
                   long long x_stack)
{
    const long long elements = rows * vectors * gridDim.z, item = blockIdx.z;
    w += item * w_stack;
    x += item * x_stack;
    sums += item * rows * vectors;
    const gemm_vector_call g = {w, x, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k};
    gemm_vector_in_rows<8>(g, int(lanes));
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_along4(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ sums, long long rows,
                   long long k, long long vectors, long long w_row, long long w_i, long long x_i, long long x_r,
                   long long c_row, long long c_r, long long part_k, long long lanes, long long w_stack,
                   long long x_stack)
{
    const long long elements = rows * vectors * gridDim.z, item = blockIdx.z;
    w += item * w_stack;
    x += item * x_stack;
    sums += item * rows * vectors;
    const gemm_vector_call g = {w, x, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k};
    gemm_vector_in_rows<4>(g, int(lanes));
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_along2(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ sums, long long rows,
                   long long k, long long vectors, long long w_row, long long w_i, long long x_i, long long x_r,
                   long long c_row, long long c_r, long long part_k, long long lanes, long long w_stack,
                   long long x_stack)
{
    const long long elements = rows * vectors * gridDim.z, item = blockIdx.z;
    w += item * w_stack;
    x += item * x_stack;
    sums += item * rows * vectors;
    const gemm_vector_call g = {w, x, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k};
    gemm_vector_in_rows<2>(g, int(lanes));
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ sums, long long rows, long long k,
            long long vectors, long long w_row, long long w_i, long long x_i, long long x_r, long long c_row,
            long long c_r, long long part_k, long long lanes, long long w_stack, long long x_stack)
{
    const long long elements = rows * vectors * gridDim.z, item = blockIdx.z;
    w += item * w_stack;
    x += item * x_stack;
    sums += item * rows * vectors;
    const gemm_vector_call g = {w, x, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k};
    gemm_vector_in_rows<1>(g, int(lanes));
}
