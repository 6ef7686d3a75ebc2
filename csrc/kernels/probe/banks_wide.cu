// probe / banks_wide
//
// What     Lane l of each warp reads element l * stride of an array in shared memory, rounds * 8 times, each time 32
//          elements on (round the array); out[thread] is the exclusive or of what it read.
// Idea     Elements of 16 bytes go by quarters of a warp, 8 lanes at a time, which fill the 32 banks exactly. Stride 1
//          takes 4 passes and has no conflict, although each bank is met by 4 words; stride 8 puts the 8 lanes of
//          each quarter into the same 4 banks.
// Differs  from probe/banks: the element is a vector of 16 bytes.
// Claims   shared.load.conflicts_per_request = 0    bits32; stride 0
//          shared.load.conflicts_per_request = 0    bits32; stride 1
//          shared.load.conflicts_per_request = 4    bits32; stride 2: one for each quarter
//          shared.load.conflicts_per_request = 28   bits32; stride 8: 7 for each quarter
//          shared.load.conflicts_per_request = 0    bits32; stride 33
// Source   NVIDIA's CUDA C++ Programming Guide, Shared Memory

extern "C" __global__ void __launch_bounds__(256)
probe_banks_wide(T *out, long long stride, long long rounds)
{
    constexpr int SIZE = 2048, EACH = 8, STEP = 32; // elements; reads under way together; elements from read to read
    struct alignas(16) Vector {
        T item[4];
    };
    __shared__ Vector tile[SIZE + EACH * STEP];

    // Stage: numbers that tell elements apart.
    for (int i = threadIdx.x; i < SIZE + EACH * STEP; i += 256)
        tile[i] = Vector{{(T)i, (T)(i + 1), (T)(i + 2), (T)(i + 3)}};

    // The tile was written by all threads: none may read it before the last has written.
    __syncthreads();

    // Who am I: a lane. A step is a whole number of words, the same for all lanes: it shifts their banks, and no two
    // lanes meet that did not meet before.
    int first = (int)(threadIdx.x % 32 * stride) & (SIZE - 1);

    // Read and compute.
    Vector sum = {};
    for (long long round = 0; round < rounds; ++round) {
        for (int k = 0; k < EACH; ++k)
            for (int j = 0; j < 4; ++j)
                sum.item[j] ^= tile[first + k * STEP].item[j];
        first = (first + EACH * STEP) & (SIZE - 1);
    }

    // Write.
    out[(long long)blockIdx.x * 256 + threadIdx.x] = sum.item[0] ^ sum.item[1] ^ sum.item[2] ^ sum.item[3];
}
