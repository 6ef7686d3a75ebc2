// Clears and fills memory in 16-byte pieces, shared and global.
// Counts: stores of 16 bytes a lane, and neighbouring scalar stores that may be fused.

extern "C" __global__ void __launch_bounds__(64) fill_vectors(uint4 *out, int *sums, int count, unsigned value)
{
    __shared__ __align__(16) unsigned tile[64 * 4];
    unsigned *mine = tile + threadIdx.x * 4;
    mine[0] = value;
    mine[1] = value + 1;
    mine[2] = value + threadIdx.x;
    mine[3] = 7;
    __syncthreads(); // filled before others read
    int sum = 0;
    for (int i = 0; i < 4; ++i) {
        sum += tile[(threadIdx.x ^ 3) * 4 + i];
    }
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < count) {
        out[i] = make_uint4(value, value, value, threadIdx.x);
        sums[i] = sum;
    }
}
