// A stable radix sort of one block's 256 keys, four bits at a time.
// Exercises ballots turned into ranks, shared counters, scattered shared stores, many barriers.

extern "C" __global__ void __launch_bounds__(256) radix_sort(const unsigned int *in, unsigned int *out)
{
    __shared__ unsigned int key[2][256];
    __shared__ int count[8][16];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    key[0][threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    int now = 0;
    for (int shift = 0; shift < 32; shift += 4) {
        __syncthreads(); // the keys of the last pass are in place
        unsigned int mine = key[now][threadIdx.x];
        int digit = (mine >> shift) & 15;
        unsigned int same = 0xffffffffu;
        for (int bit = 0; bit < 4; ++bit) {
            unsigned int votes = __ballot_sync(0xffffffffu, digit >> bit & 1);
            same &= digit >> bit & 1 ? votes : ~votes;
        }
        int rank = __popc(same & ((1u << lane) - 1));
        if (threadIdx.x < 128) {
            ((int *)count)[threadIdx.x] = 0;
        }
        __syncthreads(); // counters are zero
        if (rank == 0) {
            count[warp][digit] = __popc(same);
        }
        __syncthreads(); // every warp has counted
        int base = 0;
        for (int d = 0; d < digit; ++d) {
            for (int w = 0; w < 8; ++w) {
                base += count[w][d];
            }
        }
        for (int w = 0; w < warp; ++w) {
            base += count[w][digit];
        }
        key[1 - now][base + rank] = mine;
        now = 1 - now;
    }
    __syncthreads(); // the last pass is in place
    out[blockIdx.x * 256 + threadIdx.x] = key[now][threadIdx.x];
}
