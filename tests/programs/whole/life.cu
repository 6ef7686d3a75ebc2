// The game of life with two buffers that change places. FAULT: it is computed in one buffer.
#include "checked.h"
#include <cstring>

constexpr int side = 32;

__global__ void step(const unsigned char *now, unsigned char *next)
{
    int x = threadIdx.x, y = blockIdx.x, neighbours = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dx != 0 || dy != 0) {
                neighbours += now[(y + dy + side) % side * side + (x + dx + side) % side];
            }
        }
    }
    unsigned char alive = now[y * side + x];
    next[y * side + x] = neighbours == 3 || (alive && neighbours == 2);
}

int main()
{
    unsigned char host[side * side] = {0}, moved[side * side] = {0};
    const int glider[5][2] = {{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};
    for (auto cell : glider) {
        host[cell[1] * side + cell[0]] = 1;
        moved[(cell[1] + 5) * side + cell[0] + 5] = 1;
    }
    unsigned char *now, *next;
    CHECK(cudaMalloc(&now, sizeof host));
    CHECK(cudaMalloc(&next, sizeof host));
    CHECK(cudaMemcpy(now, host, sizeof host, cudaMemcpyHostToDevice));
    for (int i = 0; i < 20; i++) {
#ifdef FAULT
        next = now;
#endif
        step<<<side, side>>>(now, next);
        unsigned char *other = now;
        now = next;
        next = other;
    }
    CHECK(cudaMemcpy(host, now, sizeof host, cudaMemcpyDeviceToHost));
    return verdict(std::memcmp(host, moved, sizeof host) == 0);
}
