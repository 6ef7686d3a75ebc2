// Matrices of 16-bit elements, from the lanes to rows of shared memory that are `stride` bytes apart.
// Counts: a stmatrix is one store; each of its matrices takes a wavefront, and one more for each conflict of its rows.
// Compile with: -arch=compute_90

#define ROWS 32
#define FARTHEST 272
#define STORE(words, ...) asm volatile("stmatrix.sync.aligned.m8n8." words : : "r"(row), __VA_ARGS__ : "memory")

extern "C" __global__ void matrix_stores(const unsigned *in, uint4 *out, int stride)
{
    __shared__ __align__(16) unsigned char tile[5][ROWS * FARTHEST];
    const int lane = threadIdx.x, whole = blockIdx.x * ROWS + lane;
    const unsigned a = in[4 * whole], b = in[4 * whole + 1], c = in[4 * whole + 2], d = in[4 * whole + 3];
    unsigned row = (unsigned)__cvta_generic_to_shared(&tile[0][lane * stride]);
    STORE("x1.shared.b16 [%0], {%1};", "r"(a));
    row += ROWS * FARTHEST;
    STORE("x2.shared.b16 [%0], {%1, %2};", "r"(a), "r"(b));
    row += ROWS * FARTHEST;
    STORE("x4.shared.b16 [%0], {%1, %2, %3, %4};", "r"(a), "r"(b), "r"(c), "r"(d));
    row += ROWS * FARTHEST;
    STORE("x2.trans.shared.b16 [%0], {%1, %2};", "r"(a), "r"(b));
    row += ROWS * FARTHEST;
    STORE("x4.trans.shared.b16 [%0], {%1, %2, %3, %4};", "r"(a), "r"(b), "r"(c), "r"(d));
    __syncwarp(); // other lanes have written the row
    const int rows[5] = {8, 16, 32, 16, 32};
#pragma unroll
    for (int i = 0; i < 5; ++i) {
        if (lane < rows[i]) {
            out[5 * whole + i] = *(const uint4 *)&tile[i][lane * stride];
        }
    }
}
