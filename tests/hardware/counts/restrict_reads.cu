// A small matrix times many vectors, all through const __restrict__.
// Counts: loads by the read-only path are global loads; wide ones only where the type says so.

extern "C" __global__ void restrict_reads(const float *__restrict__ matrix, const float4 *__restrict__ in,
                                          float4 *__restrict__ out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const float4 v = __ldg(&in[i]);
        float4 r;
        r.x = matrix[0] * v.x + matrix[1] * v.y + matrix[2] * v.z + matrix[3] * v.w;
        r.y = matrix[4] * v.x + matrix[5] * v.y + matrix[6] * v.z + matrix[7] * v.w;
        r.z = matrix[8] * v.x + matrix[9] * v.y + matrix[10] * v.z + matrix[11] * v.w;
        r.w = matrix[12] * v.x + matrix[13] * v.y + matrix[14] * v.z + matrix[15] * v.w;
        out[i] = r;
    }
}
