// Text from a kernel: numbers, strings, widths, characters, percent signs.
// Exercises vprintf with an argument buffer in local memory.

#include <cstdio>

extern "C" __global__ void print(int value, double ratio, long long large)
{
    if (threadIdx.x == 3 && blockIdx.x == 1) {
        int n = printf("block %d thread %u: %5d|%-4d|%04x\n", blockIdx.x, threadIdx.x, value, value, value);
        printf("%s %.3f %g %c %lld 100%%\n", value > 0 ? "up" : "down", ratio, ratio * 1e10, 'z', large);
        printf("%d arguments\n", n);
    }
}
