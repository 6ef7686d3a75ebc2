"""The model of ptxas against ptxas: shared and global accesses and their widths, by source line.

For every function the model says how many accesses of each width a source line has in the machine
code. It must be what ptxas made, but for one thing: ptxas repeats code when it unrolls a loop that
nvcc left as it is, and then repeats all accesses of the loop's blocks. So what there is more of
must be whole blocks of the PTX, each so many times; a width that the model does not know, or one
that is missing, is never right. Local memory is left out: ptxas keeps much of it in registers, and
spills; so are generic addresses, whose memory ptxas may find out. An instruction that nvcc moved
away from its line has line 0 in the PTX; ptxas keeps no line 0, and such an access has the line of
the instruction that comes before it in the machine code: any line of the file is right for it.

Differences that are understood stand in KNOWN, with the reason. One that has gone must go from
there too.
"""

import collections
import concurrent.futures
import gzip
import os
import pathlib
import re

import numpy
import pytest
from support import disassemble
from support.paths import TESTS

import smemkit
from smemkit import _core

KERNELS = pathlib.Path(smemkit.__file__).resolve().parent / "kernels"
FOLDERS = {
    "programs": (TESTS / "programs" / "ptx", "*.O3.ptx*"),
    "counts": (TESTS / "hardware" / "counts" / "ptx", "*.ptx*"),
    "rules": (TESTS / "hardware" / "sass" / "kernels" / "ptx", "*.ptx"),
}
OPS = {"ld": "load", "ldu": "load", "st": "store", "atom": "atomic", "red": "atomic", "cp": "async"}
OPS |= {"ldmatrix": "matrix", "stmatrix": "matrix"}

# Why ptxas does otherwise.
AGREE = "one atomic for all lanes where their values agree, else a loop over lanes"
ABOVE = "the same load on both sides of a branch is done once, above it"
WHOLE = "a loop of constant length is unrolled whole, and then its loads join"
RELAXED = "relaxed loads join too"
REWRITTEN = (
    "a register is written again before it is read: need is judged by register, not by value"
)
GUARDS = "ptxas does a load under another guard or none, together with its neighbour"
HALF = "of an 8-byte register one half is used, and ptxas loads that half"
PARTS = "a wide access proves the alignment of parts of its address too"
LIBRARY = "a function of the math library has no line in the PTX; ptxas gives it its caller's"
CALLS = "two calls of one inlined function: what is left of the first has the line of the second"
HELPERS = "16 bytes are copied at lines 14 and 23; ptxas names the last call of their helper"
SHARED = (
    "a loop is unrolled whose rounds are as far apart as the sums of two warps: neighbours among "
    "them add some of the same words, each of which is read once"
)
ENDS = "two stores under like guards end alike: some of the second have the line of the first"

KNOWN = {
    ("counts/atomic_uniform", "atomic_uniform"): CALLS,
    ("gemm/direct", "gemm_direct_broad_float32"): ENDS,
    ("gemm/direct", "gemm_direct_joint_float32"): ENDS,
    ("gemm/lean", "gemm_lean_rows2_float32"): SHARED,
    ("gemm/lean", "gemm_lean_rows4_float32"): SHARED,
    ("gemm/lean", "gemm_lean_rows8_wide_float32"): SHARED,
    ("programs/async_pipeline", "async_pipeline"): HELPERS,
    ("rules/atomics", "atom_add_r_unif"): AGREE,
    ("rules/branches", "diamond_both_load_same"): ABOVE,
    ("rules/branches", "loop_step_4_const_trip_8"): WHOLE,
    ("rules/branches", "loop_step_4_const_trip_7"): WHOLE,
    ("rules/global_loads", "ld_relaxed_pair"): RELAXED,
    ("rules/global_loads", "ld_v4_rewritten"): REWRITTEN,
    ("rules/load_order", "guard_same"): GUARDS,
    ("rules/load_order", "guard_differ"): GUARDS,
    ("rules/load_order", "guard_one"): GUARDS,
    ("rules/load_order", "guard_opp"): GUARDS,
    ("rules/load_order", "high_half_of_b64"): HALF,
    ("rules/load_order", "low_half_of_b64"): HALF,
    ("rules/proofs", "v4_at_b_scal_at_b_sym"): PARTS,
    ("rules/proofs", "v4_u8_0_v4_u8_4"): REWRITTEN,
    ("rules/proofs", "v2_u8_0_v2_u8_2"): REWRITTEN,
    ("programs/math64", "math64"): LIBRARY,
}


def read(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def find_package():
    """(name, PTX text, fatbin or None) of every kernel of the package."""
    for family in smemkit.families():
        for variant in smemkit.variants(family):
            fatbin = KERNELS / family / f"{variant}.fatbin"
            text = smemkit.ptx(family, variant)
            yield f"{family}/{variant}", text, fatbin if fatbin.exists() else None


def find_texts():
    for folder, (path, pattern) in FOLDERS.items():
        for file in sorted(path.glob(pattern)):
            yield f"{folder}/{file.name.split('.')[0]}", read(file), None


SOURCES = {name: (text, fatbin) for name, text, fatbin in [*find_package(), *find_texts()]}


def disassemble_one(name):
    text, fatbin = SOURCES[name]
    if fatbin is not None:
        accesses = disassemble.disassemble_fatbin(fatbin)
        if accesses is not None:
            return accesses
    return disassemble.disassemble_ptx(text)


@pytest.fixture(scope="module")
def tools():
    missing = [
        tool for tool in ("ptxas", "nvdisasm", "cuobjdump") if not disassemble.find_tool(tool)
    ]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)}; the extra [test] brings them")


@pytest.fixture(scope="module")
def machine_code(tools):
    """Name -> accesses, disassembled by a few processes at once while the tests run."""
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        yield {name: pool.submit(disassemble_one, name) for name in SOURCES}


def expect(text, entry):
    """Counter of (file, line, op, space, bytes) by block: what the model says."""
    blocks = collections.defaultdict(collections.Counter)
    for access in _core._fuse(text, entry):
        op = OPS[access["opcode"]]
        space = {"async": "global", "matrix": "shared"}.get(op, access["space"])
        if access["role"] in ("member", "gone") or space not in ("shared", "global"):
            continue
        block = blocks[access["function"], access["block"]]
        place = (os.path.basename(access["file"] or "") or None, access["line"])
        block[(*place, op, space, access["bytes"])] += 1
        if access["more_bytes"]:
            block[(*place, op, space, access["more_bytes"])] += 1
        if access["form"] in ("spin", "bound"):
            block[(*place, "load", space, access["bytes"])] += 1
    return blocks


def find_names(accesses, entry):
    """The entry's accesses, with those of functions that belong to it alone."""
    return [a for a in accesses if a.function == entry or a.function.startswith(f"${entry}$")]


def is_repetition(extra, blocks):
    """True where `extra` is a sum of whole blocks, each any number of times."""
    if any(count < 0 for count in extra.values()):
        return False
    keys = sorted({key for block in blocks for key in block} | set(extra), key=str)
    columns = {tuple(block[key] for key in keys) for block in blocks}
    wanted = numpy.array([extra[key] for key in keys])
    usable = [c for c in columns if any(c) and all(n <= w for n, w in zip(c, wanted, strict=True))]
    if not usable:
        return not wanted.any()
    matrix = numpy.array(sorted(usable)).T
    return can_add_up(matrix, wanted)


def can_add_up(matrix, wanted):
    """Are there whole numbers x >= 0 with matrix @ x == wanted?"""
    optimize = pytest.importorskip("scipy.optimize")
    sums = optimize.LinearConstraint(matrix, wanted, wanted)
    times = numpy.ones(matrix.shape[1])
    return optimize.milp(times, integrality=times, constraints=sums).success


def explain_difference(expected, found):
    lines = [f"{'file':24} {'line':>5} {'access':16} {'bytes':>5} {'model':>6} {'ptxas':>6}"]
    for key in sorted(set(expected) | set(found), key=str):
        if expected[key] != found[key]:
            file, line, op, space, width = key
            access = f"{space} {op}"
            counts = f"{expected[key]:6} {found[key]:6}"
            lines.append(f"{file!s:24} {line:5} {access:16} {width:5} {counts}")
    return "\n".join(lines)


def give_lines(blocks, found):
    """Yields the blocks with each access of line 0 at a line at which ptxas has such an access."""
    lost = (key for block in blocks for key in block if key[0] is not None and key[1] == 0)
    key = next(lost, None)
    if key is None:
        yield blocks
        return
    for other in found:
        if other[1] != 0 and other[0] == key[0] and other[2:] == key[2:]:
            moved = []
            for block in blocks:
                moved.append(collections.Counter(block))
                moved[-1][other] += moved[-1].pop(key, 0)
            yield from give_lines(moved, found)


def compare(name, entry, accesses):
    """None where the model is right, else a table of what differs."""
    blocks = list(expect(SOURCES[name][0], entry).values())
    expected = sum(blocks, collections.Counter())
    found = collections.Counter(
        (a.file, a.line, a.op, a.space, a.bytes)
        for a in find_names(accesses, entry)
        if a.space in ("shared", "global")
    )
    if any(is_right(placed, found) for placed in give_lines(blocks, found)):
        return None
    return explain_difference(expected, found)


def is_right(blocks, found):
    extra = collections.Counter(found)
    extra.subtract(sum(blocks, collections.Counter()))
    extra = collections.Counter({key: count for key, count in extra.items() if count})
    return is_repetition(extra, blocks)


@pytest.mark.parametrize("name", SOURCES)
def test_accesses(name, machine_code):
    accesses = machine_code[name].result()
    entries = re.findall(r"\.entry\s+(\w+)", SOURCES[name][0])
    assert entries
    for entry in entries:
        difference = compare(name, entry, accesses)
        reason = KNOWN.get((name, entry))
        if reason is None:
            assert difference is None, f"{name}, {entry}:\n{difference}"
        else:
            assert difference is not None, (
                f"{name}, {entry} is as ptxas has it now; KNOWN says: {reason}"
            )


def test_forms(tools):
    """What an atomic on shared memory is made of: entries are named by the form they take."""
    text = SOURCES["rules/forms"][0]
    opcodes, seen = disassemble.list_opcodes(text), collections.Counter()
    for entry in re.findall(r"\.entry\s+(\w+)", text):
        found = [a["form"] for a in _core._fuse(text, entry) if a["opcode"] in ("atom", "red")]
        wanted = entry.split("_")[0]
        assert found == [wanted], entry
        atomic = [opcode for opcode in opcodes[entry] if opcode.startswith("ATOMS")]
        assert len(atomic) == 1, entry
        others = collections.Counter(opcode.split(".")[0] for opcode in opcodes[entry])
        special = {"count": ".POPC.INC", "spin": ".CAST.SPIN", "bound": ".CAST.SPIN"}
        for form, mark in special.items():
            assert (mark in atomic[0]) == (special.get(wanted) == special[form]), entry
        assert (others["VOTEU"] > 0) == (wanted == "single"), entry
        assert others["LDS"] == (wanted in ("spin", "bound")), entry
        # a bound leaves its loop on the way as well, by one branch more
        assert (others["BRA"] > 2) == (wanted == "bound"), f"{entry} {others['BRA']}"
        seen[wanted] += 1
    assert len(seen) == 5 and min(seen.values()) >= 3


def test_only_accesses_are_listed():
    """Loads, stores, atomics, copies in their order; not arithmetic, nor what ends copies."""
    text = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .b32 r; .reg .b64 d; .shared .align 16 .b32 sh[4];
ld.param.u64 d, [a];
cvta.to.global.u64 d, d;
cp.async.ca.shared.global [sh], [d], 16;
cp.async.commit_group;
cp.async.wait_group 0;
bar.sync 0;
ld.shared.u32 r, [sh+4];
add.u32 r, r, 1;
st.global.u32 [d], r;
red.global.add.u32 [d], r;
ret;
}
"""
    found = [(one["opcode"], one["space"], one["bytes"]) for one in _core._fuse(text, "k")]
    expected = [("ld", "param", 8), ("cp", "shared", 16), ("ld", "shared", 4)]
    assert found == [*expected, ("st", "global", 4), ("red", "global", 4)]


def test_known_are_there():
    for name, entry in KNOWN:
        assert name in SOURCES, name
        assert f".entry {entry}(" in SOURCES[name][0], entry


def test_rows_of_every_folder():
    folders = {name.split("/")[0] for name in SOURCES}
    assert folders >= {"gemm", "programs", "rules"}


def test_a_wrong_model_is_noticed():
    """The comparison itself: a width too many, one missing, and a whole block repeated."""
    load, store = ("f", 1, "load", "shared", 16), ("f", 2, "store", "global", 4)
    block = collections.Counter({load: 2, store: 1})
    twice = collections.Counter({key: 2 * count for key, count in block.items()})
    assert is_repetition(collections.Counter(), [block])
    assert is_repetition(twice, [block])
    assert not is_repetition(collections.Counter({load: 1}), [block])
    assert not is_repetition(collections.Counter({("f", 1, "load", "shared", 4): 1}), [block])
    assert not is_repetition(collections.Counter({load: -2}), [block])


def test_a_line_is_given_to_what_has_none():
    load, other, lost = (("f", line, "load", "shared", 8) for line in (1, 2, 0))
    block = collections.Counter({load: 1, lost: 1})
    for found, right in (
        (collections.Counter({load: 2}), True),
        (collections.Counter({load: 1, other: 1}), True),
        (collections.Counter({load: 3}), False),
        (collections.Counter({load: 1}), False),
        (collections.Counter({load: 4}), True),  # the block twice
    ):
        placed = list(give_lines([block], found))
        assert placed and any(is_right(each, found) for each in placed) == right
