// Six neighbours in a volume, with blocks of 8 x 4 x 4 straight from global memory.
// Counts: a warp covers four rows of eight, so a request touches several short pieces.

extern "C" __global__ void stencil_cube(const int *in, int *out, int depth, int rows, int columns)
{
    const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
    if (x >= columns || y >= rows || z >= depth) {
        return;
    }
    const int at = (z * rows + y) * columns + x;
    int sum = -6 * in[at];
    sum += x > 0 ? in[at - 1] : 0;
    sum += x + 1 < columns ? in[at + 1] : 0;
    sum += y > 0 ? in[at - columns] : 0;
    sum += y + 1 < rows ? in[at + columns] : 0;
    sum += z > 0 ? in[at - rows * columns] : 0;
    sum += z + 1 < depth ? in[at + rows * columns] : 0;
    out[at] = sum;
}
