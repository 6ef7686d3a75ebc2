"""Executions of machine code from counts of PTX: by hand, and of kernels whose counts are known."""

import numpy as np
import pytest
from support import disassemble

import smemkit
from smemkit.predict import executed, machine_code, ptx_lines

Instruction, Block, Loop = machine_code.Instruction, machine_code.Block, ptx_lines.Loop


def code_of(*blocks, loops=()):
    """Machine code of (opcodes with PTX lines, successors) a block."""
    made = []
    for text, successors in blocks:
        instructions = []
        for word in text.split():
            opcode, _, line = word.partition(":")
            kind = machine_code.classify(opcode.lstrip("@"))
            instructions.append(
                Instruction(opcode.lstrip("@"), kind, "@" in opcode, int(line), 1, False, 7, 7, 0)
            )
        leaves = instructions[-1].opcode == "EXIT"
        made.append(Block(tuple(instructions), successors, leaves=leaves))
    return machine_code.MachineCode("f", "90", tuple(made), tuple(loops))


def count(**rows):
    """Counted PTX: line_text=times."""
    texts = {"lds": "ld.shared.f32 %f1, [%r1];", "fma": "fma.rn.f32 %f1, %f2, %f3, %f1;"}
    texts |= {"mov": "mov.u32 %r1, 0;", "bra": "@%p1 bra $top;", "ret": "ret;"}
    counted = []
    for name, times in rows.items():
        text, line = name.split("_")
        facts = {"function": "f", "ptx_line": int(line), "ptx": texts[text], "file": "f.cu"}
        counted.append({**facts, "line": int(line) * 10, "counters": {"instructions.warp": times}})
    return counted


def test_unrolled_loop_shares_trips_between_its_copies():
    loop = Loop(2, 4, (1,))
    code = code_of(
        ("MOV:1 BRA:1", (1, 2)),
        ("LDS:2 LDS:2 LDS:2 LDS:2 FFMA:3 FFMA:3 FFMA:3 FFMA:3 BRA:4", (2, 1)),
        ("BRA:4", (3, 4)),
        ("LDS:2 FFMA:3 BRA:4", (4, 3)),
        ("EXIT:5", ()),
        loops=[loop],
    )
    found = executed.map_counts(code, count(mov_1=8, lds_2=88, fma_3=88, bra_4=88, ret_5=8))
    # 11 trips of each of 8 warps: two of four, and three of one
    np.testing.assert_allclose(found.executions, [8, 16, 8, 24, 8], rtol=0.02)
    assert found.by_class["load.shared"] == pytest.approx(88, rel=1e-3)
    assert found.by_line["f.cu", 30]["fma"] == pytest.approx(88, rel=1e-3)
    assert found.residual < 1e-3 and found.warps == 8


def test_hoisted_instructions_do_not_count_as_often_as_their_lines():
    code = code_of(
        ("MOV:1 IADD3:3 BRA:1", (1,)),
        ("LDS:2 BRA:4", (2, 1)),
        ("EXIT:5", ()),
    )
    found = executed.map_counts(code, count(mov_1=4, lds_2=400, mov_3=400, bra_4=400, ret_5=4))
    np.testing.assert_allclose(found.executions, [4, 400, 4], rtol=0.01)
    assert found.by_class["alu"] == pytest.approx(8, rel=0.01)


def test_guarded_copy_of_a_branch_counts_with_its_block():
    code = code_of(
        ("MOV:1 @LDS:2 EXIT:3", ()),
    )
    found = executed.map_counts(code, count(mov_1=10, lds_2=3, ret_3=10))
    assert found.by_class["load.shared"] == pytest.approx(10, rel=0.01)


@pytest.fixture(scope="module")
def tools():
    if not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")):
        pytest.skip("no ptxas and nvdisasm; the extra [test] brings them")


@pytest.mark.parametrize("variant", ["naive", "tiled", "register_2d", "double_buffered"])
def test_gemm_executes_its_products(tools, variant):
    a = np.ones((65, 67), np.float32)
    launch = smemkit.profile(smemkit.gemm, a, a.T.copy(), variant=variant)._captured[0]
    code = machine_code.load(launch["ptx"], launch["kernel"], "90")
    found = executed.map_counts(code, launch["instructions"])
    wanted = sum(
        row["counters"]["instructions.warp"]
        for row in launch["instructions"]
        if row["ptx"].startswith("fma.rn.f32")
    )
    assert found.by_class["fma"] == pytest.approx(wanted, rel=0.02)
    assert found.residual < 0.01
    warps = np.prod(launch["grid"]) * np.prod(launch["block"]) / 32
    assert found.warps == warps
