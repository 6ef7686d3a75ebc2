// Threads past the end return at once; the others store under two more guards.
// Counts: no request where no lane is left, and one where a single lane is.

extern "C" __global__ void early_return(const float *in, float *out, float *peaks, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const float x = in[i];
    if (x < 0.0f) {
        return;
    }
    out[i] = x * x;
    if (i > 0 && i + 1 < count && x > in[i - 1] && x > in[i + 1]) {
        peaks[i] = x;
    }
}
