// float16: a number of 16 bits that computes as a float and rounds what is stored, as NumPy does.
#pragma once
#include <cuda_fp16.h>

class float16 {
  public:
    __device__ float16() {}
    __device__ float16(float value) : bits_(__half_as_ushort(__float2half_rn(value))) {}
    __device__ float16(const __half &value) : bits_(__half_as_ushort(value)) {}
    __device__ operator float() const { return __half2float(__ushort_as_half(bits_)); }

    template <typename T> __device__ float16 &operator+=(const T &x) { return *this = float16(float(*this) + float(x)); }
    template <typename T> __device__ float16 &operator-=(const T &x) { return *this = float16(float(*this) - float(x)); }
    template <typename T> __device__ float16 &operator*=(const T &x) { return *this = float16(float(*this) * float(x)); }
    template <typename T> __device__ float16 &operator/=(const T &x) { return *this = float16(float(*this) / float(x)); }

  private:
    unsigned short bits_;
};
