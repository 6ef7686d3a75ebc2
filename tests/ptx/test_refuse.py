"""What the simulator does not execute: messages name the source line, what it is, what to do."""

import numpy as np
import pytest
from read_tables import read_rows
from support.handmade import build, load

import smemkit
from smemkit import compile

FEATURES = {row["id"]: row for row in read_rows("ptx/unsupported.def", "SMK_PTX_FEATURE")}
FILES = '.file 1 "mine.cu"\n.file 2 "/cuda/include/barrier.h"\n'


def refuse(text):
    with pytest.raises(smemkit.UnsupportedError) as caught:
        load(text)
    return caught.value


def test_every_feature_has_words():
    kinds = ("OPCODE", "WORD", "SPECIAL", "FUNCTION")
    macros = [f"SMK_PTX_UNSUPPORTED_{kind}" for kind in kinds]
    used = {row["feature"] for row in read_rows("ptx/unsupported.def", *macros)}
    for row in read_rows("ptx/opcode.def", "SMK_PTX_FORM"):
        if row["operands"].startswith("!"):
            used.add(row["operands"].removeprefix("! "))
    assert used == set(FEATURES)


@pytest.mark.parametrize("kind", ["OPCODE", "WORD", "SPECIAL"])
def test_every_word_says_what_it_is_and_what_to_do(kind):
    for row in read_rows("ptx/unsupported.def", f"SMK_PTX_UNSUPPORTED_{kind}"):
        spelling, feature = row["spelling"], FEATURES[row["feature"]]
        body = {
            "OPCODE": f"{spelling}.b32 %r1, %r2;",
            "WORD": f"add.{spelling}.u32 %r1, %r2, %r3;",
            "SPECIAL": f"mov.u32 %r1, {spelling};",
        }[kind]
        said = str(refuse(build(body)))
        assert f"does not execute {feature['source']}; {feature['advice']} [" in said
        assert spelling in said


def test_the_line_is_that_of_the_kernel():
    """Compilers write the names of files behind the functions; headers are inlined into a line."""
    marks = (
        ".loc 1 7 5\nmov.u32 %r1, 1;\n"
        ".loc 2 1200 3, function_name $there, inlined_at 1 8 9\nwgmma.fence.sync.aligned;"
    )
    for text in (build(marks) + FILES, build(marks, before=FILES)):
        error = refuse(text)
        assert (error.source_file, error.source_line, error.kernel) == ("mine.cu", 8, "k")
        assert "[kernel k, mine.cu:8, PTX line " in str(error)
        assert "matrix products of a warp group" in str(error)
        assert "-arch=compute_80" in str(error)


def test_a_file_without_a_name():
    error = refuse(build(".loc 3 8 9\nmultimem.u32 %r1, 8;") + FILES)
    assert (error.source_file, error.source_line) == (None, 8)


def test_errors_before_the_last_mark_are_not_of_its_line():
    """That a label is absent shows at the end of the function."""
    body = ".loc 1 7 5\nbra nowhere;\n.loc 1 8 5\nmov.u32 %r1, 1;"
    with pytest.raises(smemkit.PtxError, match="nowhere") as caught:
        load(build(body) + FILES)
    assert caught.value.source_line is None
    with pytest.raises(smemkit.PtxError, match=r"frobnicate.*mine\.cu:8") as caught:
        load(build(body.replace("mov", "frobnicate")) + FILES)
    assert caught.value.source_line == 8


def test_functions_that_are_no_kernels():
    before = ".func inner() {\n.reg .b32 %r<9>;\n.loc 1 3 5\nmultimem.u32 %r1, 8;\nret; }\n"
    load(build("", before=before) + FILES)  # a function that nobody calls refuses nothing
    error = refuse(build("call inner;", before=before) + FILES)
    assert (error.source_line, error.kernel) == (3, "k")
    assert str(error).startswith("k calls inner: 'multimem' is not supported")


@pytest.mark.parametrize(
    "name",
    [row["spelling"] for row in read_rows("ptx/unsupported.def", "SMK_PTX_UNSUPPORTED_FUNCTION")],
)
def test_functions_of_the_device_runtime(name):
    rows = read_rows("ptx/unsupported.def", "SMK_PTX_UNSUPPORTED_FUNCTION")
    feature = FEATURES[next(row["feature"] for row in rows if row["spelling"] == name)]
    text = build(f".loc 1 8 5\ncall {name};", before=f".extern .func {name}();") + FILES
    with pytest.raises(smemkit.UnsupportedError) as caught:
        load(text)(1, 1, ())
    assert f"'{name}' is not supported: the simulator does not execute" in str(caught.value)
    assert f"{feature['source']}; {feature['advice']} [kernel k, mine.cu:8" in str(caught.value)


def test_clusters_of_one_block_run():
    load(build("", directives=".reqnctapercluster 1"))(1, 1, ())
    load(build("", directives=".explicitcluster .reqnctapercluster 1, 1, 1"))(1, 1, ())
    error = refuse(build("", directives=".reqnctapercluster 2"))
    assert "__cluster_dims__" in str(error)


KERNEL = """
extern "C" __global__ void f(float *x, unsigned long long t)
{
    x[1] = 0;
    asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(t));
}
"""


def test_in_cuda_c():
    if compile.find_nvrtc() is None:
        pytest.skip("no NVRTC here; the extra [nvrtc] brings it")
    with pytest.raises(
        smemkit.UnsupportedError, match=r"multimem.*one by one.*kernel\.cu:5"
    ) as caught:
        smemkit.RawKernel(KERNEL, "f")(1, 1, (np.zeros(4, "float32"), 0), backend="sim")
    assert (caught.value.kernel, caught.value.source_line) == ("f", 5)
