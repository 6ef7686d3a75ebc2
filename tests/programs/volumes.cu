// A seven-point sum over a volume: blocks and grids of three dimensions, a tile with a halo.
// Exercises tid, ctaid, ntid, nctaid of x, y and z, a shared array of three dimensions.

extern "C" __global__ void __launch_bounds__(4 * 8 * 4)
volumes(const int *in, int *out, int *where, int width, int height, int depth)
{
    __shared__ int tile[6][10][6];
    int x = blockIdx.x * 4 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
    int rank = threadIdx.x + 4 * (threadIdx.y + 8 * threadIdx.z);
    for (int i = rank; i < 6 * 10 * 6; i += 4 * 8 * 4) {
        int tx = i % 6, ty = i / 6 % 10, tz = i / 60;
        int gx = (int)blockIdx.x * 4 + tx - 1, gy = (int)blockIdx.y * 8 + ty - 1, gz = (int)blockIdx.z * 4 + tz - 1;
        bool inside = gx >= 0 && gx < width && gy >= 0 && gy < height && gz >= 0 && gz < depth;
        tile[tz][ty][tx] = inside ? in[(gz * height + gy) * width + gx] : 0;
    }
    __syncthreads(); // tile and halo are filled
    if (x < width && y < height && z < depth) {
        int tx = threadIdx.x + 1, ty = threadIdx.y + 1, tz = threadIdx.z + 1;
        int at = (z * height + y) * width + x;
        out[at] = tile[tz][ty][tx] + tile[tz][ty][tx - 1] + tile[tz][ty][tx + 1] + tile[tz][ty - 1][tx] +
                  tile[tz][ty + 1][tx] + tile[tz - 1][ty][tx] + tile[tz + 1][ty][tx];
        where[at] = (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) * 1000 + rank +
                    (int)(blockDim.x * blockDim.y * blockDim.z) * 1000000;
    }
}
