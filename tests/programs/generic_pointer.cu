// One pointer that may lead to global, shared, local or constant memory, chosen by lane.
// Exercises generic loads, stores and atomics, cvta both ways, isspacep, cast of pointers to integers.

__constant__ int constants[4] = {1000, 2000, 3000, 4000};

__device__ __noinline__ int read(const int *where, int index)
{
    return where[index];
}

__device__ __noinline__ void write(int *where, int value)
{
    *where = value;
}

extern "C" __global__ void generic_pointer(const int *in, int *out, int *kinds)
{
    __shared__ int shared[128];
    int local[4];
    int i = threadIdx.x;
    shared[i] = in[i] + 1;
    for (int j = 0; j < 4; ++j) {
        local[j] = in[i] * (j + 2);
    }
    __syncthreads(); // filled before others read it
    const int *source = i % 4 == 0 ? &shared[(i + 4) % 64] : i % 4 == 1 ? local : i % 4 == 2 ? constants : in;
    int value = read(source, i % 3);
    __syncthreads(); // all have read before any writes
    int *sink = i % 2 ? &shared[64 + i % 64] : &out[i];
    write(sink, value);
    if (i % 2) {
        atomicAdd(sink, 5);
        out[i] = *sink;
    } else {
        atomicAdd(sink, 7);
    }
    kinds[i] = __isShared(source) | __isGlobal(source) << 1 | __isLocal(source) << 2 | __isConstant(source) << 3;
}
