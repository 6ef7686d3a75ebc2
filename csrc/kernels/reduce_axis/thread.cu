// reduce_axis / thread
//
// What     out[row][col] = OP of x[row][i][col] over all i; x is (m, n, k), out is (m, k), row-major.
// Idea     One thread an element of out, which it makes alone: it walks along the axis.
//          Fast for short axes with many columns, where neighbouring threads read neighbours. Slow along rows (k is 1),
//          where the lanes of a warp read n elements apart, and for few long axes, where few threads work.
// Differs  from nothing: the ladder starts here.
// Claims   shared.load.instructions = 0
// Source   the obvious first attempt

extern "C" __global__ void __launch_bounds__(256)
reduce_axis_thread(const T *x, R *out, long long m, long long n, long long k)
{
    constexpr int THREADS = 256, ROWS = 8;

    // Who am I: one element of out, and the column of x above it.
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= m * k)
        return;
    const T *column = x + i / k * n * k + i % k;

    // Read and compute: ROWS elements at a time, whose own sum is made first, so it is nearer to the exact one; of what
    // is left half as many, and so on.
    A mine = NEUTRAL;
    long long j = 0;
#pragma unroll 1
    for (; j + ROWS <= n; j += ROWS, column += ROWS * k) {
        A turn = NEUTRAL;
        for (int r = 0; r < ROWS; ++r)
            turn = TAKE(turn, column[r * k], j + r);
        mine = OP(mine, turn);
    }
    for (int rows = ROWS / 2; rows > 0; rows /= 2)
        if (n & rows) {
            A turn = NEUTRAL;
            for (int r = 0; r < rows; ++r)
                turn = TAKE(turn, column[r * k], j + r);
            mine = OP(mine, turn);
            j += rows;
            column += rows * k;
        }

    // Write.
    out[i] = FINISH(mine, n);
}
