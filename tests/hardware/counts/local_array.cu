// A small array of a thread's own, indexed by data.
// Counts: it cannot live in registers; local memory is laid out so that a warp's equal indices are neighbours.

extern "C" __global__ void local_array(const int *in, int *out, int count)
{
    int seen[12];
    for (int i = 0; i < 12; ++i) {
        seen[i] = 0;
    }
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < count; ++j) {
        seen[in[i * count + j] % 12] += j + 1;
    }
    int sum = 0;
    for (int j = 0; j < 12; ++j) {
        sum = sum * 3 + seen[j];
    }
    out[i] = sum;
}
