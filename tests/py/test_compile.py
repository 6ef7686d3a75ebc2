"""CUDA C -> PTX by NVRTC and by nvcc, where either is found, and what is said where neither is."""

import re
import shutil

import numpy as np
import pytest

import smemkit
from smemkit import compile

SOURCE = """
#ifndef FACTOR
#define FACTOR 2
#endif
extern "C" __global__ void scale(float *x, int n)
{
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        tile[threadIdx.x] = x[i];
        x[i] = FACTOR * tile[threadIdx.x];
    }
}
"""
COMPILERS = {"nvrtc": compile.find_nvrtc, "nvcc": compile.find_nvcc}


@pytest.fixture(params=COMPILERS)
def compiler(request, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # nvcc does not run under a sanitizer
    path = COMPILERS[request.param]()
    if path is None:
        pytest.skip(f"no {request.param} here")
    function = {"nvrtc": compile.compile_nvrtc, "nvcc": compile.compile_nvcc}[request.param]
    return lambda source, options=(): function(path, source, options)


def test_ptx(compiler, machine):
    ptx = compiler(SOURCE)
    assert ".visible .entry scale(" in ptx
    assert '"kernel.cu"' in ptx and ".loc" in ptx
    x = np.arange(100, dtype=np.float32)
    smemkit.RawKernel(ptx, "scale")(2, 64, (x, 100), backend=machine)
    assert x.tolist() == [2.0 * i for i in range(100)]


def test_options(compiler):
    x = np.ones(4, np.float32)
    ptx = compiler(SOURCE, ("-DFACTOR=5", "-arch=compute_80"))
    assert ".target sm_80" in ptx
    smemkit.RawKernel(ptx, "scale")(1, 64, (x, 4), backend="sim")
    assert x.tolist() == [5.0] * 4
    assert ".target sm_75" in compiler(SOURCE, ["--gpu-architecture=compute_75"])


def test_options_refused(compiler):
    for bad in ("-G", [1], (b"-G",)):
        with pytest.raises(smemkit.ArgumentTypeError, match="options"):
            compiler(SOURCE, bad)


def test_log_of_the_compiler(compiler):
    with pytest.raises(smemkit.CompileError) as caught:
        compiler(SOURCE.replace("int i =", "int j ="))
    assert "kernel.cu" in str(caught.value)
    assert 'identifier "i" is undefined' in str(caught.value)


def test_debug(compiler):
    ptx = compiler(SOURCE, ("-G",))
    assert ".entry scale(" in ptx


def test_lines_of_the_source(compiler):
    kernel = smemkit.RawKernel(compiler(SOURCE), "scale")
    with pytest.raises(smemkit.OutOfBoundsError) as caught:
        kernel(1, 64, (np.zeros(4, np.float32), 64), backend="sim")
    assert caught.value.source_file == "kernel.cu"
    assert SOURCE.splitlines()[caught.value.source_line - 1].strip().startswith(("tile", "x[i]"))


def test_raw_kernel_takes_cuda_c(machine, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    if compile.find_nvrtc() is None and compile.find_nvcc() is None:
        pytest.skip("no compiler here")
    x = np.ones(4, np.float32)
    kernel = smemkit.RawKernel(SOURCE, "scale", options=("-DFACTOR=3",))
    kernel(1, 64, (x, 4), backend=machine)
    assert x.tolist() == [3.0] * 4
    module = smemkit.RawModule(SOURCE.encode(), options=["-DFACTOR=4"])
    assert module.kernels == ("scale",)
    with pytest.raises(smemkit.CompileError):
        smemkit.RawModule("no CUDA C at all")
    with pytest.raises(smemkit.ArgumentError, match='extern "C"'):
        smemkit.RawKernel(SOURCE.replace('extern "C"', ""), "scale")


def test_templates_that_nothing_instantiates():
    """Their absence is explained, and what the advice says works."""
    template = "template <typename T> __global__ void scale(T *x) { x[threadIdx.x] *= 2; }\n"
    with pytest.raises(smemkit.ArgumentError, match="no kernel at all.* only where it is instan"):
        smemkit.RawKernel(template, "scale")
    other = 'extern "C" __global__ void other() {}\n'
    with pytest.raises(smemkit.ArgumentError, match="it has: other; of a template") as caught:
        smemkit.RawModule(template + other).get_function("scale")
    (line,) = re.findall(r'"(template.*?;)"', str(caught.value))
    module = smemkit.RawModule(template + line)
    x = np.ones(4, np.float32)
    module.get_function(*module.kernels)(1, 4, (x,), backend="sim")
    assert x.tolist() == [2.0] * 4
    with pytest.raises(smemkit.ArgumentError) as caught:
        smemkit.RawModule(other).get_function("scale")
    assert "template" not in str(caught.value)
    with pytest.raises(smemkit.ArgumentError, match="no kernel at all.*__global__"):
        smemkit.RawKernel("__device__ int f() { return 1; }", "f")


def test_nul_in_the_source():
    with pytest.raises(smemkit.CompileError, match="NUL"):
        smemkit.RawModule("__global__ void f() {}\0")


def test_no_compiler(monkeypatch):
    monkeypatch.setattr(compile, "find_nvrtc", lambda: None)
    monkeypatch.setattr(compile, "find_nvcc", lambda: None)
    with pytest.raises(smemkit.CompileError, match=r"smemkit\[nvrtc\]") as caught:
        smemkit.RawModule(SOURCE)
    assert "SMEMKIT_NVCC" in str(caught.value)


REALS = {
    "INFINITY": np.inf,
    "NAN": np.nan,
    "HUGE_VALF": np.inf,
    "HUGE_VAL": np.inf,
    "M_E": np.e,
    "M_LOG2E": 1 / np.log(2),
    "M_LOG10E": 1 / np.log(10),
    "M_LN2": np.log(2),
    "M_LN10": np.log(10),
    "M_PI": np.pi,
    "M_PI_2": np.pi / 2,
    "M_PI_4": np.pi / 4,
    "M_1_PI": 1 / np.pi,
    "M_2_PI": 2 / np.pi,
    "M_2_SQRTPI": 2 / np.sqrt(np.pi),
    "M_SQRT2": np.sqrt(2),
    "M_SQRT1_2": np.sqrt(0.5),
}
BITS = {"SCHAR": 8, "UCHAR": 8, "SHRT": 16, "USHRT": 16, "INT": 32, "UINT": 32}
BITS |= {"LONG": 64, "ULONG": 64, "LLONG": 64, "ULLONG": 64}


def find_integer(name):
    """CHAR_BIT, or the least or largest number of a type."""
    kind, _, end = name.partition("_")
    if kind == "CHAR":
        return 8
    bits, is_unsigned = BITS[kind], kind.startswith("U")
    return -(2 ** (bits - 1)) if end == "MIN" else 2 ** (bits - 1 + is_unsigned) - 1


def test_names_of_the_host_need_no_header(compiler):
    """What nvcc knows by the host's math.h and limits.h NVRTC knows too, also as constants."""
    integers = [name for name in compile.HOST_MACROS if name not in REALS]
    lines = [f"x[{i}] = {name};" for i, name in enumerate(REALS)]
    lines += [f"n[{i}] = (unsigned long long){name};" for i, name in enumerate(integers)]
    source = """
__device__ float least = -INFINITY;
static_assert(sizeof INFINITY == 4 && sizeof HUGE_VAL == 8 && sizeof UINT_MAX == 4, "types");
static_assert(sizeof LONG_MIN == 8 && INT_MIN < 0 && UINT_MAX > 0, "types");
extern "C" __global__ void fill(double *x, unsigned long long *n)
{
    LINES
    x[0] = -least;
}
""".replace("LINES", "\n    ".join(lines))
    x, n = np.zeros(len(REALS)), np.zeros(len(integers), np.uint64)
    smemkit.RawKernel(compiler(source), "fill")(1, 1, (x, n), backend="sim")
    np.testing.assert_allclose(x, [*REALS.values()], rtol=1e-15)
    assert [int(number) for number in n] == [find_integer(name) % 2**64 for name in integers]


def test_names_of_the_host_may_be_defined_anew(compiler):
    source = """
#define M_PI 3
#ifndef NAN
#error "nvcc has it"
#endif
extern "C" __global__ void fill(int *x) { x[0] = M_PI; }
"""
    x = np.zeros(1, np.int32)
    kernel = smemkit.RawKernel(compiler(source, ("-DINT_MAX=7",)), "fill")
    kernel(1, 1, (x,), backend="sim")
    assert x.tolist() == [3]


def test_where_nvcc_is_looked_for(monkeypatch, tmp_path):
    for name in ("SMEMKIT_NVCC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    package = tmp_path / "package"
    monkeypatch.setattr(compile, "_list_packages", lambda: [package])
    places = {}
    for name in ("named", "home/bin", "path", "package/bin"):
        program = tmp_path / name / "nvcc"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\nexit 3\n")
        program.chmod(0o755)
        places[name] = program
    monkeypatch.setenv("PATH", "")
    assert compile.find_nvcc() is None
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert compile.find_nvcc() == places["path"]
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert compile.find_nvcc() == places["home/bin"]
    for part in compile.NVCC_PARTS[1:]:  # one of the packages alone is of no use
        assert compile.find_nvcc() == places["home/bin"]
        (package / part).parent.mkdir(parents=True, exist_ok=True)
        (package / part).touch()
    assert compile.find_nvcc() == places["package/bin"]
    monkeypatch.setenv("SMEMKIT_NVCC", str(places["named"]))
    assert compile.find_nvcc() == places["named"]
    with pytest.raises(smemkit.CompileError, match="status 3"):
        compile.compile_nvcc(places["named"], SOURCE)
    monkeypatch.setenv("SMEMKIT_NVCC", "none")
    assert compile.find_nvcc() is None
    for wrong in (str(tmp_path), "/nowhere/nvcc"):
        monkeypatch.setenv("SMEMKIT_NVCC", wrong)
        with pytest.raises(smemkit.ArgumentError, match=f"SMEMKIT_NVCC is '{wrong}'; accepted"):
            smemkit.RawModule(SOURCE)
        assert f"SMEMKIT_NVCC is '{wrong}'" in smemkit.show_config("dict")["nvcc"]


def test_an_nvcc_that_is_none(monkeypatch):
    """A program that ends well and writes nothing."""
    program = shutil.which("true")
    monkeypatch.setenv("SMEMKIT_NVCC", program)
    monkeypatch.setattr(compile, "find_nvrtc", lambda: None)
    with pytest.raises(smemkit.CompileError, match=f"{program} .*no PTX.*SMEMKIT_NVCC names it"):
        smemkit.RawModule(SOURCE)


@pytest.mark.parametrize("code", ["\ud800", b"\xff"])
def test_code_that_is_no_text(code):
    with pytest.raises(smemkit.ArgumentError, match="code is not a text"):
        smemkit.RawKernel(code, "f")
    with pytest.raises(smemkit.ArgumentError, match="options has"):
        smemkit.RawModule(SOURCE, options=("-DA=\ud800",))


def test_a_library_that_cannot_be_loaded(tmp_path):
    broken = tmp_path / "libnvrtc.so"
    broken.write_bytes(b"no library")
    with pytest.raises(smemkit.CompileError, match="cannot be loaded"):
        compile.compile_nvrtc(broken, SOURCE)
