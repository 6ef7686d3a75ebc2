// Maximum and product of doubles by compare-and-swap, and the 64-bit atomics that exist.
// Exercises atom.cas.b64 in a retry loop that lanes leave one by one, atom and red of 64 bits.

__device__ double atomic_max(double *where, double value)
{
    unsigned long long *word = (unsigned long long *)where;
    unsigned long long seen = *(volatile unsigned long long *)word; // others change it meanwhile
    while (__longlong_as_double((long long)seen) < value) {
        unsigned long long before = atomicCAS(word, seen, (unsigned long long)__double_as_longlong(value));
        if (before == seen) {
            break;
        }
        seen = before;
    }
    return __longlong_as_double((long long)seen);
}

extern "C" __global__ void wide_atomics(const double *values, int count, double *largest, double *exponents,
                                        unsigned long long *words)
{
    __shared__ double block_largest;
    if (threadIdx.x == 0) {
        block_largest = -1e300;
    }
    __syncthreads(); // set before anyone compares
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        atomic_max(&block_largest, values[i]);
        atomicAdd(&words[0], (unsigned long long)(i + 1));
        atomicMax(&words[1], (unsigned long long)i * 0x100000001ull);
        atomicMin((long long *)&words[2], (long long)-i * 0x80000001ll);
        atomicAnd(&words[3], ~(1ull << (i & 63)) | 0xf0f0ull);
        atomicOr(&words[4], 1ull << ((i * 7) & 63));
        atomicXor(&words[5], 0x9e3779b97f4a7c15ull * (unsigned long long)i);
        unsigned long long *word = (unsigned long long *)exponents;
        unsigned long long seen = *(volatile unsigned long long *)word, before;
        do { // powers of two, so that no order of the products rounds
            before = seen;
            double product = __longlong_as_double((long long)before) * ((i & 1) ? 2.0 : 0.5) * ((i % 64) ? 1.0 : 2.0);
            seen = atomicCAS(word, before, (unsigned long long)__double_as_longlong(product));
        } while (seen != before);
        atomicExch(&words[6 + i % 2], 42ull + (unsigned long long)(i % 2));
    }
    __syncthreads(); // the block's maximum stands
    if (threadIdx.x == 0) {
        atomic_max(largest, block_largest);
    }
}
