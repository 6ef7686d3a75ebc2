// Small branches by lane parity, by warp and by data, each with a store on either side.
// Counts: the compiler turns short sides into predicated instructions: two requests, no branch.

extern "C" __global__ void branch_small(const int *in, int *even, int *odd, int count)
{
    __shared__ int tile[2][64];
    const int i = blockIdx.x * 64 + threadIdx.x, me = threadIdx.x;
    const int value = i < count ? in[i] : 0;
    if (me % 2 == 0) {
        tile[0][me / 2] = value;
    } else {
        tile[1][me / 2] = value + 1;
    }
    __syncthreads(); // both halves are complete
    int result = 0;
    if (value > 0) {
        result = tile[me / 32][me % 32];
    }
    if (i < count) {
        if (value & 1) {
            odd[i] = result;
        } else {
            even[i] = result;
        }
    }
}
