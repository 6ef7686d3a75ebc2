// A box in three dimensions: cudaMalloc3D, cudaMemcpy3D. FAULT: a kernel takes the wrong extent.
#include "checked.h"
#include <vector>

__global__ void negate(cudaPitchedPtr box, cudaExtent extent)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
#ifdef FAULT
    z += 1;
#endif
    char *slice = static_cast<char *>(box.ptr) + z * box.pitch * extent.height;
    int *row = reinterpret_cast<int *>(slice + y * box.pitch);
    row[x] = -row[x];
}

int main()
{
    const int nx = 8, ny = 4, nz = 5;
    std::vector<int> host(nx * ny * nz);
    for (size_t i = 0; i < host.size(); i++) {
        host[i] = static_cast<int>(i);
    }
    cudaExtent extent = make_cudaExtent(nx * sizeof(int), ny, nz);
    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), nx * sizeof(int), nx * sizeof(int), ny);
    copy.dstPtr = box;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    negate<<<nz, dim3(nx, ny)>>>(box, extent);
    std::vector<int> back(host.size());
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(back.data(), nx * sizeof(int), nx * sizeof(int), ny);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    bool right = true;
    for (size_t i = 0; i < host.size(); i++) {
        right = right && back[i] == -host[i];
    }
    return verdict(right);
}
