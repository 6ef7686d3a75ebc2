// Accesses outside of what there is, and at addresses that are no multiple of their width.

extern "C" __global__ void bounds_one_past(const int *in, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= count) {
        out[i] = in[0]; // <- out_of_bounds: first
    }
}

extern "C" __global__ void bounds_guarded(const int *in, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = in[i];
    }
}

extern "C" __global__ void bounds_read_past(const int *in, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i]; // <- out_of_bounds: first
    if (i < count) {
        out[i] = value * count;
    }
    if (value == 0x7eadbeef) {
        out[0] = 1;
    }
}

// The last row is not there.
extern "C" __global__ void bounds_whole_row(const int *in, int *out, int rows, int cols)
{
    for (int row = 0; row <= rows; ++row) {
        out[row * cols + (int)threadIdx.x] = in[threadIdx.x]; // <- out_of_bounds: first
    }
}

extern "C" __global__ void bounds_negative(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] - in[i - 1]; // <- out_of_bounds: first
}

extern "C" __global__ void bounds_first_guarded(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i > 0 ? in[i] - in[i - 1] : in[i];
}

// The end of an array is in the middle of a wide load.
extern "C" __global__ void bounds_wide_tail(const int4 *in, int4 *out, int count)
{
    int i = threadIdx.x;
    if (i * 4 < count) {
        out[i] = in[i]; // <- out_of_bounds: first
    }
}

extern "C" __global__ void bounds_wide_and_tail(const int *in, int *out, int count)
{
    int i = threadIdx.x;
    if (i * 4 + 3 < count) {
        ((int4 *)out)[i] = ((const int4 *)in)[i];
    } else {
        for (int at = i * 4; at < count; ++at) {
            out[at] = in[at];
        }
    }
}

extern "C" __global__ void bounds_null(const int *in, int *out)
{
    out[threadIdx.x] = in ? in[threadIdx.x] : 0; // <- out_of_bounds: first
}

extern "C" __global__ void bounds_atomic(const int *in, int *out)
{
    atomicAdd(&out[in[threadIdx.x]], 1); // <- out_of_bounds: first
}

// Past the end of the block's shared memory.
extern "C" __global__ void bounds_shared_end(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t + in[0]]; // <- out_of_bounds: first
}

// Past the end of an array, into its neighbour in the same block: inside shared memory. That no address can tell.
extern "C" __global__ void bounds_shared_neighbour(const int *in, int *out)
{
    __shared__ struct { int tile[64], next[64]; } shared;
    int t = threadIdx.x;
    shared.tile[t] = in[t];
    shared.next[t] = 2 * in[t];
    __syncthreads();
    out[t] = shared.tile[t + in[0]];
}

// Dynamic shared memory: less given at the launch than used.
extern "C" __global__ void bounds_dynamic(const int *in, int *out)
{
    extern __shared__ int dynamic[];
    int t = threadIdx.x;
    dynamic[t] = in[t]; // <- out_of_bounds: first
    __syncthreads();
    out[t] = dynamic[63 - t]; // <- out_of_bounds 2: first
}

extern "C" __global__ void bounds_dynamic_enough(const int *in, int *out)
{
    extern __shared__ int dynamic[];
    int t = threadIdx.x;
    dynamic[t] = in[t];
    __syncthreads();
    out[t] = dynamic[63 - t];
}

// A thread's own array.
extern "C" __global__ void bounds_local(const int *in, int *out)
{
    int own[8];
    for (int i = 0; i < 8; ++i) {
        own[i] = in[i];
    }
    int at = in[threadIdx.x];
    own[at & 7] += 1;
    out[threadIdx.x] = own[at]; // <- out_of_bounds: first
}

__constant__ int bounds_table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

extern "C" __global__ void bounds_constant(const int *in, int *out)
{
    out[threadIdx.x] = bounds_table[in[threadIdx.x]]; // <- out_of_bounds: first
}

// Wide accesses through a pointer that is a multiple of 4 bytes only.
extern "C" __global__ void misaligned_load(const int *in, int *out, int offset)
{
    int4 four = *(const int4 *)(in + offset + 4 * threadIdx.x); // <- misaligned: first
    out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

extern "C" __global__ void misaligned_store(const int *in, int *out, int offset)
{
    int2 pair = make_int2(in[threadIdx.x], 1);
    *(int2 *)(out + offset + 2 * threadIdx.x) = pair; // <- misaligned: first
}

// An int at an odd byte of shared memory.
extern "C" __global__ void misaligned_shared(const int *in, int *out, int offset)
{
    __shared__ __align__(8) unsigned char bytes[512];
    int t = threadIdx.x;
    ((int *)bytes)[2 * t] = in[t];
    ((int *)bytes)[2 * t + 1] = 0;
    __syncthreads();
    out[t] = *(const int *)(bytes + 8 * t + offset); // <- misaligned: first
}

extern "C" __global__ void misaligned_atomic(const int *in, unsigned char *out, int offset)
{
    atomicAdd((int *)(out + offset), in[threadIdx.x]); // <- misaligned: first
}
