// Every thread sorts 16 values of its own by insertion.
// Exercises a local array with run-time indices, inner loops of differing length.

extern "C" __global__ void local_sort(const short *in, short *out, int *shifts, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    short mine[16];
    int moved = 0;
    for (int j = 0; j < 16; ++j) {
        mine[j] = in[i * 16 + j];
    }
    for (int j = 1; j < 16; ++j) {
        short value = mine[j];
        int k = j;
        while (k > 0 && mine[k - 1] > value) {
            mine[k] = mine[k - 1];
            --k;
            ++moved;
        }
        mine[k] = value;
    }
    for (int j = 0; j < 16; ++j) {
        out[i * 16 + j] = mine[j];
    }
    shifts[i] = moved;
}
