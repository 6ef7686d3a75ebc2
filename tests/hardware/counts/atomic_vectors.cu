// Vectors of floats and halves, added to global memory in one instruction each.
// Counts: one request each; sectors by the bytes that lanes touch.
// Compile with: -arch=compute_90

#define ADD(words, ...) asm volatile("red.global.add." words : : "l"(to), __VA_ARGS__ : "memory")

extern "C" __global__ void atomic_vectors(uint4 *cells, float *old, int spread, int stride, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 *to = cells + i / spread * stride;
    const float x = (float)(i % 4);
    const unsigned short half = 0x3c00, brain = 0x3f80; // 1
    const unsigned pair = 0x3c003c00, brains = 0x3f803f80;
    if (i >= count) {
        return;
    }
    ADD("v4.f32 [%0], {%1, %1, %1, %1};", "f"(x));
    to += gridDim.x * blockDim.x * stride;
    ADD("v2.f32 [%0], {%1, %1};", "f"(x));
    to += gridDim.x * blockDim.x * stride;
    ADD("noftz.v8.f16 [%0], {%1, %1, %1, %1, %1, %1, %1, %1};", "h"(half));
    to += gridDim.x * blockDim.x * stride;
    ADD("noftz.v2.f16 [%0], {%1, %1};", "h"(half));
    to += gridDim.x * blockDim.x * stride;
    ADD("noftz.v4.bf16 [%0], {%1, %1, %1, %1};", "h"(brain));
    to += gridDim.x * blockDim.x * stride;
    ADD("noftz.v4.f16x2 [%0], {%1, %1, %1, %1};", "r"(pair));
    to += gridDim.x * blockDim.x * stride;
    ADD("noftz.v2.bf16x2 [%0], {%1, %1};", "r"(brains));
    to = cells + (7 * gridDim.x * blockDim.x + i) * stride;
    float a, b, c, d;
    asm volatile("atom.global.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %5, %5, %5};"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(to), "f"(x) : "memory");
    old[i] = a + b + c + d;
    to += gridDim.x * blockDim.x * stride;
    asm volatile("atom.global.add.v2.f32 {%0, %1}, [%2], {%3, %3};" : "=f"(a), "=f"(b) : "l"(to), "f"(x) : "memory");
    old[gridDim.x * blockDim.x + i] = a + b;
}
