// Linear systems by Gaussian elimination with row exchange, one system a block, a thread a row.
// Exercises an arg-max by shuffles, dependent barriers in a loop, division, doubles in shared memory.

extern "C" __global__ void __launch_bounds__(32) solve(const double *matrices, const double *sides, double *out, int n)
{
    __shared__ double a[32][34];
    int row = threadIdx.x;
    if (row < n) {
        for (int column = 0; column < n; ++column) {
            a[row][column] = matrices[(blockIdx.x * n + row) * n + column];
        }
        a[row][n] = sides[blockIdx.x * n + row];
    }
    __syncthreads(); // the system is in shared memory
    for (int k = 0; k < n; ++k) {
        double largest = row >= k && row < n ? fabs(a[row][k]) : -1.0;
        int pivot = row;
        for (int step = 16; step > 0; step /= 2) {
            double other = __shfl_down_sync(0xffffffffu, largest, step);
            int other_row = __shfl_down_sync(0xffffffffu, pivot, step);
            if (other > largest) {
                largest = other;
                pivot = other_row;
            }
        }
        pivot = __shfl_sync(0xffffffffu, pivot, 0);
        __syncwarp(); // the column is read; shuffles order no memory
        for (int column = row; column <= n; column += 32) {
            double t = a[k][column];
            a[k][column] = a[pivot][column];
            a[pivot][column] = t;
        }
        __syncthreads(); // rows are exchanged
        if (row < n && row != k) {
            double factor = a[row][k] / a[k][k];
            for (int column = k; column <= n; ++column) {
                a[row][column] -= factor * a[k][column];
            }
        }
        __syncthreads(); // this column is eliminated
    }
    if (row < n) {
        out[blockIdx.x * n + row] = a[row][n] / a[row][row];
    }
}
