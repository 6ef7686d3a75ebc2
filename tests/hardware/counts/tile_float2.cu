// Pairs of floats through a tile, reversed in place.
// Counts: 8-byte accesses: two phases of 16 lanes, one wavefront each.

extern "C" __global__ void tile_float2(const float2 *in, float2 *out, int count)
{
    __shared__ float2 tile[128];
    const int first = blockIdx.x * 128, size = min(128, count - first);
    if (threadIdx.x < size) {
        tile[threadIdx.x] = in[first + threadIdx.x];
    }
    __syncthreads(); // filled before others read it backwards
    if (threadIdx.x < size) {
        const float2 pair = tile[size - 1 - threadIdx.x];
        out[first + threadIdx.x] = make_float2(pair.y, pair.x);
    }
}
