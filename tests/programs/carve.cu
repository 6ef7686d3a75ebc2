// One extern array of dynamic shared memory carved into arrays of several types.
// Exercises dynamic shared memory with a run-time layout, doubles beside bytes, a static array beside it.

extern "C" __global__ void carve(const int *in, double *doubles_out, int *ints_out, unsigned char *bytes_out, int count)
{
    extern __shared__ __align__(16) unsigned char arena[];
    __shared__ int fence_post[2];
    double *doubles = (double *)arena;
    int *ints = (int *)(doubles + count);
    short *shorts = (short *)(ints + count);
    unsigned char *bytes = (unsigned char *)(shorts + count);
    if (threadIdx.x < 2) {
        fence_post[threadIdx.x] = 7 + (int)threadIdx.x;
    }
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        int value = in[blockIdx.x * count + i];
        doubles[i] = value * 0.125;
        ints[i] = value * 3;
        shorts[i] = (short)value;
        bytes[i] = (unsigned char)(value >> 3);
    }
    __syncthreads(); // all four arrays are filled before others' elements are read
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        int j = count - 1 - i;
        int at = blockIdx.x * count + i;
        doubles_out[at] = doubles[j] + shorts[i];
        ints_out[at] = ints[j] - shorts[j] + fence_post[0] * fence_post[1];
        bytes_out[at] = (unsigned char)(bytes[j] ^ bytes[i]);
    }
}
