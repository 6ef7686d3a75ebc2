// Variables of the module: initialised, changed by a launch, seen by the next one, pointing at each other.
// Exercises .global with initialisers and relocations, atomics on them, two entries of one module.

struct pair {
    int first;
    double second;
};

__device__ int counter = 100;
__device__ pair pairs[2] = {{1, 2.5}, {-3, 4.75}};
__device__ float weights[5] = {1.0f, 0.5f, 0.25f};
__device__ int *target = &counter;
__device__ const char *words[2] = {"left", "right"};
static __device__ unsigned char flags[3];

extern "C" __global__ void device_globals(int *seen, double *values)
{
    int i = threadIdx.x;
    seen[i] = atomicAdd(target, 1);
    values[i] = pairs[i % 2].first + pairs[i % 2].second + weights[i % 5] + words[i % 2][i % 4];
    if (i == 5) {
        flags[1] = 9;
    }
}

extern "C" __global__ void device_globals_read(int *out)
{
    out[0] = counter;
    out[1] = *target;
    out[2] = flags[0] + flags[1] * 10 + flags[2] * 100;
    pairs[1].first += 10;
    out[3] = pairs[1].first;
}
