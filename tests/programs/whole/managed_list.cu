// Managed memory that the host and kernels walk as a list, and a managed variable. FAULT: the counter is raced for.
#include "checked.h"

struct item {
    int value;
    item *next;
};

__managed__ int visited = 0;

__global__ void double_all(item *first)
{
    for (item *at = first; at != nullptr; at = at->next) {
        if (threadIdx.x == 0) {
            at->value *= 2;
        }
#ifdef FAULT
        visited += 1;
#else
        if (threadIdx.x == 0) {
            visited += 1;
        }
#endif
    }
}

int main()
{
    item *first = nullptr;
    for (int i = 0; i < 10; i++) {
        item *made;
        CHECK(cudaMallocManaged(&made, sizeof(item)));
        *made = {i, first};
        first = made;
    }
    visited = 100;
    double_all<<<1, 64>>>(first);
    CHECK(cudaDeviceSynchronize());
    int sum = 0;
    while (first != nullptr) {
        item *next = first->next;
        sum += first->value;
        CHECK(cudaFree(first));
        first = next;
    }
    return verdict(sum == 90 && visited == 110);
}
