// Complex numbers as double2, turned and exchanged with a partner.
// Counts: 16-byte accesses of two doubles, global and shared.

extern "C" __global__ void double2_rotate(const double2 *in, double2 *out, int count, int distance)
{
    __shared__ double2 tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = i < count ? in[i] : make_double2(0.0, 0.0);
    __syncthreads(); // filled before a partner reads
    if (i < count) {
        const double2 a = tile[threadIdx.x], b = tile[(threadIdx.x * distance) % 64];
        out[i] = make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    }
}
