// probe / chase
//
// What     One thread walks a ring: place = next[place], steps times, from state[0]; state[0] is where it ends.
// Idea     Each read needs the answer of the one before, so nothing overlaps and the time of a step is the latency of
//          what holds the ring: the L1 cache where it is small, the L2 cache, or memory. (An addition for the address
//          is in it too.) The ring's order is random, so that nothing can be fetched ahead.
// Differs  the first of its kind.
// Claims   global.load.sectors_per_request = 1      always: one lane, one sector
//          shared.load.instructions = 0
// Source   Saavedra-Barrera's method; on GPUs Wong et al., Demystifying GPU Microarchitecture through Microbenchmarking

extern "C" __global__ void __launch_bounds__(1)
probe_chase(const T *next, T *state, long long steps)
{
    T place = state[0];
#pragma unroll 1
    for (long long step = 0; step < steps; ++step)
        place = next[place];
    state[0] = place;
}
