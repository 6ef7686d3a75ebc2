// complex<T> for kernels: arithmetic, comparisons, and the functions of <complex> that kernels use.
#pragma once

// Operations that the compiler must not fuse: quotients and lengths have the bits that NumPy gives.
namespace smk
{
__device__ inline float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double multiply(double a, double b) { return __dmul_rn(a, b); }
__device__ inline float add(float a, float b) { return __fadd_rn(a, b); }
__device__ inline double add(double a, double b) { return __dadd_rn(a, b); }

__device__ inline float length(float x, float y) { return (float)sqrt((double)x * x + (double)y * y); }

// The square root of the sum of squares, corrected by what squares and root have lost.
__device__ inline double length(double x, double y)
{
    const double h = hypot(x, y);
    if (!(h > 1e-140 && h < 1e140)) {
        return h;
    }
    const double large = fmax(fabs(x), fabs(y)), small = fmin(fabs(x), fabs(y));
    const double xx = multiply(large, large), yy = multiply(small, small), hh = multiply(h, h);
    const double lost = fma(large, large, -xx) + fma(small, small, -yy) - fma(h, h, -hh);
    return h + (((xx - hh) + yy) + lost) / (2 * h);
}
} // namespace smk

template <typename T> class alignas(2 * sizeof(T)) complex {
  public:
    typedef T value_type;

    __host__ __device__ complex(T real = T(), T imag = T()) : real_(real), imag_(imag) {}
    template <typename U>
    __host__ __device__ complex(const complex<U> &z) : real_((T)z.real()), imag_((T)z.imag()) {}

    __host__ __device__ T real() const { return real_; }
    __host__ __device__ T imag() const { return imag_; }
    __host__ __device__ void real(T value) { real_ = value; }
    __host__ __device__ void imag(T value) { imag_ = value; }

    template <typename U> __host__ __device__ complex &operator+=(const U &z) { return *this = *this + complex(z); }
    template <typename U> __host__ __device__ complex &operator-=(const U &z) { return *this = *this - complex(z); }
    template <typename U> __host__ __device__ complex &operator*=(const U &z) { return *this = *this * complex(z); }
    template <typename U> __device__ complex &operator/=(const U &z) { return *this = *this / complex(z); }

    friend __host__ __device__ complex operator+(const complex &a, const complex &b)
    {
        return complex(a.real_ + b.real_, a.imag_ + b.imag_);
    }
    friend __host__ __device__ complex operator-(const complex &a, const complex &b)
    {
        return complex(a.real_ - b.real_, a.imag_ - b.imag_);
    }
    friend __host__ __device__ complex operator*(const complex &a, const complex &b)
    {
        return complex(a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_);
    }
    // The quotient by the larger part of b, as NumPy divides (R. L. Smith, Algorithm 116).
    friend __device__ complex operator/(const complex &a, const complex &b)
    {
        using smk::add;
        using smk::multiply;
        const T re = b.real_ < 0 ? -b.real_ : b.real_, im = b.imag_ < 0 ? -b.imag_ : b.imag_;
        if (re >= im) {
            if (re == 0 && im == 0) {
                return complex(a.real_ / re, a.imag_ / re);
            }
            const T ratio = b.imag_ / b.real_, scale = T(1) / add(b.real_, multiply(b.imag_, ratio));
            return complex(multiply(add(a.real_, multiply(a.imag_, ratio)), scale),
                           multiply(add(a.imag_, -multiply(a.real_, ratio)), scale));
        }
        const T ratio = b.real_ / b.imag_, scale = T(1) / add(b.imag_, multiply(b.real_, ratio));
        return complex(multiply(add(multiply(a.real_, ratio), a.imag_), scale),
                       multiply(add(multiply(a.imag_, ratio), -a.real_), scale));
    }
    friend __host__ __device__ complex operator+(const complex &a) { return a; }
    friend __host__ __device__ complex operator-(const complex &a) { return complex(-a.real_, -a.imag_); }
    friend __host__ __device__ bool operator==(const complex &a, const complex &b)
    {
        return a.real_ == b.real_ && a.imag_ == b.imag_;
    }
    friend __host__ __device__ bool operator!=(const complex &a, const complex &b) { return !(a == b); }
    friend __host__ __device__ bool operator<(const complex &a, const complex &b)
    {
        return a.real_ < b.real_ || (a.real_ == b.real_ && a.imag_ < b.imag_);
    }
    friend __host__ __device__ bool operator>(const complex &a, const complex &b) { return b < a; }
    friend __host__ __device__ bool operator<=(const complex &a, const complex &b) { return !(b < a); }
    friend __host__ __device__ bool operator>=(const complex &a, const complex &b) { return !(a < b); }

  private:
    T real_, imag_;
};

template <typename T> __host__ __device__ T real(const complex<T> &z) { return z.real(); }
template <typename T> __host__ __device__ T imag(const complex<T> &z) { return z.imag(); }
template <typename T> __host__ __device__ complex<T> conj(const complex<T> &z) { return complex<T>(z.real(), -z.imag()); }
template <typename T> __host__ __device__ T norm(const complex<T> &z)
{
    return z.real() * z.real() + z.imag() * z.imag();
}
__device__ inline float abs(const complex<float> &z) { return smk::length(z.real(), z.imag()); }
__device__ inline double abs(const complex<double> &z) { return smk::length(z.real(), z.imag()); }
__device__ inline float arg(const complex<float> &z) { return atan2f(z.imag(), z.real()); }
__device__ inline double arg(const complex<double> &z) { return atan2(z.imag(), z.real()); }
template <typename T> __device__ complex<T> polar(T radius, T angle = T())
{
    return complex<T>(radius * cos(angle), radius * sin(angle));
}
template <typename T> __device__ complex<T> exp(const complex<T> &z) { return polar(T(exp(z.real())), z.imag()); }
template <typename T> __device__ complex<T> log(const complex<T> &z)
{
    return complex<T>(T(log(abs(z))), arg(z));
}
template <typename T> __device__ complex<T> sqrt(const complex<T> &z)
{
    return polar(T(sqrt(abs(z))), T(arg(z) / T(2)));
}
template <typename T> __device__ complex<T> pow(const complex<T> &z, const complex<T> &power)
{
    return z == complex<T>() ? complex<T>() : exp(power * log(z));
}
template <typename T> __device__ complex<T> sin(const complex<T> &z)
{
    return complex<T>(T(sin(z.real()) * cosh(z.imag())), T(cos(z.real()) * sinh(z.imag())));
}
template <typename T> __device__ complex<T> cos(const complex<T> &z)
{
    return complex<T>(T(cos(z.real()) * cosh(z.imag())), T(-sin(z.real()) * sinh(z.imag())));
}
template <typename T> __device__ bool isnan(const complex<T> &z) { return isnan(z.real()) || isnan(z.imag()); }
template <typename T> __device__ bool isinf(const complex<T> &z) { return isinf(z.real()) || isinf(z.imag()); }
template <typename T> __device__ bool isfinite(const complex<T> &z)
{
    return isfinite(z.real()) && isfinite(z.imag());
}

// The names by which kernels of CuPy's users know these.
namespace thrust
{
using ::abs;
using ::arg;
using ::complex;
using ::conj;
using ::cos;
using ::exp;
using ::log;
using ::norm;
using ::polar;
using ::pow;
using ::sin;
using ::sqrt;
} // namespace thrust
