// reduce_axis / warp
//
// What     out[row][col] = OP of x[row][i][col] over all i; x is (m, n, k), out is (m, k), row-major.
// Idea     A group of `lanes` neighbouring lanes, a warp or a part of one, makes an element of out together: they read
//          neighbours along the axis, then hand each other what they have. With 8 lanes a warp reads 4 short rows side
//          by side. Of short rows a group makes several, and reads 16 bytes at once where all begin at multiples of
//          them; of a long row it has several such reads under way, wherever it begins: what lies before the first and
//          behind the last is read by elements.
// Differs  from reduce_axis/thread: the lanes of a warp walk along the axis.
// Claims   shared.load.instructions = 0
// Length   it is the fast one for rows of middle length.
// Source   warp shuffles: CUDA C++ Programming Guide, "Warp Shuffle Functions"

// The value that the lane `reach` away has, whatever words it consists of.
static __device__ __forceinline__ A reduce_axis_warp_exchange(A value, int reach)
{
    A other = value;
    for (int w = 0; w < sizeof(A) / 4; ++w)
        reinterpret_cast<unsigned *>(&other)[w] =
            __shfl_xor_sync(0xffffffff, reinterpret_cast<const unsigned *>(&value)[w], reach);
    return other;
}

template <int ITEMS, int ROWS, int DEPTH>
static __device__ __forceinline__ void reduce_axis_warp_rows(const T *x, R *out, long long m, long long n, long long k,
                                                             int lanes)
{
    constexpr int THREADS = 256;
    struct alignas(ITEMS * sizeof(T)) pack {
        T item[ITEMS];
    };

    // Who am I: a lane of a group, which makes every THREADS / lanes-th element of out. Behind the last one it is made
    // again, and not written.
    const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes, groups = THREADS / lanes;
    const long long first = (long long)blockIdx.x * groups * ROWS + group, last = m * k - 1;
    const T *row[ROWS];
    A mine[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        const long long i = first + r * groups < last ? first + r * groups : last;
        row[r] = k == 1 ? x + i * n : x + i / k * n * k + i % k;
        mine[r] = NEUTRAL;
    }

    // Read and compute: DEPTH items or packs of each row at a time, then one.
    long long j = lane;
    if (DEPTH > 1)
#pragma unroll 1
        for (; j + (DEPTH - 1) * lanes < n / ITEMS; j += DEPTH * lanes) {
            pack read[DEPTH][ROWS];
            for (int d = 0; d < DEPTH; ++d)
                for (int r = 0; r < ROWS; ++r)
                    read[d][r] = *reinterpret_cast<const pack *>(row[r] + (j + d * lanes) * ITEMS * k);
            for (int d = 0; d < DEPTH; ++d)
                for (int r = 0; r < ROWS; ++r)
                    for (int e = 0; e < ITEMS; ++e)
                        mine[r] = TAKE(mine[r], read[d][r].item[e], (j + d * lanes) * ITEMS + e);
        }
#pragma unroll 1
    for (; j < n / ITEMS; j += lanes) {
        pack read[ROWS];
        for (int r = 0; r < ROWS; ++r)
            read[r] = *reinterpret_cast<const pack *>(row[r] + j * ITEMS * k);
        for (int r = 0; r < ROWS; ++r) { // a pack's own sum is made first: so it is nearer to the exact one
            A turn = NEUTRAL;
            for (int e = 0; e < ITEMS; ++e)
                turn = TAKE(turn, read[r].item[e], j * ITEMS + e);
            mine[r] = OP(mine[r], turn);
        }
    }
    for (int reach = lanes / 2; reach > 0; reach /= 2)
        for (int r = 0; r < ROWS; ++r)
            mine[r] = OP(mine[r], reduce_axis_warp_exchange(mine[r], reach));

    // Write.
    for (int r = 0; r < ROWS; ++r)
        if (lane == 0 && first + r * groups <= last)
            out[first + r * groups] = FINISH(mine[r], n);
}

// A long row that begins anywhere.
static __device__ __forceinline__ void reduce_axis_warp_row(const T *x, R *out, long long m, long long n, int lanes)
{
    constexpr int THREADS = 256, ITEMS = 16 / sizeof(T), DEPTH = 4;
    struct alignas(16) pack {
        T item[ITEMS];
    };

    // Who am I: as above, of one row. `head` elements lie before its packs, `tail` behind them.
    const int lane = threadIdx.x % lanes, groups = THREADS / lanes;
    const long long wanted = (long long)blockIdx.x * groups + threadIdx.x / lanes, i = wanted < m ? wanted : m - 1;
    const int before = (int)((ITEMS - i * n % ITEMS) % ITEMS), head = before < n ? before : (int)n;
    const int tail = (int)((n - head) % ITEMS);
    const long long packs = (n - head) / ITEMS, behind = n - tail + lane;
    const T *row = x + i * n;
    const pack *from = reinterpret_cast<const pack *>(row + head);
    T last = 0;
    if (lane < tail)
        last = row[behind];
    A mine = NEUTRAL;
    if (lane < head)
        mine = TAKE(mine, row[lane], lane);

    // Read and compute: DEPTH packs at a time, whose own sum is made first.
#pragma unroll 1
    for (long long j = lane; j < packs; j += DEPTH * lanes) {
        pack read[DEPTH];
        for (int d = 0; d < DEPTH; ++d)
            if (j + d * lanes < packs)
                read[d] = from[j + d * lanes];
        A turn = NEUTRAL;
        for (int d = 0; d < DEPTH; ++d)
            if (j + d * lanes < packs)
                for (int e = 0; e < ITEMS; ++e)
                    turn = TAKE(turn, read[d].item[e], head + (j + d * lanes) * ITEMS + e);
        mine = OP(mine, turn);
    }
    if (lane < tail)
        mine = TAKE(mine, last, behind);
    for (int reach = lanes / 2; reach > 0; reach /= 2)
        mine = OP(mine, reduce_axis_warp_exchange(mine, reach));

    // Write.
    if (lane == 0 && wanted < m)
        out[i] = FINISH(mine, n);
}

extern "C" __global__ void __launch_bounds__(256)
reduce_axis_warp(const T *x, R *out, long long m, long long n, long long k, int lanes, int rows)
{
    constexpr int ITEMS = 16 / sizeof(T);
    if (k == 1 && rows == 1)
        reduce_axis_warp_row(x, out, m, n, lanes);
    else if (k == 1 && n % ITEMS == 0)
        reduce_axis_warp_rows<ITEMS, 4, 1>(x, out, m, n, 1, lanes);
    else
        reduce_axis_warp_rows<1, 4, 2>(x, out, m, n, k, lanes);
}
