// y += a * x over a grid-stride loop, in doubles.
// Counts: a loop that the compiler unrolls, with another for what is left.

extern "C" __global__ void axpy_grid_stride(const double *__restrict__ x, double *__restrict__ y, double a,
                                            long long count)
{
    const long long step = (long long)gridDim.x * blockDim.x;
#pragma unroll 4
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        y[i] += a * x[i];
    }
}
