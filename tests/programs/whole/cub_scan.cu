// CUB: a scan, a reduction and a sort of pairs. FAULT: the sort takes more keys than there are.
#include "checked.h"
#include <cub/cub.cuh>
#include <vector>

int main()
{
    const int n = 3000;
    std::vector<int> in(n), sums(n), keys(n);
    for (int i = 0; i < n; i++) {
        in[i] = i % 10;
        keys[i] = (i * 7919) % n;
    }
    int *d_in, *d_out, *d_keys, *d_sorted, total = 0;
    size_t bytes = n * sizeof(int), scratch = 0, more = 0;
    CHECK(cudaMalloc(&d_in, bytes));
    CHECK(cudaMalloc(&d_out, bytes));
    CHECK(cudaMalloc(&d_keys, bytes));
    CHECK(cudaMalloc(&d_sorted, bytes));
    CHECK(cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_keys, keys.data(), bytes, cudaMemcpyHostToDevice));
    int count = n;
#ifdef FAULT
    count += 1;
#endif
    CHECK(cub::DeviceScan::InclusiveSum(nullptr, scratch, d_in, d_out, n));
    CHECK(cub::DeviceRadixSort::SortKeys(nullptr, more, d_keys, d_sorted, count));
    scratch = scratch > more ? scratch : more;
    void *space;
    CHECK(cudaMalloc(&space, scratch));
    CHECK(cub::DeviceScan::InclusiveSum(space, scratch, d_in, d_out, n));
    CHECK(cudaMemcpy(sums.data(), d_out, bytes, cudaMemcpyDeviceToHost));
    CHECK(cub::DeviceRadixSort::SortKeys(space, scratch, d_keys, d_sorted, count));
    CHECK(cudaMemcpy(keys.data(), d_sorted, bytes, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < n; i++) {
        total += in[i];
        right = right && sums[i] == total && keys[i] == i;
    }
    return verdict(right);
}
