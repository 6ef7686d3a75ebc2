// Factorial, Fibonacci, Ackermann, a pair that call each other, and a depth that differs by lane.
// Exercises calls of functions that are active already, under divergence.

__device__ __noinline__ unsigned long long factorial(unsigned int n)
{
    return n < 2 ? 1ull : n * factorial(n - 1);
}

__device__ __noinline__ int fibonacci(int n)
{
    if (n < 2) {
        return n;
    }
    return fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0) {
        return n + 1;
    }
    if (n == 0) {
        return ackermann(m - 1, 1);
    }
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ bool is_odd(int n);

__device__ __noinline__ bool is_even(int n)
{
    return n == 0 ? true : is_odd(n - 1);
}

__device__ __noinline__ bool is_odd(int n)
{
    return n == 0 ? false : is_even(n - 1);
}

extern "C" __global__ void recursion(unsigned long long *factorials, int *fibonaccis, int *ackermanns, int *even)
{
    int i = threadIdx.x;
    factorials[i] = factorial(i % 13);
    fibonaccis[i] = fibonacci(i % 9);
    ackermanns[i] = ackermann(i % 3, i % 4);
    even[i] = is_even(i % 11);
}
