// An assertion that fails for one element.
// Exercises the call of __assertfail, and that nothing runs after it.

#include <cassert>

extern "C" __global__ void assertion(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(in[i] >= 0);
    out[i] = in[i] * 2;
}
