// A library with a CUDA runtime linked into it, as nvcc links by default, for a program that knows nothing of CUDA.
__constant__ int factor = 3;

__global__ void multiply(int *values, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        values[i] = factor * i;
    }
}

extern "C" int count_wrong()
{
    constexpr int COUNT = 100;
    int *values, host[COUNT], wrong = 0;
    cudaMalloc(&values, sizeof host);
    multiply<<<4, 32>>>(values, COUNT);
    if (cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) {
        return COUNT;
    }
    for (int i = 0; i < COUNT; i++) {
        wrong += host[i] != 3 * i;
    }
    return wrong;
}
