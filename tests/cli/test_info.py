"""The command info of a file: what runs of it, what is refused, what is ignored."""

import json

import pytest

from smemkit import compile
from smemkit.__main__ import main

PTX = """.version 9.0
.target sm_90
.address_size 64
.func inner() { multimem.u32 r, 8; }
.visible .entry _Z5scaleIfEvPT_() { griddepcontrol.wait; ret; }
.visible .entry tile() { .shared .b32 t[256]; .reg .b32 r; ld.shared.u32 r, [t]; ret; }
.visible .entry bad() { call inner; ret; }
"""


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="mine.ptx"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write_file


def test_refused_and_ignored(write, capsys):
    path = write(PTX)
    assert main(["info", path]) == 1
    output = capsys.readouterr().out
    assert f"{path}: 3 kernels and 1 device function; the simulator refuses 1 kernel" in output
    lines = {line.split()[0]: line for line in output.splitlines() if line}
    assert lines["tile"].split()[1:] == ["kernel", "-", "1,024", "0"]
    assert lines["scale<float>"].split()[-2:] == ["0", "0"]
    assert "ignored, as no result depends on it: griddepcontrol" in output
    assert "refused: bad calls inner: 'multimem' is not supported" in output
    assert "registers" in output.splitlines()[-1]


def test_a_byte_order_mark_is_no_part_of_the_text(write, capsys):
    assert main(["info", write("\ufeff" + PTX)]) == 1
    assert "3 kernels and 1 device function" in capsys.readouterr().out


def test_all_runs(write, capsys):
    kept = "\n".join(line for line in PTX.splitlines() if "inner" not in line)
    assert main(["info", write(kept)]) == 0
    output = capsys.readouterr().out
    assert "2 kernels and 0 device functions; the simulator runs them all" in output
    if compile.find_ptxas() is not None:
        assert "registers are" not in output


@pytest.mark.parametrize("text", ["", ".version 9.0\n.target sm_90\n.global .b32 x;\n"])
def test_nothing_to_launch(text, write, capsys):
    path = write(text)
    assert main(["info", path]) == 0
    said = f"{path}: 0 kernels and 0 device functions; nothing to launch\n"
    assert capsys.readouterr().out == said


def test_json(write, tmp_path, capsys):
    path, target = write(PTX), tmp_path / "out.json"
    assert main(["info", path, "--json", str(target)]) == 1
    assert main(["info", path, "--json", "-"]) == 1
    text = capsys.readouterr().out
    assert text == target.read_text()
    functions = {row["name"]: row for row in json.loads(text)["functions"]}
    assert [row["kind"] for row in functions.values()] == ["kernel"] * 3 + ["function"]
    assert functions["tile"]["shared_bytes"] == 1024 and functions["tile"]["refused"] is None
    assert functions["_Z5scaleIfEvPT_"]["ignored"] == ["griddepcontrol"]
    assert functions["bad"]["ptx_line"] == 7 and "multimem" in functions["bad"]["refused"]


def test_cuda_c(write, capsys):
    if not (compile.find_nvrtc() or compile.find_nvcc()):
        pytest.skip("no compiler; pip install 'smemkit[nvrtc]'")
    source = "__global__ void f(int *x)\n{\n    x[0] = N;\n    __prof_trigger(1);\n}\n"
    assert main(["info", write(source, "mine.cu"), "--option=-DN=3"]) == 0
    assert "ignored, as no result depends on it: pmevent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["info", "absent.ptx"], "there is no file absent.ptx"),
        (["info", "kernel.txt"], "kernel.txt is neither a .cu nor a .ptx file"),
        (["info", "--json", "-"], "--json is for a .cu or .ptx file"),
        (["info", "--option=-DN=3"], "--option is for a .cu or .ptx file"),
    ],
)
def test_mistakes(words, said, capsys):
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_faulty_text(write, capsys):
    assert main(["info", write(PTX.replace("[t]", "[t"))]) == 2
    assert "PTX line 6" in capsys.readouterr().err
