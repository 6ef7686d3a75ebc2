// Keeps the positive elements of a block in order, by ballots and one word a warp.
// Counts: stores to places that the data decides, still neighbours; shared words that one lane writes.

extern "C" __global__ void __launch_bounds__(128) compact_ballot(const int *in, int *out, int *kept, int count)
{
    __shared__ int before[5];
    const int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int value = i < count ? in[i] : 0;
    const unsigned votes = __ballot_sync(0xffffffff, value > 0);
    if (lane == 0) {
        before[warp + 1] = __popc(votes);
    }
    __syncthreads(); // each warp has counted
    if (threadIdx.x == 0) {
        before[0] = 0;
        for (int w = 1; w < 5; ++w) {
            before[w] += before[w - 1];
        }
        kept[blockIdx.x] = before[4];
    }
    __syncthreads(); // starts are known
    if (value > 0) {
        out[blockIdx.x * 128 + before[warp] + __popc(votes & ((1u << lane) - 1))] = value;
    }
}
