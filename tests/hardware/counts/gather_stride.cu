// A gather with stride and offset.
// Counts: sectors a request grow with the stride up to 32, and by one for an offset.

extern "C" __global__ void gather_stride(const float *in, float *out, int count, int size, int stride, int offset)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = in[(i * stride + offset) % size];
    }
}
