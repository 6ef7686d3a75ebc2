// The device function and the variable of linked_files.cu.
__device__ int offset = 5;
static __device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};

__device__ int weigh(int i)
{
#ifdef FAULT
    return table[i];
#else
    return table[i % 8];
#endif
}
