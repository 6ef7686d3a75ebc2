// Arrays too large to be made or looked at by the host: their content, and who counts what is wrong in a result.
// An element's value is made from all 64 bits of its place, so that a place cut to 32 bits brings another value.

typedef unsigned long long u64;

// 0 to 255.
static __device__ unsigned value(u64 at)
{
    at = (at + 1) * 0x9e3779b97f4a7c15;
    at = (at ^ at >> 29) * 0xbf58476d1ce4e5b9;
    return (unsigned)(at >> 56);
}

// 0 to 15: sums and products of few stay exact.
static __device__ int small(u64 at)
{
    return (int)(value(at) & 15);
}

// What the index of gather asks for: a place in x, each third counted from its end.
static __device__ long long asked(u64 at, u64 n)
{
    const long long place = (long long)(at * 6700417 % n);
    return at % 3 == 0 ? place - (long long)n : place;
}

static __device__ u64 first()
{
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ u64 step()
{
    return (u64)gridDim.x * blockDim.x;
}

// A place of 0 to 3 * size - 1 that lies a turn or two too far; a division takes long.
static __device__ u64 turned(u64 at, u64 size)
{
    return at < size ? at : at < 2 * size ? at - size : at - 2 * size;
}

// wrong: how many, and the first of them.
static __device__ void note(u64 count, u64 lowest, u64 *wrong)
{
    if (count > 0) {
        atomicAdd(&wrong[0], count);
        atomicMin(&wrong[1], lowest);
    }
}

extern "C" __global__ void fill_bytes(unsigned char *x, u64 n)
{
    for (u64 i = first(); i < n; i += step())
        x[i] = (unsigned char)value(i);
}

extern "C" __global__ void fill_floats(float *x, u64 n)
{
    for (u64 i = first(); i < n; i += step())
        x[i] = (float)small(i);
}

extern "C" __global__ void fill_ints(int *x, u64 n, u64 scale)
{
    for (u64 i = first(); i < n; i += step())
        x[i] = (int)(scale * value(i));
}

extern "C" __global__ void fill_index(long long *index, u64 m, u64 n)
{
    for (u64 i = first(); i < m; i += step())
        index[i] = asked(i, n);
}

extern "C" __global__ void poison(unsigned char *x, u64 n)
{
    for (u64 i = first(); i < n; i += step())
        x[i] = 0xff; // of floats: NaN
}

// out is x.
extern "C" __global__ void check_copy(const unsigned char *out, u64 n, u64 *wrong)
{
    u64 count = 0, lowest = ~0ull;
    for (u64 i = first(); i < n; i += step())
        if (out[i] != value(i)) {
            ++count;
            lowest = i < lowest ? i : lowest;
        }
    note(count, lowest, wrong);
}

// out (n, m) is the transpose of x (m, n).
extern "C" __global__ void check_transpose(const unsigned char *out, u64 m, u64 n, u64 *wrong)
{
    u64 count = 0, lowest = ~0ull;
    for (u64 i = first(); i < m * n; i += step())
        if (out[i] != value(i % m * n + i / m)) {
            ++count;
            lowest = i < lowest ? i : lowest;
        }
    note(count, lowest, wrong);
}

extern "C" __global__ void check_smooth(const float *out, u64 n, u64 *wrong)
{
    u64 count = 0, lowest = ~0ull;
    for (u64 i = first(); i < n; i += step()) {
        const int sum = small(i > 0 ? i - 1 : 0) + small(i) + small(i + 1 < n ? i + 1 : n - 1);
        if (!(fabsf(3 * out[i] - (float)sum) < 1e-3f)) {
            ++count;
            lowest = i < lowest ? i : lowest;
        }
    }
    note(count, lowest, wrong);
}

// Weight (i, j) of the filter (p, q) is i * q + j + 1; outside of x (h, w) are zeros or, where it wraps, x again.
extern "C" __global__ void check_conv2d(const float *out, u64 h, u64 w, u64 p, u64 q, u64 wraps, u64 *wrong)
{
    u64 count = 0, lowest = ~0ull;
    for (u64 at = first(); at < h * w; at += step()) {
        int sum = 0;
        for (u64 i = 0; i < p; ++i)
            for (u64 j = 0; j < q; ++j) {
                // by the definition of a convolution, about the middle of the filter; one turn is added
                const u64 row = at / w + h + p / 2 - i, col = at % w + w + q / 2 - j;
                const bool inside = row >= h && row < 2 * h && col >= w && col < 2 * w;
                if (inside || wraps)
                    sum += (int)(i * q + j + 1) * small(turned(row, h) * w + turned(col, w));
            }
        if (!(out[at] == (float)sum)) {
            ++count;
            lowest = at < lowest ? at : lowest;
        }
    }
    note(count, lowest, wrong);
}

extern "C" __global__ void check_sum(const int *out, u64 n, u64 scale, u64 *wrong)
{
    u64 count = 0, lowest = ~0ull;
    for (u64 i = first(); i < n; i += step())
        if (out[i] != (int)((1 + scale) * value(i))) {
            ++count;
            lowest = i < lowest ? i : lowest;
        }
    note(count, lowest, wrong);
}

extern "C" __global__ void check_gather(const unsigned char *out, u64 m, u64 n, u64 *wrong)
{
    u64 count = 0, lowest = ~0ull;
    for (u64 i = first(); i < m; i += step()) {
        const long long place = asked(i, n);
        if (out[i] != value((u64)(place < 0 ? place + (long long)n : place))) {
            ++count;
            lowest = i < lowest ? i : lowest;
        }
    }
    note(count, lowest, wrong);
}
