// scan / hillis_steele
//
// What     out[i] = OP of x[0] to x[i] (kind 0), or to x[i - 1] (kind 1), within the block's 512 elements, with
//          sums[block] before them. Where out is null, sums[block] = OP of these elements instead: the kernel first
//          makes the sums, scans them, and then runs again with what it has found.
// Idea     In each step an element takes in the one that lies 1, 2, 4 ... places before it: after nine steps each has
//          taken in all before it. Short, and wasteful: n log n operations where n are enough.
//          Elements past the end are NEUTRAL, which changes no result.
// Differs  from nothing: the ladder starts here.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   W. D. Hillis, G. L. Steele, Data parallel algorithms, Communications of the ACM 29 (1986)

extern "C" __global__ void __launch_bounds__(512)
scan_hillis_steele(const T *x, A *out, long long n, long long kind, A *sums)
{
    constexpr int THREADS = 512;
    __shared__ A held[2][THREADS]; // before a step, and after it

    // Who am I: one element of x. Without its own element, a result takes in the elements moved up by one place.
    const int thread = threadIdx.x;
    const long long i = (long long)blockIdx.x * THREADS + thread;
    int now = 0;

    // Read and stage.
    A mine = thread >= kind && i - kind < n ? (A)x[i - kind] : NEUTRAL;
    held[now][thread] = mine;

    // Compute, step by step, in a loop that stays one.
#pragma unroll 1
    for (int reach = 1; reach < THREADS; reach *= 2) {
        // What the step takes in was written by other threads, in the step before or above: all must be done. They
        // write to the other row, which no thread still reads.
        __syncthreads();

        if (thread >= reach)
            mine = OP(held[now][thread - reach], mine);
        now = 1 - now;
        held[now][thread] = mine;
    }

    // Write the sum, or the results.
    if (out == nullptr) {
        if (thread == THREADS - 1)
            sums[blockIdx.x] = mine;
    } else if (i < n) {
        out[i] = sums != nullptr ? OP(sums[blockIdx.x], mine) : mine;
    }
}
