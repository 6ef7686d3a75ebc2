// Single-precision functions of the CUDA library: accurate ones with slow paths, and the fast intrinsics.
// Exercises ex2.approx lg2.approx sin.approx cos.approx rsqrt.approx div.full, Payne-Hanek reduction, conversions.

extern "C" __global__ void math32(const float *in, float *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    float x = in[i];
    float positive = fabsf(x) + 1e-20f;
    float *mine = out + 16 * i;
    mine[0] = sinf(x);
    mine[1] = cosf(x);
    mine[2] = expf(fmodf(x, 80.0f));
    mine[3] = logf(positive);
    mine[4] = powf(positive, 0.75f);
    mine[5] = sqrtf(positive);
    mine[6] = rsqrtf(positive);
    mine[7] = 1.0f / x;
    mine[8] = tanhf(x * 0.01f);
    mine[9] = atanf(x);
    mine[10] = exp2f(fmodf(x, 20.0f));
    mine[11] = log2f(positive);
    mine[12] = __expf(fmodf(x, 10.0f));
    mine[13] = __fdividef(3.0f, positive);
    mine[14] = roundf(fmodf(x, 1000.0f)) + floorf(x * 1e-3f);
    mine[15] = __sinf(fmodf(x, 3.0f));
}
