// probe / banks
//
// What     Lane l of each warp reads element l * stride of an array in shared memory, rounds * 8 times, each time 32
//          elements on (round the array); out[thread] is the exclusive or of what it read.
// Idea     Shared memory has 32 banks of 4 bytes; in one pass each serves one word. Neighbouring words lie in
//          neighbouring banks, so stride 1 meets 32 banks, stride 2 16 of them twice, stride 32 one bank 32 times.
//          An odd stride meets all again. All lanes at one word (stride 0) is no conflict: the word is broadcast.
//          8-byte elements go by half warps: stride 16 is their worst, 16 words in one pair of banks.
// Differs  the first of its kind.
// Claims   shared.load.conflicts_per_request = 0    bits32; stride 0
//          shared.load.conflicts_per_request = 0    bits32; stride 1
//          shared.load.conflicts_per_request = 1    bits32; stride 2
//          shared.load.conflicts_per_request = 15   bits32; stride 16
//          shared.load.conflicts_per_request = 31   bits32; stride 32
//          shared.load.conflicts_per_request = 0    bits32; stride 33
//          shared.load.conflicts_per_request = 0    bits64; stride 1
//          shared.load.conflicts_per_request = 30   bits64; stride 16: 15 for each half of a warp
//          shared.load.conflicts_per_request = 0    bits8; stride 1: 4 lanes to a word
// Source   NVIDIA's CUDA C++ Programming Guide, Shared Memory

extern "C" __global__ void __launch_bounds__(256)
probe_banks(T *out, long long stride, long long rounds)
{
    constexpr int SIZE = 2048, EACH = 8, STEP = 32; // elements; reads under way together; elements from read to read
    __shared__ T tile[SIZE + EACH * STEP];

    // Stage: numbers that tell elements apart.
    for (int i = threadIdx.x; i < SIZE + EACH * STEP; i += 256)
        tile[i] = (T)i;

    // The tile was written by all threads: none may read it before the last has written.
    __syncthreads();

    // Who am I: a lane. A step is a whole number of words, the same for all lanes: it shifts their banks, and no two
    // lanes meet that did not meet before.
    int first = (int)(threadIdx.x % 32 * stride) & (SIZE - 1);

    // Read and compute.
    T sum = 0;
    for (long long round = 0; round < rounds; ++round) {
        for (int k = 0; k < EACH; ++k)
            sum ^= tile[first + k * STEP];
        first = (first + EACH * STEP) & (SIZE - 1);
    }

    // Write.
    out[(long long)blockIdx.x * 256 + threadIdx.x] = sum;
}
