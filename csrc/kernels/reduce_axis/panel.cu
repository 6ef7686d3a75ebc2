// reduce_axis / panel
//
// What     out[row][col] = OP of x[row][i][col] over all i; x is (m, n, k), out is (m, k), row-major.
// Idea     A warp walks down a panel of as many columns as it reads at once, 16 bytes a lane, with several reads under
//          way. `down` warps of the block take turns with the rows of a panel and meet in shared memory at the end; the
//          others have the next columns.
//          Where rows begin between two multiples of 16 bytes, a warp whose turns come after 4 or 8 rows begins equally
//          far behind one in all of them: it reads that much more to the left, and knows whose columns they are. The
//          panel is as much narrower.
//          Few panels of long columns are cut into parts. Each block leaves its part in global memory and draws a
//          ticket; who draws the last one makes the result of the parts, in their order: the same bits in every call.
//          Tickets and parts are 0 before and after: the next call finds them as this one did.
// Differs  from reduce_axis/strip: a lane has its columns to itself, and their number has no limit.
// Claims   global.load.sectors_per_request = 16      float32; k a multiple of 128; n at most 8: 16 bytes a lane
// Length   it is the fast one for many columns.
// Source   CUDA C++ Programming Guide, "Memory Fence Functions": the block that finishes last

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

extern "C" __global__ void __launch_bounds__(256, sizeof(A) <= 8 ? 4 : 3)
    reduce_axis_panel(const T *x, R *out, long long m, long long n, long long k, int down, long long parts,
                      unsigned int *tickets, A *partial)
{
    constexpr int THREADS = 256, ITEMS = 16 / sizeof(T), ROWS = 8;
    struct alignas(16) pack {
        T item[ITEMS];
    };
    __shared__ alignas(16) char shared[THREADS * ITEMS * sizeof(A)];
    __shared__ bool is_last;
    A *all = reinterpret_cast<A *>(shared);

    // Who am I: a lane with a pack of a panel, in every down-th row of a part. `place`: of the warp among the `down`;
    // `at`: of the lane's pack among those of a row. `shift` elements of a row's first pack lie left of the panel.
    const int thread = threadIdx.x, place = thread / 32 % down;
    const int lanes = THREADS / down, at = thread / 32 / down * 32 + thread % 32;
    const int width = lanes * ITEMS - (k % ITEMS == 0 ? 0 : ITEMS);
    const unsigned panels = (k + width - 1) / width, panel = blockIdx.x % panels, block = blockIdx.x / panels;
    const long long row = block / (unsigned)parts, part = block % (unsigned)parts, first = (long long)panel * width;
    const int wide = k - first < width ? (int)(k - first) : width;
    const long long share = (n + parts - 1) / parts, begin = part * share + place;
    const long long end = (part + 1) * share < n ? (part + 1) * share : n;
    const int shift = (int)(((row * n + begin) % ITEMS) * (k % ITEMS) % ITEMS);
    const int left = at * ITEMS - shift; // of the lane's first element, counted from the panel's
    const T *from = x + (row * n + begin) * k + first + left;
    const long long jump = down * k;
    A mine[ITEMS];
    for (int e = 0; e < ITEMS; ++e)
        mine[e] = NEUTRAL;

    // Read and compute: ROWS rows at a time, whose own sum is made first, then one by one. The last packs of x may pass
    // its end, and are read by elements.
    long long i = begin;
    if (left < wide) {
        long long whole = end;
        while (whole > 0 && ((m - row) * n - whole + 1) * k < first + left + ITEMS)
            --whole;
#pragma unroll 1
        for (; i + (ROWS - 1) * down < whole; i += ROWS * down) {
            pack read[ROWS];
            for (int r = 0; r < ROWS; ++r, from += jump)
                read[r] = *reinterpret_cast<const pack *>(from);
            for (int e = 0; e < ITEMS; ++e) {
                A turn = NEUTRAL;
                for (int r = 0; r < ROWS; ++r)
                    turn = TAKE(turn, read[r].item[e], i + r * down);
                mine[e] = OP(mine[e], turn);
            }
        }
#pragma unroll 2
        for (; i < whole; i += down, from += jump) {
            const pack read = *reinterpret_cast<const pack *>(from);
            for (int e = 0; e < ITEMS; ++e)
                mine[e] = TAKE(mine[e], read.item[e], i);
        }
        for (; i < end; i += down, from += jump)
            for (int e = 0; e < ITEMS; ++e)
                if (left + e < wide)
                    mine[e] = TAKE(mine[e], from[e], i);
    }
    for (int e = 0; e < ITEMS; ++e)
        if (left + e >= 0)
            all[place * (lanes * ITEMS) + left + e] = mine[e];

    // Threads take what those of the other warps wrote.
    __syncthreads();
    auto meet = [&](int column) {
        A value = all[column];
        for (int other = 1; other < down; ++other)
            value = OP(value, all[other * (lanes * ITEMS) + column]);
        return value;
    };

    // Write: the result, or the block's part.
    R *result = out + row * k + first;
    if (parts == 1) {
        for (int column = thread; column < wide; column += THREADS)
            result[column] = FINISH(meet(column), n);
        return;
    }
    A *words = partial + row * parts * k + first;
    for (int column = thread; column < wide; column += THREADS)
        words[part * k + column] = meet(column);

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
#pragma unroll 4
    for (long long j = place; j < parts; j += down)
        for (int e = 0; e < ITEMS; ++e)
            if (at + e * lanes < wide)
                mine[e] = OP(mine[e], reduce_axis_panel_take(&words[j * k + at + e * lanes]));
    for (int e = 0; e < ITEMS; ++e)
        all[place * (lanes * ITEMS) + at + e * lanes] = mine[e];

    // As above.
    __syncthreads();
    for (int column = thread; column < wide; column += THREADS)
        result[column] = FINISH(meet(column), n);
}
