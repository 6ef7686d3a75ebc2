// Thrust: vectors, a sort, a transformation and a reduction. FAULT: a kernel reads behind a vector.
#include "checked.h"
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

struct square {
    __host__ __device__ int operator()(int x) const
    {
        return x * x;
    }
};

__global__ void last(const int *data, int n, int *out)
{
#ifdef FAULT
    n += 5;
#endif
    *out = data[n - 1];
}

int main()
{
    const int n = 1000;
    thrust::device_vector<int> values(n), squares(n);
    thrust::sequence(values.begin(), values.end(), 0);
    thrust::sort(values.begin(), values.end(), thrust::greater<int>());
    bool right = values[0] == n - 1;
    thrust::transform(values.begin(), values.end(), squares.begin(), square());
    long long sum = thrust::reduce(squares.begin(), squares.end(), 0LL);
    int *out, host;
    CHECK(cudaMalloc(&out, sizeof host));
    last<<<1, 1>>>(thrust::raw_pointer_cast(values.data()), n, out);
    CHECK(cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost));
    return verdict(right && host == 0 && sum == 332833500LL);
}
