// reduce_axis / strip
//
// What     out[row][col] = OP of x[row][i][col] over all i; x is (m, n, k), out is (m, k), row-major.
// Idea     Where columns are few, a row of x is a strip of memory in which the columns take turns: element i lies in
//          column i mod k. A thread that walks through it by a multiple of k stays in its columns, and all threads
//          together read without a gap, whatever k is. At the end threads of the same column meet in shared memory.
//          A long strip is shared by several blocks. Each leaves its part in global memory and draws a ticket; who
//          draws the last one makes the result of the parts, in their order: the same bits in every call.
//          Tickets and parts are 0 before and after: the next call finds them as this one did.
//          Rows (k is 1) may begin between two multiples of 16 bytes. They are read in packs all the same: what lies
//          before the first pack and behind the last one is read by elements.
// Differs  from reduce_axis/warp: a block or more an axis, and any few columns.
// Claims   global.load.sectors_per_request = 16      float32; k at most 1; n a multiple of 128: 16 bytes a lane
// Length   it is the fast one for few columns and long axes.
// Source   CUDA C++ Programming Guide, "Memory Fence Functions": the block that finishes last

constexpr int reduce_axis_strip_threads = 256;

// The value that the lane `reach` away has, whatever words it consists of.
static __device__ __forceinline__ A reduce_axis_strip_exchange(A value, int reach)
{
    A other = value;
    for (int w = 0; w < sizeof(A) / 4; ++w)
        reinterpret_cast<unsigned *>(&other)[w] =
            __shfl_xor_sync(0xffffffff, reinterpret_cast<const unsigned *>(&value)[w], reach);
    return other;
}

// What all threads have, thread t with `held` values of the columns from t * held mod k on: one value a column, in the
// first k places of `all`. Columns repeat after `period` threads; a multiple of that take part, `active`.
template <int ITEMS>
static __device__ __forceinline__ A reduce_axis_strip_meet(A (&mine)[ITEMS], A *all, int held, int period,
                                                              int active, int k)
{
    int lanes = 32, thread = threadIdx.x, warps = reduce_axis_strip_threads / 32;
    if (32 % period == 0) {
        // Lanes of the same columns meet first, from register to register.
        for (; lanes > period; lanes /= 2)
            for (int e = 0; e < ITEMS; ++e)
                mine[e] = OP(mine[e], reduce_axis_strip_exchange(mine[e], lanes / 2));
        active = warps * lanes;
        thread = thread % 32 < lanes ? thread / 32 * lanes + thread % 32 : active;
    }
    if (thread < active)
        for (int e = 0; e < ITEMS; ++e)
            if (e < held)
                all[thread * held + e] = mine[e];

    // Others' values are taken in: all must be there.
    __syncthreads();
    int count = active * held / k;
#pragma unroll 1
    for (; count > 8; count -= count / 2) {
        const int half = count - count / 2;
        for (int i = threadIdx.x; i < count / 2 * k; i += reduce_axis_strip_threads)
            all[i] = OP(all[i], all[i + half * k]);

        // The next step takes in what other threads made in this one.
        __syncthreads();
    }
    A value = NEUTRAL;
    if (threadIdx.x < k)
        for (int c = 0; c < count; ++c)
            value = OP(value, all[c * k + threadIdx.x]);
    return value;
}

template <int ITEMS>
static __device__ __forceinline__ void reduce_axis_strip_run(const T *x, R *out, long long n, int k, int period,
                                                             long long parts, unsigned int *tickets, A *partial, A *all)
{
    constexpr int THREADS = reduce_axis_strip_threads, PACKS = 4;
    struct alignas(ITEMS * sizeof(T)) pack {
        T item[ITEMS];
    };
    struct alignas(sizeof(A)) cleared {
        unsigned int word[sizeof(A) / 4];
    };
    __shared__ bool is_last;

    // Who am I: a thread of the block of one part of a strip. `step` packs hold `rise` elements of each column.
    const int thread = threadIdx.x, step = THREADS - THREADS % period, rise = step * ITEMS / k;
    const long long strip = blockIdx.x / parts, part = blockIdx.x % parts;
    const long long begin = k == 1 ? (ITEMS - strip * n % ITEMS) % ITEMS : 0, head = begin < n ? begin : n;
    const long long packs = (n * k - head) / ITEMS, tail = (n * k - head) % ITEMS;
    const long long steps = (packs + step - 1) / step, share = (steps + parts - 1) / parts;
    const long long end = (part + 1) * share * step < packs ? (part + 1) * share * step : packs;
    const T *first = x + strip * n * k;
    const pack *from = reinterpret_cast<const pack *>(first + head);
    A mine[ITEMS];
    int at[ITEMS];
    for (int e = 0; e < ITEMS; ++e) {
        mine[e] = NEUTRAL;
        at[e] = (thread * ITEMS + e) / k;
    }

    // Read and compute: what lies before the packs, PACKS packs at a time, then what lies behind.
    long long index = head + part * share * rise, i = part * share * step + thread;
    if (part == 0 && thread < head)
        mine[0] = TAKE(mine[0], first[thread], thread);
    if (thread < step) {
#pragma unroll 1
        for (; i + (PACKS - 1) * step < end; i += PACKS * step, index += PACKS * rise) {
            pack read[PACKS];
            for (int j = 0; j < PACKS; ++j)
                read[j] = from[i + j * step];
            for (int e = 0; e < ITEMS; ++e) { // the sum of a turn is made first: so it is nearer to the exact one
                A turn = NEUTRAL;
                for (int j = 0; j < PACKS; ++j)
                    turn = TAKE(turn, read[j].item[e], index + j * rise + at[e]);
                mine[e] = OP(mine[e], turn);
            }
        }
        if (i < end) {
            pack read[PACKS];
            for (int j = 0; j < PACKS; ++j)
                if (i + j * step < end)
                    read[j] = from[i + j * step];
            for (int e = 0; e < ITEMS; ++e) {
                A turn = NEUTRAL;
                for (int j = 0; j < PACKS; ++j)
                    if (i + j * step < end)
                        turn = TAKE(turn, read[j].item[e], index + j * rise + at[e]);
                mine[e] = OP(mine[e], turn);
            }
        }
    }
    if (part == parts - 1 && thread < tail)
        mine[0] = TAKE(mine[0], first[n - tail + thread], n - tail + thread);
    if (k == 1)
        for (int e = 1; e < ITEMS; ++e)
            mine[0] = OP(mine[0], mine[e]);
    const A value = reduce_axis_strip_meet<ITEMS>(mine, all, k == 1 ? 1 : ITEMS, period, step, k);

    // Write: the result, or the block's part.
    if (parts == 1) {
        if (thread < k)
            out[strip * k + thread] = FINISH(value, n);
        return;
    }
    if (thread < k)
    {
        partial[blockIdx.x * (long long)k + thread] = value;
        // A part is there for the whole device,
        __threadfence();
    }
    // and all of it, before its ticket is drawn.
    __syncthreads();
    if (thread == 0)
        is_last = atomicInc(&tickets[strip], parts - 1) == parts - 1; // the last one makes it 0 again
    // All threads learn what the first has drawn.
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();

    // The last block: the parts are a strip too. Leave 0 in their places.
    const int reach = THREADS - THREADS % k;
    A one[1] = {NEUTRAL}, *word = partial + strip * parts * k;
    if (thread < reach)
#pragma unroll 4
        for (int j = thread; j < parts * k; j += reach) {
            one[0] = OP(one[0], word[j]);
            *reinterpret_cast<cleared *>(&word[j]) = {};
        }
    const A total = reduce_axis_strip_meet<1>(one, all, 1, k, reach, k);
    if (thread < k)
        out[strip * k + thread] = FINISH(total, n);
}

extern "C" __global__ void __launch_bounds__(256, sizeof(A) <= 8 ? 4 : 3)
    reduce_axis_strip(const T *x, R *out, long long, long long n, long long k, int period, long long parts,
                      unsigned int *tickets, A *partial)
{
    constexpr int ITEMS = 16 / sizeof(T);
    __shared__ alignas(16) char all[reduce_axis_strip_threads * ITEMS * sizeof(A)];
    if (k == 1 || (n * k % ITEMS == 0 && period * ITEMS % k == 0))
        reduce_axis_strip_run<ITEMS>(x, out, n, (int)k, period, parts, tickets, partial, reinterpret_cast<A *>(all));
    else
        reduce_axis_strip_run<1>(x, out, n, (int)k, period, parts, tickets, partial, reinterpret_cast<A *>(all));
}
