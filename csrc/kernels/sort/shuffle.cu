// sort / shuffle
//
// What     Each row of x in ascending order; NaN behind all else, as NumPy has it. Rows have n elements; `size` is the
//          next power of two, at least 32.
// Idea     A thread holds EACH neighbours in registers. Elements that are less than EACH places apart then meet without
//          any memory, those of a warp by shuffles, and shared memory serves those of different warps alone: of 4096
//          elements 10 steps of 78. There a thread writes all of its elements and reads those of one other thread, in
//          an order without conflicts. A block sorts as many short rows as it has threads for.
// Differs  from sort/swizzled: the row lies in registers, and shared memory is the way between warps.
// Claims   shared.load.conflicts = 0     always
//          shared.store.conflicts = 0    always
// Length   four numbers of elements a thread.
// Source   K. E. Batcher, Sorting networks and their applications, AFIPS Spring Joint Computer Conference, 1968

extern __shared__ unsigned long long sort_shuffle_room[];

// Element i of the block with an unused place after each row of banks, so that neighbours of a thread do not meet.
static __device__ __forceinline__ int sort_shuffle_place(int i)
{
    return i + i / (128 / (int)sizeof(T));
}

// NaN is behind all else.
static __device__ __forceinline__ bool sort_shuffle_before(T a, T b)
{
    return a < b || (b != b && a == a);
}

// The elements of two places meet; those of places from n on stay as they are.
static __device__ __forceinline__ void sort_shuffle_meet(T &low, T &high, int high_place, int n)
{
    const T a = low, b = high;
    const bool turns = high_place < n && sort_shuffle_before(b, a);
    low = turns ? b : a;
    high = turns ? a : b;
}

// The element at place i of each row meets that at place i ^ mask, which belongs to this thread or to another one.
template <int EACH>
static __device__ __forceinline__ void sort_shuffle_step(T (&own)[EACH], int thread, int first, int mask, int n)
{
    constexpr int THREADS = 512, WARP = 32;
    T *const room = reinterpret_cast<T *>(sort_shuffle_room);
    const int away = mask / EACH; // so far from the other thread
    if (away == 0) {
#pragma unroll
        for (int flip = 1; flip < EACH; ++flip)
            if (mask == flip)
#pragma unroll
                for (int e = 0; e < EACH; ++e)
                    if (e < (e ^ flip))
                        sort_shuffle_meet(own[e], own[e ^ flip], first + (e ^ flip), n);
        return;
    }

    // Mirror images come in reverse order.
    const bool mirrors = EACH > 1 && (mask & (EACH - 1)) != 0;
    T theirs[EACH];
    if (away >= WARP) {
        // Others may still read what was there: none may write before the last is done.
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            room[e * THREADS + thread] = own[e];

        // Each thread reads what another one wrote: all must be done.
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            theirs[e] = room[(mirrors ? EACH - 1 - e : e) * THREADS + (thread ^ away)];
    } else {
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            theirs[e] = __shfl_xor_sync(0xffffffff, mirrors ? own[EACH - 1 - e] : own[e], away);
    }

    // One of the two keeps the smaller element, the other one the larger: a choice of values, and no branch.
    const bool is_low = thread < (thread ^ away);
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        T low = is_low ? own[e] : theirs[e], high = is_low ? theirs[e] : own[e];
        sort_shuffle_meet(low, high, is_low ? (first + e) ^ mask : first + e, n);
        own[e] = is_low ? low : high;
    }
}

template <int EACH>
static __device__ __forceinline__ void sort_shuffle_block(const T *x, T *out, int n, int size, long long rows,
                                                          long long x_step)
{
    constexpr int THREADS = 512, ITEMS = THREADS * EACH;
    T *const room = reinterpret_cast<T *>(sort_shuffle_room);

    // Who am I: EACH neighbours of a row, which begin at place `first`. The block has ITEMS / size rows.
    const int thread = threadIdx.x, first = thread * EACH & (size - 1);
    const long long first_row = (long long)blockIdx.x * (ITEMS / size);
    T own[EACH];

    // Read and stage: neighbours by neighbouring threads.
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int i = e * THREADS + thread, col = i & (size - 1);
        const long long row = first_row + i / size;
        room[sort_shuffle_place(i)] = row < rows && col < n ? x[row * x_step + col] : (T)0;
    }

    // The elements were staged by other threads: all must be done.
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        own[e] = room[sort_shuffle_place(thread * EACH + e)];

    // Compute: mirror images first, then elements width / 4, width / 8 ... 1 places apart.
#pragma unroll 1
    for (int width = 2; width <= size; width *= 2)
#pragma unroll 1
        for (int mask = width - 1; mask > 0; mask = (mask == width - 1 ? width / 2 : mask) / 2)
            sort_shuffle_step(own, thread, first, mask, n);

    // Others may still read what was there: none may write before the last is done.
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        room[sort_shuffle_place(thread * EACH + e)] = own[e];

    // The row was written by all threads: none may read it before the last has written.
    __syncthreads();

    // Write.
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int i = e * THREADS + thread, col = i & (size - 1);
        const long long row = first_row + i / size;
        if (row < rows && col < n)
            out[row * n + col] = room[sort_shuffle_place(i)];
    }
}

extern "C" __global__ void __launch_bounds__(512)
sort_shuffle(const T *x, T *out, long long n, long long size, long long rows, long long x_step)
{
    if (size <= 512)
        sort_shuffle_block<1>(x, out, (int)n, (int)size, rows, x_step);
    else if (size == 1024)
        sort_shuffle_block<2>(x, out, (int)n, (int)size, rows, x_step);
    else if (size == 2048)
        sort_shuffle_block<4>(x, out, (int)n, (int)size, rows, x_step);
    else
        sort_shuffle_block<8>(x, out, (int)n, (int)size, rows, x_step);
}
