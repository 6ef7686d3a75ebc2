"""The commands profile and check: what they print, write and return."""

import json
import subprocess
import sys

import numpy
import pytest
from support.small_kernels import STRIDE

from smemkit import compile
from smemkit.__main__ import main
from smemkit.cli import kernel_arguments
from smemkit.cli.errors import UsageError

GEMM = ["profile", "gemm", "--variant", "column", "--shape", "64"]


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "stride.ptx"
    path.write_text(STRIDE)
    return str(path)


def launch(path, *more, verb="profile", step="32"):
    sizes = ["--grid", "1", "--block", "32"]
    return [verb, path, *sizes, "--arg", "int32[32]", "--arg", step, *more]


def test_profile_of_a_family(capsys):
    assert main(GEMM) == 0
    output, complaints = capsys.readouterr()
    assert "gemm_column_float32" in output and "shared.load.conflicts" in output
    assert complaints == ""


def test_as_a_process():
    done = subprocess.run(
        [sys.executable, "-m", "smemkit", *GEMM, "--fail-on", "shared.load.conflicts>0"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("smemkit: failed on shared.load.conflicts > 0: it is ")
    assert "Traceback" not in done.stderr


def test_shape_and_type(capsys):
    words = ["profile", "gemm", "--variant", "naive", "--shape", "32,64,96", "--dtype", "float64"]
    assert main([*words, "--json", "-"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["launches"][0]["kernel"] == "gemm_naive_float64"
    assert facts["launches"][0]["grid"] == [3, 1, 1]  # n = 96 along x, m = 32 along y


@pytest.mark.parametrize(
    ("more", "kernel"),
    [
        (["--dtype", "bfloat16"], "gemm_overlapped_small_bfloat16"),
        (["--dtype", "int8"], "gemm_overlapped_small_int8"),
        (["--set", "precision=tf32"], "gemm_overlapped_small_tf32"),
    ],
)
def test_types_of_tensor_cores(more, kernel, capsys):
    assert main(["profile", "gemm", "--shape", "32,64,96", *more, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["launches"][-1]["kernel"] == kernel


def test_file_and_outputs(kernel, tmp_path, capsys):
    made = {name: tmp_path / name for name in ("out.json", "out.html")}
    words = ["--json", str(made["out.json"]), "--html", str(made["out.html"])]
    assert main(launch(kernel, *words)) == 0
    assert "stride" in capsys.readouterr().out
    facts = json.loads(made["out.json"].read_text())
    assert facts["counters"]["shared.store.conflicts"] == 31
    assert "<svg" in made["out.html"].read_text()


def test_blocks(capsys):
    assert main([*GEMM, "--blocks", "1", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["sampled"] == [1, 4]


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("shared.load.conflicts>0", 1),
        ("shared.load.conflicts > 31", 0),
        ("shared.load.conflicts>=31", 1),
        ("shared.load.conflicts<31", 0),
        ("shared.load.conflicts<=31", 1),
        ("shared.load.conflicts==31", 1),
        ("shared.load.conflicts!=31", 0),
        ("global.store.sectors_per_request>3.5", 1),
    ],
)
def test_fail_on(kernel, capsys, condition, status):
    assert main(launch(kernel, "--fail-on", condition)) == status
    complaints = capsys.readouterr().err
    assert complaints.startswith("smemkit: failed on") == bool(status)


def test_fail_on_is_repeatable(kernel, capsys):
    conditions = ["--fail-on", "barrier.count>5", "--fail-on", "barrier.count>0"]
    assert main(launch(kernel, *conditions)) == 1
    assert capsys.readouterr().err == "smemkit: failed on barrier.count > 0: it is 1\n"


def test_a_ratio_of_nothing_is_no_pass(kernel, capsys):
    assert main(launch(kernel, "--fail-on", "global.load.sectors_per_request>0")) == 2
    assert capsys.readouterr().err == (
        "smemkit: cannot judge global.load.sectors_per_request > 0: "
        "global.load.sectors_per_request has no value here: its denominator is 0\n"
    )


def test_what_cannot_be_judged_outweighs_what_failed(kernel, capsys):
    conditions = ["--fail-on", "global.load.sectors_per_request>0", "--fail-on", "barrier.count>0"]
    assert main(launch(kernel, *conditions)) == 2
    assert "failed on barrier.count > 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    "instruction",
    [
        "trap;",
        "mov.u32 %r1, 17; bar.sync %r1;",
        "mov.u32 %r1, 40000; ld.volatile.shared.u32 %r1, [%r1];",
    ],
)
@pytest.mark.parametrize("condition", ["shared.load.conflicts>0", "shared.load.conflicts<=0"])
def test_a_kernel_that_fails_is_no_pass(tmp_path, capsys, instruction, condition):
    path = tmp_path / "refused.ptx"
    path.write_text(STRIDE.replace("bar.sync 0;", instruction))
    assert main(launch(str(path), "--fail-on", condition)) == 2
    complaints = capsys.readouterr().err
    assert complaints.endswith("smemkit: cannot judge --fail-on: nothing was counted\n")
    assert main(launch(str(path))) == 2


def test_a_limit_is_compared_whole(kernel):
    assert main(launch(kernel, "--fail-on", "shared.load.conflicts>30.9999999")) == 1
    assert main(launch(kernel, "--fail-on", "shared.load.conflicts<30.9999999")) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-on", "shared.load.conflict>0"], "did you mean shared.load.conflicts"),
        (["--fail-on", "shared.load.conflicts=>0"], "is not a condition"),
        (["--fail-on", "shared.load.conflicts>nan"], "is not a condition"),
        (["--fail-on", "barrier.count"], "is not a condition"),
        (["--blocks", "0"], "1 or more"),
        (["--shape", "1,2"], "m,k,n"),
        (["--shape", "a"], "whole numbers"),
        (["--shape", "-3"], "cannot be negative"),
        (["--dtype", "float31"], "not an element type"),
        (["--seed", "-1"], "0 or more is needed"),
        (["--backend", "tpu"], "invalid choice"),
        (["--json", "."], ". is a directory"),
        (["--html", "no/where.html"], "there is no directory no"),
        (["--html", ""], "not an empty name"),
        (["--save", "no/where.html"], "there is no directory no"),
        (["--shape", "99999999999"], "too big"),
        (["--set", "variant=tiled"], "gemm takes precision"),
        (["--variant", "fastest"], "no variant 'fastest'"),
        (["--loud"], "unknown arguments: --loud"),
    ],
)
def test_usage_errors(capsys, words, message):
    assert main([*GEMM[:2], *words]) == 2
    complaints = capsys.readouterr().err
    assert complaints.startswith("smemkit: ") and message in complaints


def test_other_errors(kernel, tmp_path, capsys):
    assert main(["profile", "fft"]) == 2
    assert "neither a family" in capsys.readouterr().err
    assert main(["profile", kernel, "--grid", "1"]) == 2
    assert "--block" in capsys.readouterr().err
    # A missing file is named before it is asked how to launch its kernel.
    missing = str(tmp_path / "none.ptx")
    assert main(["profile", missing]) == 2
    assert f"there is no file {missing}" in capsys.readouterr().err
    folder = tmp_path / "folder.cu"
    folder.mkdir()
    assert main(["check", str(folder)]) == 2
    assert "folder.cu is a directory" in capsys.readouterr().err
    for name, code, words in (
        ("empty.ptx", b"", "has no kernel"),
        ("latin.ptx", b"// \xff", "is not text in UTF-8: byte 3 is 0xff"),
    ):
        (tmp_path / name).write_bytes(code)
        assert main(launch(str(tmp_path / name))) == 2
        assert words in capsys.readouterr().err
    assert main(launch(kernel, "--arg", "5")) == 2  # one too many
    assert "stride" in capsys.readouterr().err


def test_kernel_is_named_where_there_are_several(tmp_path, capsys):
    path = tmp_path / "two.ptx"
    path.write_text(STRIDE + STRIDE.split("64\n", 1)[1].replace("stride(", "other("))
    assert main(launch(str(path))) == 2
    assert "stride, other" in capsys.readouterr().err
    assert main(launch(str(path), "--kernel", "other")) == 0


def test_check(kernel, tmp_path, capsys):
    assert main(launch(kernel, verb="check", step="1")) == 0
    assert "nothing found" in capsys.readouterr().out
    far = ["--json", "-"]
    assert main(launch(kernel, *far, verb="check", step="4000")) == 1
    facts = json.loads(capsys.readouterr().out)
    assert {finding["kind"] for finding in facts["findings"]} == {"out_of_bounds"}


@pytest.mark.skipif(compile.find_nvcc() is None, reason="no nvcc here")
def test_cuda_file_has_its_name_and_its_headers(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # nvcc does not run under a sanitizer
    (tmp_path / "size.h").write_text("#define STEP 32\n")
    path = tmp_path / "my kernel.cu"
    path.write_text(
        '#include "size.h"\nextern "C" __global__ void mine(float *x)\n{\n'
        "    __shared__ float tile[1024];\n    tile[threadIdx.x * STEP] = x[threadIdx.x];\n"
        "    x[threadIdx.x] = tile[(threadIdx.x ^ 1) * STEP];\n}\n"
    )
    words = [str(path), "--grid", "1", "--block", "32", "--arg", "float32[32]", "--json", "-"]
    assert main(["profile", *words]) == 0
    facts = json.loads(capsys.readouterr().out)
    worst = max(facts["lines"], key=lambda line: line["counters"]["shared.store.conflicts"])
    assert worst["file"] == str(path) and worst["line"] == 5
    assert worst["text"] == "tile[threadIdx.x * STEP] = x[threadIdx.x];"
    assert main(["check", *words]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["first"]["line"], finding["second"]["line"]) == (5, 6)
    path.write_text("oh dear\n")
    assert main(["profile", *words, "--kernel", "mine"]) == 2
    assert "my kernel.cu(1): error" in capsys.readouterr().err


def test_arguments(tmp_path):
    rng = numpy.random.default_rng(1)

    def make(text):
        return kernel_arguments.make_argument(text, rng)

    path = tmp_path / "x.npy"
    numpy.save(path, numpy.arange(3))
    assert make(f"@{path}").tolist() == [0, 1, 2]
    assert make("float32[2,3]").tolist() == [[0, 0, 0]] * 2
    assert make("int32[4]:arange").tolist() == [0, 1, 2, 3]
    assert make("float64[2]:ones").tolist() == [1, 1]
    assert make("float32[2]:2.5").tolist() == [2.5, 2.5]
    random = make("uint8[1000]:random")
    assert random.dtype == "uint8" and len(set(random.tolist())) > 100
    assert make("float32[50]:random").std() > 0.5
    assert make("int32=5").dtype == "int32" and make("float32=1.5") == 1.5
    assert (make("5"), make("0x10"), make("1.5")) == (5, 16, 1.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("float32[1024", "the closing bracket is missing"),
        ("float32 1024]", "an element type and [ are missing"),
        ("[3]", "an element type and [ are missing"),
        ("float32[a]", "whole numbers stand between the brackets"),
        ("float32[-3]", "whole numbers stand between the brackets"),
        ("float32[]", "whole numbers stand between the brackets"),
        ("float32[2]random", "a colon is missing"),
        ("float32[2]:sideways", "'sideways' is not a number, random, arange, ones or zeros"),
        ("float32[99999999999999999999]", "dimension"),
        ("quux[3]", "'quux' is not an element type"),
        ("int8[3]:300", "300 does not fit into int8"),
        ("int8[3]:1.5", "1.5 is not a whole number"),
        ("int8=300", "300 does not fit into int8"),
        ("int32=x", "'x' is not a number"),
        ("float32", "neither a number, nor TYPE=NUMBER"),
        ("", "neither a number, nor TYPE=NUMBER"),
        ("@", "the name of a .npy file is missing"),
        ("@FOLDER/text.npy", "not an array that numpy.save has written"),
        ("@FOLDER/objects.npy", "not an array that numpy.save has written"),
        ("@FOLDER/several.npz", "not an array that numpy.save has written"),
    ],
)
def test_an_argument_says_what_is_wrong_with_it(text, words, tmp_path):
    (tmp_path / "text.npy").write_text("hello")
    numpy.save(tmp_path / "objects.npy", numpy.array([{}], dtype=object))
    numpy.savez(tmp_path / "several.npz", a=numpy.zeros(3))
    text = text.replace("FOLDER", str(tmp_path))
    with pytest.raises(UsageError) as raised:
        kernel_arguments.make_argument(text, numpy.random.default_rng(1))
    assert str(raised.value).startswith(f"--arg {text!r}: ") and words in str(raised.value)


def test_compare_has_a_command(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--help"])
    assert ended.value.code == 0
    assert "--ncu-csv" in capsys.readouterr().out


def test_ways_of_a_check(kernel, capsys):
    words = ["--order", "both", "--padding", "4096"]
    assert main(launch(kernel, *words, verb="check")) == 0
    assert "nothing found" in capsys.readouterr().out
    assert main(launch(kernel, "--padding", "-1", verb="check")) == 2
    assert "--padding: 0 or more is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gemm", "--grid", "8"], "--grid is an option for a .cu or .ptx file, which gemm is not"),
        (["gemm", "--arg", "3"], "--arg is an option for a .cu or .ptx file"),
        (["gemm", "--shared-mem", "5"], "--shared-mem is an option for a .cu or .ptx file"),
        (["dot", "--set", "foo=3"], "--set foo=...: dot takes none"),
        (["reduce", "--set", "foo=3"], "--set foo=...: reduce takes op, axis"),
        (["FILE", "--variant", "tiled"], "--variant is an option for a family of kernels"),
        (["FILE", "--shape", "3"], "--shape is an option for a family of kernels"),
    ],
)
@pytest.mark.parametrize("verb", ["profile", "check"])
def test_options_that_do_not_apply_are_refused(verb, words, said, kernel, capsys):
    words = [kernel if word == "FILE" else word for word in words]
    assert main([verb, *words]) == 2
    output, complaints = capsys.readouterr()
    assert said in complaints and output == ""


@pytest.mark.skipif(compile.find_nvcc() is None, reason="no nvcc here")
@pytest.mark.parametrize("verb", ["profile", "check"])
def test_element_type_of_an_array(verb, tmp_path, capsys, monkeypatch):
    """NumPy's cures are of no use on the command line: the other --arg is."""
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # nvcc does not run under a sanitizer
    path = tmp_path / "copy.cu"
    path.write_text(
        'extern "C" __global__ void copy(const float *x, float *y)\n'
        "{\n    y[threadIdx.x] = x[threadIdx.x];\n}\n"
    )
    words = [verb, str(path), "--grid", "1", "--block", "32"]
    assert main([*words, "--arg", "float32[32]", "--arg", "float[4,8]:ones"]) == 2
    complaint = capsys.readouterr().err
    assert "--arg 'float[4,8]:ones': y is float *, the array is float64: " in complaint
    assert complaint.endswith("write --arg float32[4,8]:ones\n") and "numpy" not in complaint
    numpy.save(tmp_path / "x.npy", numpy.zeros(32))
    assert main([*words, "--arg", f"@{tmp_path}/x.npy", "--arg", "float32[32]"]) == 2
    assert "x is const float *, the array is float64: save float32" in capsys.readouterr().err


def test_a_kernel_that_cannot_be_judged_is_no_finding(kernel, tmp_path, capsys):
    path = tmp_path / "broken.ptx"
    path.write_text(STRIDE.replace("ret;", "oh dear"))
    for verb in ("profile", "check"):
        assert main(launch(str(path), verb=verb)) == 2  # it does not load
        assert "unknown instruction 'oh'" in capsys.readouterr().err
    path.write_text(STRIDE.replace("ret;", "trap;"))
    assert main(launch(str(path), verb="profile")) == 2  # it fails
    assert main(launch(str(path), verb="check", step="1")) == 2
    assert capsys.readouterr().err.count("executed trap") == 2
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "2 where the command could not do its work" in " ".join(capsys.readouterr().out.split())


def test_profile_for_a_card_says_what_advice_would_save(tmp_path, capsys):
    words = ["profile", "gemm/column", "--shape", "64", "--device", "t4"]
    assert main([*words, "--json", str(tmp_path / "x.json")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert " on T4 (" in shown and "On T4 this would save " in shown
    facts = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert facts["advice"][0]["evidence"]["predicted ms saved on T4"] > 0
    (tmp_path / "smemkit.toml").write_text("")
    assert main(["profile", str(tmp_path), "--device", "t4"]) == 2
    assert "--device is an option for one launch" in capsys.readouterr().err
