// A 5-tap filter whose weights are in constant memory.
// Counts: constant reads are neither shared nor global; each tap is a global request.

__constant__ int weights[5] = {1, -2, 3, -2, 1};

extern "C" __global__ void constant_filter(const int *in, int *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        int sum = 0;
        for (int j = 0; j < 5; ++j) {
            const int at = min(max(i + j - 2, 0), count - 1);
            sum += weights[j] * in[at];
        }
        out[i] = sum;
    }
}
