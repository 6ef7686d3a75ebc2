// The kernels of two_files.cu.
static __global__ void scale(float *data, float factor, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        data[i] *= factor;
    }
}

static __global__ void shift(float *data, float by, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#ifdef FAULT
        data[i + 1] += by;
#else
        data[i] += by;
#endif
    }
}

void run_scale(float *data, float factor, int n)
{
    scale<<<2, 128>>>(data, factor, n);
}

void run_shift(float *data, float by, int n)
{
    shift<<<2, 128>>>(data, by, n);
}
