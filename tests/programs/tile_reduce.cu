// Sums and maxima of tiles of 16 and of a whole block with cooperative groups.
// Exercises barrier.sync, shuffles of part of a warp, the code that the library header emits.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace groups = cooperative_groups;

extern "C" __global__ void __launch_bounds__(256) tile_reduce(const int *in, int *sums, int *maxima, int *total)
{
    __shared__ int partial[256 / 16];
    groups::thread_block block = groups::this_thread_block();
    groups::thread_block_tile<16> tile = groups::tiled_partition<16>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    int value = in[i];
    int sum = groups::reduce(tile, value, groups::plus<int>());
    int largest = groups::reduce(tile, value, groups::greater<int>());
    if (tile.thread_rank() == 0) {
        sums[i / 16] = sum;
        maxima[i / 16] = largest;
        partial[tile.meta_group_rank()] = sum;
    }
    block.sync(); // all partial sums are there before the first tile reads them
    if (tile.meta_group_rank() == 0) {
        int mine = tile.thread_rank() < (int)block.size() / 16 ? partial[tile.thread_rank()] : 0;
        for (int step = 8; step > 0; step /= 2) {
            mine += tile.shfl_down(mine, step);
        }
        if (tile.thread_rank() == 0) {
            atomicAdd(total, mine);
        }
    }
}
