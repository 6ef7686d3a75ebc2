// Each thread adds four neighbouring elements, written one by one.
// Counts: without restrict a store may change what is loaded next: four requests that walk the same sectors.

extern "C" __global__ void add_unrolled(const float *a, const float *b, float *c, int count)
{
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int i = 0; i < 4; ++i) {
        if (first + i < count) {
            c[first + i] = a[first + i] + b[first + i];
        }
    }
}
