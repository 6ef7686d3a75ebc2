// Lanes that loop as long as their data says, over a shared table.
// Counts: a request a round as long as one lane is in it; sectors by those that remain.

extern "C" __global__ void loop_lengths(const int *lengths, const int *in, int *out, int count)
{
    __shared__ int table[32];
    if (threadIdx.x < 32) {
        table[threadIdx.x] = in[threadIdx.x];
    }
    __syncthreads(); // the table is complete
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    unsigned state = i;
    int steps = lengths[i];
    while (steps-- > 0) {
        state = state * 3 + table[state % 32];
    }
    out[i] = (int)state;
}
