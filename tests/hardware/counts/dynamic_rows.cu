// A table in dynamic shared memory whose pitch is a parameter, read in unrolled fours.
// Counts: with a pitch unknown to the compiler nothing can be proved aligned, even where it is.

extern "C" __global__ void __launch_bounds__(32) dynamic_rows(const float *in, float *out, int rows, int pitch)
{
    extern __shared__ float table[];
    const int lane = threadIdx.x, first = blockIdx.x * 32;
    for (int row = 0; row < 32 && first + row < rows; ++row) {
        table[row * pitch + lane] = in[(first + row) * 32 + lane];
    }
    __syncwarp(); // the table is complete
    if (first + lane < rows) {
        float sum = 0.0f;
        for (int i = 0; i < 32; ++i) {
            sum = sum * 0.5f + table[lane * pitch + i];
        }
        out[first + lane] = sum;
    }
}
