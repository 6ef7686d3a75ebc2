// A gather and a scatter of doubles by a random permutation.
// Counts: the index is read in a row, its targets are anywhere.

extern "C" __global__ void gather_random(const long long *index, const double *in, double *gathered, double *scattered,
                                         int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        gathered[i] = in[index[i]];
        scattered[index[i]] = in[i];
    }
}
