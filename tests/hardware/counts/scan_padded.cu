// Exclusive scan of a block up and down a tree, with one word of padding after each 32.
// Counts: the same rounds with fewer conflicts.

static __device__ int pad(int i)
{
    return i + i / 32;
}

extern "C" __global__ void __launch_bounds__(128) scan_padded(const float *in, float *out, int count)
{
    __shared__ float tree[256 + 256 / 32];
    const int first = blockIdx.x * 256 + 2 * threadIdx.x;
    int a = 2 * threadIdx.x, b = a + 1;
    tree[pad(a)] = first < count ? in[first] : 0.0f;
    tree[pad(b)] = first + 1 < count ? in[first + 1] : 0.0f;
    for (int nodes = 128, step = 1; nodes > 0; nodes /= 2, step *= 2) {
        __syncthreads(); // the last round's sums are complete
        if (threadIdx.x < nodes) {
            tree[pad(step * (a + 2) - 1)] += tree[pad(step * b - 1)];
        }
    }
    if (threadIdx.x == 0) {
        tree[pad(255)] = 0.0f;
    }
    for (int nodes = 1, step = 128; nodes <= 128; nodes *= 2, step /= 2) {
        __syncthreads(); // the last round's exchanges are complete
        if (threadIdx.x < nodes) {
            const float left = tree[pad(step * b - 1)];
            tree[pad(step * b - 1)] = tree[pad(step * (a + 2) - 1)];
            tree[pad(step * (a + 2) - 1)] += left;
        }
    }
    __syncthreads(); // the scan is complete
    if (first < count) {
        out[first] = tree[pad(a)];
    }
    if (first + 1 < count) {
        out[first + 1] = tree[pad(b)];
    }
}
