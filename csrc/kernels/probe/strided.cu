// probe / strided
//
// What     y[i] = x[i * stride + offset], n elements.
// Idea     Memory moves in sectors of 32 aligned bytes. With stride 1 the 32 lanes of a warp share 4 of them (4-byte
//          elements); with stride 2 they spread over 8, half of each unused; from stride 8 on each lane has one
//          of its own, and 7 of 8 bytes move for nothing. An offset that is no multiple of a sector adds one.
// Differs  the first of its kind.
// Claims   global.load.sectors_per_request = 4      bits32; stride 1; offset 0
//          global.load.sectors_per_request = 5      bits32; stride 1; offset 1: the row is cut by one sector more
//          global.load.sectors_per_request = 4      bits32; stride 1; offset 8: 32 bytes
//          global.load.sectors_per_request = 8      bits32; stride 2; offset 0
//          global.load.sectors_per_request = 32     bits32; stride 8; offset 0: a sector for each lane
//          global.load.sectors_per_request = 32     bits32; stride 32; offset 0
//          global.load.sectors_per_request = 8      bits64; stride 1; offset 0
//          global.load.sectors_per_request = 32     bits64; stride 4; offset 0
// Source   Harris, How to Access Global Memory Efficiently in CUDA C/C++ Kernels

extern "C" __global__ void __launch_bounds__(256)
probe_strided(const T *x, T *y, long long n, long long stride, long long offset)
{
    constexpr int EACH = 4, THREADS = 256; // elements of a thread, so that many reads are under way

    // Who am I: EACH elements, THREADS apart, so that a warp's lie side by side.
    const long long first = (long long)blockIdx.x * EACH * THREADS + threadIdx.x;

    // Read.
    T element[EACH];
    for (int k = 0; k < EACH; ++k) {
        const long long i = first + k * THREADS;
        element[k] = i < n ? x[i * stride + offset] : (T)0;
    }

    // Write.
    for (int k = 0; k < EACH; ++k)
        if (first + k * THREADS < n)
            y[first + k * THREADS] = element[k];
}
