// Breadth-first distances in a 32 x 32 maze: a stencil driven by a work list in shared memory.
// Exercises shared atomicCAS and atomicAdd, a loop whose trip count is data, two queues in turn.

extern "C" __global__ void __launch_bounds__(128) flood(const unsigned char *wall, int start, int *distance)
{
    __shared__ int reached[1024];
    __shared__ short queue[2][1024];
    __shared__ int length[2];
    const unsigned char *maze = wall + blockIdx.x * 1024;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        reached[i] = -1;
    }
    if (threadIdx.x < 2) {
        length[threadIdx.x] = 0;
    }
    __syncthreads(); // cleared before the start is put in
    if (threadIdx.x == 0 && !maze[start]) {
        reached[start] = 0;
        queue[0][0] = (short)start;
        length[0] = 1;
    }
    __syncthreads(); // the start is there before the first round
    int now = 0;
    for (int round = 1; length[now] > 0; ++round) {
        int items = length[now];
        for (int i = threadIdx.x; i < items; i += blockDim.x) {
            int cell = queue[now][i];
            int row = cell / 32, column = cell % 32;
            for (int side = 0; side < 4; ++side) {
                int r = row + (side == 0) - (side == 1);
                int c = column + (side == 2) - (side == 3);
                if (r < 0 || r >= 32 || c < 0 || c >= 32 || maze[r * 32 + c]) {
                    continue;
                }
                if (atomicCAS(&reached[r * 32 + c], -1, round) == -1) {
                    queue[1 - now][atomicAdd(&length[1 - now], 1)] = (short)(r * 32 + c);
                }
            }
        }
        __syncthreads(); // nobody adds to the next list any more
        if (threadIdx.x == 0) {
            length[now] = 0;
        }
        now = 1 - now;
        __syncthreads(); // the old list is empty before the next round fills it
    }
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        distance[blockIdx.x * 1024 + i] = reached[i];
    }
}
