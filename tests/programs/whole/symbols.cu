// Device variables: their addresses, sizes, and copies of parts of them. FAULT: blocks race for one of them.
#include "checked.h"

__device__ int table[8] = {1, 2, 3};
__device__ unsigned long long total;

__global__ void accumulate()
{
    if (threadIdx.x == 0) {
        for (int value : table) {
#ifdef FAULT
            total += value;
#else
            atomicAdd(&total, static_cast<unsigned long long>(value));
#endif
        }
    }
}

int main()
{
    int part[2] = {10, 20}, all[8];
    unsigned long long sum = 0;
    void *address;
    size_t bytes;
    CHECK(cudaMemcpyToSymbol(table, part, sizeof part, 3 * sizeof(int)));
    CHECK(cudaGetSymbolAddress(&address, table));
    CHECK(cudaGetSymbolSize(&bytes, table));
    CHECK(cudaMemcpy(all, address, sizeof all, cudaMemcpyDeviceToHost));
    accumulate<<<4, 32>>>();
    CHECK(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    return verdict(bytes == sizeof all && all[2] == 3 && all[4] == 20 && all[5] == 0 && sum == 4 * 36);
}
