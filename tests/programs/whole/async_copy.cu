// Copies to shared memory that run beside the threads, in two stages. FAULT: the tile is read before it has come.
// Compile with: -gencode arch=compute_80,code=compute_80
#include "checked.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

namespace cg = cooperative_groups;

constexpr int tile = 128;

__global__ void sum(const int *in, int *out, int tiles)
{
    __shared__ int stage[2][tile];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, stage[0], in, sizeof stage[0]);
    int mine = 0;
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) {
            cg::memcpy_async(block, stage[(t + 1) % 2], in + (t + 1) * tile, sizeof stage[0]);
#ifndef FAULT
            cg::wait_prior<1>(block);
#endif
        } else {
            cg::wait(block);
        }
        mine += stage[t % 2][(threadIdx.x + 1) % tile];
        block.sync();
    }
    out[threadIdx.x] = mine;
}

int main()
{
    const int tiles = 6;
    int host[tiles * tile], sums[tile], *in, *out;
    for (int i = 0; i < tiles * tile; i++) {
        host[i] = i;
    }
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof sums));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    sum<<<1, tile>>>(in, out, tiles);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < tile; i++) {
        right = right && sums[i] == 6 * ((i + 1) % tile) + 15 * tile;
    }
    return verdict(right);
}
