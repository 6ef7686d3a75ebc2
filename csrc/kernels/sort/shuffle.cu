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

template <int BYTES> struct sort_shuffle_integer {
    typedef int type;
};
template <> struct sort_shuffle_integer<8> {
    typedef long long type;
};
typedef sort_shuffle_integer<sizeof(T)>::type sort_shuffle_key;

// The element as an integer of the same order, and back: the same change of bits.
static __device__ __forceinline__ sort_shuffle_key sort_shuffle_turn(sort_shuffle_key bits)
{
    const bool is_real = (T)0.5 != (T)0;
    return is_real && bits < 0 ? bits ^ ~(sort_shuffle_key(1) << (8 * sizeof(T) - 1)) : bits;
}

// The element at place i of each row meets that at place i ^ mask, which belongs to this thread or to another one.
template <int EACH>
static __device__ __forceinline__ void sort_shuffle_step(sort_shuffle_key (&own)[EACH], int thread, int mask)
{
    constexpr int THREADS = 512, WARP = 32;
    sort_shuffle_key *const room = reinterpret_cast<sort_shuffle_key *>(sort_shuffle_room);
    const int away = mask / EACH; // so far from the other thread
    if (away == 0) {
#pragma unroll
        for (int flip = 1; flip < EACH; ++flip)
            if (mask == flip)
#pragma unroll
                for (int e = 0; e < EACH; ++e)
                    if (e < (e ^ flip)) {
                        const sort_shuffle_key a = own[e], b = own[e ^ flip];
                        own[e] = a < b ? a : b;
                        own[e ^ flip] = a < b ? b : a;
                    }
        return;
    }

    // Mirror images come in reverse order.
    const bool mirrors = EACH > 1 && (mask & (EACH - 1)) != 0;
    sort_shuffle_key theirs[EACH];
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
        const sort_shuffle_key low = own[e] < theirs[e] ? own[e] : theirs[e];
        const sort_shuffle_key high = own[e] < theirs[e] ? theirs[e] : own[e];
        own[e] = is_low ? low : high;
    }
}

template <int EACH>
static __device__ __forceinline__ void sort_shuffle_block(const T *x, T *out, int n, int size, long long rows,
                                                          long long x_step)
{
    constexpr int THREADS = 512, ITEMS = THREADS * EACH;
    sort_shuffle_key *const room = reinterpret_cast<sort_shuffle_key *>(sort_shuffle_room);

    // Who am I: EACH neighbours of a row. The block has ITEMS / size rows.
    const int thread = threadIdx.x;
    const long long first_row = (long long)blockIdx.x * (ITEMS / size);
    constexpr sort_shuffle_key LAST = ~(sort_shuffle_key(1) << (8 * sizeof(T) - 1));
    sort_shuffle_key own[EACH];

    // Read and stage: neighbours by neighbouring threads.
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int i = e * THREADS + thread, col = i & (size - 1);
        const long long row = first_row + i / size;
        const bool is_in = row < rows && col < n;
        const T value = is_in ? x[row * x_step + col] : (T)0;
        const bool is_last = !is_in || value != value;
        room[sort_shuffle_place(i)] =
            is_last ? LAST : sort_shuffle_turn(reinterpret_cast<const sort_shuffle_key &>(value));
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
            sort_shuffle_step(own, thread, mask);

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
        if (row < rows && col < n) {
            const sort_shuffle_key bits = sort_shuffle_turn(room[sort_shuffle_place(i)]);
            out[row * n + col] = reinterpret_cast<const T &>(bits);
        }
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
