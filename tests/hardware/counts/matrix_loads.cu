// Matrices of 16-bit elements, to the lanes from rows of shared memory that are `stride` bytes apart.
// Counts: an ldmatrix is one load; each of its matrices takes a wavefront, and one more for each conflict of its rows.
// Compile with: -arch=compute_75

#define ROWS 32
#define FARTHEST 272
#define LOAD(words, ...) asm volatile("ldmatrix.sync.aligned.m8n8." words : __VA_ARGS__ : "r"(row) : "memory")

extern "C" __global__ void matrix_loads(const uint4 *in, unsigned *out, int stride)
{
    __shared__ __align__(16) unsigned char tile[ROWS * FARTHEST];
    const int lane = threadIdx.x, whole = blockIdx.x * ROWS + lane;
    unsigned v[13];
    *(uint4 *)&tile[lane * stride] = in[whole];
    __syncwarp(); // all rows are there
    const unsigned row = (unsigned)__cvta_generic_to_shared(&tile[lane * stride]);
    LOAD("x1.shared.b16 {%0}, [%1];", "=r"(v[0]));
    LOAD("x2.shared.b16 {%0, %1}, [%2];", "=r"(v[1]), "=r"(v[2]));
    LOAD("x4.shared.b16 {%0, %1, %2, %3}, [%4];", "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]));
    LOAD("x2.trans.shared.b16 {%0, %1}, [%2];", "=r"(v[7]), "=r"(v[8]));
    LOAD("x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];", "=r"(v[9]), "=r"(v[10]), "=r"(v[11]), "=r"(v[12]));
    for (int i = 0; i < 13; ++i) {
        out[13 * whole + i] = v[i];
    }
}
