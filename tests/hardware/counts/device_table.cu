// A table in a global variable of the module, read by data and rewritten by one block.
// Counts: global variables are global memory like any other.

__device__ int table[64];

extern "C" __global__ void device_table(const int *in, int *out, int count)
{
    if (threadIdx.x < 64) {
        table[threadIdx.x] = 3 * threadIdx.x;
    }
    __syncthreads(); // every thread of the one block sees the table
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        out[i] = table[in[i] & 63];
    }
}
