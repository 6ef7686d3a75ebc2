"""The command occupancy: one card or all, of a file or of the package."""

import pytest

import smemkit
from smemkit import compile
from smemkit.__main__ import main

SOURCE = """
__global__ void reverse(float *x)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[255 - threadIdx.x];
}
extern "C" __global__ void other(float *x) { x[threadIdx.x] = 1; }
"""


@pytest.fixture
def source(tmp_path):
    if not (compile.find_nvrtc() or compile.find_nvcc()):
        pytest.skip("no compiler; pip install 'smemkit[nvrtc]'")
    path = tmp_path / "mine.cu"
    path.write_text(SOURCE)
    return str(path)


def test_every_card(source, tmp_path, capsys):
    data = tmp_path / "table.json"
    words = ["occupancy", source, "--kernel", "reverse", "--block", "16,16", "--save", str(data)]
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "block 16 x 16" in output and "12.1" in output
    assert output == f"{smemkit.load_report(data)}\n"


def test_one_card(source, capsys):
    words = ["occupancy", source, "--kernel", "other", "--block", "128", "--shared-mem", "30000"]
    assert main([*words, "--device", "RTX 3060"]) == 0
    output = capsys.readouterr().out
    assert "8.6  RTX 3060" in output and "30,000" in output and "shared memory" in output
    assert "8.9" not in output


def test_a_kernel_of_the_package(capsys):
    try:
        found = smemkit.occupancy("gemm/tiled", compute_capability="9.0")
    except smemkit.ArgumentError as error:  # built without nvcc
        pytest.skip(str(error))
    assert main(["occupancy", "gemm/tiled", "--device", "9.0"]) == 0
    output = capsys.readouterr().out
    assert "gemm/tiled, block 32 x 32" in output and f"{found.percent:.0f} %" in output


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["gemm"], 2, "neither a kernel such as gemm/tiled"),
        (["gemm/none"], 2, "neither a kernel such as gemm/tiled"),
        (["gemm/tiled", "--kernel", "x"], 2, "--kernel is for a .cu or .ptx file"),
        (["gemm/tiled", "--block", "x"], 2, "whole numbers"),
        (["gemm/tiled", "--dtype", "float31"], 2, "'float31' is not an element type"),
        (["gemm/tiled", "--device", "RTX 9999"], 2, "RTX 9999"),
        (["gemm/tiled", "--save", "x.txt"], 2, ".html"),
        (["x.cu"], 2, "there is no file x.cu"),
        ([__file__.replace(".py", ".ptx"), "--block", "32"], 2, "there is no file"),
        (
            ["x.cu", "--block", "32", "--dtype", "int32"],
            2,
            "--dtype is for a kernel of",
        ),
    ],
)
def test_wrong_words(words, status, said, capsys):
    assert main(["occupancy", *words]) == status
    assert said in capsys.readouterr().err
