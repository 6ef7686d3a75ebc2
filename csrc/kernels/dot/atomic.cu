// dot / atomic
//
// What     out = sum over i of x[i] * y[i]. out is 0 beforehand.
// Idea     Every thread adds its product to the one result.
//          Slow because they all want one word of memory, which takes one addition after the other.
// Differs  from nothing: the ladder starts here.
// Claims   global.load.sectors_per_request = 4       float32; n a multiple of 256: 128 bytes in a row
//          global.load.sectors_per_request = 8       float64; n a multiple of 256: 256 bytes in a row
// Source   the obvious first attempt

extern "C" __global__ void __launch_bounds__(256)
dot_atomic(const T *x, const T *y, T *out, long long n)
{
    constexpr int THREADS = 256;

    // Who am I: one product.
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;

    // Read, compute and write: one atomic addition an element.
    atomicAdd(out, x[i] * y[i]);
}
