"""Exceptions: their classes, their attributes, and what they say."""

import builtins
import pickle

import pytest
from read_tables import read_rows

import smemkit

ROWS = read_rows("base/status.def", "SMK_STATUS")
ATTRIBUTES = ("kernel", "ptx_line", "ptx_column", "source_file", "source_line", "block", "thread")

FAR = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry far(.param .u64 to)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.y;
    setp.ne.u32 %p1, %r1, 3;
    @%p1 ret;
    add.s64 %rd2, %rd1, 1048576;
      st.global.u32 [%rd2], %r1;
    ret;
}
"""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["class"])
def test_class(row):
    name, base, mixin, sentence = (row[key] for key in ("class", "base", "mixin", "sentence"))
    cls = getattr(smemkit, name)
    assert cls.__module__ == "smemkit" and cls.__name__ == name
    assert cls.__doc__ == sentence
    assert issubclass(cls, getattr(smemkit, base)) and issubclass(cls, smemkit.Error)
    assert mixin == "-" or issubclass(cls, getattr(builtins, mixin))
    assert name in smemkit.__all__
    error = cls("text")
    assert str(error) == "text" and error.args == ("text",)
    for attribute in ATTRIBUTES:
        assert getattr(error, attribute) is None
    with pytest.raises(cls):
        raise error


def test_root():
    assert smemkit.Error.__mro__[1] is Exception
    assert "ptx_line" in smemkit.Error.__doc__


def catch_far():
    kernel = smemkit.RawKernel(FAR, "far")
    with pytest.raises(smemkit.OutOfBoundsError) as caught:
        d = smemkit.empty(4, "int32", backend="sim")
        kernel((2, 1, 2), (1, 4), (d,))
    return caught.value


def test_a_file_without_lines_is_not_named():
    """Line 0 stands for none."""
    text = FAR.replace(".visible", '.file 1 "far.cu"\n.visible').replace(
        "add.s64", ".loc 1 0 5\nadd.s64"
    )
    kernel = smemkit.RawModule(text, backend="sim").get_function("far")
    with pytest.raises(smemkit.OutOfBoundsError) as caught:
        kernel((2, 1, 2), (1, 4), (smemkit.empty(4, "int32", backend="sim"),))
    assert caught.value.source_file is None and caught.value.source_line is None


def test_position_of_a_fault():
    error = catch_far()
    assert isinstance(error, IndexError)
    assert error.kernel == "far"
    assert error.ptx_line == FAR[: FAR.index("st.global")].count("\n") + 1
    assert error.source_file is None and error.source_line is None
    assert error.thread == (0, 3, 0)
    assert len(error.block) == 3 and error.block[0] in (0, 1) and error.block[1] == 0
    text = str(error)
    assert "kernel far" in text
    assert f"PTX line {error.ptx_line}" in text
    assert f"block {error.block}" in text and f"thread {error.thread}" in text


def test_pickle_keeps_the_position():
    error = catch_far()
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)
    for attribute in ATTRIBUTES:
        assert getattr(copy, attribute) == getattr(error, attribute)


def test_position_in_text_that_does_not_parse():
    text = FAR.replace("setp.ne.u32", "setq.ne.u32")
    with pytest.raises(smemkit.PtxError, match="setq") as caught:
        smemkit.RawModule(text, backend="sim")
    line = text[: text.index("setq")].count("\n") + 1
    assert caught.value.ptx_line == line
    assert caught.value.ptx_column == 5
    assert f"PTX line {line}, column 5" in str(caught.value)
    assert caught.value.kernel in (None, "far") and caught.value.thread is None


def test_source_position_where_the_text_has_lines():
    head, tail = FAR.split("      st.global")
    text = head + "    .loc 1 42 7\n      st.global" + tail + '\n.file 1 "mine.cu"\n'
    kernel = smemkit.RawKernel(text, "far")
    with pytest.raises(smemkit.OutOfBoundsError) as caught:
        kernel(1, (1, 4), (smemkit.empty(4, "int32", backend="sim"),))
    assert caught.value.source_file == "mine.cu"
    assert caught.value.source_line == 42
    assert "mine.cu:42" in str(caught.value)
