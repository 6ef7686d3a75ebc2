// Pixels of four bytes: channels exchanged by way of a tile.
// Counts: a uchar4 is one 32-bit access, read and written whole; its bytes alone are 8-bit accesses.

extern "C" __global__ void char4_swap(const uchar4 *in, uchar4 *out, unsigned char *red, int count)
{
    __shared__ uchar4 tile[64];
    const int first = blockIdx.x * 64, size = min(64, count - first);
    if (threadIdx.x < size) {
        tile[threadIdx.x] = in[first + threadIdx.x];
    }
    __syncthreads(); // filled before others read
    if (threadIdx.x < size) {
        const uchar4 pixel = tile[size - 1 - threadIdx.x];
        out[first + threadIdx.x] = make_uchar4(pixel.z, pixel.y, pixel.x, pixel.w);
        red[first + threadIdx.x] = tile[min((int)threadIdx.x ^ 1, size - 1)].x;
    }
}
