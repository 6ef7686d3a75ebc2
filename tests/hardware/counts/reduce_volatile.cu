// Tree sum whose last warp goes on alone, through volatile shared memory.
// Counts: volatile reads and writes stay as they are written, each one an instruction.

extern "C" __global__ void reduce_volatile(const int *in, int *out, int count)
{
    __shared__ int part[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    part[threadIdx.x] = i < count ? in[i] : 0;
    __syncthreads(); // filled before others read
    if (threadIdx.x < 64) {
        part[threadIdx.x] += part[threadIdx.x + 64];
    }
    __syncthreads(); // both warps are done before one reads all
    if (threadIdx.x < 32) {
        volatile int *own = part;
        int sum = own[threadIdx.x] + own[threadIdx.x + 32];
        for (int step = 16; step > 0; step /= 2) {
            own[threadIdx.x] = sum;
            __syncwarp(); // written before a neighbour reads
            sum += own[threadIdx.x + step];
            __syncwarp(); // read before the next round writes
        }
        if (threadIdx.x == 0) {
            out[blockIdx.x] = sum;
        }
    }
}
