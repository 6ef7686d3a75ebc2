// Loads under a condition with another value in its place, global and shared.
// Counts: a predicated load is a request only if some lane's predicate holds.

extern "C" __global__ void pad_value(const float *in, float *out, int count, int shift, float pad)
{
    __shared__ float tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = i < count ? in[i] : pad;
    __syncthreads(); // filled before others read
    const int left = (int)threadIdx.x - shift, right = (int)threadIdx.x + shift;
    const float a = left >= 0 ? tile[left] : pad;
    const float b = right < 64 ? tile[right] : pad;
    if (i < count) {
        out[i] = a + b;
    }
}
