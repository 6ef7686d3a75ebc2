// vector_add / naive
//
// What     z[i] = x[i] + y[i], n elements.
// Idea     One thread an element; neighbouring lanes take neighbouring elements, so each request of a warp is whole
//          sectors and nothing else. There is nothing to reuse: 3 elements move for one addition, and shared memory
//          could only add work. Its time is the bytes'.
// Differs  the first of its family.
// Claims   global.load.sectors_per_request = 4      float32; n a multiple of 32: a row of 128 bytes
//          global.load.sectors_per_request = 4      int32; n a multiple of 32
//          global.load.sectors_per_request = 8      float64; n a multiple of 32
//          shared.load.instructions = 0
// Source   the first kernel of every introduction to CUDA

extern "C" __global__ void __launch_bounds__(256)
vector_add_naive(const T *x, const T *y, T *z, long long n)
{
    // Who am I: one element.
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;

    // Read, compute, write.
    if (i < n)
        z[i] = x[i] + y[i];
}
