// Tables in constant memory: scalars, a matrix, structs, strings, and a table of pointers to tables.
// Exercises .const with initialisers, addresses inside initialisers, constant reads by run-time index.

struct entry {
    char name[6];
    short weight;
    float factor;
};

__constant__ int primes[10] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
__constant__ int squares[4] = {0, 1, 4, 9};
__constant__ int cubes[4] = {0, 1, 8, 27};
__constant__ const int *const rows[3] = {primes + 2, squares, cubes + 1};
__constant__ double matrix[2][3] = {{1.5, -2.25, 1e-3}, {0.0, 1e100, -0.0}};
__constant__ entry entries[3] = {{"one", -1, 0.5f}, {"three", 300, -1.25f}, {"", 0, 3.0f}};
__constant__ unsigned long long big = 0xfedcba9876543210ull;

extern "C" __global__ void constant_table(int *ints, double *doubles, unsigned long long *words, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const entry *e = &entries[i % 3];
    ints[i] = rows[i % 3][i % 3] * 1000 + primes[i % 10] + e->name[i % 6] + e->weight;
    doubles[i] = matrix[i % 2][i % 3] + e->factor;
    words[i] = big >> (i % 64);
}
