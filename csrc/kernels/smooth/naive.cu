// smooth / naive
//
// What     out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3 for all n elements; beyond an end its element counts twice.
//          The third is a product with 1/3: multiples of three are exact, and there is no division to wait for.
// Idea     One thread makes one element and reads its three straight from global memory. A warp's three reads are
//          one row of 32 elements, shifted by one: the second and third find their sectors in the L1 cache.
// Differs  from nothing: the ladder starts here.
// Claims   global.store.sectors_per_request = 4      float32; n a multiple of 32: one row of 128 bytes
//          global.store.sectors_per_request = 8      float64; n a multiple of 32: one row of 256 bytes
//          barrier.count = 0                         always
// Source   the definition of the mean

extern "C" __global__ void __launch_bounds__(256)
smooth_naive(const T *x, T *out, long long n)
{
    constexpr int TILE = 256;
    constexpr T THIRD = T(1) / T(3);

    // Who am I: one element.
    const long long i = (long long)blockIdx.x * TILE + threadIdx.x;
    if (i >= n)
        return;

    // Read: the element and its neighbours; at an end the element itself stands for the missing one.
    const T left = x[i > 0 ? i - 1 : 0];
    const T right = x[i < n - 1 ? i + 1 : n - 1];

    // Compute, write.
    out[i] = (left + x[i] + right) * THIRD;
}
