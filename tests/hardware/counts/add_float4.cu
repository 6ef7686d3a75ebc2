// Vector addition of float4 with the last elements one by one.
// Counts: 16 bytes a lane are 16 sectors a request; the rest of up to three elements is a request of its own.

extern "C" __global__ void add_float4(const float *a, const float *b, float *c, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, whole = count / 4;
    if (i < whole) {
        const float4 x = ((const float4 *)a)[i], y = ((const float4 *)b)[i];
        ((float4 *)c)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    if (i < count % 4) {
        c[whole * 4 + i] = a[whole * 4 + i] + b[whole * 4 + i];
    }
}
