"""The instructions of the PTX ISA, version 9.0: each runs or is refused by its name.

`manual_lines.txt` has lines that ptxas 13.0 assembles, one for each form that is out of the
ordinary, with the lowest target that takes it and whether the simulator runs it.
"""

import re
from pathlib import Path

import pytest
from read_tables import read_rows

import smemkit

LINES = Path(__file__).with_name("manual_lines.txt").read_text(encoding="utf-8").splitlines()
CASES = [line.split("\t") for line in LINES if line]
INSTRUCTIONS = """
abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev
brkpt brx call clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div
dp2a dp4a elect ex2 exit fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix
ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24
multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt
sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix
sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff
vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote
vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor
"""
REGISTERS = (
    ".reg .pred %p<8>; .reg .b8 %b<8>; .reg .b16 %h<16>; .reg .b32 %r<40>; .reg .b64 %rd<20>; "
    ".reg .b128 %q<8>; .reg .f32 %f<20>; .reg .f64 %d<20>; .shared .align 128 .b8 sm[4096];"
)


def test_every_instruction_is_known():
    executed = {row["spelling"] for row in read_rows("ptx/opcode.def", "SMK_PTX_OPCODE")}
    table = "ptx/unsupported.def"
    refused = {row["spelling"] for row in read_rows(table, "SMK_PTX_UNSUPPORTED_OPCODE")}
    assert not executed & refused
    assert executed | refused == set(INSTRUCTIONS.split())


def load(target, line):
    header = f".version 9.0\n.target {target}\n.address_size 64\n"
    body = f"{REGISTERS}\nld.param.u64 %rd1, [p];\n{line}\nret;"
    text = f"{header}.visible .entry k(.param .u64 p)\n{{\n{body}\n}}\n"
    return smemkit.RawModule(text, backend="sim").get_function("k")


@pytest.mark.parametrize("outcome", ["runs", "refused"])
def test_lines_that_ptxas_assembles(outcome):
    """None is a mistake in the eyes of the simulator, and a refusal names the instruction."""
    lines = [(target, line) for found, target, line in CASES if found == outcome]
    assert lines
    for target, line in lines:
        if outcome == "runs":
            load(target, line)
            continue
        with pytest.raises(smemkit.UnsupportedError) as caught:
            load(target, line)
        named = re.match(
            "'(.+)' is not supported: the simulator does not execute ", str(caught.value)
        )
        assert named and named[1] in line
