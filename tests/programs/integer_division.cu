// Quotients, remainders and high products of all widths, and 128-bit products and quotients.
// Exercises div rem mul.hi mad.wide of 16, 32 and 64 bits, signed and unsigned, and what nvcc makes of __int128.

extern "C" __global__ void integer_division(const long long *a, const long long *b, long long *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    long long x = a[i], y = b[i];
    unsigned long long ux = (unsigned long long)x, uy = (unsigned long long)y;
    long long *mine = out + 16 * i;
    mine[0] = x / y;
    mine[1] = x % y;
    mine[2] = (long long)(ux / uy);
    mine[3] = (long long)(ux % uy);
    mine[4] = __mul64hi(x, y);
    mine[5] = (long long)__umul64hi(ux, uy);
    int sx = (int)x, sy = (int)y | 1;
    mine[6] = sx / sy;
    mine[7] = sx % sy;
    mine[8] = (unsigned int)sx / (unsigned int)sy;
    mine[9] = (unsigned int)sx % (unsigned int)sy;
    mine[10] = __mulhi(sx, sy);
    mine[11] = __umulhi((unsigned int)sx, (unsigned int)sy);
    mine[12] = (short)x / (short)(y | 1);
    __int128 product = (__int128)x * y;
    mine[13] = (long long)(product >> 40);
    unsigned __int128 large = ((unsigned __int128)ux << 64) | uy;
    mine[14] = (long long)(unsigned long long)(large / (uy | 0x100000000ull));
    mine[15] = x / 1000000007ll + (long long)(ux / 10ull) + sx % 7;
}
