// An array of structures of 12 bytes: three loads a stride apart, and as they lie in shared memory.
// Counts: three requests that touch the same sectors; nothing is fused, 12 is no power of two.

struct particle {
    float x, y, z;
};

extern "C" __global__ void struct_particles(const particle *in, particle *out, int count)
{
    __shared__ particle tile[96];
    const int i = blockIdx.x * 96 + threadIdx.x;
    if (i < count) {
        tile[threadIdx.x] = in[i];
    }
    __syncthreads(); // filled before a neighbour reads
    if (i < count) {
        const int other = threadIdx.x > 0 ? threadIdx.x - 1 : threadIdx.x;
        const particle a = tile[threadIdx.x], b = tile[other];
        out[i] = {a.x - b.x, a.y - b.y, a.z + b.z};
    }
}
