// Compile with: -arch=sm_90
// Thrust: transformations of several vectors by functors that take copies, which are built for bulk copies to shared
// memory on compute capability 9.0. FAULT: one of the vectors is too short.
#include "checked.h"
#include <cuda/functional>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

struct scaled_sum {
    float factor;
    __host__ __device__ float operator()(float x, float y) const
    {
        return factor * x + y;
    }
};

struct mean {
    __host__ __device__ double operator()(short a, double b) const
    {
        return 0.5 * (a + b);
    }
};

int main()
{
    const int n = 100003;
#ifdef FAULT
    const int given = n - 4096;
#else
    const int given = n;
#endif
    thrust::device_vector<float> x(given), y(n);
    thrust::device_vector<short> a(n);
    thrust::device_vector<double> b(n), c(n);
    thrust::sequence(x.begin(), x.end());
    thrust::sequence(y.begin(), y.end(), 1.0f);
    thrust::sequence(a.begin(), a.end());
    thrust::sequence(b.begin(), b.end(), 0.0, 2.0);
    thrust::transform(x.begin(), x.begin() + n, y.begin(), y.begin(),
                      cuda::proclaim_copyable_arguments(scaled_sum{2.0f}));
    thrust::transform(a.begin() + 3, a.end(), b.begin() + 1, c.begin(), cuda::proclaim_copyable_arguments(mean()));
    CHECK(cudaDeviceSynchronize());
    thrust::host_vector<float> sums = y;
    thrust::host_vector<double> means = c;
    bool right = true;
    for (int i = 0; i < n; i++) {
        right = right && sums[i] == 3.0f * i + 1.0f;
        right = right && means[i] == (i < n - 3 ? 0.5 * ((short)(i + 3) + 2.0 * (i + 1)) : 0.0);
    }
    return verdict(right);
}
