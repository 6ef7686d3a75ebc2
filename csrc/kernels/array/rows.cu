// array / rows
//
// What     to[...] = from[...] for arrays of one shape with a long axis, the last of the layout; any strides.
// Idea     A block takes a piece of one row, so the place of the row is found once a block: the divisions that
//          array/copy has for each element are gone. All reads of a thread are under way before its first write.
// Differs  from array/copy: blocks belong to rows; fewer elements than a block moves leave threads idle.
// Claims   global.store.sectors_per_request = 4     bits32; both rows are contiguous
//          global.load.sectors_per_request = 4      bits32; both rows are contiguous
//          global.load.sectors_per_request = 8      bits32; every other element of the source
// Source   Harris, How to Access Global Memory Efficiently in CUDA C/C++ Kernels

constexpr int array_rows_axes = 8; // as many as py/arrays/strided_copy.c passes

struct array_rows_layout {
    long long length[array_rows_axes], to[array_rows_axes], from[array_rows_axes]; // lengths; strides in elements
    int rank;
};

// `pieces` blocks share a row.
extern "C" __global__ void __launch_bounds__(256)
array_rows(T *to, const T *from, unsigned pieces, const array_rows_layout layout)
{
    constexpr int EACH = 4, THREADS = 256; // elements of a thread

    // Where is the row: its number is divided by the lengths of the other axes, the last of them first.
    unsigned row = blockIdx.x / pieces;
    const unsigned piece = blockIdx.x - row * pieces;
    long long target = 0, source = 0;
#pragma unroll
    for (int k = 1; k < array_rows_axes; ++k) {
        const int axis = layout.rank - 1 - k;
        if (axis >= 0) {
            const unsigned length = (unsigned)layout.length[axis], next = row / length, place = row - next * length;
            target += (long long)place * layout.to[axis];
            source += (long long)place * layout.from[axis];
            row = next;
        }
    }

    // Who am I: EACH elements, THREADS apart, so that a warp's lie side by side.
    const int last = layout.rank - 1;
    const long long n = layout.length[last], target_step = layout.to[last], source_step = layout.from[last];
    const long long first = (long long)piece * EACH * THREADS + threadIdx.x;

    // Read, then write.
    T value[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (first + k * THREADS < n)
            value[k] = from[source + (first + k * THREADS) * source_step];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (first + k * THREADS < n)
            to[target + (first + k * THREADS) * target_step] = value[k];
}
