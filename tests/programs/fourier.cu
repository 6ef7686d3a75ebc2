// A Fourier transform of 256 complex numbers a block, radix 2, in shared memory.
// Exercises bit reversal, float2 vectors, sincospif, butterflies with barriers.

extern "C" __global__ void __launch_bounds__(128) fourier(const float2 *in, float2 *out)
{
    __shared__ float2 value[256];
    for (int i = threadIdx.x; i < 256; i += 128) {
        value[__brev((unsigned int)i) >> 24] = in[blockIdx.x * 256 + i];
    }
    for (int half = 1; half < 256; half *= 2) {
        __syncthreads(); // the last butterflies are done
        int k = threadIdx.x & (half - 1);
        int low = 2 * (threadIdx.x - k) + k;
        float sine, cosine;
        sincospif(-(float)k / (float)half, &sine, &cosine);
        float2 a = value[low], b = value[low + half];
        float2 t = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
        value[low] = make_float2(a.x + t.x, a.y + t.y);
        value[low + half] = make_float2(a.x - t.x, a.y - t.y);
    }
    __syncthreads(); // the last butterflies are done before all is read
    for (int i = threadIdx.x; i < 256; i += 128) {
        out[blockIdx.x * 256 + i] = value[i];
    }
}
