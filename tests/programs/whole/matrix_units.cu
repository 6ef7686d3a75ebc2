// A product of matrices on tensor cores by wmma. FAULT: the last tile lies behind the matrix.
#include "checked.h"
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int n = 48;

__global__ void multiply(const half *a, const half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    int row = blockIdx.y * 16, column = blockIdx.x * 16, end = n;
#ifdef FAULT
    end += 16;
#endif
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < end; k += 16) {
        wmma::load_matrix_sync(left, a + row * n + k, n);
        wmma::load_matrix_sync(right, b + k * n + column, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

int main()
{
    static half a[n * n], b[n * n];
    static float c[n * n];
    for (int i = 0; i < n * n; i++) {
        a[i] = __float2half(static_cast<float>(i % 5));
        b[i] = __float2half(static_cast<float>(i % 3));
    }
    half *da, *db;
    float *dc;
    CHECK(cudaMalloc(&da, sizeof a));
    CHECK(cudaMalloc(&db, sizeof b));
    CHECK(cudaMalloc(&dc, sizeof c));
    CHECK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    multiply<<<dim3(3, 3), 32>>>(da, db, dc);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) {
                sum += static_cast<float>((i * n + k) % 5) * static_cast<float>((k * n + j) % 3);
            }
            right = right && c[i * n + j] == sum;
        }
    }
    return verdict(right);
}
