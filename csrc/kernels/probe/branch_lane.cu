// probe / branch_lane
//
// What     y[i] is x[i] after steps of one sum or of another: v = v / 2 + 1 where i is odd,
//          else v = 2 - v / 4. n elements.
// Idea     The lanes of a warp have one instruction at a time. Where odd ones want the first loop and even ones the
//          second, the warp runs both, one after the other, each with half of its lanes: twice the time.
// Differs  the first of its kind.
// Claims   branch.divergent = 8                     n 256: one for each warp
// Source   Harris, Optimizing Parallel Reduction in CUDA

extern "C" __global__ void __launch_bounds__(256)
probe_branch_lane(const T *x, T *y, long long n, long long steps)
{
    // Who am I: one element.
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;

    // Read, compute, write.
    T v = x[i];
    if (i % 2 == 1)
        for (long long step = 0; step < steps; ++step)
            v = v * (T)0.5 + (T)1;
    else
        for (long long step = 0; step < steps; ++step)
            v = v * (T)-0.25 + (T)2;
    y[i] = v;
}
