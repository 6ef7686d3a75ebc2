// Exchange, and compare and swap, of 128 bits in global and in shared memory.
// Counts: one request or instruction each, but for loops that ptxas makes of those in shared memory.
// Compile with: -arch=compute_90

#define SWAP(space, at) \
    asm volatile("{\n.reg .b128 was, is, to;\nmov.b128 is, {%3, %3};\nmov.b128 to, {%4, %5};\n" \
                 "atom." space ".cas.b128 was, [%2], is, to;\nmov.b128 {%0, %1}, was;\n}" \
                 : "=l"(a), "=l"(b) : at, "l"(zero), "l"(x), "l"(y) : "memory")
#define CHANGE(space, at) \
    asm volatile("{\n.reg .b128 was, to;\nmov.b128 to, {%3, %4};\n" \
                 "atom." space ".exch.b128 was, [%2], to;\nmov.b128 {%0, %1}, was;\n}" \
                 : "=l"(a), "=l"(b) : at, "l"(x), "l"(y) : "memory")

extern "C" __global__ void atomic_wide_words(ulonglong2 *cells, ulonglong2 *out, int stride, int count)
{
    __shared__ __align__(16) ulonglong2 tile[32 * 5];
    const int lane = threadIdx.x, i = blockIdx.x * blockDim.x + lane;
    const unsigned long long zero = 0, x = 7 * i + 1, y = 11 * i + 3;
    unsigned long long a, b;
    ulonglong2 *cell = cells + i * stride;
    tile[lane * stride] = make_ulonglong2(lane % 2, lane % 2); // every other swap succeeds
    __syncwarp(); // all cells are there
    const unsigned own = (unsigned)__cvta_generic_to_shared(&tile[lane * stride]);
    if (i >= count) {
        return;
    }
    SWAP("global", "l"(cell));
    out[5 * i] = make_ulonglong2(a, b);
    CHANGE("global", "l"(cell));
    out[5 * i + 1] = make_ulonglong2(a, b);
    SWAP("shared", "r"(own));
    out[5 * i + 2] = make_ulonglong2(a, b);
    CHANGE("shared", "r"(own));
    out[5 * i + 3] = make_ulonglong2(a, b);
    out[5 * i + 4] = tile[lane * stride];
}
