// reduce_axis / panel
//
// What     out[row][col] = OP of x[row][i][col] over all i; x is (m, n, k), out is (m, k), row-major.
// Idea     A warp walks down a panel of as many columns as it reads at once, 16 bytes a lane, with several reads under
//          way. `down` warps of the block take turns with the rows of a panel and meet in shared memory at the end; the
//          others have the next panels.
//          Few panels of long columns are cut into parts. Each block leaves its part in global memory and draws a
//          ticket; who draws the last one makes the result of the parts, in their order: the same bits in every call.
//          Tickets and parts are 0 before and after: the next call finds them as this one did.
// Differs  from reduce_axis/strip: a lane has its columns to itself, and their number has no limit.
// Claims   global.load.sectors_per_request = 16      float32; k a multiple of 128; n at most 8: 16 bytes a lane
// Length   it is the fast one for many columns.
// Source   CUDA C++ Programming Guide, "Memory Fence Functions": the block that finishes last

// The values of `down` neighbouring warps become one, in the first of them.
template <int ITEMS> static __device__ __forceinline__ void reduce_axis_panel_meet(A (&mine)[ITEMS], A *all, int down)
{
    constexpr int THREADS = 256;
    const int thread = threadIdx.x, place = thread / 32 % down;

    for (int e = 0; e < ITEMS; ++e)
        all[e * THREADS + thread] = mine[e];

    // The first of the warps reads what the others wrote.
    __syncthreads();
    for (int other = 1; place == 0 && other < down; ++other)
        for (int e = 0; e < ITEMS; ++e)
            mine[e] = OP(mine[e], all[e * THREADS + thread + 32 * other]);
}

// A part's value, in whose place 0 is left.
static __device__ __forceinline__ A reduce_axis_panel_take(A *from)
{
    struct alignas(sizeof(A)) cleared {
        unsigned int word[sizeof(A) / 4];
    };
    const A value = *from;
    *reinterpret_cast<cleared *>(from) = {};
    return value;
}

template <int ITEMS, int ROWS>
static __device__ __forceinline__ void reduce_axis_panel_run(const T *x, R *out, long long n, long long k, int down,
                                                             long long parts, unsigned int *tickets, A *partial, A *all)
{
    constexpr int THREADS = 256;
    struct alignas(ITEMS * sizeof(T)) pack {
        T item[ITEMS];
    };
    struct alignas(ITEMS * sizeof(R) < 16 ? ITEMS * sizeof(R) : 16) results {
        R item[ITEMS];
    };
    __shared__ bool is_last;

    // Who am I: a lane with ITEMS columns of a panel, of every down-th row of a part.
    const int thread = threadIdx.x, place = thread / 32 % down;
    const int across = THREADS / 32 / down, width = across * 32 * ITEMS;
    const long long panels = (k + width - 1) / width, panel = blockIdx.x % panels, part = blockIdx.x / panels % parts;
    const long long row = blockIdx.x / panels / parts;
    const long long col = panel * width + (thread / 32 / down * 32 + thread % 32) * ITEMS;
    const long long share = (n + parts - 1) / parts, end = (part + 1) * share < n ? (part + 1) * share : n;
    const bool active = col < k;
    const T *from = x + row * n * k + col;
    A mine[ITEMS];
    for (int e = 0; e < ITEMS; ++e)
        mine[e] = NEUTRAL;

    // Read and compute: ROWS rows at a time, then one by one.
    long long i = part * share + place;
    if (active) {
#pragma unroll 1
        for (; i + (ROWS - 1) * down < end; i += ROWS * down) {
            pack read[ROWS];
            for (int r = 0; r < ROWS; ++r)
                read[r] = *reinterpret_cast<const pack *>(from + (i + r * down) * k);
            for (int r = 0; r < ROWS; ++r)
                for (int e = 0; e < ITEMS; ++e)
                    mine[e] = TAKE(mine[e], read[r].item[e], i + r * down);
        }
#pragma unroll 2
        for (; i < end; i += down) {
            const pack read = *reinterpret_cast<const pack *>(from + i * k);
            for (int e = 0; e < ITEMS; ++e)
                mine[e] = TAKE(mine[e], read.item[e], i);
        }
    }
    if (down > 1)
        reduce_axis_panel_meet<ITEMS>(mine, all, down);

    // Write: the result, or the block's part.
    auto write = [&]() {
        results made;
        for (int e = 0; e < ITEMS; ++e)
            made.item[e] = FINISH(mine[e], n);
        if (active && place == 0)
            *reinterpret_cast<results *>(out + row * k + col) = made;
    };
    if (parts == 1) {
        write();
        return;
    }
    A *word = partial + row * parts * k + col;
    if (active && place == 0)
        for (int e = 0; e < ITEMS; ++e)
            word[part * k + e] = mine[e];

    // A part is there for the whole device,
    __threadfence();
    // and all of it, before its ticket is drawn.
    __syncthreads();
    if (thread == 0) // the last one makes it 0 again
        is_last = atomicInc(&tickets[row * panels + panel], parts - 1) == parts - 1;
    // All threads learn what the first has drawn.
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();

    // The last block: the parts are rows too. Leave 0 in their places.
    for (int e = 0; e < ITEMS; ++e)
        mine[e] = NEUTRAL;
    if (active)
#pragma unroll 4
        for (long long j = place; j < parts; j += down)
            for (int e = 0; e < ITEMS; ++e)
                mine[e] = OP(mine[e], reduce_axis_panel_take(&word[j * k + e]));
    if (down > 1)
        reduce_axis_panel_meet<ITEMS>(mine, all, down);
    write();
}

extern "C" __global__ void __launch_bounds__(256)
reduce_axis_panel(const T *x, R *out, long long, long long n, long long k, int down, long long parts,
                      unsigned int *tickets, A *partial)
{
    constexpr int ITEMS = 16 / sizeof(T), ROWS = sizeof(A) <= 8 ? 16 : 8;
    __shared__ alignas(16) char all[256 * ITEMS * sizeof(A)];
    if (k % ITEMS == 0)
        reduce_axis_panel_run<ITEMS, 8>(x, out, n, k, down, parts, tickets, partial, reinterpret_cast<A *>(all));
    else // narrow reads: more of them under way, where an accumulator is a number
        reduce_axis_panel_run<1, ROWS>(x, out, n, k, down, parts, tickets, partial, reinterpret_cast<A *>(all));
}
