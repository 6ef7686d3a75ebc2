// A polynomial whose coefficients all lanes read from the same place of shared memory.
// Counts: one address for a warp is a broadcast: a wavefront, no conflict, however wide.

extern "C" __global__ void broadcast_polynomial(const double *coefficients, const double *in, double *out, int count)
{
    __shared__ double c[8];
    if (threadIdx.x < 8) {
        c[threadIdx.x] = coefficients[threadIdx.x];
    }
    __syncthreads(); // the table is complete
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const double x = in[i];
        double y = c[7];
        for (int j = 6; j >= 0; --j) {
            y = y * x + c[j];
        }
        out[i] = y;
    }
}
