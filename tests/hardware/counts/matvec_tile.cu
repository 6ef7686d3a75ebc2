// Matrix times vector, a thread a row, the vector staged in shared memory.
// Counts: each row is read with a stride, the vector by broadcast.

extern "C" __global__ void __launch_bounds__(64)
    matvec_tile(const double *matrix, const double *vector, double *out, int rows, int columns)
{
    __shared__ double part[64];
    const int row = blockIdx.x * 64 + threadIdx.x;
    double sum = 0.0;
    for (int first = 0; first < columns; first += 64) {
        part[threadIdx.x] = first + threadIdx.x < columns ? vector[first + threadIdx.x] : 0.0;
        __syncthreads(); // this part of the vector is complete
        if (row < rows) {
            for (int i = 0; i < min(64, columns - first); ++i) {
                sum += matrix[row * columns + first + i] * part[i];
            }
        }
        __syncthreads(); // read before it is filled again
    }
    if (row < rows) {
        out[row] = sum;
    }
}
