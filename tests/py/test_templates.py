"""RawModule and RawKernel by names of C++, by path, and kernel[grid, block](*args)."""

import numpy as np
import pytest

import smemkit
from smemkit import __main__, _mangled, compile
from smemkit.compile import _expressions, _toolchain

pytestmark = pytest.mark.skipif(
    not compile.find_nvrtc() and not compile.find_nvcc(), reason="no compiler here"
)

SOURCE = """template <typename T, int N = 4> __global__ void fill(T *x, T value)
{
    __shared__ T pool[N];
    pool[threadIdx.x] = value;
    x[threadIdx.x] = pool[threadIdx.x];
}
namespace two {
template <typename T> struct Pair { T a, b; };
template <typename T> __global__ void swap(Pair<T> *p) { T a = p->a; p->a = p->b; p->b = a; }
}
__global__ void plain(float *x, int n) { x[threadIdx.x] = n; }
__global__ void over(float *x) { x[threadIdx.x] = 1; }
__global__ void over(int *x) { x[threadIdx.x] = 2; }
"""
EXPRESSIONS = ("fill<float>", "fill<double, 8>", "two::swap<unsigned>")


@pytest.fixture(scope="module")
def module():
    return smemkit.RawModule(SOURCE, name_expressions=EXPRESSIONS)


@pytest.mark.parametrize("compiler", ["find_nvrtc", "find_nvcc"])
def test_expressions_of_each_compiler(compiler, monkeypatch):
    if not getattr(_toolchain, compiler)():
        pytest.skip(f"{compiler} finds none")
    other = {"find_nvrtc": "find_nvcc", "find_nvcc": "find_nvrtc"}[compiler]
    monkeypatch.setattr(compile, other, lambda: None)
    made = smemkit.RawModule(SOURCE, name_expressions=EXPRESSIONS, backend="sim")
    assert _expressions.MARK not in made.ptx and made.source == SOURCE
    x = np.zeros(8)
    made.get_function("fill<double, 8>")(1, 8, (x, 3.5))
    assert x.tolist() == [3.5] * 8
    with pytest.raises(smemkit.CompileError, match="gone"):
        smemkit.RawModule(SOURCE, name_expressions=["gone<int>"])


@pytest.mark.parametrize(
    ("name", "entry", "label"),
    [
        ("fill<float>", "_Z4fillIfLi4EEvPT_S0_", "fill<float, 4>"),
        ("fill< float,4 >", "_Z4fillIfLi4EEvPT_S0_", "fill<float, 4>"),
        ("fill<double, 8>", "_Z4fillIdLi8EEvPT_S0_", "fill<double, 8>"),
        ("two::swap<unsigned int>", "_ZN3two4swapIjEEvPNS_4PairIT_EE", "two::swap<unsigned int>"),
        ("::two::swap<unsigned>", "_ZN3two4swapIjEEvPNS_4PairIT_EE", "two::swap<unsigned int>"),
        ("two::swap", "_ZN3two4swapIjEEvPNS_4PairIT_EE", "two::swap<unsigned int>"),
        ("plain", "_Z5plainPfi", "plain"),
        ("_Z5plainPfi", "_Z5plainPfi", "plain"),
        ("_Z4overPi", "_Z4overPi", "over"),
    ],
)
def test_names(module, name, entry, label):
    kernel = module.get_function(name)
    assert kernel.name == entry and repr(kernel) == f"RawKernel(name={label!r})"


def test_names_that_are_no_kernel_s(module):
    for bad in ("fill", "over", "swap<unsigned>", "fill<int>", "fill<float", "Plain"):
        with pytest.raises(smemkit.ArgumentError, match="it has: .*fill<double, 8>") as caught:
            module.get_function(bad)
        for known in ("plain (_Z5plainPfi)", "over (_Z4overPf)", "over (_Z4overPi)"):
            assert known in str(caught.value)


def test_the_cache_keeps_names(monkeypatch, tmp_path):
    monkeypatch.setenv("SMEMKIT_CACHE", str(tmp_path))
    names = []
    for _ in range(2):
        made = smemkit.RawModule(SOURCE, name_expressions=("fill<float>",))
        names.append(made.get_function("fill<float>").name)
    assert names[0] == names[1] == "_Z4fillIfLi4EEvPT_S0_"
    assert smemkit.RawModule(SOURCE).kernels != made.kernels


def test_raw_kernel_instantiates(machine):
    kernel = smemkit.RawKernel(SOURCE, "fill<int, 32>")
    x = np.zeros(32, np.int32)
    kernel(1, 32, (x, 5), backend=machine)
    assert x.tolist() == [5] * 32
    with pytest.raises(smemkit.ArgumentTypeError, match=r"^fill<int, 32>: args\[0\]: x is T"):
        kernel(1, 32, (np.zeros(32), 5), backend=machine)
    again = smemkit.RawKernel(kernel.ptx, "fill<int, 32>")
    again(1, 32, (x, 6), backend=machine)
    assert x.tolist() == [6] * 32


def test_messages_have_names_of_the_source(module):
    x = np.zeros(8, np.float32)
    with pytest.raises(smemkit.OutOfBoundsError, match=r"\[kernel fill<float, 4>, ") as caught:
        module.get_function("fill<float>")(1, 8, (x, 1), backend="sim")
    assert caught.value.kernel == "fill<float, 4>"
    report = module.get_function("fill<float>").check(1, 8, (x, 1))
    assert report.kernels == ("fill<float, 4>",)
    report = module.get_function("fill<float>").profile(1, 4, (x, 1))
    assert report.launches[0].kernel == "fill<float, 4>"


@pytest.mark.parametrize(
    ("expressions", "error"),
    [
        ("fill<float>", smemkit.ArgumentTypeError),
        ((3,), smemkit.ArgumentTypeError),
        (3, TypeError),
        (("fill<float>; int x",), smemkit.ArgumentError),
        (("fill<float>\n",), smemkit.ArgumentError),
        (("",), smemkit.ArgumentError),
        (("fill<float",), smemkit.CompileError),
    ],
)
def test_expressions_refused(expressions, error):
    with pytest.raises(error):
        smemkit.RawModule(SOURCE, name_expressions=expressions)


def test_one_of_several_of_a_name():
    code = "__global__ void set(int *x) { *x = 1; } __global__ void set(float *x) { *x = 2; }"
    module = smemkit.RawModule(code)
    said = r"several kernels 'set': pass the mangled name of one; it has: set \(_Z3setPi\)"
    with pytest.raises(smemkit.ArgumentError, match=said):
        module.get_function("set")
    assert module.get_function("_Z3setPi").name == "_Z3setPi"


def test_expressions_are_for_cuda_c(module):
    with pytest.raises(smemkit.ArgumentError, match="code is PTX"):
        smemkit.RawModule(module.ptx, name_expressions=("fill<float>",))
    assert smemkit.RawModule(SOURCE, name_expressions=()).kernels


@pytest.mark.parametrize(
    ("mangled", "expected"),
    [
        ("scale", "scale"),
        ("_Z5scalePfi", "scale"),
        ("_Z1kI6__halfEvPT_", "k<__half>"),
        ("_Z1kIPKfEvT_", "k<const float *>"),
        ("_Z1kIPPfEvT_", "k<float **>"),
        ("_ZN12_GLOBAL__N_11kIiEEvv", "(anonymous namespace)::k<int>"),
        ("_Z1kIN3two1PIfEES2_EvT_", "k<two::P<float>, two::P<float>>"),
        ("_Z1kIJfiEEvDpT_", "k<float, int>"),
        ("_Z1kILb1ELin3ELm7EEvv", "k<true, -3, 7>"),
        ("_Z1kIN2aa4EnumELS1_2EEvv", "k<aa::Enum, (aa::Enum)2>"),
        ("_Z1kISt5arrayIiLm3EEEvv", "k<std::array<int, 3>>"),
        ("_Z1kIXsr1a1bEEvv", "_Z1kIXsr1a1bEEvv"),
        ("_Z9short", "_Z9short"),
        ("_Z", "_Z"),
        ("_ZZ1kvE4tile", "_ZZ1kvE4tile"),
        ("__nv_static_22__2a5bb683_5_b1_cu_main__Z4statPi", "stat"),
        ("__nv_static_99__2a5bb683", "__nv_static_99__2a5bb683"),
        ("__nv_static_9__2a5bb683", "__nv_static_9__2a5bb683"),
        ("_Z1kI" + "P" * 5000 + "fEvv", "_Z1kI" + "P" * 5000 + "fEvv"),
    ],
)
def test_demangle(mangled, expected):
    assert _mangled.demangle(mangled) == expected


AGENT = (
    "thrust::THRUST_300001_SM_750_NS::core::_kernel_agent<thrust::THRUST_300001_SM_750_NS::Unique<"
    "cuda::std::__4::equal_to<int>, int *>, cub::CUB_300001_SM_750::State<int, true>, unsigned>"
)


@pytest.mark.parametrize(
    ("name", "most", "expected"),
    [
        ("scale<float, 4>", 20, "scale<float, 4>"),
        (
            AGENT,
            130,
            "thrust::core::_kernel_agent<thrust::Unique<cuda::std::equal_to<int>, int *>, "
            "cub::State<int, true>, unsigned>",
        ),
        (
            AGENT,
            90,
            "thrust::core::_kernel_agent<thrust::Unique<...>, cub::State<...>, unsigned>",
        ),
        (AGENT, 60, "thrust::core::_kernel_agent<thrust::Unique<...>, ...>"),
        (AGENT, 40, "thrust::core::_kernel_agent<...>"),
        (AGENT, 20, "thrust::core::_ke..."),
        ("a::operator<" + "b" * 50, 20, "a::operator<bbbbb..."),
    ],
)
def test_long_names_are_made_short(name, most, expected):
    assert _mangled.shorten(name, most) == expected
    assert len(_mangled.shorten(name, most)) <= most


def test_spellings_of_types():
    for a, b in (
        ("k<unsigned>", "k< unsigned int >"),
        ("k<long long int, short>", "k<long  long,short int>"),
        ("k<const float*>", "k<const float *>"),
        ("k<int unsigned>", "k<unsigned>"),
    ):
        assert _mangled.simplify(a) == _mangled.simplify(b)
    assert _mangled.simplify("k<unsigned>") != _mangled.simplify("k<int>")
    assert _mangled.simplify("k<signed char>") != _mangled.simplify("k<char>")


def test_path(tmp_path):
    (tmp_path / "own.h").write_text("#define VALUE 7\n")
    path = tmp_path / "of mine.cu"
    path.write_text('#include "own.h"\n__global__ void put(int *x)\n{ x[threadIdx.x] = VALUE; }\n')
    for name in (path, str(path)):
        made = smemkit.RawModule(path=name, options=("-DMORE",))
        x = np.zeros(4, np.int32)
        made.get_function("put")[1, 4](x, backend="sim")
        assert x.tolist() == [7] * 4
    (finding,) = made.get_function("put").check(1, 5, (x,)).findings
    assert finding.first.file == str(path) and finding.first.line == 3
    assert finding.first.text == "{ x[threadIdx.x] = VALUE; }"
    (tmp_path / "put.ptx").write_text(made.ptx)
    again = smemkit.RawModule(path=tmp_path / "put.ptx")
    assert again.kernels == made.kernels and again.source is None and again.ptx == made.ptx


def test_path_refused(tmp_path):
    (tmp_path / "bytes.cu").write_bytes(b"\xff\xfe")
    for bad in (tmp_path / "gone.cu", tmp_path / "bytes.cu", tmp_path, "a\0b"):
        with pytest.raises(smemkit.ArgumentError, match="cannot be read|is not text in UTF-8"):
            smemkit.RawModule(path=bad)
    for words in ({"path": 3}, {}, {"code": None}, {"code": "x", "path": tmp_path}):
        with pytest.raises(smemkit.ArgumentTypeError):
            smemkit.RawModule(**words)


def test_ptx(module):
    assert module.ptx == module.get_function("plain").ptx
    assert ".entry _Z5plainPfi" in module.ptx
    text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n"
    for code in (text, text.encode(), text + "\0"):
        assert smemkit.RawKernel(code, "k").ptx == text


def test_configured_kernel(module, machine):
    kernel = module.get_function("plain")
    x = np.zeros(64, np.float32)
    assert kernel[1, 64](x, 3, backend=machine) is None
    assert x.tolist() == [3.0] * 64
    kernel[(1, 1), (8, 1, 1), None](x, 4, backend=machine)
    kernel[1, 8, 0, 64](x, 5, backend=machine)
    assert x[:9].tolist() == [5.0] * 8 + [3.0]
    assert repr(kernel[1, (8, 8)]) == "RawKernel(name='plain')[1, (8, 8)]"
    with pytest.raises(smemkit.SharedMemoryError):
        kernel[1, 8, 0, 2**40](x, 5, backend=machine)
    with pytest.raises(smemkit.LaunchError):
        kernel[0, 8](x, 5, backend=machine)


def test_configured_kernel_in_reports(module):
    configured = module.get_function("plain")[1, 64]
    x = np.zeros(63, np.float32)
    for report in (configured.check(x, 1), smemkit.check(configured, x, 1)):
        (finding,) = report.findings
        assert finding.first.text.startswith("__global__ void plain(float *x, int n)")
    x = np.zeros(64, np.float32)
    for report in (configured.profile(x, 1), smemkit.profile(configured, x, 1)):
        assert report.counters["global.store.requests"] == 2
    assert configured.source == SOURCE and configured.name == "_Z5plainPfi"


def test_configurations_refused(module):
    kernel = module.get_function("plain")
    for bad in (1, (1,), (1, 2, 0, 4, 5), slice(1, 2)):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"kernel\[grid, block\]\(\*args\)"):
            kernel[bad]
    x = np.zeros(2, np.float32)
    for bad, error in (("x", smemkit.ArgumentTypeError), (-1, smemkit.ArgumentError)):
        with pytest.raises(error, match=f"stream is {bad if bad == -1 else 'str'};"):
            kernel[1, 2, bad](x, 5, backend="sim")


def test_the_command_line_names_templates(tmp_path, capsys):
    path = tmp_path / "fill.cu"
    path.write_text(SOURCE)
    words = [str(path), "--grid", "1", "--block", "8", "--arg", "float64[8]", "--arg", "2.5"]
    assert __main__.main(["check", *words, "--kernel", "fill<double, 8>"]) == 0
    assert "fill<double, 8>: nothing found" in capsys.readouterr().out
    assert __main__.main(["check", *words, "--kernel", "fill<float, 8>"]) != 0
    assert "x is T * (float32), the array is float64" in capsys.readouterr().err
