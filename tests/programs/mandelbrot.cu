// Iterations until a point escapes: neighbouring lanes leave the loop at very different times.
// Exercises long divergent loops in double precision.

extern "C" __global__ void mandelbrot(int *out, int width, int height, int limit, double left, double top, double step)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) {
        return;
    }
    double cr = __dadd_rn(left, __dmul_rn(column, step)), ci = __dadd_rn(top, __dmul_rn(row, step));
    double r = 0.0, i = 0.0;
    int count = 0;
    while (count < limit) {
        double rr = __dmul_rn(r, r), ii = __dmul_rn(i, i);
        if (__dadd_rn(rr, ii) > 4.0) {
            break;
        }
        i = __dadd_rn(__dmul_rn(2.0, __dmul_rn(r, i)), ci);
        r = __dadd_rn(__dadd_rn(rr, -ii), cr);
        ++count;
    }
    out[row * width + column] = count;
}
