// gemm / vector
//
// What     c[row][col] = sum over i of a[row][i] * b[i][col]; a is (m, k), b is (k, n), c is (m, n), or any arrays of
//          these shapes: their strides are parameters.
// Idea     With a vector for an operand, or a matrix of few rows or columns, nothing is used often enough for tiles:
//          the other operand, here the matrix, is read once, and the time is that of its bytes. So all that counts is
//          wide reads, many of them under way at once, and nothing that waits between them: a vector comes through the
//          L1 cache, with no barrier.
//          - Its rows lie along k (b is the vector): a group of `lanes` lanes takes a row, each lane 16 bytes at a
//            time, and at the end the lanes of the group add up what they have. Short rows, and rows that begin
//            anywhere, have a kernel that does nothing else (row). Several vectors are staged in shared memory, and
//            serve ROWS rows of a group.
//          - Its rows lie across k (a is the vector): a block takes a stripe of columns, and groups of its lanes take
//            turns with the rows and add up their sums at the end. A lane reads 16 bytes, also where rows begin
//            anywhere (slant), or one column of a small matrix (stripe). A matrix of a few short rows is read by one
//            block, as it lies (narrow). Several vectors are staged.
//          - Where that makes too few blocks, k is cut into parts. The block that draws the last ticket of its rows
//            adds the sums of all parts, always in their order, and leaves tickets and sums 0, as the next call wants
//            them. Those of several vectors across k are too many for one block: a launch adds them (add).
//          - One launch makes a stack of products: blockIdx.z is the item.
// Differs  from gemm/split_k: no tiles, and mostly no second launch.
// Claims   shared.load.conflicts = 0
// Length   more than an exhibit has: it is the fast one for vectors, and has both orientations.
// Source   the shape of BLAS's gemv; the last block as in the CUDA C++ Programming Guide, "Memory Fence Functions";
//          measured on an H200

template <int V> struct alignas(V * sizeof(T)) gemm_vector_pack {
    T at[V];
};

// What a launch works on, from the item of the stack on. The matrix: element (row, i) at w[row * w_row + i * w_i], i
// along k. Vectors: element i of the one with index r at x[i * x_i + r * x_r]. Results: at c[row * c_row + r * c_r], or
// for several parts of k there in an array of `elements` for each, which counts those of the whole stack.
struct gemm_vector_call {
    static constexpr int V = 16 / sizeof(T);
    const T *__restrict__ w, *__restrict__ x;
    T *c, *sums;
    unsigned *tickets;
    long long rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements, part_k;
    unsigned parts;

    __device__ __forceinline__ unsigned blocks() const
    {
        return gridDim.x / parts; // of a part
    }
    __device__ __forceinline__ long long first_k() const
    {
        return blockIdx.x / blocks() * part_k;
    }
    __device__ __forceinline__ long long end_k() const
    {
        return first_k() + part_k < k ? first_k() + part_k : k;
    }
    __device__ __forceinline__ void put(long long row, long long r, T value) const
    {
        T *const to = parts == 1 ? c : sums + blockIdx.x / blocks() * elements;
        if (row < rows && r < vectors)
            to[row * c_row + r * c_r] = value;
    }
};

// Where k has parts: whether the block is the last one that has put its sums of these rows and vectors.
static __device__ __forceinline__ bool gemm_vector_is_last(const gemm_vector_call &g)
{
    __shared__ bool is_last;

    // Whoever sees the block's ticket sees its sums.
    __threadfence();

    // All threads' sums are in memory before the ticket is drawn.
    __syncthreads();
    if (threadIdx.x == 0) {
        const long long places = (blockIdx.z * (long long)gridDim.y + blockIdx.y) * g.blocks();
        is_last = atomicInc(g.tickets + places + blockIdx.x % g.blocks(), g.parts - 1) == g.parts - 1; // and makes it 0
    }

    // All threads must know whether it is the last one.
    __syncthreads();
    if (is_last)
        __threadfence();
    return is_last;
}

// Where k has parts: the last block that has put its sums of these rows and vectors adds those of all parts.
static __device__ __forceinline__ void gemm_vector_finish(const gemm_vector_call &g, long long row, int rows, int R)
{
    const long long first_r = blockIdx.y * (long long)R;
    if (g.parts == 1 || !gemm_vector_is_last(g))
        return;
    for (int j = threadIdx.x; j < rows * R; j += blockDim.x) {
        const long long in_row = row + j % rows, in_r = first_r + j / rows, at = in_row * g.c_row + in_r * g.c_r;
        T sum = 0;
#pragma unroll 8
        for (unsigned part = 0; part < g.parts; ++part)
            if (in_row < g.rows && in_r < g.vectors)
                sum += __ldcg(g.sums + part * g.elements + at);
        for (unsigned part = 0; part < g.parts; ++part)
            if (in_row < g.rows && in_r < g.vectors)
                g.sums[part * g.elements + at] = 0;
        if (in_row < g.rows && in_r < g.vectors)
            g.c[at] = sum;
    }
}

// Rows that lie along k, and one vector: the products of a lane, which has READS reads on their way, also where fewer
// are left. Many warps keep memory busy, so a lane has registers for these reads and no more.
template <int V>
static __device__ __forceinline__ T gemm_vector_walk_row(const T *__restrict__ from, const T *__restrict__ with, int i,
                                                         int count, int step)
{
    constexpr int READS = V == 1 ? 8 : 4;
    T sum = 0;
    for (i *= V; i < count; i += READS * step * V) {
        gemm_vector_pack<V> read[READS], x[READS];
#pragma unroll
        for (int q = 0; q < READS; ++q) {
            const int at = i + q * step * V;
            read[q] = x[q] = {};
            if (at < count) {
                read[q] = *reinterpret_cast<const gemm_vector_pack<V> *>(from + at);
                x[q] = *reinterpret_cast<const gemm_vector_pack<V> *>(with + at);
            }
        }
#pragma unroll
        for (int e = 0; e < READS * V; ++e)
            sum += read[e / V].at[e % V] * x[e / V].at[e % V];
    }
    return sum;
}

// The sum over a group of lanes: those of a warp, then the warps.
static __device__ __forceinline__ T gemm_vector_add_lanes(T sum, T *of_warp, int lanes)
{
    for (int other = (lanes < 32 ? lanes : 32) / 2; other > 0; other /= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
    if (lanes <= 32)
        return sum;
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = sum;

    // The sums of all warps must be there before any is read.
    __syncthreads();
    sum = 0;
    for (int warp = 0; warp < lanes / 32; ++warp)
        sum += of_warp[threadIdx.x / lanes * (lanes / 32) + warp];
    return sum;
}

static __device__ __forceinline__ void gemm_vector_along_one(const gemm_vector_call &g, int lanes)
{
    constexpr int V = gemm_vector_call::V;
    __shared__ T of_warp[8];

    // Who am I: a lane of a group, which has a row. Behind the last row it is taken again, and not written.
    const int lane = threadIdx.x % lanes, groups = 256 / lanes, group = threadIdx.x / lanes;
    const long long first_row = blockIdx.x % g.blocks() * (long long)groups, row = first_row + group;
    const T *const from = g.w + (row < g.rows ? row : g.rows - 1) * g.w_row + g.first_k() * g.w_i;
    const T *const with = g.x + g.first_k() * g.x_i;
    const int count = int(g.end_k() - g.first_k());
    const bool unit = g.w_i == 1 && g.x_i == 1;
    const bool whole =
        unit && g.w_row % V == 0 && g.k % V == 0 && g.part_k % V == 0 && ((size_t)g.w | (size_t)g.x) % 16 == 0;

    // Read and compute: 16 bytes at a time where rows begin at multiples of them, else single elements.
    T sum = 0;
    if (whole)
        sum = gemm_vector_walk_row<V>(from, with, lane, count, lanes);
    else if (unit)
        sum = gemm_vector_walk_row<1>(from, with, lane, count, lanes);
    else
        for (int i = lane; i < count; i += lanes)
            sum += from[i * g.w_i] * with[i * g.x_i];

    sum = gemm_vector_add_lanes(sum, of_warp, lanes);
    if (lane == 0)
        g.put(row, blockIdx.y, sum);
    gemm_vector_finish(g, first_row, groups, 1);
}

// Rows that lie along k without a gap, wherever each begins, one vector, and k in one part. A lane reads 16 bytes of a
// row at once, and what belongs to them of the vector by elements; at the ends of a row those too.
static __device__ __forceinline__ void gemm_vector_row_one(const gemm_vector_call &g, int lanes)
{
    constexpr int V = gemm_vector_call::V, READS = 4;
    __shared__ T of_warp[8];

    // Who am I: a lane of a group, which has a row. Behind the last row it is taken again, and not written.
    const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes, count = int(g.k);
    const long long row = blockIdx.x * (256ll / lanes) + group;
    const T *const from = g.w + (row < g.rows ? row : g.rows - 1) * g.w_row, *const with = g.x;
    const int shift = int((size_t)from / sizeof(T) % V);

    // Read and compute.
    T sum = 0;
    for (int i = lane * V - shift; i < count; i += READS * lanes * V) {
        gemm_vector_pack<V> read[READS], x[READS];
#pragma unroll
        for (int q = 0; q < READS; ++q) {
            const int at = i + q * lanes * V;
            read[q] = x[q] = {};
            if (at >= 0 && at + V <= count) {
                read[q] = *reinterpret_cast<const gemm_vector_pack<V> *>(from + at);
#pragma unroll
                for (int e = 0; e < V; ++e)
                    x[q].at[e] = with[at + e];
            } else {
#pragma unroll
                for (int e = 0; e < V; ++e)
                    if (at + e >= 0 && at + e < count) {
                        read[q].at[e] = from[at + e];
                        x[q].at[e] = with[at + e];
                    }
            }
        }
#pragma unroll
        for (int e = 0; e < READS * V; ++e)
            sum += read[e / V].at[e % V] * x[e / V].at[e % V];
    }
    sum = gemm_vector_add_lanes(sum, of_warp, lanes);
    if (lane == 0 && row < g.rows)
        g.c[row * g.c_row] = sum;
}

// Stages R vectors, with zeros behind the last one: element i of vector r at staged[i * to_i + r * to_r].
static __device__ __forceinline__ void gemm_vector_stage(const gemm_vector_call &g, T *staged, long long first,
                                                         int count, long long first_r, int R, int to_i, int to_r)
{
    // All threads have read what was staged before: none may write over it earlier.
    __syncthreads();
    for (int j = threadIdx.x; j < R * count; j += 256) {
        const int r = g.x_i == 1 ? j / count : j % R, i = g.x_i == 1 ? j % count : j / R;
        staged[i * to_i + r * to_r] = first_r + r < g.vectors ? g.x[(first + i) * g.x_i + (first_r + r) * g.x_r] : T(0);
    }

    // All threads have staged a part of the vectors: none may read them before the last has written.
    __syncthreads();
}

// Rows that lie along k, and several vectors.
template <int R> static __device__ __forceinline__ void gemm_vector_along(const gemm_vector_call &g, int lanes)
{
    constexpr int V = gemm_vector_call::V, DEPTH = 256 * V, ROWS = 4;
    __shared__ alignas(16) T staged[R][DEPTH];

    // Who am I: a lane of a group, which has ROWS rows. Behind the last row it is taken again, and not written.
    const int lane = threadIdx.x % lanes, block_rows = 256 / lanes * ROWS;
    const long long first_row = blockIdx.x % g.blocks() * (long long)block_rows, end = g.end_k();
    const long long row = first_row + threadIdx.x / lanes * ROWS, first_r = blockIdx.y * (long long)R;
    const bool whole = g.w_i == 1 && g.w_row % V == 0 && g.part_k % V == 0 && (size_t)g.w % 16 == 0;
    const T *from[ROWS];
    for (int q = 0; q < ROWS; ++q)
        from[q] = g.w + (row + q < g.rows ? row + q : g.rows - 1) * g.w_row;

    T sum[ROWS][R] = {};
    for (long long first = g.first_k(); first < end; first += DEPTH) {
        const int count = end - first < DEPTH ? int(end - first) : DEPTH, packs = whole ? count / V : 0;
        gemm_vector_stage(g, staged[0], first, count, first_r, R, 1, DEPTH);

        // Read and compute: vectors of 16 bytes where rows begin at multiples of them, then single elements.
#pragma unroll 2
        for (int i = lane; i < packs; i += lanes) {
            gemm_vector_pack<V> read[ROWS];
            for (int q = 0; q < ROWS; ++q)
                read[q] = reinterpret_cast<const gemm_vector_pack<V> *>(from[q] + first)[i];
            for (int r = 0; r < R; ++r) {
                const auto with = reinterpret_cast<const gemm_vector_pack<V> *>(staged[r])[i];
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
            if (lane == 0)
                g.put(row + q, first_r + r, sum[q][r]);
        }
    gemm_vector_finish(g, first_row, block_rows, R);
}

// Adds to the sums of V neighbours: `count` rows that lie `step` apart. A lane has READS reads on their way, also where
// fewer are left.
template <int V>
static __device__ __forceinline__ void gemm_vector_walk_down(const T *__restrict__ at, const T *__restrict__ with,
                                                             long long step, long long x_step, int count, T *sum)
{
    constexpr int READS = 8;
    const auto add = [&](int rows) {
        gemm_vector_pack<V> read[READS];
        T x[READS];
#pragma unroll
        for (int q = 0; q < READS; ++q) {
            read[q] = {};
            x[q] = 0;
            if (q < rows) {
                read[q] = *reinterpret_cast<const gemm_vector_pack<V> *>(at + q * step);
                x[q] = with[q * x_step];
            }
        }
#pragma unroll
        for (int e = 0; e < READS * V; ++e)
            sum[e % V] += read[e / V].at[e % V] * x[e / V];
    };
#pragma unroll 1
    for (; count >= READS; count -= READS, at += READS * step, with += READS * x_step)
        add(READS);
    if (count > 0)
        add(count);
}

// Rows that lie across k, and one vector: a block makes a stripe of columns. Groups of `lanes` lanes, each with V
// neighbours, take turns with its rows. With SLANT these have nothing between them, and begin anywhere: those of a
// group begin equally far behind a multiple of 16 bytes, and the stripe is narrower by one lane's.
template <int V, bool SLANT>
static __device__ __forceinline__ void gemm_vector_stripe_one(const gemm_vector_call &g, int lanes)
{
    constexpr int THREADS = 512;
    __shared__ T of_group[THREADS * V], of_turn[THREADS];

    // Who am I: V columns of every `groups`-th row.
    const int groups = THREADS / lanes, lane = threadIdx.x % lanes, group = threadIdx.x / lanes, wide = lanes * V;
    const int own = SLANT ? wide - V : wide;
    const long long first_row = blockIdx.x % g.blocks() * (long long)own;
    long long i = g.first_k() + group;
    const int shift = SLANT ? int((size_t)(g.w + i * g.w_i + first_row) / sizeof(T) % V) : 0;
    const long long row = first_row - shift + lane * V;
    int count = row < g.rows ? (int(g.end_k() - g.first_k()) - group + groups - 1) / groups : 0;

    // Read and compute: first by elements what would begin before the matrix, or end behind it.
    T sum[V] = {};
    const auto add_inside = [&](long long at) {
        for (int e = 0; e < V; ++e)
            if (row + e >= 0 && row + e < g.rows)
                sum[e] += g.w[at * g.w_i + row + e] * g.x[at * g.x_i];
        --count;
    };
    if (SLANT && count > 0 && row < 0 && i == 0) {
        add_inside(0);
        i += groups;
    }
    if (SLANT && count > 0 && row + V > g.rows && i + (count - 1ll) * groups == g.k - 1)
        add_inside(g.k - 1);
    gemm_vector_walk_down<V>(g.w + i * g.w_i + row * g.w_row, g.x + i * g.x_i, groups * g.w_i, groups * g.x_i, count,
                             sum);
    for (int e = 0; e < V; ++e)
        if (!SLANT || lane * V + e >= shift)
            of_group[group * wide + lane * V + e - shift] = sum[e];

    // Threads add what others read: all must be there.
    __syncthreads();
    const int column = threadIdx.x % wide, turn = threadIdx.x / wide, turns = THREADS / wide;
    T all = 0;
    for (int j = 0; j < V; ++j)
        all += column < own ? of_group[threadIdx.x + j * THREADS] : T(0);
    of_turn[threadIdx.x] = all;

    // The same once more.
    __syncthreads();
    if (threadIdx.x < own) {
        for (int other = 1; other < turns; ++other)
            all += of_turn[other * wide + column];
        g.put(first_row + column, blockIdx.y, all);
    }
    if (g.parts == 1 || !gemm_vector_is_last(g))
        return;

    // The last block of a stripe: groups of threads take turns with the parts, and the first one adds their sums.
    const long long at = (first_row + column) * g.c_row + blockIdx.y * g.c_r;
    const bool inside = column < own && first_row + column < g.rows;
    T part_sum = 0;
#pragma unroll 8
    for (unsigned part = turn; part < g.parts; part += turns)
        if (inside)
            part_sum += __ldcg(g.sums + part * g.elements + at);
    for (unsigned part = turn; part < g.parts; part += turns)
        if (inside)
            g.sums[part * g.elements + at] = 0;
    of_turn[threadIdx.x] = part_sum;

    // The sums of all groups are read: all must be there.
    __syncthreads();
    if (turn == 0 && inside) {
        for (int other = 1; other < turns; ++other)
            part_sum += of_turn[other * wide + column];
        g.c[at] = part_sum;
    }
}

// A few rows that lie across k, with nothing between them, and one vector: a block reads the matrix as it lies, and
// each of its threads has elements of one row.
static __device__ __forceinline__ void gemm_vector_narrow_one(const gemm_vector_call &g)
{
    constexpr int THREADS = 512, READS = 8;
    __shared__ T of_thread[THREADS];

    // Who am I: a row, and one of the groups of threads that take turns with its elements. Some may be left over.
    const int rows = int(g.rows), groups = THREADS / rows, row = threadIdx.x % rows, group = threadIdx.x / rows;
    const int k = int(g.k), step = groups * rows;
    T sum = 0;
    for (int i = group; i < k && group < groups; i += groups * READS) {
        T read[READS], x[READS];
#pragma unroll
        for (int q = 0; q < READS; ++q) {
            const bool inside = i + q * groups < k;
            read[q] = inside ? g.w[i * rows + row + q * step] : T(0);
            x[q] = inside ? g.x[(i + q * groups) * g.x_i] : T(0);
        }
#pragma unroll
        for (int q = 0; q < READS; ++q)
            sum += read[q] * x[q];
    }
    if (group < groups)
        of_thread[row * groups + group] = sum;

    // The sums of all threads are read: all must be there.
    __syncthreads();
    for (int mine = threadIdx.x / 32; mine < rows; mine += THREADS / 32) {
        T all = 0;
        for (int other = threadIdx.x % 32; other < groups; other += 32)
            all += of_thread[mine * groups + other];
        for (int other = 16; other > 0; other /= 2)
            all += __shfl_xor_sync(~0u, all, other);
        if (threadIdx.x % 32 == 0)
            g.put(mine, blockIdx.y, all);
    }
}

// Rows that lie across k, and several vectors, staged: a warp takes a stripe of 32 times 16 bytes.
template <int R> static __device__ __forceinline__ void gemm_vector_across(const gemm_vector_call &g)
{
    constexpr int V = gemm_vector_call::V, WARPS = 8, DEPTH = 256 * V, WIDE = 32 * V;
    __shared__ alignas(16) T staged[WARPS * R * WIDE]; // [DEPTH][R], and at the end [WARPS][R][WIDE]

    // Who am I: V columns of the stripe; neighbours where those are read in one piece.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long first_row = blockIdx.x % g.blocks() * (long long)WIDE, first_r = blockIdx.y * (long long)R;
    const long long end = g.end_k();
    const bool whole = g.w_row == 1 && g.rows % V == 0 && g.w_i % V == 0 && (size_t)g.w % 16 == 0;
    const int step = whole ? 1 : 32, col = whole ? lane * V : lane;
    const T *from[V];
    for (int e = 0; e < V; ++e)
        from[e] = g.w + (first_row + col + e * step < g.rows ? first_row + col + e * step : 0) * g.w_row;

    T sum[R][V] = {};
    for (long long first = g.first_k(); first < end; first += DEPTH) {
        const int count = end - first < DEPTH ? int(end - first) : DEPTH;
        gemm_vector_stage(g, staged, first, count, first_r, R, R, 1);
        const auto add = [&](int i, const gemm_vector_pack<V> &read) {
            for (int r = 0; r < R; ++r)
                for (int e = 0; e < V; ++e)
                    sum[r][e] += read.at[e] * staged[i * R + r];
        };

        // Read and compute.
        if (whole) {
#pragma unroll 4
            for (int i = warp; i < count; i += WARPS) {
                const T *const at = from[0] + (first + i) * g.w_i;
                const auto read = *reinterpret_cast<const gemm_vector_pack<V> *>(at);
                add(i, read);
            }
        } else {
#pragma unroll 4
            for (int i = warp; i < count; i += WARPS) {
                gemm_vector_pack<V> read;
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
        g.put(first_row + j % WIDE, first_r + j / WIDE, all);
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

static __device__ __forceinline__ gemm_vector_call
gemm_vector_begin(const T *w, const T *x, T *c, unsigned *tickets, T *sums, long long rows, long long k,
                  long long vectors, long long w_row, long long w_i, long long x_i, long long x_r, long long c_row,
                  long long c_r, long long part_k, long long parts, long long w_stack, long long x_stack)
{
    const long long item = blockIdx.z, elements = rows * vectors;
    return {w + item * w_stack, x + item * x_stack, c + item * elements, sums + item * elements, tickets, rows, k,
            vectors, w_row, w_i, x_i, x_r, c_row, c_r, elements * gridDim.z, part_k, unsigned(parts)};
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_across8(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                    long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                    long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                    long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_across<8>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                            part_k, parts, w_stack, x_stack));
}

extern "C" __global__ void __launch_bounds__(256, 4)
gemm_vector_across4(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                    long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                    long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                    long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_across<4>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                            part_k, parts, w_stack, x_stack));
}

extern "C" __global__ void __launch_bounds__(256, 4)
gemm_vector_across2(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                    long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                    long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                    long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_across<2>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                            part_k, parts, w_stack, x_stack));
}

extern "C" __global__ void __launch_bounds__(512, 2)
gemm_vector_across(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                   long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                   long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                   long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_stripe_one<gemm_vector_call::V, false>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors,
                                                                             w_row, w_i, x_i, x_r, c_row, c_r, part_k,
                                                                             unsigned(parts), w_stack,
                                                                             x_stack), int(lanes));
}

extern "C" __global__ void __launch_bounds__(512, 2)
gemm_vector_slant(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                  long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                  long long x_r, long long c_row, long long c_r, long long part_k, long long parts, long long lanes,
                  long long w_stack, long long x_stack)
{
    gemm_vector_stripe_one<gemm_vector_call::V, true>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors,
                                                                            w_row, w_i, x_i, x_r, c_row, c_r, part_k,
                                                                            unsigned(parts), w_stack,
                                                                            x_stack), int(lanes));
}

extern "C" __global__ void __launch_bounds__(512, 2)
gemm_vector_stripe(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                   long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                   long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                   long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_stripe_one<1, false>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i,
                                                           x_r, c_row, c_r, part_k, unsigned(parts), w_stack,
                                                           x_stack), int(lanes));
}

extern "C" __global__ void __launch_bounds__(512, 2)
gemm_vector_narrow(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                   long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                   long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                   long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_narrow_one(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                             part_k, parts, w_stack, x_stack));
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_along8(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                   long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                   long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                   long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_along<8>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                           part_k, parts, w_stack, x_stack), int(lanes));
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_along4(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                   long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                   long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                   long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_along<4>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                           part_k, parts, w_stack, x_stack), int(lanes));
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_along2(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                   long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                   long long x_r, long long c_row, long long c_r, long long part_k, long long parts,
                   long long lanes, long long w_stack, long long x_stack)
{
    gemm_vector_along<2>(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                           part_k, parts, w_stack, x_stack), int(lanes));
}

extern "C" __global__ void __launch_bounds__(256)
gemm_vector_row(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
                long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
                long long x_r, long long c_row, long long c_r, long long part_k, long long parts, long long lanes,
                long long w_stack, long long x_stack)
{
    gemm_vector_row_one(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                          part_k, parts, w_stack, x_stack), int(lanes));
}

extern "C" __global__ void __launch_bounds__(256, 4)
gemm_vector(const T *__restrict__ w, const T *__restrict__ x, T *__restrict__ c, unsigned *tickets, T *sums,
            long long rows, long long k, long long vectors, long long w_row, long long w_i, long long x_i,
            long long x_r, long long c_row, long long c_r, long long part_k, long long parts, long long lanes,
            long long w_stack, long long x_stack)
{
    gemm_vector_along_one(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,
                                            part_k, parts, w_stack, x_stack), int(lanes));
}
