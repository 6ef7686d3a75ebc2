// The same tile with its 16-byte chunks exchanged by xor with the row.
// Counts: the column read without conflicts.

extern "C" __global__ void __launch_bounds__(256) swizzle_float4(const float4 *in, float4 *out, int tiles)
{
    __shared__ float4 tile[32][8];
    const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        tile[row][chunk ^ (row % 8)] = in[t * 256 + threadIdx.x];
        __syncthreads(); // filled before others read
        const int column = threadIdx.x / 32, other = threadIdx.x % 32;
        out[t * 256 + threadIdx.x] = tile[other][column ^ (other % 8)];
        __syncthreads(); // read before it is filled again
    }
}
