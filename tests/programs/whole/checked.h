// What the programs of this folder share: calls that must succeed, and the verdict.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t code = (call);                                                                 \
        if (code != cudaSuccess) {                                                                 \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorName(code));                \
            std::exit(3);                                                                          \
        }                                                                                          \
    } while (0)

inline int verdict(bool right)
{
    std::printf(right ? "right\n" : "WRONG\n");
    return right ? 0 : 4;
}
