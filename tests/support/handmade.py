"""PTX written by hand: a kernel from a few lines, and where a marked line of it stands."""

import numpy as np

import smemkit

HERE = "// HERE"  # marks the line that an error must name

REGISTERS = """\
    .reg .pred %p<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<16>;
    .reg .f32 %f<8>;
    .reg .f64 %d<8>;
"""


def build(body, parameters="", *, name="k", before="", directives="", header=None, version="7.8"):
    """A module with one entry: `before` precedes it, `directives` follow its parameters."""
    if header is None:
        header = f".version {version}\n.target sm_75\n.address_size 64\n"
    return (
        f"{header}{before}\n.visible .entry {name}({parameters})\n{directives}\n"
        f"{{\n{REGISTERS}{body}\n    ret;\n}}\n"
    )


def line_of(text, mark=HERE):
    """The number of the marked line, from 1."""
    lines = [i for i, line in enumerate(text.split("\n"), 1) if mark in line]
    assert len(lines) == 1
    return lines[0]


def load(text, name="k", backend="sim"):
    return smemkit.RawModule(text, backend=backend).get_function(name)


def launch(text, *args, grid=1, block=32, name="k", **options):
    """Load a module into the simulator and launch its kernel."""
    load(text, name)(grid, block, args, backend="sim", **options)


GOOD = build(
    """
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r2, %r1, 3, 1;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r2;""",
    ".param .u64 out",
    name="good",
)


def check_still_works(backend="sim"):
    """The machine still computes: nothing was lost by the error before."""
    out = np.zeros(32, np.uint32)
    load(GOOD, "good", backend)(1, 32, (out,), backend=backend)
    assert (out == np.arange(32) * 3 + 1).all()
