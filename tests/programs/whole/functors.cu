// Kernels as templates over functions and shapes, with structures as parameters. FAULT: the shape is taken for another.
#include "checked.h"
#include <vector>

struct shape {
    int rows, columns;
};

struct add_one {
    __device__ float operator()(float x) const
    {
        return x + 1;
    }
};

struct scale_by {
    float factor;
    __device__ float operator()(float x) const
    {
        return x * factor;
    }
};

template <typename Function, int per_thread>
__global__ void map(float *data, shape size, Function function)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * per_thread;
#pragma unroll
    for (int i = 0; i < per_thread; i++) {
        if (first + i < size.rows * size.columns) {
            data[first + i] = function(data[first + i]);
        }
    }
}

int main()
{
    shape size = {30, 40};
    std::vector<float> host(1200, 2.0f);
    float *data;
    CHECK(cudaMalloc(&data, 1200 * sizeof(float)));
    CHECK(cudaMemcpy(data, host.data(), 1200 * sizeof(float), cudaMemcpyHostToDevice));
    map<add_one, 1><<<10, 128>>>(data, size, add_one());
#ifdef FAULT
    size.columns = 41;
#endif
    map<scale_by, 4><<<3, 128>>>(data, size, scale_by{5});
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), data, 1200 * sizeof(float), cudaMemcpyDeviceToHost));
    bool right = true;
    for (float value : host) {
        right = right && value == 15;
    }
    return verdict(right);
}
