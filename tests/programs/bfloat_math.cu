// bfloat16 arithmetic and conversion; sums kept in float.
// Exercises fma.rn.bf16 and cvt.rn.bf16.f32, and a dot product over packed pairs.
// Compile with: -arch=compute_80

#include <cuda_bf16.h>

extern "C" __global__ void bfloat_math(const float *a, const float *b, unsigned short *out, float *dots, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    __nv_bfloat16 x = __float2bfloat16_rn(a[i]), y = __float2bfloat16_rn(b[i]);
    unsigned short *mine = out + 4 * i;
    mine[0] = __bfloat16_as_ushort(x);
    mine[1] = __bfloat16_as_ushort(__hfma(x, y, x));
    mine[2] = __bfloat16_as_ushort(__hmul(x, y));
    __nv_bfloat162 pair = __floats2bfloat162_rn(a[i] * 3.0f, b[i]);
    mine[3] = __bfloat16_as_ushort(__low2bfloat16(__hmax2(pair, __halves2bfloat162(y, x))));
    float sum = 0.0f;
    for (int step = 0; step < 4; ++step) {
        sum += __bfloat162float(x) * __bfloat162float(y) + (float)step;
    }
    dots[i] = sum;
}
