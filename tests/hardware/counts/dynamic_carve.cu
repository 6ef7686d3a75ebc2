// Dynamic shared memory carved into doubles, floats and half-words.
// Counts: the alignment of what comes second is not known to the compiler.

extern "C" __global__ void dynamic_carve(const float *in, double *sums, float *scaled, short *rounded, int size)
{
    extern __shared__ double arena[];
    double *wide = arena;
    float *plain = (float *)(wide + size);
    short *narrow = (short *)(plain + size);
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const float value = in[blockIdx.x * size + i];
        wide[i] = value;
        plain[i] = value * 0.5f;
        narrow[i] = (short)value;
    }
    __syncthreads(); // all three are complete
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const int at = blockIdx.x * size + i, next = (i + 1) % size;
        sums[at] = wide[i] + wide[next];
        scaled[at] = plain[next];
        rounded[at] = narrow[size - 1 - i];
    }
}
