// probe / branch_random
//
// What     y[i] is x[i] after steps of one sum or of another: v = v / 2 + 1 where x[i] is negative,
//          else v = 2 - v / 4. n elements.
// Idea     The data decide. Unless all 32 elements of a warp agree, which random ones never do, the warp runs both
//          loops; and the compiler cannot know.
// Differs  from probe/branch_lane: the condition asks the element.
// Claims   branch.divergent = 8                     n 256: one for each warp, of data with both signs in each
// Source   none

extern "C" __global__ void __launch_bounds__(256)
probe_branch_random(const T *x, T *y, long long n, long long steps)
{
    // Who am I: one element.
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;

    // Read, compute, write.
    T v = x[i];
    if (v < 0)
        for (long long step = 0; step < steps; ++step)
            v = v * (T)0.5 + (T)1;
    else
        for (long long step = 0; step < steps; ++step)
            v = v * (T)-0.25 + (T)2;
    y[i] = v;
}
