// Calls through pointers: a table of functions in constant memory, a pointer passed on, lanes that call differently.
// Exercises indirect call with a prototype, function addresses in initialisers, divergent callees.

typedef int (*operation)(int, int);

__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int larger(int a, int b)
{
    while (a > 100) {
        a -= 7;
    }
    return a > b ? a : b;
}

__constant__ operation table[4] = {plus, minus, times, larger};
__device__ operation chosen = times;

__device__ __noinline__ int apply(operation f, int a, int b)
{
    return f(f(a, b), 2);
}

extern "C" __global__ void function_table(const int *a, const int *b, const int *which, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    int first = table[which[i]](a[i], b[i]);
    int second = apply(table[(which[i] + 1) & 3], a[i], b[i]);
    out[i] = first * 31 + second + chosen(i, 3);
}
