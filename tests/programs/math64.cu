// Double-precision functions of the CUDA library, with arguments that need its slow paths.
// Exercises argument reduction through local memory, fma chains, rcp.approx.ftz.f64, div.rn, sqrt.rn, calls.

extern "C" __global__ void math64(const double *in, double *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    double x = in[i];
    double positive = fabs(x) + 1e-300;
    double *mine = out + 16 * i;
    mine[0] = sin(x);
    mine[1] = cos(x);
    mine[2] = tan(x);
    mine[3] = exp(fmod(x, 600.0));
    mine[4] = log(positive);
    mine[5] = pow(positive, 0.37);
    mine[6] = sqrt(positive);
    mine[7] = cbrt(x);
    mine[8] = atan2(x, 3.0);
    mine[9] = tanh(x * 1e-3);
    mine[10] = erf(fmod(x, 3.0));
    mine[11] = log1p(positive);
    mine[12] = floor(x) + rint(x * 0.5) + trunc(x * 0.25);
    mine[13] = hypot(x, 2.0);
    mine[14] = 1.0 / x;
    mine[15] = fmod(x, 2.718281828);
}
