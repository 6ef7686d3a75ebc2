// probe / chase_shared
//
// What     One thread walks a ring of 1024 places: place = next[place], steps times, from state[0] to state[0].
// Idea     The ring lies in shared memory: each step is a read of it that waits for the one before.
// Differs  from probe/chase: the ring is staged.
// Claims   shared.load.conflicts = 0
//          shared.load.wavefronts = 96              steps 96: one each
// Source   Wong et al., Demystifying GPU Microarchitecture through Microbenchmarking

extern "C" __global__ void __launch_bounds__(1)
probe_chase_shared(const T *next, T *state, long long steps)
{
    constexpr int SIZE = 1024;
    __shared__ T ring[SIZE];

    // Stage: there is one thread, so nobody waits.
#pragma unroll 1
    for (int i = 0; i < SIZE; ++i)
        ring[i] = next[i];

    T place = state[0];
#pragma unroll 1
    for (long long step = 0; step < steps; ++step)
        place = ring[place];
    state[0] = place;
}
