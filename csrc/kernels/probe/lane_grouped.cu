// probe / lane_grouped
//
// What     y[i] is x[i] after steps of one sum or of another: v = v / 2 + 1 where i is odd,
//          else v = 2 - v / 4. n elements.
// Idea     Which thread does which element is free to choose: let a warp take 32 even or 32 odd ones, and it agrees.
//          The price: its elements are 2 apart, so each request touches twice the sectors (the cache serves the other
//          half to the other warp).
// Differs  from probe/branch_lane: i, as a function of the thread.
// Claims   branch.divergent = 0                     n 256
//          global.load.sectors_per_request = 8      n 256: twice the least
// Source   Harris, Optimizing Parallel Reduction in CUDA

extern "C" __global__ void __launch_bounds__(256)
probe_lane_grouped(const T *x, T *y, long long n, long long steps)
{
    // Who am I: one element. The first half of the block takes the even ones, the second half the odd ones.
    const long long first = (long long)blockIdx.x * 256;
    const long long i = first + threadIdx.x % 128 * 2 + threadIdx.x / 128;
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
