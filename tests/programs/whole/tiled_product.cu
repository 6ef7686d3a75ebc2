// A product of matrices with tiles. FAULT: the tiles are overwritten while slower warps still read them.
#include "checked.h"
#include <vector>

constexpr int tile = 16;

__global__ void multiply(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[tile][tile], bs[tile][tile];
    int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += tile) {
        as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < tile; i++) {
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        }
#ifndef FAULT
        __syncthreads();
#endif
    }
    c[row * n + column] = sum;
}

int main()
{
    const int n = 64;
    std::vector<float> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; i++) {
        a[i] = i % 7;
        b[i] = i % 5 - 2;
    }
    float *da, *db, *dc;
    size_t bytes = n * n * sizeof(float);
    CHECK(cudaMalloc(&da, bytes));
    CHECK(cudaMalloc(&db, bytes));
    CHECK(cudaMalloc(&dc, bytes));
    CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
    multiply<<<dim3(n / tile, n / tile), dim3(tile, tile)>>>(da, db, dc, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) {
                sum += a[i * n + k] * b[k * n + j];
            }
            right = right && c[i * n + j] == sum;
        }
    }
    return verdict(right);
}
