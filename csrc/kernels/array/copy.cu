// array / copy
//
// What     to[...] = from[...], two arrays of one shape with any strides, 0 and negative ones too; n elements.
// Idea     A thread finds the place of its element along each axis by dividing its number by the lengths, the last
//          axis first, and the strides then give both addresses. Divisions of 64 bits take several times as long as
//          those of 32, so these serve wherever the number of elements allows.
// Differs  the first of its kind.
// Claims   global.store.sectors_per_request = 4     bits32; the target is contiguous
//          global.load.sectors_per_request = 4      bits32; the source is contiguous
//          global.load.sectors_per_request = 1      bits32; the strides of the source are 0
// Source   Harris, How to Access Global Memory Efficiently in CUDA C/C++ Kernels

constexpr int array_copy_axes = 8; // as many as py/arrays/strided_copy.c passes

struct array_copy_layout {
    long long length[array_copy_axes], to[array_copy_axes], from[array_copy_axes]; // lengths; strides in elements
    int rank;
};

// The distances of element i from the first one, in both arrays.
template <typename Number>
static __device__ void array_copy_find(const array_copy_layout &layout, Number i, long long &to, long long &from)
{
    to = from = 0;
#pragma unroll
    for (int k = 0; k < array_copy_axes; ++k) {
        const int axis = array_copy_axes - 1 - k;
        if (axis < layout.rank) {
            const Number length = (Number)layout.length[axis], next = i / length, place = i - next * length;
            to += (long long)place * layout.to[axis];
            from += (long long)place * layout.from[axis];
            i = next;
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
array_copy(T *to, const T *from, long long n, const array_copy_layout layout)
{
    constexpr int EACH = 4, THREADS = 256; // elements of a thread, so that many reads are under way

    // Who am I: EACH elements, THREADS apart, so that a warp's lie side by side.
    const long long first = (long long)blockIdx.x * EACH * THREADS + threadIdx.x;

    // Read and write.
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const long long i = first + k * THREADS;
        long long target, source;
        if (i >= n)
            break;
        if (n <= 0x7fffffff)
            array_copy_find(layout, (unsigned)i, target, source);
        else
            array_copy_find(layout, (unsigned long long)i, target, source);
        to[target] = from[source];
    }
}
