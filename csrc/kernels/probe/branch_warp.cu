// probe / branch_warp
//
// What     y[i] is x[i] after steps of one sum or of another: v = v / 2 + 1 where i / 32 is odd,
//          else v = 2 - v / 4. n elements.
// Idea     The same work, but all lanes of a warp agree: odd warps run the first loop, even ones the second, and no
//          warp runs both. A branch costs nothing where warps do not part.
// Differs  from probe/branch_lane: the condition asks for the warp.
// Claims   branch.divergent = 0                     n 256
// Source   Harris, Optimizing Parallel Reduction in CUDA

extern "C" __global__ void __launch_bounds__(256)
probe_branch_warp(const T *x, T *y, long long n, long long steps)
{
    // Who am I: one element.
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;

    // Read, compute, write.
    T v = x[i];
    if (i / 32 % 2 == 1)
        for (long long step = 0; step < steps; ++step)
            v = v * (T)0.5 + (T)1;
    else
        for (long long step = 0; step < steps; ++step)
            v = v * (T)-0.25 + (T)2;
    y[i] = v;
}
