"""Occupancy of one's own kernels for cards that are not at hand: compiled for each of them."""

import re
import subprocess

import pytest
from support import disassemble

import smemkit
from smemkit import _core, compile
from smemkit.compile import _nvrtc
from smemkit.report import OccupancyTable

BY_ARCH = """
#if __CUDA_ARCH__ >= 860
#define COUNT 2048
#define BOUND 512
#else
#define COUNT 1024
#define BOUND 1024
#endif
extern "C" __global__ void __launch_bounds__(BOUND) reverse(float *x)
{
    __shared__ float tile[COUNT];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[COUNT - 1 - threadIdx.x];
}
"""
TEMPLATE = """
template <int N> __global__ void scale(double *x)
{
    __shared__ double tile[N];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = TWICE tile[N - 1 - threadIdx.x];
}
"""
NEEDS_80 = """
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error this kernel needs 8.0
#endif
extern "C" __global__ void copy(float *x) { x[threadIdx.x] = 1; }
"""
CAPABILITIES = ["7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"]


@pytest.fixture(autouse=True)
def _simulator(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")


@pytest.fixture
def nvrtc():
    if not compile.find_nvrtc():
        pytest.skip("no NVRTC; pip install 'smemkit[nvrtc]'")


def test_the_table_has_every_card_of_today(nvrtc):
    table = smemkit.occupancy_table(smemkit.RawKernel(BY_ARCH, "reverse"), 512)
    assert [row["compute_capability"] for row in table] == CAPABILITIES
    for row in table:
        found = smemkit.occupancy(
            smemkit.RawKernel(BY_ARCH, "reverse"), 512, compute_capability=row["compute_capability"]
        )
        assert (row["blocks"], row["registers"]) == (found.blocks, found.registers)
        assert tuple(row["limited_by"]) == found.limited_by


def test_source_is_compiled_for_the_card(nvrtc):
    kernel = smemkit.RawKernel(BY_ARCH, "reverse")
    assert smemkit.occupancy(kernel, 512, compute_capability="8.0").shared_bytes == 4096
    assert smemkit.occupancy(kernel, 512, compute_capability="8.6").shared_bytes == 8192
    assert smemkit.occupancy(kernel, 1024, compute_capability="8.0").blocks == 2
    assert smemkit.occupancy(kernel, 1024, compute_capability="RTX 3060").blocks == 0  # its bound


def test_options_and_templates_are_those_of_the_module(nvrtc):
    module = smemkit.RawModule(
        TEMPLATE, options=("-DTWICE=2 *", "-arch=compute_75"), name_expressions=("scale<96>",)
    )
    found = smemkit.occupancy(module.get_function("scale<96>"), 96, compute_capability="8.9")
    assert found.shared_bytes == 96 * 8


def test_a_kernel_that_does_not_compile_for_a_card(nvrtc):
    kernel = smemkit.RawKernel(NEEDS_80, "copy")
    with pytest.raises(smemkit.CompileError, match="needs 8.0"):
        smemkit.occupancy(kernel, 32, compute_capability="7.5")
    table = smemkit.occupancy_table(kernel, 32, compute_capabilities=["7.5", "8.6"])
    assert "needs 8.0" in table["7.5"]["error"] and table["8.6"]["blocks"] == 16
    assert "7.5: " in str(table) and "needs 8.0" in str(table)
    with pytest.raises(smemkit.CompileError, match="needs 8.0"):
        smemkit.occupancy_table(kernel, 32, compute_capabilities=["7.5"])


def test_a_card_without_a_compiler_says_which_there_are(nvrtc):
    kernel = smemkit.RawKernel(BY_ARCH, "reverse")
    with pytest.raises(
        smemkit.ArgumentError, match=r"7\.0: .*makes code for 7\.5, 8\.0.*registers="
    ):
        smemkit.occupancy(kernel, 32, compute_capability="7.0")
    assert smemkit.occupancy(kernel, 32, compute_capability="7.0", registers=20).registers == 20


def test_ptx_without_ptxas_says_what_to_install(monkeypatch):
    monkeypatch.setenv("SMEMKIT_NVCC", "none")
    kernel = smemkit.RawKernel(smemkit.ptx("gemm", "tiled"), "gemm_tiled_float32")
    with pytest.raises(smemkit.ArgumentError, match="pip install nvidia-cuda-nvcc=="):
        smemkit.occupancy(kernel, 32, compute_capability="8.6")


def test_ptx_of_a_newer_card_is_refused():
    text = smemkit.ptx("gemm", "tiled")
    for target, words in (("sm_90", "sm_90 and newer"), ("sm_90a", "sm_90a alone")):
        ptx = re.sub(r"\.target sm_\d+", f".target {target}", text)
        kernel = smemkit.RawKernel(ptx, "gemm_tiled_float32")
        with pytest.raises(smemkit.ArgumentError, match=words):
            smemkit.occupancy(kernel, 32, compute_capability="8.6")


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch, nvrtc):
    kernel = smemkit.RawKernel(BY_ARCH, "reverse")
    monkeypatch.setenv("SMEMKIT_CACHE", "none")
    monkeypatch.setattr(compile, "find_nvrtc", lambda: None)
    monkeypatch.setattr(compile, "find_nvcc", lambda: None)
    with pytest.raises(smemkit.CompileError, match=r"pip install 'smemkit\[nvrtc\]'"):
        smemkit.occupancy(kernel, 32, compute_capability="8.6")


@pytest.mark.slow
@pytest.mark.parametrize("capability", ["7.5", "8.6", "12.0"])
def test_registers_are_those_of_a_cubin(capability, tmp_path, nvrtc):
    ptxas, tool = compile.find_ptxas(), disassemble.find_tool("cuobjdump")
    if ptxas is None or tool is None:
        pytest.skip("no ptxas or no cuobjdump")
    arch = capability.replace(".", "")
    ptx = compile.compile_nvrtc(compile.find_nvrtc(), BY_ARCH, [f"-arch=compute_{arch}"])
    (tmp_path / "k.ptx").write_text(ptx)
    made = [ptxas, f"-arch=sm_{arch}", "-o", "k.cubin", "k.ptx"]
    subprocess.run(made, cwd=tmp_path, check=True, timeout=120)
    told = subprocess.run(
        [tool, "--dump-resource-usage", "k.cubin"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    kernel = smemkit.RawKernel(BY_ARCH, "reverse")
    found = smemkit.occupancy(kernel, 64, compute_capability=capability)
    assert int(re.search(r"REG:(\d+)", told)[1]) == found.registers


def test_usage_is_cached(monkeypatch, tmp_path, nvrtc):
    monkeypatch.setenv("SMEMKIT_CACHE", str(tmp_path))
    kernel = smemkit.RawKernel(BY_ARCH, "reverse")
    first = smemkit.occupancy(kernel, 64, compute_capability="8.6")

    def fail(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(compile, "measure_nvrtc", fail)
    monkeypatch.setattr(compile, "compile_nvcc", fail)
    assert smemkit.occupancy(kernel, 64, compute_capability="8.6") == first


def test_a_program_of_the_cache_of_nvrtc_is_compiled_again(monkeypatch, nvrtc):
    """Where the GPU's driver is, NVRTC caches programs, and of these reports nothing."""
    plain, asked = _nvrtc._compile, []

    def compile_by_cache(library, path, source, options):
        asked.append(options)
        ptx, log = plain(library, path, source, options)
        return ptx, log if "--no-cache" in options else ""

    kernel = smemkit.RawKernel(BY_ARCH, "reverse")
    first = smemkit.occupancy(kernel, 64, compute_capability="8.6")
    monkeypatch.setattr(_nvrtc, "_compile", compile_by_cache)
    assert smemkit.occupancy(kernel, 64, compute_capability="8.6") == first
    assert ["--no-cache" in options for options in asked] == [False, True]


# Reports of compilers ----------------------------------------------------------------------------

REPORT = """\
ptxas info    : Compiling entry function '_Z1qILi3EEvPf' for 'sm_75'
ptxas info    : Function properties for _Z1qILi3EEvPf
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'k' for 'sm_75'
ptxas info    : Function properties for k
    360 bytes stack frame, 360 bytes spill stores, 396 bytes spill loads
ptxas info    : Used 10 registers, used 2 barriers, 256 bytes smem, 360 bytes cmem[0]
"""
BOUNDS = """
.visible .entry _Z1qILi3EEvPf(
.param .u64 p
)
{
ret; }
.visible .entry k(
.param .u64 p
)
.maxntid 32, 4, 1
.minnctapersm 2
{
ret; }
"""


def test_usage_of_a_report():
    assert compile.join_usage(BOUNDS, REPORT) == {
        "_Z1qILi3EEvPf": {
            "registers": 4,
            "shared_bytes": 0,
            "barriers": 0,
            "spill_store_bytes": 0,
            "spill_load_bytes": 0,
            "threads_max": 0,
        },
        "k": {
            "registers": 10,
            "shared_bytes": 256,
            "barriers": 2,
            "spill_store_bytes": 360,
            "spill_load_bytes": 396,
            "threads_max": 128,
        },
    }


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ((), ["-arch=sm_86"]),
        (("-DA=1", "-arch=compute_90"), ["-arch=sm_86", "-DA=1"]),
        (("-arch", "sm_90", "-DA=1"), ["-arch=sm_86", "-DA=1"]),
        (("--gpu-architecture=sm_86a",), ["-arch=sm_86a"]),
        (("-gencode=arch=compute_80,code=sm_80", "-gencode", "arch=x,code=y"), ["-arch=sm_86"]),
    ],
)
def test_options_of_another_architecture(options, chosen):
    assert compile.choose_options(options, "86") == chosen


# Cards -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("RTX 3060", "8.6"),
        ("rtx3060", "8.6"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "8.9"),
        ("GeForce RTX 3050 Ti Mobile", "8.6"),
        ("Tesla T4", "7.5"),
        ("NVIDIA H100", "9.0"),
        ("b200", "10.0"),
    ],
)
def test_a_card_stands_for_its_compute_capability(name, capability):
    assert smemkit.limits(name)["compute_capability"] == capability


@pytest.mark.parametrize("name", ["", "RTX", "RTX 30600", "GeForce", "9", "x" * 5000, "GPU"])
def test_another_name_is_refused(name):
    with pytest.raises(smemkit.ArgumentError, match="neither written like"):
        smemkit.limits(name)


def test_cards_have_rows_and_names_of_their_own():
    names = []
    for (major, minor), _, cards in _core._limits_table():
        for card in cards:
            assert smemkit.limits(card)["compute_capability"] == f"{major}.{minor}", card
            names.append(card)
    assert len(set(names)) == len(names) > 50


# The table ---------------------------------------------------------------------------------------


def test_a_table_is_saved_and_shown(tmp_path):
    table = smemkit.occupancy_table("gemm/tiled", registers=40)
    assert table.block == (32, 32) and len(table) == len(CAPABILITIES)
    assert "8.6" in str(table) and "67 %" in str(table)
    table.save(tmp_path / "table.json")
    again = smemkit.load_report(tmp_path / "table.json")
    assert isinstance(again, OccupancyTable) and str(again) == str(table)
    assert again.to_html() == table.to_html() and "67 %" in table.to_html()
    frame = table.to_dataframe()
    assert list(frame["compute_capability"]) == CAPABILITIES


def test_cards_that_are_asked_for():
    table = smemkit.occupancy_table(
        "gemm/tiled", 256, compute_capabilities=["RTX 4060", (8, 9), "8.6"], registers=32
    )
    assert [row["compute_capability"] for row in table] == ["8.9", "8.6"]
    assert table["RTX 4090"]["cards"][0] == "RTX 4060"
    with pytest.raises(KeyError):
        table["9.0"]


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"compute_capabilities": "8.6"}, smemkit.ArgumentTypeError),
        ({"compute_capabilities": ["99.9"]}, smemkit.ArgumentError),
        ({"registers": 300}, smemkit.ArgumentError),
        ({"block": 0}, smemkit.LaunchError),
    ],
)
def test_bad_tables(keywords, error):
    with pytest.raises(error):
        smemkit.occupancy_table("gemm/tiled", **{"registers": 32, **keywords})
