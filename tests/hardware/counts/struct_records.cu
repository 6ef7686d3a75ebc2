// An array of structures of mixed types with a declared alignment of 16.
// Counts: the compiler may read neighbouring members at once where the structure's alignment allows.

struct __align__(16) record
{
    int key;
    float weight;
    short kind, level;
    float rest;
    double value;
    double limit;
};

extern "C" __global__ void struct_records(const record *in, double *out, int *keys, int count)
{
    __shared__ record tile[32];
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < count) {
        tile[threadIdx.x] = in[i];
    }
    __syncthreads(); // filled before others read
    if (i < count) {
        const record &mine = tile[threadIdx.x ^ 1];
        const bool there = (i ^ 1) < count;
        out[i] = there ? mine.value * mine.weight + mine.limit + mine.rest : 0.0;
        keys[i] = there ? mine.key + mine.kind * mine.level : -1;
    }
}
