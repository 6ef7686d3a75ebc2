// A 32 x 32 tile moved as float4 and read by columns of float4.
// Counts: 16-byte accesses: four phases of 8 lanes; the column read meets one group of four banks.

extern "C" __global__ void __launch_bounds__(256) tile_float4(const float4 *in, float4 *out, int tiles)
{
    __shared__ float4 tile[32][8];
    const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        tile[row][chunk] = in[t * 256 + threadIdx.x];
        __syncthreads(); // filled before others read
        out[t * 256 + threadIdx.x] = tile[threadIdx.x % 32][threadIdx.x / 32];
        __syncthreads(); // read before it is filled again
    }
}
