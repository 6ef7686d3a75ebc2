"""The headers that NVRTC lacks, as texts that it is given in memory.

The headers of C are our own: types, macros, and the functions that device code has. The other
headers of C++ include those of libcu++ (nvidia-cuda-cccl) and make their names known in std.
No header of the host is read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

PRELUDE = "smemkit/prelude.h"  # included before the source

# What nvcc knows without any #include, by the headers of the host's math.h and limits.h, and NVRTC
# does not: a kernel that one of them takes is taken by the other.
HOST_MACROS = {
    "INFINITY": "__builtin_bit_cast(float,0x7f800000)",
    "NAN": "__builtin_bit_cast(float,0x7fc00000)",
    "HUGE_VALF": "__builtin_bit_cast(float,0x7f800000)",
    "HUGE_VAL": "__builtin_bit_cast(double,0x7ff0000000000000)",
    "M_E": "2.71828182845904523536",
    "M_LOG2E": "1.44269504088896340736",
    "M_LOG10E": "0.434294481903251827651",
    "M_LN2": "0.693147180559945309417",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.785398163397448309616",
    "M_1_PI": "0.318309886183790671538",
    "M_2_PI": "0.636619772367581343076",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.707106781186547524401",
    "CHAR_BIT": "8",
    "SCHAR_MIN": "(-128)",
    "SCHAR_MAX": "127",
    "UCHAR_MAX": "255",
    "SHRT_MIN": "(-32768)",
    "SHRT_MAX": "32767",
    "USHRT_MAX": "65535",
    "INT_MIN": "(-2147483647-1)",
    "INT_MAX": "2147483647",
    "UINT_MAX": "4294967295U",
    "LONG_MIN": "(-9223372036854775807L-1L)",
    "LONG_MAX": "9223372036854775807L",
    "ULONG_MAX": "18446744073709551615UL",
    "LLONG_MIN": "(-9223372036854775807LL-1LL)",
    "LLONG_MAX": "9223372036854775807LL",
    "ULLONG_MAX": "18446744073709551615ULL",
}

# <float.h>; known without it too.
FLOAT_MACROS = {
    "FLT_RADIX": "2",
    "FLT_MANT_DIG": "24",
    "FLT_DIG": "6",
    "FLT_DECIMAL_DIG": "9",
    "FLT_MIN_EXP": "(-125)",
    "FLT_MAX_EXP": "128",
    "FLT_MIN_10_EXP": "(-37)",
    "FLT_MAX_10_EXP": "38",
    "FLT_MIN": "1.17549435e-38F",
    "FLT_MAX": "3.40282347e+38F",
    "FLT_EPSILON": "1.19209290e-07F",
    "FLT_TRUE_MIN": "1.40129846e-45F",
    "DBL_MANT_DIG": "53",
    "DBL_DIG": "15",
    "DBL_DECIMAL_DIG": "17",
    "DBL_MIN_EXP": "(-1021)",
    "DBL_MAX_EXP": "1024",
    "DBL_MIN_10_EXP": "(-307)",
    "DBL_MAX_10_EXP": "308",
    "DBL_MIN": "2.2250738585072014e-308",
    "DBL_MAX": "1.7976931348623157e+308",
    "DBL_EPSILON": "2.2204460492503131e-16",
    "DBL_TRUE_MIN": "4.9406564584124654e-324",
}

# <stdint.h>. 64 bits are long long, as in libcu++, so that both may be included.
INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long long"}
POINTER_BITS = 64

MATH_FUNCTIONS = """
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
fdim floor fma fmax fmin fmod frexp hypot ilogb isfinite isinf isnan ldexp lgamma llrint llround
log log10 log1p log2 logb lrint lround modf nearbyint nextafter pow remainder remquo rint round
scalbln scalbn signbit sin sinh sqrt tan tanh tgamma trunc
acosf acoshf asinf asinhf atan2f atanf atanhf cbrtf ceilf copysignf cosf coshf erfcf erff exp2f
expf expm1f fabsf fdimf floorf fmaf fmaxf fminf fmodf hypotf log10f log1pf log2f logf powf
rintf roundf sinf sinhf sqrtf tanf tanhf tgammaf truncf
""".split()

# Headers of C++ that libcu++ has under the same name.
LIBCUDACXX = """
array atomic barrier bit bitset chrono complex concepts expected functional initializer_list
inplace_vector iterator latch limits mdspan memory numbers numeric optional ranges ratio semaphore
source_location span tuple type_traits utility variant
""".split()

ALGORITHM = """\
namespace std {
template <class T>
__device__ __host__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T, class Less>
__device__ __host__ constexpr const T &min(const T &a, const T &b, Less less)
{
    return less(b, a) ? b : a;
}
template <class T>
__device__ __host__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T, class Less>
__device__ __host__ constexpr const T &max(const T &a, const T &b, Less less)
{
    return less(a, b) ? b : a;
}
template <class T>
__device__ __host__ constexpr const T &clamp(const T &x, const T &low, const T &high)
{
    return x < low ? low : high < x ? high : x;
}
template <class T>
__device__ __host__ constexpr void swap(T &a, T &b)
{
    T kept = static_cast<T &&>(a);
    a = static_cast<T &&>(b);
    b = static_cast<T &&>(kept);
}
template <class Iterator, class T>
__device__ __host__ constexpr void fill(Iterator first, Iterator last, const T &value)
{
    for (; first != last; ++first)
        *first = value;
}
template <class Input, class Output>
__device__ __host__ constexpr Output copy(Input first, Input last, Output to)
{
    for (; first != last; ++first, ++to)
        *to = *first;
    return to;
}
}
"""

# pow of mixed numbers, in double as in C++; the other pairs NVRTC has itself.
MIXED_POW = """\
namespace smemkit {
template <class A, class B> struct mixed {};
template <> struct mixed<float, double> { using type = double; };
template <> struct mixed<double, float> { using type = double; };
template <> struct mixed<int, int> { using type = double; };
}
template <class A, class B>
__device__ __forceinline__ typename smemkit::mixed<A, B>::type pow(A a, B b)
{
    return pow(static_cast<double>(a), static_cast<double>(b));
}
"""

# The types of the driver's <cuda.h>, whose functions are the host's.
CUDA_H = """\
#define CUDA_VERSION (1000 * __CUDACC_VER_MAJOR__ + 10 * __CUDACC_VER_MINOR__)
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmod_st *CUmodule;
typedef struct CUstream_st *CUstream;
typedef struct alignas(64) CUtensorMap_st {
    unsigned long long opaque[16];
} CUtensorMap;
"""

# std::abs and the like are declared in std, so they hide those that std takes from cuda::std by a
# using-directive. These overloads bring the latter back. Their pack ranks them below those of
# cuda::std, so that a call without std:: is not ambiguous.
COMPLEX_FUNCTIONS = """
abs acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh
""".split()
COMPLEX_FUNCTION = """\
template <class T, class... None>
__device__ __host__ auto {name}(const cuda::std::complex<T> &z, None...)
{{
    return cuda::std::{name}(z);
}}
"""

ASSERT = """\
#ifdef NDEBUG
#undef assert
#define assert(condition) (static_cast<void>(0))
#endif
"""


def _define(macros: Any) -> str:
    return "".join(f"#ifndef {n}\n#define {n} {value}\n#endif\n" for n, value in macros.items())


def _guard(name: str, text: str) -> str:
    """The text, once in a compilation (to #pragma once all texts in memory are one file)."""
    guard = "SMEMKIT_" + re.sub(r"\W", "_", name).upper()
    return f"#ifndef {guard}\n#define {guard}\n{text}#endif\n"


def _use(names: Iterable[str]) -> str:
    """std:: has these names of the global namespace too."""
    return "namespace std {\n" + "".join(f"using ::{name};\n" for name in names) + "}\n"


def _name_integers() -> tuple[dict[str, str], dict[str, str]]:
    """{name of a type: type} and {name of a macro: value} of <stdint.h>."""
    types, macros = {}, {}
    for bits, word in INTEGERS.items():
        for sign, prefix in (("signed", ""), ("unsigned", "u")):
            for kind in ("", "_least", "_fast"):
                types[f"{prefix}int{kind}{bits}_t"] = f"{sign} {word}"
        tail = "LL" if bits == 64 else ""
        for kind in ("", "_LEAST", "_FAST"):
            most = 2 ** (bits - 1) - 1
            macros[f"INT{kind}{bits}_MAX"] = f"{most}{tail}"
            macros[f"INT{kind}{bits}_MIN"] = f"(-{most}{tail}-1)"
            unsigned = "U" * (bits >= 32)
            macros[f"UINT{kind}{bits}_MAX"] = f"{2**bits - 1}{unsigned}{tail}"
    for name in ("ptr", "max"):
        types[f"int{name}_t"] = types[f"int{POINTER_BITS}_t"]
        types[f"uint{name}_t"] = types[f"uint{POINTER_BITS}_t"]
        for sign, end in (("", "MAX"), ("", "MIN"), ("U", "MAX")):
            macros[f"{sign}INT{name.upper()}_{end}"] = macros[f"{sign}INT{POINTER_BITS}_{end}"]
    macros["SIZE_MAX"] = macros["UINT64_MAX"]
    macros["PTRDIFF_MAX"], macros["PTRDIFF_MIN"] = macros["INT64_MAX"], macros["INT64_MIN"]
    return types, macros


def _write_stdint() -> str:
    types, macros = _name_integers()
    text = "".join(f"typedef {word} {name};\n" for name, word in types.items())
    text += _define(macros)
    for bits in INTEGERS:
        tail = "LL" if bits == 64 else ""
        for sign, end in (("", ""), ("U", "U")):
            name = f"{sign}INT{bits}_C"
            paste = f" ## {end}{tail}" if end + tail else ""
            text += f"#ifndef {name}\n#define {name}(x) x{paste}\n#endif\n"
    return text


def _write_inttypes() -> str:
    """Formats of printf for the types of <stdint.h>."""
    text = "#include <stdint.h>\n"
    for name, length in (("8", ""), ("16", ""), ("32", ""), ("64", "ll"), ("PTR", "ll")):
        text += _define({f"PRI{c}{name}": f'"{length}{c}"' for c in "diouxX"})
    return text


def _write_prelude() -> str:
    """What nvcc knows without any #include, the limits of <cfloat>, and the integers of <cstdint>
    unless the source declares them itself.
    """
    lines = [
        "#include <cstddef>",
        "#include <cmath>",
        "#include <cfloat>",
        "#ifndef SMEMKIT_NO_INTEGERS",
        "#include <cstdint>",
        "typedef unsigned int uint;",
        "typedef unsigned short ushort;",
        "typedef unsigned long ulong;",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _write_headers() -> dict[str, str]:
    types, _ = _name_integers()
    memory, heap = ("memcpy", "memset"), ("malloc", "free", "abs")
    texts = {
        "stddef": "typedef decltype(nullptr) nullptr_t;\n#ifndef NULL\n"
        "#define NULL 0\n#endif\n#ifndef offsetof\n"
        "#define offsetof(type, member) ((size_t) &((type *)0)->member)\n#endif\n",
        "stdint": _write_stdint(),
        "inttypes": _write_inttypes(),
        "limits": _define(HOST_MACROS),
        "float": _define(FLOAT_MACROS),
        "math": _define(HOST_MACROS) + MIXED_POW,
        "assert": ASSERT,
        "stdio": "#include <stddef.h>\n",
        "string": "#include <stddef.h>\n",
        "stdlib": "#include <stddef.h>\n",
        "time": "#include <stddef.h>\n",
    }
    names = {
        "stddef": ("size_t", "ptrdiff_t", "nullptr_t"),
        "stdint": types,
        "inttypes": types,
        "math": MATH_FUNCTIONS,
        "stdio": ("printf",),
        "string": memory,
        "stdlib": heap,
        "time": ("clock_t", "clock"),
    }
    headers = {}
    for name, text in texts.items():
        headers[f"{name}.h"] = text
        headers[f"c{name}"] = f"#include <{name}.h>\n"
        if name in names:
            headers[f"c{name}"] += _use(names[name])
    headers["stdbool.h"] = ""
    headers["algorithm"] = ALGORITHM
    for name in LIBCUDACXX:
        headers[name] = (
            f"#include <cuda/std/{name}>\nnamespace std {{\nusing namespace cuda::std;\n}}\n"
        )
    functions = "".join(COMPLEX_FUNCTION.format(name=name) for name in COMPLEX_FUNCTIONS)
    headers["complex"] += f"namespace std {{\n{functions}}}\n"
    headers["cuda.h"] = CUDA_H
    headers[PRELUDE] = _write_prelude()
    return {
        name: text if name == "assert.h" else _guard(name, text) for name, text in headers.items()
    }


HEADERS = _write_headers()
DECLARED = re.compile(
    r"\b(?:typedef\b[^;{}]*|using\s+)\b(?:u?int(?:8|16|32|64|ptr)_t|u(?:int|short|long))\b"
)


def collect_headers(folders: Iterable[Path]) -> dict[str, str]:
    """{name: text} for NVRTC; `folders` are those of its CUDA headers.

    <cub/cub.cuh> contains host code, which NVRTC refuses. It is replaced by a header that includes
    CUB's primitives for threads, warps and blocks.
    """
    headers = dict(HEADERS)
    for folder in map(Path, folders):
        if (folder / "cub" / "cub.cuh").is_file():
            paths = [
                p for part in ("thread", "warp", "block") for p in folder.glob(f"cub/{part}/*.cuh")
            ]
            names = sorted(path.relative_to(folder).as_posix() for path in paths)
            headers["cub/cub.cuh"] = "".join(f"#include <{name}>\n" for name in names)
            break
    return headers


def list_options(source: str) -> list[str]:
    """The options that go before the user's."""
    options = ["-diag-suppress=47"]  # libcu++ defines INT_MAX and others anew
    options += [f"-D{name}={value}" for name, value in HOST_MACROS.items()]
    if DECLARED.search(source):
        options.append("-DSMEMKIT_NO_INTEGERS")
    options.append(f"-include={PRELUDE}")
    return options
