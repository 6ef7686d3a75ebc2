// Addresses that leave the variable or the argument by way of which they are made, and land in another.

// The last lanes' neighbours lie behind the tile.
extern "C" __global__ void overrun_tile(const int *in, int *out, int far)
{
    __shared__ int tile[64], rest[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    rest[t] = t;
    __syncthreads();
    out[t] = tile[t + far] + rest[63 - t]; // <- overrun: first
}

extern "C" __global__ void overrun_tile_inside(const int *in, int *out, int far)
{
    __shared__ int tile[64], rest[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    rest[t] = t;
    __syncthreads();
    out[t] = tile[(t + far) % 64] + rest[63 - t];
}

// The halo on the left was forgotten.
extern "C" __global__ void overrun_before(const int *in, int *out, int far)
{
    __shared__ int rest[64], tile[64];
    int t = threadIdx.x;
    rest[t] = t;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t - far] + rest[63 - t]; // <- overrun/out_of_bounds: first
}

// Behind the tile another thread's word is overwritten.
extern "C" __global__ void overrun_store(const int *in, int *out, int far)
{
    __shared__ int tile[64], rest[64];
    int t = threadIdx.x;
    rest[t] = t;
    __syncthreads();
    tile[t + far] = in[t]; // <- overrun: first
    __syncthreads();
    out[t] = tile[63] + rest[63 - t];
}

// A counter behind the last bin.
extern "C" __global__ void overrun_atomic(const int *in, int *out, int bins)
{
    __shared__ int count[32], other[32];
    int t = threadIdx.x;
    if (t < 32) {
        count[t] = 0;
        other[t] = 0;
    }
    __syncthreads();
    atomicAdd(&count[t % bins], in[t]); // <- overrun: first
    __syncthreads();
    out[t] = count[t % 32] + other[t % 32];
}

// An index that is meant for another array.
extern "C" __global__ void overrun_argument(const int *a, const int *b, int *out, long long far)
{
    int t = threadIdx.x;
    out[t] = a[t + far] + b[t]; // <- overrun: first
}

extern "C" __global__ void overrun_argument_store(int *a, const int *b, int *out, long long far)
{
    int t = threadIdx.x;
    a[t + far] = b[t]; // <- overrun: first
    out[t] = b[t];
}

// A row more than there is, of bytes.
extern "C" __global__ void overrun_bytes(const signed char *a, const signed char *b, int *out, long long far)
{
    int t = threadIdx.x;
    long long at = far;
    for (int i = 0; i < 4; i++) {
        out[t] += a[at + t] + b[t]; // <- overrun: first
        at += 16;
    }
}

// All of this stays in one allocation, or cannot be told.

struct Pair {
    const int *left, *right;
    long long count;
};

__device__ int table[64];

// Both arguments lie in one allocation.
extern "C" __global__ void overrun_one_array(const int *a, const int *b, int *out, long long far)
{
    int t = threadIdx.x;
    out[t] = a[t + far] + b[t - far];
}

extern "C" __global__ void overrun_choice(const int *a, const int *b, int *out, int side)
{
    int t = threadIdx.x;
    const int *from = (t + side) % 2 ? a : b;
    __shared__ int left[64], right[64];
    int *to = t < 32 ? left : right;
    to[t] = from[t];
    for (int i = 0; i < side; i++) {
        from = from == a ? b : a;
        to[t] += from[i];
    }
    out[t] = to[t];
}

// From one array to the other by the way between them.
extern "C" __global__ void overrun_difference(const int *a, const int *b, int *out, int side)
{
    int t = threadIdx.x;
    long long way = (const char *)b - (const char *)a;
    const char *at = (const char *)(a + t);
    out[t] = *(const int *)(at + way * side) + *(const int *)(at + way);
}

extern "C" __global__ void overrun_struct(Pair pair, int *out)
{
    int t = threadIdx.x;
    for (long long i = t; i < pair.count; i += 64) {
        out[i] = pair.left[i] + pair.right[pair.count - 1 - i];
    }
}

extern "C" __global__ void overrun_indirect(const int *a, const long long *index, int *out, int side)
{
    __shared__ int tile[64];
    __shared__ unsigned char bytes[64];
    int t = threadIdx.x;
    tile[t] = a[index[t]];
    bytes[t] = (unsigned char)(a[index[t] ^ side] & 63);
    table[t] = tile[t];
    __syncthreads();
    const char *near = (const char *)a + index[t] * sizeof(int);
    out[t] = tile[bytes[t ^ 5]] + bytes[bytes[t]] + table[index[t]] + *(const int *)near;
}

// Two names of one memory.
extern "C" __global__ void overrun_dynamic(const int *in, int *out, int far)
{
    extern __shared__ int words[];
    extern __shared__ float numbers[];
    int t = threadIdx.x;
    words[t] = in[t];
    words[t + far] = in[t];
    __syncthreads();
    out[t] = words[63 - t + far] + (numbers[t ^ 1] != numbers[(t ^ 1) + far]);
}

// The walk begins before the tile, and comes to it.
extern "C" __global__ void overrun_walk(const int *in, int *out, int far)
{
    __shared__ int first[64], tile[64];
    int t = threadIdx.x, sum = 0;
    first[t] = tile[t] = in[t];
    __syncthreads();
    const int *end = in + 64, *from = in + t - far, *at = tile - far;
    for (from += far, at += far; from < end; from += far, at += far) {
        sum += *from + *at;
    }
    out[t] = sum + first[t ^ 1];
}

// A pointer that went through memory: only free room behind the tile tells.
extern "C" __global__ void overrun_unfollowed(const int *in, int *out, int far)
{
    __shared__ int tile[64], rest[64];
    __shared__ int *where;
    int t = threadIdx.x;
    tile[t] = in[t];
    rest[t] = t;
    if (t == 0) {
        where = far < 100 ? tile : rest;
    }
    __syncthreads();
    out[t] = where[t + far] + rest[63 - t]; // <- out_of_bounds: first
}
