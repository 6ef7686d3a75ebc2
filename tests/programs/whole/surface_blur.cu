// Two surfaces of one picture, written in turn by byte offset, and read back from their arrays.
// FAULT: the offset along x counts texels, and one more than there are.
#include "checked.h"
#include <utility>
#include <vector>

constexpr int WIDTH = 40, HEIGHT = 12, STEPS = 4;

__global__ void blur(cudaSurfaceObject_t from, cudaSurfaceObject_t to)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < WIDTH) {
        const int width = sizeof(ushort2);
        ushort2 left = surf2Dread<ushort2>(from, (x - 1) * width, y, cudaBoundaryModeClamp);
        ushort2 right = surf2Dread<ushort2>(from, (x + 1) * width, y, cudaBoundaryModeZero);
#ifdef FAULT
        const int at = (x + 1) * width;
#else
        const int at = x * width;
#endif
        surf2Dwrite(make_ushort2(left.x + right.x, left.y ^ right.y), to, at, y);
    }
}

static cudaSurfaceObject_t make_surface(cudaArray_t *array)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<ushort2>();
    cudaResourceDesc what = {};
    cudaSurfaceObject_t surface = 0;
    CHECK(cudaMallocArray(array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    what.resType = cudaResourceTypeArray;
    what.res.array.array = *array;
    CHECK(cudaCreateSurfaceObject(&surface, &what));
    return surface;
}

static std::vector<ushort2> expect(std::vector<ushort2> picture)
{
    for (int step = 0; step < STEPS; step++) {
        std::vector<ushort2> next(picture.size());
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            const ushort2 left = picture[i % WIDTH == 0 ? i : i - 1];
            const ushort2 right = i % WIDTH == WIDTH - 1 ? make_ushort2(0, 0) : picture[i + 1];
            next[i] = make_ushort2(left.x + right.x, left.y ^ right.y);
        }
        picture = next;
    }
    return picture;
}

int main()
{
    std::vector<ushort2> picture(WIDTH * HEIGHT), out(WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        picture[i] = make_ushort2(3 * i, i * i);
    }
    cudaArray_t arrays[2];
    cudaSurfaceObject_t surfaces[2] = {make_surface(&arrays[0]), make_surface(&arrays[1])};
    const size_t pitch = WIDTH * sizeof(ushort2);
    CHECK(cudaMemcpy2DToArray(arrays[0], 0, 0, picture.data(), pitch, pitch, HEIGHT, cudaMemcpyHostToDevice));
    for (int step = 0; step < STEPS; step++) {
        blur<<<dim3(2, HEIGHT), 32>>>(surfaces[step % 2], surfaces[(step + 1) % 2]);
    }
    CHECK(cudaMemcpy2DArrayToArray(arrays[1], 0, 0, arrays[0], 0, 0, pitch, HEIGHT));
    CHECK(cudaMemcpy2DFromArray(out.data(), pitch, arrays[1], 0, 0, pitch, HEIGHT, cudaMemcpyDeviceToHost));
    CHECK(cudaDestroySurfaceObject(surfaces[0]));
    CHECK(cudaDestroySurfaceObject(surfaces[1]));
    const std::vector<ushort2> right = expect(picture);
    bool same = true;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        same = same && out[i].x == right[i].x && out[i].y == right[i].y;
    }
    return verdict(same);
}
