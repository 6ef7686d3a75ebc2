// Reads of memory that nobody has written.

// The halo's last element is filled by nobody.
extern "C" __global__ void initial_halo_edge(const int *in, int *out)
{
    __shared__ int tile[66];
    int t = threadIdx.x;
    tile[1 + t] = in[1 + t];
    if (t == 0) {
        tile[0] = in[0];
    }
    __syncthreads();
    out[t] = tile[t] + tile[t + 1] + tile[t + 2]; // <- uninitialized: first
}

extern "C" __global__ void initial_halo(const int *in, int *out)
{
    __shared__ int tile[66];
    int t = threadIdx.x;
    tile[1 + t] = in[1 + t];
    if (t < 2) {
        tile[65 * t] = in[65 * t];
    }
    __syncthreads();
    out[t] = tile[t] + tile[t + 1] + tile[t + 2];
}

// Past the matrix's edge nothing is staged, but all is read.
extern "C" __global__ void initial_ragged(const int *in, int *out, int count)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < count) {
        tile[t] = in[t];
    }
    __syncthreads();
    out[t] = tile[63 - t]; // <- uninitialized: first
}

extern "C" __global__ void initial_ragged_zeros(const int *in, int *out, int count)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t < count ? in[t] : 0;
    __syncthreads();
    out[t] = tile[63 - t];
}

extern "C" __global__ void initial_ragged_guarded(const int *in, int *out, int count)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < count) {
        tile[t] = in[t];
    }
    __syncthreads();
    if (t < count) {
        out[t] = tile[count - 1 - t];
    }
}

// Bins that nobody has cleared. Atomics read too.
extern "C" __global__ void initial_bins(const int *in, int *out)
{
    __shared__ int bins[8];
    int t = threadIdx.x;
    atomicAdd(&bins[in[t] & 7], 1); // <- uninitialized: first
    __syncthreads();
    if (t < 8) {
        out[t] = bins[t]; // <- uninitialized: either
    }
}

// More bins than threads: only blockDim of them are cleared.
extern "C" __global__ void initial_bins_cleared_in_part(const int *in, int *out)
{
    __shared__ int bins[128];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[t] & 31], 1);
    __syncthreads();
    out[t] = bins[t];
    out[64 + t] = bins[64 + t]; // <- uninitialized: first
}

// Three bytes of four.
extern "C" __global__ void initial_three_bytes(const int *in, int *out)
{
    __shared__ unsigned int word[32];
    int t = threadIdx.x;
    unsigned char *bytes = (unsigned char *)&word[t];
    bytes[0] = (unsigned char)in[t];
    bytes[1] = 0;
    bytes[2] = 0;
    out[t] = (int)word[t]; // <- uninitialized: first
}

extern "C" __global__ void initial_four_bytes(const int *in, int *out)
{
    __shared__ unsigned int word[32];
    int t = threadIdx.x;
    unsigned char *bytes = (unsigned char *)&word[t];
    bytes[0] = (unsigned char)in[t];
    bytes[1] = 0;
    bytes[2] = 0;
    bytes[3] = 0;
    out[t] = (int)word[t];
}

// The output is added to, but never was written.
extern "C" __global__ void initial_accumulate(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] += in[i]; // <- uninitialized: first
}

extern "C" __global__ void initial_assign(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
    out[i] += in[i];
}

// Variables of the module begin as zeros.
__device__ int initial_zeros[32];

extern "C" __global__ void initial_module(const int *in, int *out)
{
    out[threadIdx.x] = in[threadIdx.x] + initial_zeros[threadIdx.x];
}

// Another block's shared memory is not this one's: what block 0 wrote, block 1 does not have.
extern "C" __global__ void initial_first_block_only(const int *in, int *out)
{
    __shared__ int word;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        word = in[0];
    }
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = word; // <- uninitialized: first
}
