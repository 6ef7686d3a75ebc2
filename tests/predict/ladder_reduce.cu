// Sums of an array as published ladders describe them (all follow M. Harris, "Optimizing Parallel Reduction in CUDA",
// 2007): each block writes its sum. Options of the compiler:
//
//     ELEMENT  type of the elements
//     BLOCK  threads of a block
//     EACH   elements that a thread reads of the array, BLOCK apart; 0: all that are left, by strides of the grid
//     ATOMIC 1: the block's sum is added to one element by an atomic operation
#ifndef EACH
#define EACH 1
#endif
#ifndef ATOMIC
#define ATOMIC 0
#endif

__device__ ELEMENT read_own(const ELEMENT *in, unsigned n)
{
    ELEMENT sum = 0;
    if (EACH) {
        unsigned i = blockIdx.x * (BLOCK * EACH) + threadIdx.x;
#pragma unroll
        for (int e = 0; e < EACH; ++e, i += BLOCK)
            sum += i < n ? in[i] : ELEMENT(0);
    } else {
        for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * gridDim.x)
            sum += in[i];
    }
    return sum;
}

__device__ void write_block(ELEMENT *out, ELEMENT sum)
{
    if (threadIdx.x == 0) {
        if (ATOMIC)
            atomicAdd(out, sum);
        else
            out[blockIdx.x] = sum;
    }
}

// Every second thread adds, then every fourth, found by a remainder.
extern "C" __global__ void by_remainder(const ELEMENT *in, ELEMENT *out, unsigned n)
{
    __shared__ ELEMENT part[BLOCK];
    part[threadIdx.x] = read_own(in, n);
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (threadIdx.x % (2 * s) == 0)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    write_block(out, part[0]);
}

// The same, found by a mask.
extern "C" __global__ void masked(const ELEMENT *in, ELEMENT *out, unsigned n)
{
    __shared__ ELEMENT part[BLOCK];
    part[threadIdx.x] = read_own(in, n);
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if ((threadIdx.x & (2 * s - 1)) == 0)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    write_block(out, part[0]);
}

// The first threads add elements that lie apart.
extern "C" __global__ void strided(const ELEMENT *in, ELEMENT *out, unsigned n)
{
    __shared__ ELEMENT part[BLOCK];
    part[threadIdx.x] = read_own(in, n);
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        const unsigned i = 2 * s * threadIdx.x;
        if (i < blockDim.x)
            part[i] += part[i + s];
        __syncthreads();
    }
    write_block(out, part[0]);
}

// The first threads add neighbours.
extern "C" __global__ void sequential(const ELEMENT *in, ELEMENT *out, unsigned n)
{
    __shared__ ELEMENT part[BLOCK];
    part[threadIdx.x] = read_own(in, n);
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    write_block(out, part[0]);
}

// What is left for one warp, without barriers of the block.
__device__ void add_warp(volatile ELEMENT *part)
{
    if (BLOCK >= 64)
        part[threadIdx.x] += part[threadIdx.x + 32];
#pragma unroll
    for (int s = 16; s > 0; s >>= 1) {
        __syncwarp();
        part[threadIdx.x] += part[threadIdx.x + s];
    }
}

extern "C" __global__ void last_warp(const ELEMENT *in, ELEMENT *out, unsigned n)
{
    __shared__ ELEMENT part[BLOCK + 32];
    part[threadIdx.x] = read_own(in, n);
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x < 32)
        add_warp(part);
    write_block(out, part[0]);
}

extern "C" __global__ void unrolled(const ELEMENT *in, ELEMENT *out, unsigned n)
{
    __shared__ ELEMENT part[BLOCK + 32];
    part[threadIdx.x] = read_own(in, n);
    __syncthreads();
#pragma unroll
    for (int s = BLOCK / 2; s > 32; s >>= 1) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x < 32)
        add_warp(part);
    write_block(out, part[0]);
}

__device__ ELEMENT shuffle_warp(ELEMENT sum)
{
#pragma unroll
    for (int s = 16; s > 0; s >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, s);
    return sum;
}

__device__ void add_shuffled(ELEMENT *out, ELEMENT sum)
{
    __shared__ ELEMENT part[BLOCK / 32];
    sum = shuffle_warp(sum);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32)
        sum = shuffle_warp(threadIdx.x < BLOCK / 32 ? part[threadIdx.x] : ELEMENT(0));
    write_block(out, sum);
}

extern "C" __global__ void shuffled(const ELEMENT *in, ELEMENT *out, unsigned n)
{
    add_shuffled(out, read_own(in, n));
}

// Four elements at a time, by strides of the grid.
extern "C" __global__ void packed(const ELEMENT *in, ELEMENT *out, unsigned n)
{
    float4 sum = {};
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n / 4; i += BLOCK * gridDim.x) {
        const float4 four = ((const float4 *)in)[i];
        sum.x += four.x;
        sum.y += four.y;
        sum.z += four.z;
        sum.w += four.w;
    }
    add_shuffled(out, ELEMENT(sum.x + sum.y + sum.z + sum.w));
}
