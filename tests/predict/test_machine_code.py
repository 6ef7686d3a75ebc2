"""Machine code as blocks of instructions with PTX lines: of listings, and of what ptxas makes."""

import pytest
from support import disassemble

import smemkit
from smemkit.predict import machine_code, opcode_classes, ptx_lines

TEXT = """.version 7.0
.target sm_75
.address_size 64
.file 1 "some.cu"
.visible .entry f(.param .u64 p) // { not a bracket }
{
  .reg .pred %p<2>; .reg .b32 %r<4>;
  .loc 1 3 0
  mov.u32 %r1, 4; /* two
  lines */ mov.u32 %r2, 0;
$top:
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %p1, %r2, %r1;
  @%p1 bra $top;
  { .reg .b32 inner;
    mov.b32 inner, %r2; }
  ret;
}
"""


def encode(stall, yields, write, read, mask):
    bits = stall | (not yields) << 4 | write << 5 | read << 8 | mask << 11
    return f"0x{bits << 41:016x}"


def list_code(*rows):
    """A listing as nvdisasm writes it; a row is a label, or text and control bits."""
    lines = [".text.f:"]
    for i, row in enumerate(rows):
        if isinstance(row, str):
            lines.append(f"{row}:")
        else:
            text, *bits = row
            lines.append(f'\t//## File "ptx", line {i + 1}')
            lines.append(f"        /*{16 * i:04x}*/    {text} ;   /* 0x0000000000000000 */")
            lines.append(f"                   /* {encode(*(bits or (1, False, 7, 7, 0)))} */")
    return machine_code.read_listing("\n".join(lines), "f")


def make(*rows):
    return machine_code.make_blocks(list_code(*rows))


@pytest.fixture(scope="module")
def tools():
    if not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")):
        pytest.skip("no ptxas and nvdisasm; the extra [test] brings them")


def test_control_bits_of_a_listing():
    (load,) = list_code(("LDS.128 R4, [R2]", 2, True, 3, 7, 0b100001))
    assert load.opcode == "LDS.128" and load.kind == "load.shared" and not load.guarded
    assert load[4:9] == (2, True, 3, 7, 0b100001)
    assert load.operands == "R4, [R2]" and load.ptx_line == 1


def test_blocks_of_a_loop():
    code = make(("MOV R1, R2",), ".L_x_1", ("FADD R1, R1, R1",), ("@P0 BRA `(.L_x_1)",), ("EXIT",))
    assert [block.successors for block in code] == [(1,), (2, 1), ()]
    assert code[2].leaves and code[1].instructions[-1].guarded


def test_a_call_of_what_never_returns_is_a_branch():
    far = make(
        (".L_x_1"), ("@P0 CALL.REL.NOINC `(.L_x_2)",), ("BRA `(.L_x_1)",), ".L_x_2", ("EXIT",)
    )
    assert [(block.successors, block.callee) for block in far] == [
        ((1, 2), None),
        ((0,), None),
        ((), None),
    ]
    near = make(("CALL.REL.NOINC `(.L_x_2)",), ("EXIT",), ".L_x_2", ("RET.REL.NODEC R2 `(f)",))
    assert (near[0].successors, near[0].callee) == ((1,), 2)


def test_lanes_go_on_where_bssy_says():
    code = make(
        ("BSSY B0, `(.L_x_2)",),
        ("@P0 BRA `(.L_x_1)",),
        ("FADD R1, R1, R1",),
        ("BSYNC B0",),
        ".L_x_1",
        ("BSYNC B0",),
        ".L_x_2",
        ("EXIT",),
    )
    assert [block.successors for block in code] == [(1, 2), (3,), (3,), ()]


def test_code_for_parted_lanes_is_cold_and_its_labels_cut_nothing():
    code = make(
        ("BRA.DIV UR4, `(.L_x_9)",),
        ("SHFL.DOWN PT, R1, R2, 0x1, 0x1f",),
        ".L_x_1",
        ("FADD R1, R1, R2",),
        ("EXIT",),
        ".L_x_9",
        ("WARPSYNC.COLLECTIVE R3, `(.L_x_1)",),
        ("BRA `(.L_x_1)",),
    )
    assert [block.cold for block in code] == [False, False, True]
    assert len(code[1].instructions) == 3


def test_unknown_opcode_is_an_error():
    with pytest.raises(smemkit.InternalError, match="XYZZY"):
        list_code(("XYZZY.32 R1, R2",))


def test_statements_have_the_lines_of_the_text():
    found = [
        (each.line, each.label or each.text)
        for each in ptx_lines.list_statements(ptx_lines.clean(TEXT))
    ]
    assert found == [
        (9, "mov.u32 %r1, 4;"),
        (10, "mov.u32 %r2, 0;"),
        (11, "$top"),
        (12, "add.s32 %r2, %r2, 1;"),
        (13, "setp.lt.s32 %p1, %r2, %r1;"),
        (14, "@%p1 bra $top;"),
        (16, "mov.b32 inner, %r2;"),
        (17, "ret;"),
    ]


def test_loops_know_who_enters_them():
    assert ptx_lines.list_loops(TEXT, "f") == [ptx_lines.Loop(12, 14, (10,))]


def test_every_class_that_opcodes_name_is_told():
    assert set(opcode_classes.OPCODES.values()) == set(opcode_classes.CLASSES)
    assert opcode_classes.classify("IMAD.MOV.U32") == "imad"
    assert opcode_classes.classify("LDS.128") == "load.shared"
    assert opcode_classes.pipe_clocks("90a")["imad"] == 2.0
    assert opcode_classes.pipe_clocks("75")["double"] == 64.0


@pytest.mark.parametrize("architecture", ["90", "120"])
def test_machine_code_of_a_kernel_of_the_package(tools, architecture):
    ptx = smemkit.ptx("gemm", "tiled")
    code = machine_code.load(ptx, "gemm_tiled_float32", architecture)
    kinds = [each.kind for each in code]
    assert kinds.count("fma") == 32 and kinds.count("barrier") == 2
    lines = ptx.splitlines()
    for each in code:
        if each.kind == "fma":
            assert lines[each.ptx_line - 1].strip().startswith("fma.rn.f32")


def test_own_line_table_leaves_the_code_as_it_is(tools, tmp_path):
    ptx = smemkit.ptx("smooth", "shared")
    codes = []
    for text in (ptx, ptx_lines.with_own_lines(ptx)):
        image = disassemble.assemble(text, tmp_path)
        listing = disassemble.run(disassemble.find_tool("nvdisasm"), "-c", "-hex", str(image))
        codes.append([row.rpartition("/*")[2] for row in listing.splitlines() if "/* 0x" in row])
    assert codes[0] == codes[1] and len(codes[0]) > 100


def test_missing_tools_are_named(monkeypatch):
    monkeypatch.setattr(machine_code, "find_nvdisasm", lambda: None)
    with pytest.raises(smemkit.UnsupportedError, match="nvidia-cuda-nvdisasm"):
        machine_code.disassemble(TEXT, "f", "75")


def test_ptx_that_ptxas_refuses_is_an_error(tools):
    with pytest.raises(smemkit.UnsupportedError, match="makes no machine code"):
        machine_code.load(TEXT.replace("sm_75", "sm_90a"), "f", "80")
