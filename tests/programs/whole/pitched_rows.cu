// Rows with a pitch: cudaMallocPitch, cudaMemcpy2D, cudaMemset2D. FAULT: a kernel counts the pitch in elements.
#include "checked.h"
#include <vector>

__global__ void transform(float *data, size_t pitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
#ifdef FAULT
        data[y * pitch + x] += 10 * y + x;
#else
        float *row = reinterpret_cast<float *>(reinterpret_cast<char *>(data) + y * pitch);
        row[x] += 10 * y + x;
#endif
    }
}

int main()
{
    const int width = 37, height = 19;
    std::vector<float> host(width * height);
    float *device;
    size_t pitch;
    CHECK(cudaMallocPitch(&device, &pitch, width * sizeof(float), height));
    CHECK(cudaMemset2D(device, pitch, 0, width * sizeof(float), height));
    transform<<<dim3(3, 2), dim3(16, 16)>>>(device, pitch, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2D(host.data(), width * sizeof(float), device, pitch, width * sizeof(float), height,
                       cudaMemcpyDeviceToHost));
    bool right = pitch % 32 == 0;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            right = right && host[y * width + x] == 10 * y + x;
        }
    }
    return verdict(right);
}
