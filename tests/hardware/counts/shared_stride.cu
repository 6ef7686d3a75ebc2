// Shared reads and writes with a stride that the launch chooses.
// Counts: gcd(stride, 32) wavefronts, for loads and stores alike.

extern "C" __global__ void __launch_bounds__(128) shared_stride(const int *in, int *out, int stride)
{
    __shared__ int cell[128 * 8];
    const int at = threadIdx.x * stride % (128 * 8);
    cell[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
    __syncthreads(); // filled
    const int value = cell[at % 128];
    __syncthreads(); // read before it is written with a stride
    cell[at] = value + (int)threadIdx.x;
    __syncthreads(); // written before it is read across
    out[blockIdx.x * 128 + threadIdx.x] = cell[(127 - threadIdx.x) * stride % (128 * 8)] - value;
}
