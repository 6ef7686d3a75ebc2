"""CUDA C -> PTX by NVRTC and by nvcc, where either is found, and what is said where neither is."""

import re
import shutil
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import smemkit
from smemkit import compile
from smemkit.compile import _headers, _nvrtc, _options, _toolchain

ROOT = Path(__file__).parents[2]
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
    assert smemkit.RawKernel(SOURCE.replace('extern "C"', ""), "scale").name == "_Z5scalePfi"


def test_templates_that_nothing_instantiates():
    """Their absence is explained, and what the advice says works."""
    template = "template <typename T> __global__ void scale(T *x) { x[threadIdx.x] *= 2; }\n"
    with pytest.raises(smemkit.ArgumentError, match="no kernel at all.* only where it is instan"):
        smemkit.RawKernel(template, "scale")
    other = 'extern "C" __global__ void other() {}\n'
    with pytest.raises(smemkit.ArgumentError, match="it has: other; of a template") as caught:
        smemkit.RawModule(template + other).get_function("scale")
    calls = re.findall(r"Raw\w+\(code, .*?\)(?= or|$)", str(caught.value))
    assert len(calls) == 2
    for call in calls:
        made = eval(call, {"code": template, **vars(smemkit)})
        kernel = made if "RawKernel" in call else made.get_function("scale<float>")
        x = np.ones(4, np.float32)
        kernel(1, 4, (x,), backend="sim")
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
    integers = [name for name in _headers.HOST_MACROS if name not in REALS]
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
    monkeypatch.setattr(_toolchain, "_list_packages", lambda: [package])
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
    for part in _toolchain.NVCC_PARTS[1:]:  # one of the packages alone is of no use
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


# Headers -----------------------------------------------------------------------------------------


@pytest.fixture
def nvrtc(monkeypatch):
    path = compile.find_nvrtc()
    if path is None:
        pytest.skip("no NVRTC here")
    monkeypatch.setattr(compile, "find_nvcc", lambda: None)
    return path


@pytest.fixture
def bare(nvrtc, monkeypatch):
    """An NVRTC without the wheels of headers."""
    monkeypatch.setattr(_nvrtc, "find_include_folders", lambda path: [])
    monkeypatch.setattr(_nvrtc, "list_wheels", lambda folder: {})
    return nvrtc


ALONE = [name for name in _headers.HEADERS if name not in _headers.LIBCUDACXX]


def test_headers_of_our_own_need_no_wheel(bare):
    """Each alone, all twice, and in the other order."""
    for name in ALONE:
        compile.compile_nvrtc(bare, f"#include <{name}>\n" + SOURCE)
    lines = [f"#include <{name}>\n" for name in ALONE]
    for order in (lines + lines, lines[::-1]):
        compile.compile_nvrtc(bare, "".join(order) + SOURCE)


def test_types_of_our_own(bare):
    """Sizes and ends of what <cstdint> and <cfloat> name; they need no #include at all."""
    checks = []
    for bits in (8, 16, 32, 64):
        for sign, least in (("u", 0), ("", -(2 ** (bits - 1)))):
            for kind in ("", "_least", "_fast"):
                name = f"{sign}int{kind}{bits}"
                checks += [
                    f"sizeof({name}_t) == {bits // 8}",
                    f"({name}_t)-1 {'<>'[sign == 'u']} 0",
                ]
                most = 2 ** (bits - (sign == "")) - 1
                checks += [f"{name.upper()}_MAX == {most}{sign}ll"]
                if least:
                    checks += [f"{name.upper()}_MIN == ({least + 1}ll - 1)"]
        checks += [f"sizeof(INT{bits}_C(1)) >= {bits // 8}", f"UINT{bits}_C(1) > 0"]
    for name, kind in (("FLT", np.float32), ("DBL", np.float64)):
        facts, tail = np.finfo(kind), "f" if name == "FLT" else ""
        for end, value in (("MAX", facts.max), ("MIN", facts.tiny), ("EPSILON", facts.eps)):
            checks.append(f"{name}_{end} == {float(value).hex()}{tail}")
        checks.append(f"{name}_TRUE_MIN == {float(facts.smallest_subnormal).hex()}{tail}")
        checks.append(f"{name}_DIG == {facts.precision}")
        checks.append(f"{name}_MANT_DIG == {facts.nmant + 1}")
    checks += ["SIZE_MAX == UINT64_MAX", "sizeof(std::intptr_t) == sizeof(void *)"]
    checks += ["sizeof(uint) == 4", "sizeof(ptrdiff_t) == 8"]
    text = "".join(f'static_assert({check}, "{check}");\n' for check in checks)
    compile.compile_nvrtc(bare, text + SOURCE)


def test_a_source_may_declare_the_types_itself(bare):
    for line in (
        "typedef unsigned long uint64_t; typedef long int64_t;",
        "using uint = unsigned;",
        "#define FLT_MAX 7",
        "#define uint8_t unsigned char",
    ):
        compile.compile_nvrtc(bare, f"{line}\n{SOURCE}")


def test_assert_and_ndebug(bare):
    line = "#include <cassert>\n" + SOURCE.replace("if (i < n)", "assert(n > 0); if (i < n)")
    assert "__assertfail" in compile.compile_nvrtc(bare, line)
    assert "__assertfail" not in compile.compile_nvrtc(bare, "#define NDEBUG\n" + line)
    kernel = smemkit.RawKernel(compile.compile_nvrtc(bare, line), "scale")
    with pytest.raises(smemkit.KernelAssertionError, match="n > 0"):
        kernel(1, 1, (np.zeros(1, np.float32), 0), backend="sim")


@pytest.mark.parametrize(
    "name, wheel",
    {
        "cuda_fp16.h": "nvidia-cuda-runtime",
        "cooperative_groups/reduce.h": "nvidia-cuda-runtime",
        "mma.h": "nvidia-cuda-runtime",
        "crt/mma.h": "nvidia-cuda-crt",
        "cub/cub.cuh": "nvidia-cuda-cccl",
        "cuda/barrier": "nvidia-cuda-cccl",
        "limits": "nvidia-cuda-cccl",
        "curand_kernel.h": "nvidia-curand",
    }.items(),
)
def test_a_missing_header_names_its_wheel(bare, name, wheel):
    with pytest.raises(smemkit.CompileError, match=f"pip install {wheel}==[0-9.]+ ") as caught:
        smemkit.RawModule(f"#include <{name}>\n{SOURCE}")
    assert "pip install 'smemkit[nvrtc]' brings all" in str(caught.value)


def test_the_wheels_bring_what_the_advice_says(nvrtc):
    """The headers that lie beside NVRTC here, each by the wheel that its record says."""
    owners = {}
    for record in (nvrtc.parents[3]).glob("nvidia_*.dist-info/RECORD"):
        package = record.parent.name.split("-")[0].replace("_", "-")
        for line in record.read_text(encoding="utf-8").splitlines():
            match = re.match(r"nvidia/cu13/include/(?:cccl/)?([^,]+)", line)
            if match and package in _toolchain.WHEELS:
                owners[match[1]] = package
    if not owners:
        pytest.skip("NVRTC is not of a wheel here")
    told = {
        name: wheel
        for name in owners
        for wheel in [next((w for s, w in _nvrtc.BRINGS.items() if name.startswith(s)), None)]
        if wheel
    }
    shared = ("nv/",)  # of cccl, and there twice
    wrong = {name for name in told if told[name] != owners[name] and not name.startswith(shared)}
    assert not wrong and len(told) > 50


def test_headers_that_are_nowhere(bare, monkeypatch):
    with pytest.raises(smemkit.CompileError, match="vector belongs to the host.*leave it out"):
        smemkit.RawModule(f"#include <vector>\n{SOURCE}")
    with pytest.raises(smemkit.CompileError, match=r"mine.h is not here.*options=\('-I"):
        smemkit.RawModule(f'#include "mine.h"\n{SOURCE}')
    monkeypatch.setattr(_nvrtc, "list_wheels", lambda folder: {"nvidia-cuda-cccl": "13.0.85"})
    with pytest.raises(smemkit.CompileError, match="cub/no.cuh is no header of nvidia-cuda-cccl"):
        smemkit.RawModule(f"#include <cub/no.cuh>\n{SOURCE}")


def test_whose_log_is_shown(bare, monkeypatch, tmp_path):
    """nvcc's where it knows more, else NVRTC's: nvcc may not work at all."""
    nvcc = tmp_path / "nvcc"
    nvcc.write_text("#!/bin/sh\necho no host compiler\nexit 1\n")
    nvcc.chmod(0o755)
    monkeypatch.setattr(compile, "find_nvcc", lambda: nvcc)
    with pytest.raises(smemkit.CompileError, match='^NVRTC:\n.*"j" is undefined'):
        smemkit.RawModule(SOURCE.replace("int i =", "int i = j +"))
    with pytest.raises(smemkit.CompileError, match="nvcc failed with status 1:\nno host") as caught:
        smemkit.RawModule("#include <vector>\n" + SOURCE)
    assert "pip install" not in str(caught.value)
    monkeypatch.setenv("PATH", str(tmp_path))
    nvcc.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(smemkit.CompileError, match=r"no g\+\+; NVRTC.*pip install 'smemkit\[nvrtc"):
        smemkit.RawModule("#include <vector>\n" + SOURCE)


def test_code_of_the_host(bare):
    with pytest.raises(smemkit.CompileError, match="write __device__ before.* leave main"):
        smemkit.RawModule(SOURCE + "int main() { return 0; }")


def test_pow_of_mixed_numbers(compiler):
    """As nvcc has them: in double."""
    source = """
static_assert(sizeof pow(1.0f, 2.0) == 8 && sizeof pow(1.0, 2.0f) == 8 && sizeof pow(2, 3) == 8);
extern "C" __global__ void f(double *x)
{
    x[0] = pow(3.0f, x[0]);
    x[1] = std::pow(2, (int)x[1]);
}
"""
    x = np.array([2.0, 5.0])
    smemkit.RawKernel(compiler(source, ("-std=c++17",)), "f")(1, 1, (x,), backend="sim")
    np.testing.assert_allclose(x, [9, 32], rtol=1e-12)


def test_the_driver_s_types(bare):
    source = (
        "#include <cuda.h>\nstatic_assert(sizeof(CUtensorMap) == 128 && CUDA_VERSION >= 11000);"
    )
    compile.compile_nvrtc(bare, source + SOURCE)


def test_wheels_of_different_versions(nvrtc, monkeypatch):
    wheels = {"nvidia-cuda-nvrtc": "13.0.88", "nvidia-cuda-cccl": "13.4.7", "nvidia-curand": "10.4"}
    monkeypatch.setattr(_nvrtc, "list_wheels", lambda folder: wheels)
    pins = "nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-cccl==13.0.85"
    with pytest.raises(smemkit.CompileError, match=f"different versions.*pip install {pins}$"):
        smemkit.RawModule("#error\n")
    wheels["nvidia-cuda-cccl"] = "13.0.1"
    with pytest.raises(smemkit.CompileError) as caught:
        smemkit.RawModule("#error\n")
    assert "pip install" not in str(caught.value)


def test_where_headers_are_looked_for(tmp_path):
    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def find(library):
        folders = _toolchain.find_include_folders(tmp_path / library)
        return [folder.relative_to(tmp_path).as_posix() for folder in folders]

    make("new/lib/libnvrtc.so.13", "new/include/cuda_fp16.h", "new/include/cccl/cub/cub.cuh")
    assert find("new/lib/libnvrtc.so.13") == ["new/include", "new/include/cccl"]
    make("old/cuda_nvrtc/lib/libnvrtc.so.12", "old/cuda_runtime/include/cuda_fp16.h")
    assert find("old/cuda_nvrtc/lib/libnvrtc.so.12") == ["old/cuda_runtime/include"]
    make("old/cuda_cccl/include/cuda/std/array", "old/curand/include/curand_kernel.h")
    folders = ["old/cuda_cccl/include", "old/cuda_runtime/include", "old/curand/include"]
    assert find("old/cuda_nvrtc/lib/libnvrtc.so.12") == folders
    make("usr/lib/x/libnvrtc.so")
    assert find("usr/lib/x/libnvrtc.so") == []


def test_newer_packages_come_first(tmp_path, monkeypatch):
    for name in ("cu12", "cu13", "cuda_nvrtc", "curand", "other"):
        (tmp_path / "nvidia" / name).mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    names = [f.name for f in _toolchain._list_packages() if tmp_path in f.parents]
    assert names == ["cu13", "cu12", "cuda_nvrtc", "curand"]


def test_folders_of_options(tmp_path, monkeypatch, compiler):
    """Folders of one's own, relative or not."""
    monkeypatch.chdir(tmp_path)
    Path("own").mkdir()
    Path("own/factor.h").write_text("#define FACTOR 6\n")
    source = "#include <factor.h>\n" + SOURCE
    for options in (["-Iown"], ["-I", "own"], ["--include-path=own"], [f"-I{tmp_path}/own"]):
        x = np.ones(4, np.float32)
        smemkit.RawKernel(compiler(source, options), "scale")(1, 64, (x, 4), backend="sim")
        assert x.tolist() == [6.0] * 4
    assert _options.list_folders(["-Iown", "-DA=-Ib", "-I"]) == [tmp_path / "own"]


# Versions ----------------------------------------------------------------------------------------


def list_requirements():
    """(extra, requirement) of the build and of all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = {"build-system": project["build-system"]["requires"]}
    extras |= project["project"]["optional-dependencies"]
    return [(extra, line) for extra, lines in extras.items() for line in lines]


def test_nvidia_s_packages_are_pinned():
    """To one version each, the same everywhere, and on every platform that has them."""
    found = {}
    for extra, line in list_requirements():
        if line.startswith("nvidia"):
            match = re.fullmatch(r"(nvidia[a-z-]*)==([0-9.]*[0-9]); (.*)", line)
            assert match, f"{extra}: {line} has no exact version"
            found.setdefault(match[1], set()).add((match[2], match[3]))
    assert len(found) >= 9
    assert {name: len(pins) for name, pins in found.items() if len(pins) > 1} == {}
    assert len({marker for pins in found.values() for _, marker in pins}) == 1


def test_advice_names_the_versions_of_the_extra():
    lines = [line.split(";")[0] for extra, line in list_requirements() if extra == "nvrtc"]
    assert lines == [f"{name}=={version}" for name, version in _toolchain.WHEELS.items()]
    assert set(_nvrtc.BRINGS.values()) <= set(_toolchain.WHEELS)
