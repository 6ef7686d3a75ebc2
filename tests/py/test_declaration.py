"""What CUDA C declares: parameters of kernels, and how arrays compare with them."""

import numpy as np
import pytest
from hardware.counts.count_cases import CASES as COUNTED
from programs import (
    cases_arithmetic,  # noqa: F401  (each fills CASES)
    cases_control,  # noqa: F401
    cases_memory,  # noqa: F401
    regenerate,
)
from programs.program_cases import CASES
from support.paths import ROOT

import smemkit
from smemkit import _declarations
from smemkit._declarations import read_kernel

NEEDS_COMPILER = pytest.mark.skipif(
    not smemkit.compile.find_nvrtc() and not smemkit.compile.find_nvcc(), reason="no compiler here"
)


def declare(parameters, before=""):
    return read_kernel(f'{before}\nextern "C" __global__ void k({parameters}) {{}}', "k")


def get_dtype(spelling, before=""):
    """The dtype that a pointer to that type wants; "any" and None as the element says."""
    (parameter,) = declare(f"{spelling} *p", before)
    assert parameter.is_pointer and parameter.name == "p"
    element = parameter.element
    if element is None:
        return None
    return f"{element.lanes} x {element.name}" if element.lanes > 1 else element.name or "any"


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("float", "float32"),
        ("const float", "float32"),
        ("float const", "float32"),
        ("volatile double", "float64"),
        ("bool", "bool_"),
        ("signed char", "int8"),
        ("short", "int16"),
        ("unsigned short int", "uint16"),
        ("short unsigned", "uint16"),
        ("int", "int32"),
        ("unsigned", "uint32"),
        ("signed", "int32"),
        ("long", "int64"),
        ("long int", "int64"),
        ("unsigned long", "uint64"),
        ("long long", "int64"),
        ("unsigned long long int", "uint64"),
        ("std::int16_t", "int16"),
        ("cuda::std::uint32_t", "uint32"),
        ("size_t", "uint64"),
        ("::float2", "2 x float32"),
        ("float4", "4 x float32"),
        ("uint3", "3 x uint32"),
        ("char4", "4 x int8"),
        ("double2", "2 x float64"),
        ("half", "float16"),
        ("__half2", "2 x float16"),
        ("__nv_bfloat16", "bfloat16"),
        ("thrust::complex<float>", "2 x float32"),
        ("char", "any"),
        ("unsigned char", "any"),
        ("uint8_t", "any"),
        ("std::byte", "any"),
        ("void", "any"),
        ("float *", "any"),
        ("Particle", None),
        ("my::half", None),
        ("vector<int>", None),
        ("unsigned float", None),
        ("long double", None),
    ],
)
def test_element_types(spelling, expected):
    assert get_dtype(spelling) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("typedef float real;", "float32"),
        ("typedef unsigned long long int real;", "uint64"),
        ("using real = double;", "float64"),
        ("#define real short", "int16"),
        ("#define inner int\n#define real unsigned \\\n inner", "uint32"),
        ("typedef float first; typedef first real;", "float32"),
        ("namespace a { using real = int; }", "int32"),
        ("typedef float real; typedef float real;", "float32"),
        ("#if D\ntypedef double real;\n#else\ntypedef float real;\n#endif", None),
        ("#ifdef D\n#define real float\n#else\n#define real double\n#endif", None),
        ("#define real(x) float", None),
        ("typedef real real;", None),
        ("struct real { float x; };", None),
        ("typedef struct { int a; } real;", None),
        ("typedef int real[4];", None),
        ("typedef float (*real)(int);", None),
        ("// typedef float real;", None),
        ("/* using real = float; */", None),
        ('const char *s = "typedef float real;";', None),
        ('const char *s = R"x(using real = float;)x";', None),
        ("", None),
    ],
)
def test_names_of_types(before, expected):
    assert get_dtype("real", before) == expected


def test_a_name_of_c_may_be_taken():
    assert get_dtype("half", "struct half { short bits; };") is None
    assert get_dtype("half", "typedef unsigned short half;") == "uint16"
    assert get_dtype("half", "void f(int n) { const int half = n / 2; }") is None
    (parameter,) = read_kernel("__global__ void k(T *p) {}", "k", ("-DT=float",))
    assert parameter.element.name == "float32"
    (parameter,) = read_kernel("#define T int\n__global__ void k(T *p) {}", "k", ("-DT=float",))
    assert parameter.element is None


def test_parameters():
    found = declare(
        "const float *__restrict__ x, int n = 3, float4*y, const struct P p, P *q, float a[32],\n"
        "// , int commented\n float (*m)[N], int, const __grid_constant__ Map map, uint *const z"
    )
    assert [(one.name, one.text, one.is_pointer) for one in found] == [
        ("x", "const float *", True),
        ("n", "int", False),
        ("y", "float4 *", True),
        ("p", "const P", False),
        ("q", "P *", True),
        ("a", "float *", True),
        ("m", "float *", True),
        ("", "int", False),
        ("map", "const Map", False),
        ("z", "uint *", True),
    ]
    assert declare("") == declare("void") == ()


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k(float *x);",
        'extern "C" { __global__ void __launch_bounds__(32 * (4), 2) k(float *x) {} }',
        "void __global__ k(float *x) {}",
        "static __global__ __launch_bounds__(32) void k(float *x) {}",
        "__global__ void k(float *); __global__ void k(float *x) {}",
        "__global__ void k(float *x); __global__ void k(float *) {}",
        "template <class T> __global__ void k(T *x) {} __global__ void other(int *) {}",
    ],
)
def test_where_a_kernel_is_declared(text):
    entry = "_Z1kIfEvPT_" if "template" in text else "k"
    ((name, _, is_pointer, element),) = read_kernel(text, entry)
    assert (name, is_pointer, element.name) == ("x", True, "float32")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "__global__ void other(float *x) {}",
        "// __global__ void k(float *x) {}",
        "void k(float *x) {}",
        "__global__ void k(float *x) {} __global__ void k(double *x) {}",
        "#if A\n__global__ void k(float *x)\n#else\n__global__ void k(int *x)\n#endif\n{}",
        "DECLARE(k, float)",
        "template __global__ void k<float>(float *);",
    ],
)
def test_nothing_is_known(text):
    assert read_kernel(text, "k") is None


def test_what_is_not_understood_has_no_name():
    for bad in ("float *x int *y", "float &x", "void (*f)(int)", "auto... x", "3"):
        found = declare(bad)
        assert found is None or all(one.element is None or not one.is_pointer for one in found)


def test_mangled_names():
    text = """namespace two { template <typename T, int N, class U> __global__ void
    scale(T *x, U *y, T s) {} }"""
    x, y, s = read_kernel(text, "_ZN3two5scaleIdLi3EjEEvPT_PT1_S1_")
    assert (x.element.name, y.element.name, s.element.name) == ("float64", "uint32", "float64")
    x, y, s = read_kernel(text, "_ZN3two5scaleI6__halfLi3EjEEvPT_PT1_S1_")
    assert x.element is y.element is s.element is None
    (x,) = read_kernel("__global__ void scale(float *x) {}", "_Z5scalePf")
    assert x.element.name == "float32"


def explain(spelling, dtype, count=12, name="x"):
    (parameter,) = declare(f"{spelling} *{name}")
    array = np.zeros(count, dtype)
    return _declarations.explain_refusal(parameter, array.dtype, array.nbytes, False)


@pytest.mark.parametrize(
    ("spelling", "dtypes"),
    [
        ("float", "f4 >f4 c8 f4,f4 V4 3f4"),
        ("double", "f8 c16"),
        ("int", "i4 u4 >u4"),
        ("unsigned", "i4 u4"),
        ("long", "i8 u8 m8[s] M8[D]"),
        ("long long", "i8 u8"),
        ("bool", "? i1 u1"),
        ("signed char", "i1 u1 ?"),
        ("half", "f2 u2 i2"),
        ("__nv_bfloat16", "u2 i2"),
        ("unsigned short", "u2 i2 f2"),
        ("float4", "f4 c8 f4,f4,f4,i4"),
        ("uchar4", "u1 u1,u1,u1,u1 i4,i4"),
    ],
)
def test_arrays_that_are_taken(spelling, dtypes):
    for dtype in dtypes.split():
        if (spelling, dtype) != ("uchar4", "i4,i4"):
            assert explain(spelling, dtype) is None, dtype
        else:
            assert explain(spelling, dtype)


@pytest.mark.parametrize(
    ("spelling", "dtypes"),
    [
        ("float", "f8 f2 i4 u4 ? c16 f4,i4 S4 O"),
        ("int", "f4 i8 i2 ?"),
        ("unsigned long long", "i4 f8"),
        ("half", "f4 u1"),
        ("__nv_bfloat16", "f2 f4"),
        ("float4", "f8 i4 f8,f8,f8"),
        ("bool", "i4"),
    ],
)
def test_arrays_that_are_refused(spelling, dtypes):
    for dtype in dtypes.split():
        assert "the array is" in explain(spelling, dtype), dtype


def test_bfloat16_by_its_name():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert explain("__nv_bfloat16", ml_dtypes.bfloat16) is None
    assert "the array is bfloat16: pass x.astype(numpy.float16)" in explain(
        "const half", ml_dtypes.bfloat16
    )


def test_messages():
    assert explain("const __nv_bfloat16", "f4") == (
        "x is const __nv_bfloat16 *, the array is float32: pass "
        "x.astype(ml_dtypes.bfloat16).view(numpy.uint16); "
        "x.view(numpy.uint16) hands over its bytes as they are"
    )
    assert explain("const float", "f8") == (
        "x is const float *, the array is float64: pass x.astype(numpy.float32); "
        "x.view(numpy.float32) hands over its bytes as they are"
    )
    assert explain("float4", "f4", 10) == (
        "x is float4 *, the array is float32 of 40 bytes: an element of the parameter has 16"
    )
    (parameter,) = declare("const real *", "typedef float real;")
    assert _declarations.explain_refusal(parameter, np.dtype("f8"), 8, True) == (
        "the parameter is const real * (float32), the array is float64: pass "
        "smemkit.asarray(smemkit.asnumpy(x).astype(numpy.float32)); "
        "smemkit.asarray(smemkit.asnumpy(x).view(numpy.float32)) hands over its bytes as they are"
    )


def test_arrays_that_are_written():
    """A converted copy would take the result and be lost."""
    why = ", because a converted copy would take the result and be thrown away"
    assert explain("float", "f8") == (
        "x is float *, the array is float64, and the kernel may write to it: make it float32 from "
        f'the start, as in numpy.zeros(shape, "float32"){why}; '
        "x.view(numpy.float32) hands over its bytes as they are"
    )
    assert 'numpy.zeros(shape, "uint16")' in explain("__nv_bfloat16", "f4")
    assert "x.astype" not in explain("float", "f8")
    for spelling in ("const float", "float const"):
        assert "pass x.astype(numpy.float32)" in explain(spelling, "f8")
    (parameter,) = declare("float * const x")
    on_device = _declarations.explain_refusal(parameter, np.dtype("f8"), 8, True)
    assert 'smemkit.zeros(shape, "float32")' in on_device and "astype" not in on_device


# Kernels that read pairs of halves by pointers to unsigned: a caller writes h.view(numpy.uint32).
PACKED = {("matrix_crowded", "uint16"), ("matrix_swizzled", "uint16"), ("atomic_vectors", "uint8")}


def judge(text, entry, args):
    """How many arrays a declaration was compared with; none may be refused but those of PACKED."""
    parameters, compared = read_kernel(text, entry), 0
    if parameters is None:
        return 0
    assert len(parameters) == len(args), entry
    for parameter, value in zip(parameters, args, strict=True):
        if isinstance(value, np.ndarray) and value.ndim and parameter.element:
            reason = _declarations.explain_refusal(parameter, value.dtype, value.nbytes, False)
            assert (reason is None) == ((entry, value.dtype.name) not in PACKED), (
                f"{entry}: {reason}"
            )
            compared += 1
    return compared


def test_programs_are_not_refused(rng):
    compared, names = 0, [name for name in sorted(CASES) if name not in ("flood", "lookback")]
    for name in names:
        text = (ROOT / "tests" / "programs" / f"{name}.cu").read_text(encoding="utf-8")
        module = smemkit.RawModule(regenerate.load_ptx(name, "O3"), backend="sim")

        def run(entry, grid, block, *args, shared=0, text=text, module=module):
            nonlocal compared
            compared += judge(text, entry, args)
            module.get_function(entry)(grid, block, args, shared_mem=shared, backend="sim")

        CASES[name](run, rng, "sim")
    assert compared > 80


def test_counted_kernels_are_not_refused():
    compared = 0
    for case in COUNTED:
        path = ROOT / "tests" / "hardware" / "counts" / f"{case.name}.cu"
        if path.exists():
            compared += judge(path.read_text(encoding="utf-8"), case.entry, case.make().args)
    assert compared > 80


def test_kernels_of_the_package_are_known():
    for family in smemkit.families():
        for variant, facts in smemkit.variants(family).items():
            for dtype in facts["dtypes"]:
                if dtype.startswith("bits"):
                    continue
                dtype = dtype.replace("tf32", "float32")  # rounded by the kernel
                entry = smemkit.kernel(family, variant, dtype).name
                found = _declarations.read_package_kernel(smemkit.source(family, variant), entry)
                attributes = smemkit.kernel(family, variant, dtype).attributes
                assert len(found) == len(attributes["parameters"])
                for one, parameter in zip(found, attributes["parameters"], strict=True):
                    known = one.element or one.text.endswith(("A *", "R *"))
                    assert known, f"{entry}: {one}"
                    assert one.is_pointer <= (parameter["nbytes"] == 8)


def test_no_text_is_an_error():
    """Each truncation of a source, and each source without one of its tokens."""
    text = (ROOT / "tests" / "programs" / "carve.cu").read_text(encoding="utf-8")[:1500]
    text += "template <class T> __global__ void k(T (*x)[N<<(2)], thrust::complex<int> y = f(3)) {}"
    tokens = _declarations._Source(text, ()).tokens
    texts = [text[:end] for end in range(0, len(text), 7)]
    texts += [" ".join(tokens[:i] + tokens[i + 1 :]) for i in range(0, len(tokens), 3)]
    for one in texts:
        _declarations._read.cache_clear()
        for entry in ("k", "_Z1kIfEvPT_"):
            assert read_kernel(one, entry) is None or all(read_kernel(one, entry))
        _declarations.read_shared_arrays(one)


def test_kernel_of_the_package_refuses_other_elements(machine):
    kernel = smemkit.kernel("vector_add", "naive", "float32")
    x = np.ones(64, np.float32)
    with pytest.raises(smemkit.ArgumentTypeError, match=r"args\[1\]: y is const T \* \(float32\)"):
        kernel(1, 64, (x, np.ones(64), x, 64), backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match=r"args\[3\] \(long long n\) takes"):
        kernel(1, 64, (x, x, np.zeros_like(x), 6.4), backend=machine)


SCALE = """extern "C" __global__ void scale(float *x, float factor, unsigned n, float4 *rest)
{
    if (threadIdx.x < n) x[threadIdx.x] *= factor;
}"""


@NEEDS_COMPILER
def test_raw_kernel_compares_elements(machine):
    scale = smemkit.RawKernel(SCALE, "scale")
    x, rest = np.ones(8, np.float32), np.zeros(8, np.float32)
    scale(1, 32, (x, 2, 8, rest), backend=machine)
    assert (x == 2).all()
    for bad in (np.ones(8), np.ones(8, np.int32)):
        with pytest.raises(
            smemkit.ArgumentTypeError,
            match=rf"^scale: args\[0\]: x is float \*, the array is {bad.dtype}, and "
            "the kernel may write to it: make it float32 from the start",
        ):
            scale(1, 32, (bad, 2, 8, rest), backend=machine)
        scale(1, 32, (bad.view(np.float32), 2, 8, rest), backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match=r"args\[3\]: rest is float4 \*, .*24 byte"):
        scale(1, 32, (x, 2, 8, rest[:6]), backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match=r"args\[2\] \(unsigned n\) takes an int"):
        scale(1, 32, (x, 2, 8.0, rest), backend=machine)
    device = smemkit.asarray(np.ones(8), backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match=r"as in smemkit\.zeros\(shape"):
        scale(1, 32, (device, 2, 8, device), backend=machine)


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("parameters", "listed"),
    [
        ("const float *x, int n", " (const float *x, int n)"),
        ("", ""),
        (", ".join(f"const unsigned char *one_of_many_{i}" for i in range(12)), ""),  # too long
    ],
)
def test_a_wrong_number_of_arguments_lists_the_parameters(parameters, listed):
    kernel = smemkit.RawKernel(f'extern "C" __global__ void k({parameters}) {{}}', "k")
    count = len(parameters.split(", ")) if parameters else 0
    with pytest.raises(smemkit.ArgumentTypeError) as raised:
        kernel((1,), (1,), (1,) * (count + 1))
    assert f"k takes {count} arguments{listed}, args has {count + 1}" in str(raised.value)


@NEEDS_COMPILER
def test_a_declaration_that_disagrees_with_the_ptx_is_none():
    kernel = smemkit.RawKernel(
        "#if 0\n__global__ void k(float *x);\n#endif\n"
        '#define LIST int *x\nextern "C" __global__ void k(LIST) { *x = 3; }',
        "k",
    )
    x = np.zeros(1, np.int32)
    kernel(1, 1, (x,), backend="sim")
    assert x[0] == 3


# Shared arrays -----------------------------------------------------------------------------------

SHARED = """#define N 32
#define TWICE(x) (2 * (x))
typedef float real;
constexpr int PAD = 1, TILE = 16 * 2;
enum { Q = 3, R };
template <class T> __device__ void f(int n)
{
    const int width = TILE + PAD, many = n;
    __shared__ real tile[TILE][TILE + PAD], other[N / 4 - 1];
    __shared__ __align__(16) volatile unsigned short three[2][Q][1 << 2];
    extern __shared__ double pool[];
    __shared__ T of_unknown[TILE][width];
    __shared__ float unknown[TWICE(8)][4], twice[many][many];
    __shared__ int one;
    __shared__ struct { int x; } odd[4];
    __shared__ float4 vectors[8];
}
"""


@pytest.mark.parametrize(
    ("name", "nbytes", "offset", "expected"),
    [
        ("tile", 32 * 33 * 4, 0, "tile[0][0]"),
        ("tile", 32 * 33 * 4, 33 * 4, "tile[1][0]"),
        ("tile", 32 * 33 * 4, 33 * 4 - 4, "tile[0][32]"),
        ("tile", 32 * 33 * 4, 5, "tile[0][1], byte 1 of it"),
        ("tile", 32 * 33 * 4, 32 * 33 * 4, "tile[32][0]"),
        ("tile", 32 * 32 * 4, 0, None),
        ("other", 28, 24, "other[6]"),
        ("three", 48, 2 * (12 + 4 + 3), "three[1][1][3]"),
        ("pool", 0, 24, "pool[3]"),
        ("of_unknown", 32 * 33 * 8, 33 * 8, "of_unknown[1][0]"),
        ("of_unknown", 100, 8, None),
        ("unknown", 16 * 4 * 4, 16, "unknown[1][0]"),
        ("unknown", 100, 16, None),
        ("twice", 64, 16, None),
        ("one", 4, 0, "one"),
        ("vectors", 128, 20, "vectors[1], byte 4 of it"),
        ("gone", 4, 0, None),
    ],
)
def test_elements_of_shared_arrays(name, nbytes, offset, expected):
    arrays = _declarations.read_shared_arrays(SHARED)
    assert _declarations.name_element(arrays, name, nbytes, offset) == expected


def test_a_length_of_many_parentheses_is_not_known():
    for depth, expected in ((20, "t[1]"), (5000, None)):
        length = "(" * depth + "N" + ")" * depth
        arrays = _declarations.read_shared_arrays(f"#define N 4\n__shared__ T t[{length}];")
        assert arrays["t"] == [_declarations.Array(None, (4 if expected else None,))]
        assert _declarations.name_element(arrays, "t", 16, 4) == expected


def test_shared_arrays_of_one_name():
    arrays = _declarations.read_shared_arrays(
        "__shared__ float t[4][8]; __shared__ float t[16][8]; __shared__ float t[4][8];"
        "__shared__ float u[4][8]; __shared__ float u[8][4];"
    )
    assert _declarations.name_element(arrays, "t", 128, 32) == "t[1][0]"
    assert _declarations.name_element(arrays, "t", 512, 32) == "t[1][0]"
    assert _declarations.name_element(arrays, "u", 128, 32) is None


# Names in messages -------------------------------------------------------------------------------

MESSAGES = """extern "C" __global__ void shift(const float *x, float *y, int n)
{
    y[(int)threadIdx.x + n] = x[threadIdx.x];
}
extern "C" __global__ void neighbours(const float *x, float *y)
{
    __shared__ float tile[2][33];
    const int t = threadIdx.x;
    tile[t / 32][t % 32] = x[t];
    y[t] = tile[1 - t / 32][t % 32];
}
template <typename T> __global__ void past(T *y, int n)
{
    __shared__ T pool[8];
    pool[threadIdx.x + n] = 1;
    y[threadIdx.x] = pool[threadIdx.x];
}
template __global__ void past<float>(float *, int);
"""


@pytest.fixture(scope="module")
def messages():
    return smemkit.RawModule(MESSAGES)


@NEEDS_COMPILER
@pytest.mark.parametrize("place", [np.asarray, smemkit.asarray])
@pytest.mark.parametrize(
    ("shape", "n", "expected"),
    [
        ((31,), 0, r"0 bytes past the end of args\[1\] \(y, float32\[31\]\), where element 31 w"),
        ((32,), -2, r"8 bytes before args\[1\] \(y, float32\[32\]\), where element -2 would be"),
        ((4, 8), 1, r"args\[1\] \(y, float32\[4,8\]\), where element \[4, 0\] would be"),
        ((4, 8), -1, r"args\[1\] \(y, float32\[4,8\]\), where element \[-1, 7\] would be"),
        ((1,) * 9, 0, r"args\[1\] \(y, float32\[1,1,1,1,1,1,1,1,...\]\), where element 1 would be"),
        ((), 0, r"args\[1\] \(y, float32\[\]\), where element 1 would be"),
    ],
)
def test_errors_name_elements(messages, monkeypatch, place, shape, n, expected):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    args = place(np.ones(32, np.float32)), place(np.zeros(shape, np.float32)), n
    with pytest.raises(smemkit.OutOfBoundsError, match=expected):
        messages.get_function("shift")(1, 32, args)
    (finding,) = messages.get_function("shift").check(1, 32, args).findings
    assert "args[1] (y, float32[" in finding.message


@NEEDS_COMPILER
def test_types_of_elements_in_messages():
    kernel = smemkit.RawKernel(
        'extern "C" __global__ void k(void *p) { ((char *)p)[17] = 0; }', "k"
    )
    for array, expected in (
        (np.zeros(4, bool), "bool[4]), where element 17 "),
        (np.zeros(4, np.int16), "int16[4]), where element 8, byte 1 of it "),
        (np.zeros((2, 2), np.uint16), "uint16[2,2]), where element [4, 0], byte 1 of it "),
        (np.zeros(2, np.complex64), "complex64[2]), where element 2, byte 1 of it "),
        (np.zeros(3, "u1,f4"), "V5[3]), where element 3, byte 2 of it "),
    ):
        with pytest.raises(smemkit.OutOfBoundsError) as caught:
            kernel(1, 1, (array,), backend="sim")
        assert f"args[0] (p, {expected}would be" in str(caught.value)


@NEEDS_COMPILER
def test_findings_name_elements(messages):
    x = np.ones(64, np.float32)
    report = messages.get_function("neighbours").check(1, 64, (x, np.zeros_like(x)))
    (finding,) = report.findings
    assert finding.kind == "race" and finding.count == 64
    assert finding.first.variable == finding.second.variable == "tile[1][0]"
    assert "(tile[1][0])" in finding.message
    shifted = messages.get_function("shift").check(2, 32, (x, np.zeros_like(x), 3))
    assert [finding.first.variable for finding in shifted.findings] == [
        "args[1] (y, float32[64]), element 3"
    ]


@NEEDS_COMPILER
def test_a_variable_of_a_template_has_its_name_in_errors(messages):
    kernel = messages.get_function(messages.kernels[-1])
    with pytest.raises(smemkit.OutOfBoundsError, match=r"past the end of pool \(32 bytes\)"):
        kernel(1, 32, (np.zeros(32, np.float32), 0), backend="sim")


def test_arrays_without_a_declaration_have_numbers():
    kernel = smemkit.RawKernel(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 to) {\n"
        ".reg .b64 %a; ld.param.u64 %a, [to]; st.global.u32 [%a+64], 1; ret; }",
        "k",
    )
    with pytest.raises(smemkit.OutOfBoundsError, match=r"end of args\[0\] \(int32\[16\]\)"):
        kernel(1, 1, (np.zeros(16, np.int32),), backend="sim")
