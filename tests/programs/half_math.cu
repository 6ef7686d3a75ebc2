// Half-precision arithmetic, one and two at a time, comparison and conversion both ways.
// Exercises add sub mul fma neg abs min max set cvt of f16 and f16x2, packed registers.

#include <cuda_fp16.h>

extern "C" __global__ void half_math(const float *a, const float *b, unsigned short *out, float *wide, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    __half x = __float2half_rn(a[i]), y = __float2half_rn(b[i]);
    unsigned short *mine = out + 12 * i;
    mine[0] = __half_as_ushort(__hadd(x, y));
    mine[1] = __half_as_ushort(__hsub(x, y));
    mine[2] = __half_as_ushort(__hmul(x, y));
    mine[3] = __half_as_ushort(__hfma(x, y, x));
    mine[4] = __half_as_ushort(__float2half_rz(a[i]));
    mine[5] = __half_as_ushort(__float2half_ru(b[i]));
    mine[6] = __half_as_ushort(__hdiv(x, y));
    __half2 p = __halves2half2(x, y), q = __halves2half2(y, x);
    __half2 r = __hfma2(p, q, __hmul2(p, p));
    mine[7] = __half_as_ushort(__low2half(r));
    mine[8] = __half_as_ushort(__high2half(__hsub2(r, q)));
    mine[9] = (unsigned short)(__hlt(x, y) | __hge(x, y) << 1 | __heq(x, x) << 2 | __hisnan(y) << 3);
    mine[10] = __half_as_ushort(__int2half_rn((int)(a[i] * 100.0f)));
    mine[11] = (unsigned short)__half2int_rz(__hmul(y, __float2half_rn(10.0f)));
    wide[i] = __half2float(x) * 2.0f + __half2float(__hneg(y));
}
