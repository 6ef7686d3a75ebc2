"""The last byte that an access may touch, and the first that it may not: in every shape of access.

How addresses of a warp lie decides which code looks at them (one address, neighbours, groups of
eight, anything else, one lane alone), so each shape is tried at the edge.
"""

import numpy as np
import pytest
from support.handmade import build, launch, load

import smemkit

ELEMENTS = 64
LANE = np.arange(32)
SHAPES = {  # where each lane's element lies, counted from the last one of the memory
    "one address": 0 * LANE,
    "neighbours": 31 - LANE,
    "neighbours, backwards": LANE,
    "groups of eight": (31 - LANE) % 8,
    "scattered": LANE * 7 % 32,
    "all but one far": np.where(LANE == 13, 0, 40),
}
MASKS = {"all lanes": 0xFFFFFFFF, "one lane": 1 << 13, "odd lanes": 0xAAAAAAAA}
# width in bytes: (load into, store from, registers)
MOVES = {
    1: ("b8", "%h1"),
    2: ("b16", "%h1"),
    4: ("b32", "%r5"),
    8: ("b64", "%rd5"),
    16: ("v2.b64", "{%rd5, %rd6}"),
}
ATOMICS = {2: ("add.noftz.f16", "%h1"), 4: ("add.u32", "%r5"), 8: ("add.u64", "%rd5")}
SPACES = ("global", "shared", "shared, narrow", "const", "generic")
PARAMETERS = ".param .u64 data, .param .u64 places, .param .u32 mask"


def write_access(space, op, width):
    """The instruction on the address in %rd3 (or %r4)."""
    place = "[%r4]" if space == "shared, narrow" else "[%rd3]"
    dot = "" if space == "generic" else "." + space.split(",")[0]
    if op == "atomic":
        operation, register = ATOMICS[width]
        return f"atom{dot}.{operation} {register}, {place}, {register};"
    type_, register = MOVES[width]
    return (
        f"ld{dot}.{type_} {register}, {place};"
        if op == "load"
        else f"st{dot}.{type_} {place}, {register};"
    )


def write_kernel(space, op, width, size):
    bases = {
        "const": "mov.u64 %rd1, table;",
        "shared": "mov.u64 %rd1, tile;",
        "shared, narrow": "mov.u64 %rd1, tile;",
        "generic": "mov.u64 %rd1, tile;\n cvta.shared.u64 %rd1, %rd1;",
        "global": "ld.param.u64 %rd1, [data];",
    }
    variables = f".const .align 16 .b8 table[{size}];\n.extern .shared .align 16 .b8 tile[];"
    body = f"""
    {bases[space]}
    ld.param.u64 %rd2, [places];
    ld.param.u32 %r1, [mask];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd4, %r2, 4;
    add.u64 %rd4, %rd2, %rd4;
    ld.global.u32 %r3, [%rd4];
    cvt.u64.u32 %rd3, %r3;
    add.u64 %rd3, %rd1, %rd3;
    cvt.u32.u64 %r4, %rd3;
    mov.u16 %h1, 0;
    mov.u32 %r5, 0;
    mov.u64 %rd5, 0;
    mov.u64 %rd6, 0;
    shr.u32 %r6, %r1, %r2;
    and.b32 %r6, %r6, 1;
    setp.eq.u32 %p1, %r6, 1;
    @%p1 {write_access(space, op, width)}"""
    return build(body, PARAMETERS, before=variables)


def list_cases():
    for space in SPACES:
        for op in ("load", "store", "atomic"):
            for width in ATOMICS if op == "atomic" else MOVES:
                if space != "const" or op == "load":
                    yield pytest.param(space, op, width, id=f"{space}-{op}-{width}")


@pytest.mark.parametrize(("space", "op", "width"), list(list_cases()))
def test_the_last_byte(space, op, width):
    # as many bytes more as keep one element from fitting: an edge that is one too far lets it in
    size = ELEMENTS * width + width - 1
    kernel = load(write_kernel(space, op, width, size))
    data = np.zeros(size, np.uint8)
    shared = size if "shared" in space or space == "generic" else 0

    def run(places, mask, call=kernel):
        args = (data, places.astype(np.uint32), mask)
        return call((1,), (32,), args, shared_mem=shared, backend="sim")

    for shape, behind in SHAPES.items():
        for mask_name, mask in MASKS.items():
            good = (ELEMENTS - 1 - behind) * width
            where = f"{shape}, {mask_name}"
            run(good, mask)
            wrong = good + width
            if not (wrong[[lane for lane in LANE if mask >> int(lane) & 1]] + width > size).any():
                continue  # the lane at the edge is not among them
            with pytest.raises(smemkit.OutOfBoundsError, match="out of bounds"):
                run(wrong, mask)
                pytest.fail(where)
            kinds = {finding.kind for finding in run(wrong, mask, kernel.check).findings}
            assert "out_of_bounds" in kinds, where


@pytest.mark.parametrize("address", ["out+8", "%rd1+60"])
def test_parameters_end_somewhere(address):
    body = f"mov.u64 %rd1, 0;\nld.param.u32 %r1, [{address}];"
    said = r"memory at 0x\w+ is out of bounds: the kernel has 8 bytes of parameters \["
    with pytest.raises(smemkit.OutOfBoundsError, match=said):
        launch(build(body, ".param .u64 out"), np.zeros(1, np.uint32))


# Where variables lie -----------------------------------------------------------------------------

SIZES = [(1, 1), (1, 1), (3, 4), (1, 1), (2, 2), (5, 1), (4, 4), (1, 1), (16, 16), (9, 8), (1, 2)]


def test_shared_variables_lie_side_by_side():
    """Each at the next multiple of its alignment, none in another."""
    before = "".join(
        f".shared .align {alignment} .b8 v{i}[{size}];\n"
        for i, (size, alignment) in enumerate(SIZES)
    )
    stores = "".join(
        f"mov.u32 %r1, v{i};\n st.global.u32 [%rd1+{4 * i}], %r1;\n" for i in range(len(SIZES))
    )
    out = np.zeros(len(SIZES), np.uint32)
    text = build("ld.param.u64 %rd1, [out];\n" + stores, ".param .u64 out", before=before)
    load(text)((1,), (1,), (out,), backend="sim")
    end = 0
    for place, (size, alignment) in zip(out.tolist(), SIZES, strict=True):
        assert place == -(-end // alignment) * alignment
        end = place + size
