// Pairs of half-words: 32-bit global accesses, 16-bit shared ones at odd places.
// Counts: half-words at odd offsets from a pair cannot be fused.

extern "C" __global__ void half_pairs(const ushort2 *in, ushort2 *out, int count)
{
    __shared__ unsigned short tile[2 * 96 + 1];
    const int first = blockIdx.x * 96;
    tile[2 * threadIdx.x] = tile[2 * threadIdx.x + 1] = 0;
    if (threadIdx.x == 0) {
        tile[2 * 96] = 0;
    }
    __syncthreads(); // cleared
    if (first + threadIdx.x < count) {
        const ushort2 pair = in[first + threadIdx.x];
        tile[2 * threadIdx.x] = pair.x;
        tile[2 * threadIdx.x + 1] = pair.y;
    }
    __syncthreads(); // filled before a neighbour reads
    if (first + threadIdx.x < count) {
        out[first + threadIdx.x] = make_ushort2(tile[2 * threadIdx.x + 1], tile[2 * threadIdx.x + 2]);
    }
}
