// Cooperative groups of a block and of its tiles. FAULT: the block is not synchronized before its parts are read.
#include "checked.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void sum(const int *in, int *out)
{
    __shared__ int parts[8];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int mine = in[block.group_index().x * block.size() + block.thread_rank()];
    mine = cg::reduce(tile, mine, cg::plus<int>());
    if (tile.thread_rank() == 0) {
        parts[tile.meta_group_rank()] = mine;
    }
#ifndef FAULT
    block.sync();
#endif
    if (block.thread_rank() == 0) {
        int all = 0;
        for (int part : parts) {
            all += part;
        }
        out[blockIdx.x] = all;
    }
}

int main()
{
    const int blocks = 3, threads = 256;
    int host[blocks * threads], sums[blocks], *in, *out;
    for (int i = 0; i < blocks * threads; i++) {
        host[i] = i;
    }
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof sums));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    sum<<<blocks, threads>>>(in, out);
    CHECK(cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost));
    return verdict(sums[0] == 32640 && sums[1] == 32640 + 65536 && sums[2] == 32640 + 2 * 65536);
}
