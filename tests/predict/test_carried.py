"""Machine code that the package carries: it is what ptxas makes of the kernels as they are."""

import re

import pytest
from support import disassemble

import smemkit
from smemkit.predict import carried, machine_code

HOW = "With ptxas and nvdisasm, in a clone: python -m smemkit dev machine_code"
ARCHITECTURES = sorted(path.name.removeprefix("sm_") for path in carried.FOLDER.glob("sm_*"))


def list_texts():
    """(family, variant, PTX) of the package's kernels."""
    for family in smemkit.families():
        for variant in smemkit.variants(family):
            yield family, variant, smemkit.ptx(family, variant)


def read_hashes(architecture):
    """The hashes of the PTX whose machine code the package carries."""
    paths = (carried.FOLDER / f"sm_{architecture}").glob("*.xz")
    return {each["text"] for path in paths for each, _ in carried.split(path.read_bytes())}


@pytest.mark.release
def test_every_kernel_is_carried_as_it_is(not_yet):
    assert "90" in ARCHITECTURES
    stale = []
    for architecture in ARCHITECTURES:
        hashes = read_hashes(architecture)
        stale += [
            f"{family}/{variant} for sm_{architecture}"
            for family, variant, ptx in list_texts()
            if carried.hash_text(ptx) not in hashes and carried.is_made(ptx, architecture)
        ]
    not_yet("machine code is not carried", stale, HOW)


def test_carried_code_is_found_and_whole():
    ptx = smemkit.ptx("gemm", "tiled")
    code = machine_code.load(ptx, "gemm_tiled_float32", "90")
    if code.origin != "carried":
        pytest.skip("the kernel has changed since its machine code was made")
    kinds = [each.kind for each in code]
    assert kinds.count("fma") == 32 and kinds.count("barrier") == 2
    assert len(code.loops) == 1 and any(block.cold for block in code.blocks)
    assert carried.find(ptx + "\n// another text", "gemm_tiled_float32", "90") is None
    assert carried.find(ptx, "gemm_tiled_float32", "52") is None


def test_packed_code_comes_back():
    if not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")):
        pytest.skip("no ptxas and nvdisasm; the extra [test] brings them")
    ptx = smemkit.ptx("gemm", "async")
    code = machine_code.assemble(ptx, "gemm_async_float32", "90")
    data = carried.pack([code])
    assert data == carried.pack([code])
    header, columns = carried.unpack(data)
    blocks = carried.unpack_blocks(header["opcodes"], header["entries"][0], columns)
    for made, back in zip(code.blocks, blocks, strict=True):
        assert made.successors == back.successors and made.callee == back.callee
        assert made.leaves == back.leaves and made.cold == back.cold
        for one, other in zip(made.instructions, back.instructions, strict=True):
            kept = one.operands if one.opcode.startswith("DEPBAR") else ""
            assert one._replace(operands=kept) == other
    assert any(each.operands for block in blocks for each in block.instructions)
    known = carried.find(ptx, "gemm_async_float32", "90")
    if known is not None:  # the kernel is the one whose machine code is carried
        assert known.blocks == blocks and known.loops == code.loops


def test_parts_of_a_file_are_found_by_their_hash():
    data = carried.join({"one": (["f", "g"], b"abc"), "other": (["h"], b"de\n")})
    (one, first), (other, second) = carried.split(data)
    assert (one["text"], one["names"], first) == ("one", ["f", "g"], b"abc")
    assert (other["text"], other["names"], second) == ("other", ["h"], b"de\n")
    assert carried.split(b"\xfd7zXZ") == carried.split(b"") == []


def test_which_entries_are_carried():
    text = ".target sm_90a\n.entry f_float32(\n.entry f_float64(\n.entry g_max_float32("
    assert carried.choose_entries(text, "86") == ["f_float32"]
    assert carried.choose_entries(text, "90") == ["f_float32", "f_float64"]
    assert carried.choose_entries(".entry dmma_float64(", "86") == ["dmma_float64"]
    assert carried.is_made(text, "90") and not carried.is_made(text, "100")
    assert carried.is_made(re.sub("sm_90a", "sm_75", text), "100")
