"""Machine code that the package carries: of its own kernels, where ptxas or nvdisasm is missing.

`facts/sm_<architecture>/<family>.xz` holds what machine_code.load would give for kernels of a
family, made of the PTX whose hash stands beside each: a kernel that has changed since is not found.
`python -m smemkit dev machine_code` makes the files; of kernels with several types or operations
they hold the commonest, which keeps them small.

A file is a line of JSON, [{"text": hash of a PTX, "names": of its entries, "bytes": n}, ...], and
one xz stream behind the other, of so many bytes, for each PTX, so that a kernel is read without the
others. A stream is a line of JSON (the names of opcodes, and of each entry its blocks and loops),
then the columns of all instructions, one after the other, each value split into bytes so that equal
bytes lie side by side: opcode (2 bytes), guard and control bits (3), PTX line less that of the
instruction before (3, doubled, odd where negative), reads of the even and of the odd bank of
registers (1, four bits each).
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .machine_code import (
    TARGET,
    Block,
    Instruction,
    MachineCode,
    choose_target,
    demand_tools,
    make_blocks,
    read_listing,
    run_tool,
)
from .opcode_classes import classify
from .ptx_lines import Loop, list_loops, with_own_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

FOLDER = Path(__file__).with_name("facts")
WIDTHS = {"opcode": 2, "control": 3, "line": 3, "reads": 1}  # bytes of each column
GUARD = 1 << 17  # beside 17 control bits
READS = [(byte & 15, byte >> 4) for byte in range(256)]
ENTRY = re.compile(r"\.entry\s+([\w$]+)")
# Entries that are left out where a kernel has others; and float64 where it is not half as fast as
# float32.
RARE = re.compile(
    r"_(?:int32|int64|bits8|bits16|bits64|bits128|bfloat16)$|_(?:max|min|mean|argmax|argmin)_"
)
DOUBLE = "_float64"
WITH_DOUBLE = ("80", "90", "100")


def hash_text(ptx: str) -> str:
    """What tells one PTX text from another."""
    return hashlib.sha256(ptx.rstrip("\0").encode()).hexdigest()[:16]


def find(ptx: str, entry: str, target: str) -> MachineCode | None:
    """The carried machine code of an entry of that PTX, or None."""
    folder = FOLDER / f"sm_{target.rstrip('af')}"
    for path in sorted(folder.glob("*.xz")):
        if entry.startswith(f"{path.stem}_"):
            text = hash_text(ptx)
            for each, data in split(path.read_bytes()):
                if each["text"] == text and entry in each["names"]:
                    return _unpack_entry(entry, *unpack(data))
    return None


def _unpack_entry(
    name: str, header: dict[str, Any], columns: dict[str, NDArray[np.int64]]
) -> MachineCode:
    found = next(each for each in header["entries"] if each["name"] == name)
    blocks = unpack_blocks(header["opcodes"], found, columns)
    loops = tuple(Loop(first, last, tuple(lines)) for first, last, lines in found["loops"])
    return MachineCode(name, found["target"], blocks, loops, "carried")


def split(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """The parts of a file: the facts of each PTX, and its stream. Of older formats none."""
    if not data.startswith(b"["):
        return []
    place = data.index(b"\n") + 1
    found = []
    for each in json.loads(data[:place]):
        found.append((each, data[place : place + each["bytes"]]))
        place += each["bytes"]
    return found


def join(parts: Mapping[str, tuple[Sequence[str], bytes]]) -> bytes:
    """A file of {hash of a PTX: (names of its entries, its stream)}."""
    heads = [
        {"text": text, "names": list(names), "bytes": len(data)}
        for text, (names, data) in parts.items()
    ]
    head = json.dumps(heads, separators=(",", ":")).encode() + b"\n"
    return head + b"".join(data for _, data in parts.values())


def pack(codes: Iterable[MachineCode]) -> bytes:
    """The stream of the kernels of one PTX, the same bytes for the same codes."""
    opcodes: dict[str, int] = {}
    entries: list[dict[str, Any]] = []
    columns: dict[str, list[int]] = {name: [] for name in WIDTHS}
    for code in codes:
        entries.append(_describe(code) | {"start": len(columns["opcode"])})
        line = 0
        for each in code:
            columns["opcode"].append(opcodes.setdefault(each.opcode, len(opcodes)))
            columns["control"].append(_join_control(each))
            columns["reads"].append(each.reads[0] | each.reads[1] << 4)
            step = each.ptx_line - line
            columns["line"].append(2 * abs(step) + (step < 0))
            line = each.ptx_line
    header = {"opcodes": list(opcodes), "entries": entries}
    data = json.dumps(header, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    for name, width in WIDTHS.items():
        values = np.array(columns[name], np.int64)
        for place in range(width):
            data += (values >> 8 * place & 255).astype(np.uint8).tobytes()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, filters=filters)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[np.int64]]]:
    """(header, columns) of a stream."""
    head, _, rest = lzma.decompress(data).partition(b"\n")
    bytes_of = np.frombuffer(rest, np.uint8).reshape(sum(WIDTHS.values()), -1)
    columns = {}
    row = 0
    for name, width in WIDTHS.items():
        parts = bytes_of[row : row + width].astype(np.int64)
        columns[name] = sum(part << 8 * place for place, part in enumerate(parts))
        row += width
    return json.loads(head), columns


def _describe(code: MachineCode) -> dict[str, Any]:
    waits = {
        str(i): each.operands for i, each in enumerate(code) if each.opcode.startswith("DEPBAR")
    }
    blocks = code.blocks
    return {
        "name": code.entry,
        "target": code.architecture,
        "sizes": [len(block.instructions) for block in blocks],
        "ways": [[way - i for way in block.successors] for i, block in enumerate(blocks)],
        "calls": {str(i): b.callee for i, b in enumerate(blocks) if b.callee is not None},
        "leaves": [i for i, block in enumerate(blocks) if block.leaves],
        "cold": [i for i, block in enumerate(blocks) if block.cold],
        "waits": waits,
        "loops": [[loop.first, loop.last, list(loop.entering)] for loop in code.loops],
    }


def _join_control(each: Instruction) -> int:
    bits = each.stall | each.yields << 4 | each.write_barrier << 5 | each.read_barrier << 8
    return bits | each.wait_mask << 11 | (GUARD if each.guarded else 0)


def unpack_blocks(
    opcodes: list[str], entry: dict[str, Any], columns: dict[str, NDArray[np.int64]]
) -> tuple[Block, ...]:
    count = sum(entry["sizes"])
    part = slice(entry["start"], entry["start"] + count)
    steps = columns["line"][part]
    lines = np.cumsum(np.where(steps & 1, -(steps >> 1), steps >> 1)).tolist()
    names = [opcodes[i] for i in columns["opcode"][part].tolist()]
    kinds = {name: classify(name) or "empty" for name in set(names)}
    bits = columns["control"][part]
    operands = [""] * count
    for place, text in entry["waits"].items():
        operands[int(place)] = text
    code = list(
        map(
            Instruction._make,
            zip(
                names,
                [kinds[name] for name in names],
                (bits & GUARD != 0).tolist(),
                lines,
                (bits & 15).tolist(),
                (bits >> 4 & 1 != 0).tolist(),
                (bits >> 5 & 7).tolist(),
                (bits >> 8 & 7).tolist(),
                (bits >> 11 & 63).tolist(),
                operands,
                [READS[reads] for reads in columns["reads"][part].tolist()],
                strict=True,
            ),
        )
    )
    blocks, place = [], 0
    for i, (size, ways) in enumerate(zip(entry["sizes"], entry["ways"], strict=True)):
        instructions = tuple(code[place : place + size])
        place += size
        successors = tuple(i + way for way in ways)
        callee = entry["calls"].get(str(i))
        leaves, cold = i in entry["leaves"], i in entry["cold"]
        blocks.append(Block(instructions, successors, callee, leaves, cold))
    return tuple(blocks)


# Making the files --------------------------------------------------------------------------------


def choose_entries(ptx: str, architecture: str) -> list[str]:
    """The entries of a PTX text that are carried for an architecture."""
    names = ENTRY.findall(ptx)
    common = [name for name in names if not RARE.search(name)] or names
    if architecture in WITH_DOUBLE:
        return common
    return [name for name in common if not name.endswith(DOUBLE)] or common


def is_made(ptx: str, architecture: str) -> bool:
    """Whether ptxas makes code of a PTX text for an architecture."""
    found = TARGET.search(ptx)
    if found is None or found[2]:
        return bool(found and found[1] == architecture)
    return int(found[1]) <= int(architecture)


def make_codes(ptx: str, architecture: str) -> list[MachineCode]:
    """The machine code of the entries that are carried, by ptxas and nvdisasm."""
    ptxas, nvdisasm = demand_tools("a kernel", architecture)
    target, names = choose_target(ptx, architecture), choose_entries(ptx, architecture)
    wanted = [word for name in names for word in ("-e", name)]
    with tempfile.TemporaryDirectory(prefix="smemkit-") as folder:
        text, image = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_text(with_own_lines(ptx), encoding="utf-8")
        run_tool(ptxas, f"-arch=sm_{target}", "-lineinfo", *wanted, text, "-o", image)
        listing = run_tool(nvdisasm, "-c", "-g", "-hex", image)
    return [
        MachineCode(
            name,
            target,
            tuple(make_blocks(read_listing(listing, name))),
            tuple(list_loops(ptx, name)),
        )
        for name in names
    ]


def make_file(texts: Iterable[str], family: str, architecture: str) -> int:
    """Writes the file of a family from PTX of its variants; its bytes, 0 where it is current.

    PTX that the file has already is not compiled again.
    """
    path = FOLDER / f"sm_{architecture}" / f"{family}.xz"
    before = path.read_bytes() if path.exists() else b""
    known = {each["text"]: (each["names"], data) for each, data in split(before)}
    parts = {}
    for ptx in texts:
        if not is_made(ptx, architecture):
            continue
        text = hash_text(ptx)
        if text not in known or known[text][0] != choose_entries(ptx, architecture):
            codes = make_codes(ptx, architecture)
            known[text] = [code.entry for code in codes], pack(codes)
        parts[text] = known[text]
    data = join(parts)
    if data == before or not parts:
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return len(data)
