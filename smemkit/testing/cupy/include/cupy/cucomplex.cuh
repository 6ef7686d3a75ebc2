// The names of cuComplex.h for complex<T>, which RawModule(translate_cucomplex=True) includes in its place: operators
// work then, and functions take numbers of either precision.
#pragma once
#include <cupy/complex.cuh>

typedef complex<float> cuFloatComplex;
typedef complex<float> cuComplex;
typedef complex<double> cuDoubleComplex;

__device__ inline cuFloatComplex make_cuFloatComplex(float real, float imag) { return cuFloatComplex(real, imag); }
__device__ inline cuFloatComplex make_cuComplex(float real, float imag) { return cuFloatComplex(real, imag); }
__device__ inline cuDoubleComplex make_cuDoubleComplex(double real, double imag) { return cuDoubleComplex(real, imag); }
__device__ inline cuDoubleComplex cuComplexFloatToDouble(const cuFloatComplex &z) { return cuDoubleComplex(z); }
__device__ inline cuFloatComplex cuComplexDoubleToFloat(const cuDoubleComplex &z) { return cuFloatComplex(z); }

#define SMK_CUCOMPLEX(suffix)                                                                                          \
    template <typename T> __device__ T cuCreal##suffix(const complex<T> &z) { return z.real(); }                       \
    template <typename T> __device__ T cuCimag##suffix(const complex<T> &z) { return z.imag(); }                       \
    template <typename T> __device__ T cuCabs##suffix(const complex<T> &z) { return abs(z); }                          \
    template <typename T> __device__ complex<T> cuConj##suffix(const complex<T> &z) { return conj(z); }                \
    template <typename T> __device__ complex<T> cuCadd##suffix(const complex<T> &a, const complex<T> &b)               \
    {                                                                                                                  \
        return a + b;                                                                                                  \
    }                                                                                                                  \
    template <typename T> __device__ complex<T> cuCsub##suffix(const complex<T> &a, const complex<T> &b)               \
    {                                                                                                                  \
        return a - b;                                                                                                  \
    }                                                                                                                  \
    template <typename T> __device__ complex<T> cuCmul##suffix(const complex<T> &a, const complex<T> &b)               \
    {                                                                                                                  \
        return a * b;                                                                                                  \
    }                                                                                                                  \
    template <typename T> __device__ complex<T> cuCdiv##suffix(const complex<T> &a, const complex<T> &b)               \
    {                                                                                                                  \
        return a / b;                                                                                                  \
    }                                                                                                                  \
    template <typename T>                                                                                              \
    __device__ complex<T> cuCfma##suffix(const complex<T> &a, const complex<T> &b, const complex<T> &c)                \
    {                                                                                                                  \
        return a * b + c;                                                                                              \
    }
SMK_CUCOMPLEX()
SMK_CUCOMPLEX(f)
#undef SMK_CUCOMPLEX
