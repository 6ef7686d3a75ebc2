// Histograms of BINS bins as published ladders describe them. Options of the compiler:
//
//     ELEMENT type of the elements, each of which is the number of a bin
//     BINS    bins
//     SPARSE  1: blocks add no empty bins to the result

extern "C" __global__ void straight(const ELEMENT *in, int *bins, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1);
}

__device__ void clear(int *own)
{
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        own[bin] = 0;
    __syncthreads();
}

__device__ void merge(int *bins, const int *own)
{
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        if (!SPARSE || own[bin] > 0)
            atomicAdd(&bins[bin], own[bin]);
}

extern "C" __global__ void privatized(const ELEMENT *in, int *bins, int n)
{
    __shared__ int own[BINS];
    clear(own);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[in[i]], 1);
    merge(bins, own);
}

// 16 bytes at a time.
extern "C" __global__ void packed(const ELEMENT *in, int *bins, int n)
{
    __shared__ int own[BINS];
    constexpr int EACH = 16 / sizeof(ELEMENT);
    clear(own);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / EACH; i += gridDim.x * blockDim.x) {
        union {
            uint4 read;
            ELEMENT of[EACH];
        } part = {((const uint4 *)in)[i]};
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            atomicAdd(&own[part.of[e]], 1);
    }
    merge(bins, own);
}
