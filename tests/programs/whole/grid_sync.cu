// A grid that synchronizes: relaxation in one cooperative launch. FAULT: a sweep begins before the last has ended.
#include "checked.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void relax(float *a, float *b, int n, int sweeps)
{
    cg::grid_group grid = cg::this_grid();
    int i = static_cast<int>(grid.thread_rank());
    for (int sweep = 0; sweep < sweeps; sweep++) {
        if (i > 0 && i < n - 1) {
            b[i] = 0.5f * (a[i - 1] + a[i + 1]);
        }
#ifndef FAULT
        grid.sync();
#endif
        float *other = a;
        a = b;
        b = other;
    }
}

int main()
{
    int n = 256, sweeps = 10;
    float host[256] = {0}, wanted[2][256] = {{0}}, *a, *b;
    host[0] = wanted[0][0] = wanted[1][0] = 1024;
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMalloc(&b, sizeof host));
    CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, host, sizeof host, cudaMemcpyHostToDevice));
    void *arguments[] = {&a, &b, &n, &sweeps};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void *>(relax), dim3(4), dim3(64), arguments, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int i = 1; i < n - 1; i++) {
            wanted[(sweep + 1) % 2][i] = 0.5f * (wanted[sweep % 2][i - 1] + wanted[sweep % 2][i + 1]);
        }
    }
    bool right = true;
    for (int i = 0; i < n; i++) {
        right = right && host[i] == wanted[0][i];
    }
    return verdict(right);
}
