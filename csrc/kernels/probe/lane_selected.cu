// probe / lane_selected
//
// What     y[i] is x[i] after steps of one sum or of another: v = v / 2 + 1 where i is odd,
//          else v = 2 - v / 4. n elements.
// Idea     The two ways differ in numbers only. Choose the numbers, not the way: selecting is an instruction that all
//          lanes run together, and one loop serves both.
// Differs  from probe/branch_lane: the branch becomes two selections.
// Claims   branch.divergent = 0                     n 256
//          global.load.sectors_per_request = 4      n 256
// Source   NVIDIA's CUDA C++ Best Practices Guide, Branching and Divergence

extern "C" __global__ void __launch_bounds__(256)
probe_lane_selected(const T *x, T *y, long long n, long long steps)
{
    // Who am I: one element.
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;

    // Read, compute, write.
    T v = x[i];
    const T factor = i % 2 == 1 ? (T)0.5 : (T)-0.25, term = i % 2 == 1 ? (T)1 : (T)2;
    for (long long step = 0; step < steps; ++step)
        v = v * factor + term;
    y[i] = v;
}
