// Functions that are really called: results through pointers, a struct returned, narrow parameters, references.
// Exercises .func with .param results and parameters of every width, local memory, generic addresses.

struct span {
    int low, high;
    double middle;
    char tag[5];
};

__device__ __noinline__ void divide(int a, int b, int *quotient, int *remainder)
{
    *quotient = a / b;
    *remainder = a % b;
}

__device__ __noinline__ span order(int a, int b)
{
    span s;
    s.low = a < b ? a : b;
    s.high = a < b ? b : a;
    s.middle = 0.5 * ((double)a + (double)b);
    for (int i = 0; i < 5; ++i) {
        s.tag[i] = (char)(a + i * b);
    }
    return s;
}

__device__ __noinline__ signed char narrow(signed char a, unsigned short b, bool negate)
{
    int r = a * b;
    return (signed char)(negate ? -r : r);
}

__device__ __noinline__ unsigned long long wide(unsigned long long a, float b, double c)
{
    return a * 3 + (unsigned long long)(b * 2.0f) + (unsigned long long)(c * 4.0);
}

__device__ __noinline__ int sum_tag(const span &s)
{
    int sum = 0;
    for (int i = 0; i < 5; ++i) {
        sum += s.tag[i];
    }
    return sum;
}

extern "C" __global__ void device_functions(const int *a, const int *b, long long *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    int quotient, remainder;
    divide(a[i], b[i], &quotient, &remainder);
    span s = order(a[i], b[i]);
    long long *mine = out + 8ll * i;
    mine[0] = quotient;
    mine[1] = remainder;
    mine[2] = s.low;
    mine[3] = s.high;
    mine[4] = (long long)(s.middle * 2.0);
    mine[5] = sum_tag(s);
    mine[6] = narrow((signed char)a[i], (unsigned short)b[i], i & 1);
    mine[7] = (long long)wide((unsigned long long)i << 33, (float)i, (double)i);
}
