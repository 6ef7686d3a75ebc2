"""The command mutate: which faults it plants, which of them a command sees, and what it says."""

import json
import os
import subprocess
import sys
import time

import numpy
import pytest
from support.paths import CSRC, TESTS
from support.small_kernels import BARRIER_LINE, HEAD, STRIDE, STRIDE_INSTRUCTIONS, make_stride

import smemkit
from smemkit.__main__ import main
from smemkit.cli import mutant_runs, mutate, ptx_mutations, ptx_statements

BODY = """\
{start}
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;
    {line}
$END:
    ret;
}}
"""


def list_changes(line):
    """{kind: PTX in its place} of the mutants of one line; each loads."""
    text = BODY.format(start=HEAD, line=line)
    found = ptx_mutations.list_mutants(ptx_statements.read(text))
    for mutant in found:
        smemkit.RawModule(mutant.apply(text))
    return {mutant.kind: mutant.after for mutant in found}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bar.sync 0;", {"barrier": ""}),
        ("cp.async.wait_group 1;", {"barrier": ""}),
        (
            "setp.lt.s32 %p1, %r1, %r2;",
            {"boundary": "setp.le.s32 %p1, %r1, %r2;", "inverted": "setp.ge.s32 %p1, %r1, %r2;"},
        ),
        ("setp.ne.s32 %p1, %r1, 0;", {"inverted": "setp.eq.s32 %p1, %r1, 0;"}),
        (
            "@%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1];",
            {
                "index": "@%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];",
                "guard": "ld.global.v2.f32 {%f1, %f2}, [%rd1];",
            },
        ),
        (
            "st.shared.u32 [%r1+-2], %r2;",
            {"index": "st.shared.u32 [%r1+2], %r2;", "row": "st.shared.u32 [%r1+126], %r2;"},
        ),
        ("ld.param.u64 %rd1, [out];", {}),
        (
            "cp.async.ca.shared.global [%r1], [%rd1], 8;",
            {
                "index": "cp.async.ca.shared.global [%r1], [%rd1+8], 8;",
                "row": "cp.async.ca.shared.global [%r1+128], [%rd1], 8;",
            },
        ),
        (
            "shfl.sync.down.b32 %r1|%p1, %r2, %r3, 31, -1;",
            {"mask": "shfl.sync.down.b32 %r1|%p1, %r2, %r3, 31, 2147483647;"},
        ),
        (
            "bar.warp.sync %r1;",
            {
                "barrier": "",
                "mask": "{ .reg .b32 %mutant_mask; and.b32 %mutant_mask, %r1, 2147483647; "
                "bar.warp.sync %mutant_mask; }",
            },
        ),
        ("@%p1 bra $END;", {"guard": ""}),
        ("@!%p1 ret;", {"guard": ""}),
        ("bra.uni $END;", {}),
    ],
)
def test_the_mutants_of_an_instruction(line, expected):
    assert list_changes(line) == expected


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        ("atom.global.add.u32 %r3, [%rd1], %r2;", 5, 7),
        ("red.global.max.s32 [%rd1], %r2;", 1, 2),
        ("red.global.max.s32 [%rd1], %r2;", 9, 9),
        ("atom.global.exch.b32 %r3, [%rd1], %r2;", 5, 2),
        ("atom.global.inc.u32 %r3, [%rd1], %r2;", 1, 2),
        ("atom.global.inc.u32 %r3, [%rd1], %r2;", 2, 0),
        ("atom.global.dec.u32 %r3, [%rd1], %r2;", 0, 2),
        ("atom.global.dec.u32 %r3, [%rd1], %r2;", 2, 1),
        ("atom.global.dec.u32 %r3, [%rd1], %r2;", 7, 2),
        ("atom.global.cas.b32 %r3, [%rd1], %r2, 8;", 2, 8),
        ("atom.global.cas.b32 %r3, [%rd1], %r2, 8;", 3, 3),
    ],
)
def test_a_plain_atomic_computes_the_same_for_one_thread(line, before, after):
    start = "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r2, 2;\n    "
    text = BODY.format(start=HEAD, line=start + line)
    found = ptx_mutations.list_mutants(ptx_statements.read(text))
    (mutant,) = (one for one in found if one.kind == "atomic")
    assert "atom." not in mutant.after and "red." not in mutant.after
    for code in (text, mutant.apply(text)):
        array = numpy.array([before], dtype="int32")
        smemkit.RawKernel(code, "k")(1, 1, (array,))
        assert array[0] == after


def test_the_choice_of_a_division_is_the_compiler_s():
    line = "and.b64 %rd2, %rd1, -4294967296;\n    setp.eq.s64 %p1, %rd2, 0;\n    @%p1 bra $END;"
    text = BODY.format(start=HEAD, line=line)
    assert ptx_mutations.list_mutants(ptx_statements.read(text)) == []
    text = text.replace("4294967296", "8")
    kinds = [mutant.kind for mutant in ptx_mutations.list_mutants(ptx_statements.read(text))]
    assert kinds == ["inverted", "guard"]


def test_a_loop_s_branch_is_no_guard():
    text = BODY.format(start=HEAD, line="$AGAIN:\n    @%p1 bra $AGAIN;")
    assert ptx_mutations.list_mutants(ptx_statements.read(text)) == []


def test_every_kind_has_a_mutant_that_loads():
    """Of kernels of the package: one for each opcode and kind."""
    seen = set()
    for family, variant in (("gemm", "async"), ("reduce", "shuffle"), ("histogram", "shared")):
        text = smemkit.ptx(family, variant)
        listing = ptx_statements.read(text)
        assert {one.function for one in listing.statements} == {
            row["name"] for row in smemkit._core._describe_ptx(text)
        }
        for mutant in ptx_mutations.list_mutants(listing):
            key = mutant.kind, mutant.statement.opcode
            if key not in seen:
                seen.add(key)
                smemkit.RawModule(mutant.apply(text))
    assert {kind for kind, _ in seen} == set(ptx_mutations.KINDS)


def test_the_line_of_inlined_code_is_that_of_its_call():
    text = BODY.format(
        start=f'{HEAD}.file 1 "mine.cu"\n.file 2 "/cuda/device.hpp"',
        line=".loc 1 7 3\n    .loc 2 90 1, function_name $X, inlined_at 1 7 3\n    bar.sync 0;",
    )
    listing = ptx_statements.read(text)
    assert listing.files == {1: "mine.cu", 2: "/cuda/device.hpp"}
    assert listing.statements[0].location == (2, 90, 1)
    assert listing.callers == {(2, 90, 1): (1, 7, 3)}


# What is loaded ----------------------------------------------------------------------------------


def test_a_process_loads_the_mutant(tmp_path, monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")  # a GPU loads no mutants
    (tmp_path / "before.ptx").write_text(STRIDE)
    (tmp_path / "after.ptx").write_text(
        STRIDE.replace("mul.lo.s32 %r3, %r2, %r1", "mov.s32 %r3, 0")
    )
    monkeypatch.setenv("SMEMKIT_MUTATION", str(tmp_path))
    out = numpy.zeros(32, dtype="int32")
    make_stride()(1, 32, (out, 1))
    assert (tmp_path / "applied").exists() and (out == 31).all()
    (tmp_path / "applied").unlink()
    make_stride(STRIDE + "\n")(1, 32, (out, 1))  # another text stays as it is
    assert not (tmp_path / "applied").exists() and out.tolist() == list(range(32))


def test_a_process_keeps_what_it_loads(tmp_path, monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    monkeypatch.setenv("SMEMKIT_MUTATION", str(tmp_path))
    make_stride()(1, 32, (numpy.zeros(32, dtype="int32"), 1))
    make_stride()
    executed, kept = sorted(tmp_path.iterdir())
    assert kept.read_text() == STRIDE and kept.suffix == ".ptx"
    assert executed.name == f"{kept.stem}.executed"
    lines = executed.read_text().split()
    assert len(lines) == STRIDE_INSTRUCTIONS and str(BARRIER_LINE) in lines


def test_lines_that_never_run_have_no_mutants(tmp_path, monkeypatch):
    monkeypatch.setenv("SMEMKIT_MUTATION", str(tmp_path))
    smemkit.check(make_stride(), 1, 32, (numpy.zeros(32, dtype="int32"), 1))
    (file,) = tmp_path.glob("*.executed")
    assert mutant_runs.read_executed(file) == (frozenset(), {"stride"})
    assert mutant_runs.read_executed(tmp_path / "missing") == (frozenset(), frozenset())
    (statement, *_) = ptx_statements.read(STRIDE).statements
    number = statement.number
    for lines, functions, expected in (
        ({number}, (), True),
        ({number + 1}, (), False),
        ((), ("stride",), True),
        (None, (), True),
    ):
        lines = None if lines is None else frozenset(lines)
        loaded = mutant_runs.Loaded(STRIDE, None, lines, frozenset(functions))
        assert loaded.is_executed(statement) == expected


def test_a_folder_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("SMEMKIT_MUTATION", str(tmp_path / "missing"))
    with pytest.raises(smemkit.ArgumentError, match="SMEMKIT_MUTATION: .*missing"):
        make_stride()


# The command -------------------------------------------------------------------------------------

SCRIPT = """\
import numpy, smemkit
path = {path!r}
kernel = smemkit.RawModule(path=path).get_function("stride")
out = numpy.zeros(32, dtype="int32")
kernel(1, 32, (out, 1))
assert out.tolist() == list(range(32)), out
"""


@pytest.fixture
def tested(tmp_path):
    """(a PTX file, the command that tests it)."""
    path, script = tmp_path / "stride.ptx", tmp_path / "script.py"
    path.write_text(STRIDE)
    script.write_text(SCRIPT.format(path=str(path)))
    return path, [sys.executable, str(script)]


def test_survivors_are_listed(tested, tmp_path, capsys):
    """Each thread reads its own word, so the barrier is not needed, and no test can see it go."""
    path, command = tested
    target = tmp_path / "mutants.json"
    words = ["mutate", str(path), "--kind", "barrier", "--kind", "row", "--json", str(target)]
    assert main([*words, "--jobs", "2", "--", *command]) == 1
    facts = json.loads(target.read_text())
    assert facts["counts"] == {"killed": 2, "survived": 1} and facts["share"] == 66.67
    survivor = next(row for row in facts["mutants"] if row["result"] == "survived")
    assert survivor["before"] == "bar.sync 0;" and survivor["after"] == ""
    assert survivor["line"] == BARRIER_LINE
    killed = [row for row in facts["mutants"] if row["result"] == "killed"]
    assert all(row["by"].startswith("exit status 1: ") for row in killed)
    said = capsys.readouterr().out
    assert f"survived   {path}:{BARRIER_LINE}  barrier: bar.sync removed" in said
    assert "-  bar.sync 0;    (stride, line 17 of the PTX)\n     +  (nothing)" in said
    assert "2 of 3 killed: 66.7 %" in said


def test_equivalent_mutants_do_not_count(tested, tmp_path, capsys):
    path, command = tested
    reasons = tmp_path / "equivalent.txt"
    reasons.write_text(
        "# known\nstride.ptx: bar.sync 0;: barrier: bar.sync removed\n"
        "    Each thread reads the word that it has written itself.\n"
    )
    words = ["mutate", str(path), "--kind", "barrier", "--equivalent", str(reasons)]
    assert main([*words, "--", *command]) == 0
    assert "equivalent " in capsys.readouterr().out
    reasons.write_text("stride.ptx: bar.sync 0;: barrier: bar.sync removed\n")
    assert main([*words, "--", *command]) == 2
    assert "gives no reason for 'stride.ptx: bar.sync 0;" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "words", "said"),
    [
        ("raise SystemExit(3)", ["--"], "the command fails without any mutant: exit status 3"),
        ("pass", ["--"], "the command has loaded no kernel of "),
        ("pass", [], "mutate needs a command that tests the kernels, behind --"),
    ],
)
def test_what_cannot_be_judged(tested, tmp_path, capsys, script, words, said):
    path = tested[0]
    file = tmp_path / "other.py"
    file.write_text(script)
    command = [sys.executable, str(file)] if words else []
    assert main(["mutate", str(path), *words, *command]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there(capsys):
    assert main(["mutate", "missing.cu", "--", "true"]) == 2
    assert "there is no file missing.cu" in capsys.readouterr().err
    assert main(["mutate", __file__, "--", "no-such-command"]) == 2
    assert "no-such-command cannot be run" in capsys.readouterr().err


def test_the_source_of_cuda_c_in_a_python_file(tmp_path, capsys):
    """The lines are those of the Python file."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy, smemkit\n"
        "kernel = smemkit.RawKernel(r'''\n"
        'extern "C" __global__ void fill(float *x, int n)\n'
        "{\n"
        "    if (threadIdx.x < n)\n"
        "        x[threadIdx.x] = 1.0f;\n"
        "}\n"
        "''', 'fill')\n"
        "x = numpy.zeros(8, dtype='float32')\n"
        "kernel(1, 32, (x, 8))\n"
    )
    assert main(["mutate", str(file), "--list", "--", sys.executable, str(file)]) == 0
    said = capsys.readouterr().out
    assert f"{file}:5  guard: branch around the guarded code removed" in said
    assert "     5  if (threadIdx.x < n)" in said
    assert f"{file}:6  index: address 4 bytes on" in said


def test_kernels_of_the_package(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy, smemkit\n"
        "x = numpy.arange(70, dtype='float32')\n"
        "assert (smemkit.vector_add(x, x, variant='naive') == 2 * x).all()\n"
    )
    words = ["mutate", "vector_add/naive", "--kind", "inverted", "--sample", "1"]
    assert main([*words, "--", sys.executable, str(script)]) == 0
    assert "1 of 1 killed: 100.0 %" in capsys.readouterr().out


def test_the_first_test_that_fails_is_named(tmp_path):
    report = tmp_path / "junit.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="a.b" name="one"/>'
        '<testcase classname="a.b" name="two[3]" file="a/b.py"><failure/></testcase>'
        '<testcase classname="a.b" name="three"><error/></testcase></testsuite></testsuites>'
    )
    assert mutant_runs.find_failed(report) == "a/b.py::two[3]"
    assert mutant_runs.find_failed(tmp_path / "missing") is None


def test_a_run_that_takes_too_long_ends_with_what_it_started(tmp_path):
    """A livelock is a fault that was seen."""
    mark = tmp_path / "pid"
    script = f"sleep 60 & echo $! > {mark}; wait"
    begun = time.monotonic()
    outcome = mutant_runs.execute(["sh", "-c", script], tmp_path, 0.3)
    assert outcome.status is None and time.monotonic() - begun < 30
    assert mutant_runs.say_killer(outcome, 0.3) == "time: more than 0 s"
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", mark.read_text().strip()], capture_output=True, timeout=60
    )
    assert state.stdout.strip()[:1] in (b"", b"Z") and os.path.exists(mark)


def test_equivalent_mutants_of_the_package_are_of_lines_that_stand_there():
    rows = mutate.read_equivalents(str(TESTS / "mutants" / "equivalent_kernels.txt"))
    assert rows and all(len(reason.split()) > 5 for reason in rows.values())
    for name in rows:
        file, _, rest = name.partition(": ")
        place, kind, words = rest.rsplit(": ", 2)
        text = (CSRC / "kernels" / file).read_text(encoding="utf-8")
        assert place.rsplit(" (", 1)[0] in text or place in text, name
        assert kind in ptx_mutations.KINDS and words
