// An image through texture objects: an array that is filtered, rows of pitched memory, plain memory, layers.
// FAULT: the enlarged image is written one row too far down.
#include "checked.h"
#include <vector>

constexpr int WIDTH = 24, HEIGHT = 10, LAYERS = 3;

__global__ void enlarge(cudaTextureObject_t image, float *out)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
#ifdef FAULT
    out += 2 * WIDTH;
#endif
    if (x < 2 * WIDTH) {
        out[y * 2 * WIDTH + x] = tex2D<float>(image, (x + 0.5f) / (2 * WIDTH), (y + 0.5f) / (2 * HEIGHT));
    }
}

__global__ void gather(cudaTextureObject_t rows, cudaTextureObject_t line, cudaTextureObject_t layers, float4 *out)
{
    const int x = threadIdx.x, y = blockIdx.x;
    const float beyond = tex2D<float>(rows, x + 1.5f, y + 0.5f); /* clamped at the last column */
    const uchar2 pair = tex1Dfetch<uchar2>(line, y * WIDTH + x);
    out[y * WIDTH + x] = make_float4(beyond, pair.x, pair.y, tex2DLayered<int>(layers, x, y, y % LAYERS));
}

static cudaTextureDesc sample(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized)
{
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = mode;
    how.filterMode = filter;
    how.normalizedCoords = normalized;
    return how;
}

static cudaTextureObject_t bind(const cudaResourceDesc &what, const cudaTextureDesc &how)
{
    cudaTextureObject_t object = 0;
    CHECK(cudaCreateTextureObject(&object, &what, &how, nullptr));
    return object;
}

static float clamped(const std::vector<float> &image, int x, int y)
{
    x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
    y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
    return image[y * WIDTH + x];
}

/* Twice the size: a quarter and three quarters of the two texels beside each point. */
static bool check_enlarged(const std::vector<float> &image, const std::vector<float> &out)
{
    bool right = true;
    for (int y = 0; y < 2 * HEIGHT; y++) {
        for (int x = 0; x < 2 * WIDTH; x++) {
            const int near_x = x / 2, near_y = y / 2, far_x = near_x + (x % 2 ? 1 : -1);
            const int far_y = near_y + (y % 2 ? 1 : -1);
            const float upper = 0.75f * clamped(image, near_x, near_y) + 0.25f * clamped(image, far_x, near_y);
            const float lower = 0.75f * clamped(image, near_x, far_y) + 0.25f * clamped(image, far_x, far_y);
            right = right && out[y * 2 * WIDTH + x] == 0.75f * upper + 0.25f * lower;
        }
    }
    return right;
}

static bool enlarge_image(const std::vector<float> &image)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), WIDTH * sizeof(float), WIDTH * sizeof(float), HEIGHT,
                              cudaMemcpyHostToDevice));
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    cudaTextureObject_t texture = bind(what, sample(cudaAddressModeClamp, cudaFilterModeLinear, true));
    std::vector<float> out(4 * WIDTH * HEIGHT);
    float *device;
    CHECK(cudaMalloc(&device, out.size() * sizeof(float)));
    enlarge<<<dim3(2, 2 * HEIGHT), WIDTH>>>(texture, device);
    CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    cudaResourceDesc asked;
    CHECK(cudaGetTextureObjectResourceDesc(&asked, texture));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    return asked.res.array.array == array && check_enlarged(image, out);
}

static cudaArray_t make_layers()
{
    std::vector<int> numbers(WIDTH * HEIGHT * LAYERS);
    for (size_t i = 0; i < numbers.size(); i++) {
        numbers[i] = static_cast<int>(7 * i);
    }
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), told;
    cudaExtent extent = make_cudaExtent(WIDTH, HEIGHT, LAYERS), asked;
    unsigned flags = 0;
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(numbers.data(), WIDTH * sizeof(int), WIDTH, HEIGHT);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    CHECK(cudaArrayGetInfo(&told, &asked, &flags, array));
    if (told.x != 32 || asked.depth != LAYERS || flags != cudaArrayLayered) {
        std::exit(verdict(false));
    }
    return array;
}

static bool read_all(const std::vector<float> &image)
{
    size_t pitch = 0;
    void *rows;
    uchar2 *pairs;
    float4 *device;
    std::vector<uchar2> bytes(WIDTH * HEIGHT);
    std::vector<float4> out(WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        bytes[i] = make_uchar2(i, 255 - i);
    }
    CHECK(cudaMallocPitch(&rows, &pitch, WIDTH * sizeof(float), HEIGHT));
    CHECK(cudaMemcpy2D(rows, pitch, image.data(), WIDTH * sizeof(float), WIDTH * sizeof(float), HEIGHT,
                       cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&pairs, bytes.size() * sizeof(uchar2)));
    CHECK(cudaMemcpy(pairs, bytes.data(), bytes.size() * sizeof(uchar2), cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&device, out.size() * sizeof(float4)));
    const cudaTextureDesc how = sample(cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypePitch2D;
    what.res.pitch2D = {rows, cudaCreateChannelDesc<float>(), WIDTH, HEIGHT, pitch};
    const cudaTextureObject_t first = bind(what, how);
    what.resType = cudaResourceTypeLinear;
    what.res.linear = {pairs, cudaCreateChannelDesc<uchar2>(), bytes.size() * sizeof(uchar2)};
    const cudaTextureObject_t second = bind(what, how);
    what.resType = cudaResourceTypeArray;
    what.res.array.array = make_layers();
    const cudaTextureObject_t third = bind(what, how);
    gather<<<HEIGHT, WIDTH>>>(first, second, third, device);
    CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(float4), cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        const int x = i % WIDTH, y = i / WIDTH;
        right = right && out[i].x == clamped(image, x + 1, y) && out[i].y == bytes[i].x && out[i].z == bytes[i].y &&
                out[i].w == 7 * (y % LAYERS * WIDTH * HEIGHT + i);
    }
    return right;
}

int main()
{
    std::vector<float> image(WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        image[i] = static_cast<float>((i * 37) % 64);
    }
    return verdict(enlarge_image(image) && read_all(image));
}
