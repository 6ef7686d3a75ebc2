// What shares a word and what shares a byte.

extern "C" __global__ void bytes_neighbours(const int *in, int *out)
{
    __shared__ unsigned char byte[128];
    int t = threadIdx.x;
    byte[(t % 32) * 4 + t / 32] = (unsigned char)in[t]; // four warps, a byte each of every word
    __syncthreads();
    out[t] = byte[127 - t];
}

extern "C" __global__ void bytes_half_words(const int *in, int *out)
{
    __shared__ unsigned short half[64];
    int t = threadIdx.x;
    half[(t % 32) * 2 + t / 32] = (unsigned short)in[t];
    __syncthreads();
    out[t] = half[63 - t];
}

// A half-word and two bytes of each word: three warps.
extern "C" __global__ void bytes_mixed(const int *in, int *out)
{
    __shared__ unsigned int word[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp == 0) {
        *(unsigned short *)&word[lane] = (unsigned short)in[lane];
    } else {
        ((unsigned char *)&word[lane])[1 + warp] = (unsigned char)in[lane];
    }
    __syncthreads();
    out[threadIdx.x] = (int)word[lane];
}

// The same with one byte further down: into the half-word.
extern "C" __global__ void bytes_mixed_overlap(const int *in, int *out)
{
    __shared__ unsigned int word[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp == 1) {
        ((unsigned char *)&word[lane])[3] = 0;
    }
    __syncthreads();
    if (warp == 0) {
        *(unsigned short *)&word[lane] = (unsigned short)in[lane]; // <- race: first
    } else {
        ((unsigned char *)&word[lane])[warp] = (unsigned char)in[lane]; // <- race: second
    }
    __syncthreads();
    out[threadIdx.x] = (int)word[lane];
}

// A 16-byte store against a byte load, which meets its last byte.
extern "C" __global__ void bytes_wide_store(const int *in, int *out)
{
    __shared__ int4 wide[32];
    int t = threadIdx.x;
    if (t < 32) {
        wide[t] = make_int4(0, 0, 0, 0);
    }
    __syncthreads();
    if (t < 32) {
        wide[t] = make_int4(in[t], in[t + 1], in[t + 2], in[t + 3]); // <- race: first
    } else {
        out[t] = ((const signed char *)wide)[(t - 32) * 16 + 15]; // <- race: second
    }
}

extern "C" __global__ void bytes_wide_store_then_barrier(const int *in, int *out)
{
    __shared__ int4 wide[32];
    int t = threadIdx.x;
    if (t < 32) {
        wide[t] = make_int4(in[t], in[t + 1], in[t + 2], in[t + 3]);
    }
    __syncthreads();
    if (t >= 32) {
        out[t] = ((const signed char *)wide)[(t - 32) * 16 + 15];
    }
}

// Byte stores against a 16-byte load that needs one of them only.
extern "C" __global__ void bytes_wide_load(const int *in, int *out)
{
    __shared__ int4 wide[32];
    int t = threadIdx.x;
    if (t < 32) {
        wide[t] = make_int4(in[t], 0, 0, 0);
    }
    __syncthreads();
    if (t < 32) {
        int4 all = wide[t]; // <- race: first
        out[t] = all.x + all.y + all.z + all.w;
    } else {
        ((unsigned char *)wide)[(t - 32) * 16 + 8] = 1; // <- race: second
    }
}

// Neighbours in global memory, written by different blocks.
extern "C" __global__ void bytes_global_neighbours(const int *in, unsigned char *out)
{
    out[threadIdx.x * gridDim.x + blockIdx.x] = (unsigned char)in[threadIdx.x];
}

// Fields of one structure, written by two warps.
extern "C" __global__ void bytes_fields(const int *in, int *out)
{
    __shared__ struct { short a; char b, c; } pair[32];
    int t = threadIdx.x;
    if (t < 32) {
        pair[t].a = (short)in[t];
        pair[t].b = 1;
    } else {
        pair[t - 32].c = 2;
    }
    __syncthreads();
    if (t < 32) {
        out[t] = pair[t].a + pair[t].b + pair[t].c;
    }
}
