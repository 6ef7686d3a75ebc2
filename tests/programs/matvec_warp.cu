// Matrix times vector, a warp a row, in float and in double.
// Exercises butterfly shuffles of 32 and 64 bits, templates, blocks of two dimensions.

template <typename T> __device__ void multiply(const T *matrix, const T *vector, T *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) {
        return; // a whole warp leaves: blockDim.x is 32
    }
    T sum = 0;
    for (int column = threadIdx.x; column < columns; column += 32) {
        sum += matrix[(long long)row * columns + column] * vector[column];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    if (threadIdx.x == 0) {
        out[row] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256)
matvec_warp_float(const float *matrix, const float *vector, float *out, int rows, int columns)
{
    multiply(matrix, vector, out, rows, columns);
}

extern "C" __global__ void __launch_bounds__(256)
matvec_warp_double(const double *matrix, const double *vector, double *out, int rows, int columns)
{
    multiply(matrix, vector, out, rows, columns);
}
