"""Machine code that the package carries: of its own kernels, where ptxas or nvdisasm is missing.

`facts/sm_<architecture>/<family>.xz` holds what machine_code.load would give for kernels of a
family, made of the PTX whose hash stands beside each: a kernel that has changed since is not found.
`python -m smemkit dev machine_code` makes the files; of kernels with several types or operations
they hold the commonest, which keeps them small. A file is one xz stream: a line of JSON (the
names of opcodes, and of each entry its blocks), then the columns of all instructions, one after the
other, each value split into bytes so that equal bytes lie side by side: opcode (2 bytes), guard and
control bits (3), PTX line less that of the instruction before (3, doubled, odd where negative),
reads of the even and of the odd bank of registers (1, four bits each).
"""

from __future__ import annotations

import functools
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
from .ptx_lines import list_loops, with_own_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

FOLDER = Path(__file__).with_name("facts")
FORMAT = 2
WIDTHS = {"opcode": 2, "control": 3, "line": 3, "reads": 1}  # bytes of each column
GUARD = 1 << 17  # beside 17 control bits
ENTRY = re.compile(r"\.entry\s+([\w$]+)")
# Entries that are left out where a kernel has others.
RARE = re.compile(
    r"_(?:float64|int32|int64|bits8|bits16|bits64|bits128|bfloat16)$|_(?:max|min|mean|argmax|argmin)_"
)


def hash_text(ptx: str) -> str:
    """What tells one PTX text from another."""
    return hashlib.sha256(ptx.rstrip("\0").encode()).hexdigest()[:16]


def find(ptx: str, entry: str, target: str) -> MachineCode | None:
    """The carried machine code of an entry of that PTX, or None."""
    folder = FOLDER / f"sm_{target.rstrip('af')}"
    for path in sorted(folder.glob("*.xz")):
        if entry.startswith(f"{path.stem}_"):
            header, columns = _read(path)
            for each in header["entries"]:
                if each["name"] == entry and each["text"] == hash_text(ptx):
                    blocks = unpack_blocks(header["opcodes"], each, columns)
                    loops = tuple(list_loops(ptx, entry))
                    return MachineCode(entry, each["target"], blocks, loops, "carried")
    return None


@functools.lru_cache(maxsize=4)
def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.int64]]]:
    return unpack(path.read_bytes())


def pack(codes: Iterable[tuple[str, MachineCode]]) -> bytes:
    """The file of (hash of the PTX, machine code) of kernels, the same bytes for the same codes."""
    opcodes: dict[str, int] = {}
    entries: list[dict[str, Any]] = []
    columns: dict[str, list[int]] = {name: [] for name in WIDTHS}
    for text, code in codes:
        entries.append(_describe(text, code) | {"start": len(columns["opcode"])})
        line = 0
        for each in code:
            columns["opcode"].append(opcodes.setdefault(each.opcode, len(opcodes)))
            columns["control"].append(_join_control(each))
            columns["reads"].append(each.reads[0] | each.reads[1] << 4)
            step = each.ptx_line - line
            columns["line"].append(2 * abs(step) + (step < 0))
            line = each.ptx_line
    header = {"format": FORMAT, "opcodes": list(opcodes), "entries": entries}
    data = json.dumps(header, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    for name, width in WIDTHS.items():
        values = np.array(columns[name], np.int64)
        for place in range(width):
            data += (values >> 8 * place & 255).astype(np.uint8).tobytes()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, filters=filters)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[np.int64]]]:
    """(header, columns) of a file; files of format 1 have no reads of registers."""
    head, _, rest = lzma.decompress(data).partition(b"\n")
    header = json.loads(head)
    widths = {name: width for name, width in WIDTHS.items() if name != "reads"}
    widths = widths if header["format"] == 1 else WIDTHS
    bytes_of = np.frombuffer(rest, np.uint8).reshape(sum(widths.values()), -1).astype(np.int64)
    columns = {"reads": np.zeros(bytes_of.shape[1], np.int64)}
    row = 0
    for name, width in widths.items():
        places = 8 * np.arange(width).reshape(-1, 1)
        columns[name] = (bytes_of[row : row + width] << places).sum(axis=0)
        row += width
    return header, columns


def _describe(text: str, code: MachineCode) -> dict[str, Any]:
    waits = {
        str(i): each.operands for i, each in enumerate(code) if each.opcode.startswith("DEPBAR")
    }
    blocks = code.blocks
    return {
        "name": code.entry,
        "text": text,
        "target": code.architecture,
        "sizes": [len(block.instructions) for block in blocks],
        "ways": [[way - i for way in block.successors] for i, block in enumerate(blocks)],
        "calls": {str(i): b.callee for i, b in enumerate(blocks) if b.callee is not None},
        "leaves": [i for i, block in enumerate(blocks) if block.leaves],
        "cold": [i for i, block in enumerate(blocks) if block.cold],
        "waits": waits,
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
    code = [
        Instruction(
            name,
            kinds[name],
            bool(bits & GUARD),
            line,
            bits & 15,
            bool(bits >> 4 & 1),
            bits >> 5 & 7,
            bits >> 8 & 7,
            bits >> 11 & 63,
            entry["waits"].get(str(i), ""),
            (reads & 15, reads >> 4),
        )
        for i, (name, bits, line, reads) in enumerate(
            zip(
                names,
                columns["control"][part].tolist(),
                lines,
                columns["reads"][part].tolist(),
                strict=True,
            )
        )
    ]
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


def choose_entries(ptx: str) -> list[str]:
    """The entries of a PTX text that are carried."""
    names = ENTRY.findall(ptx)
    return [name for name in names if not RARE.search(name)] or names


def is_made(ptx: str, architecture: str) -> bool:
    """Whether ptxas makes code of a PTX text for an architecture."""
    found = TARGET.search(ptx)
    if found is None or found[2]:
        return bool(found and found[1] == architecture)
    return int(found[1]) <= int(architecture)


def make_codes(ptx: str, architecture: str) -> list[tuple[str, MachineCode]]:
    """(hash of the PTX, machine code) of the entries that are carried, by ptxas and nvdisasm."""
    ptxas, nvdisasm = demand_tools("a kernel", architecture)
    target, names = choose_target(ptx, architecture), choose_entries(ptx)
    wanted = [word for name in names for word in ("-e", name)]
    with tempfile.TemporaryDirectory(prefix="smemkit-") as folder:
        text, image = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_text(with_own_lines(ptx), encoding="utf-8")
        run_tool(ptxas, f"-arch=sm_{target}", "-lineinfo", *wanted, text, "-o", image)
        listing = run_tool(nvdisasm, "-c", "-g", "-hex", image)
    return [
        (hash_text(ptx), MachineCode(name, target, tuple(make_blocks(read_listing(listing, name)))))
        for name in names
    ]


def _list_texts(path: Path) -> set[str]:
    """The hashes of the PTX that a file has, none where its format is an older one."""
    head = json.loads(lzma.decompress(path.read_bytes()).partition(b"\n")[0])
    return {each["text"] for each in head["entries"]} if head["format"] == FORMAT else set()


def make_file(texts: Iterable[str], family: str, architecture: str) -> int:
    """Writes the file of a family from PTX of its variants; its bytes, 0 where it is current."""
    path = FOLDER / f"sm_{architecture}" / f"{family}.xz"
    texts = [text for text in texts if is_made(text, architecture)]
    known = _list_texts(path) if path.exists() else set()
    if known == {hash_text(text) for text in texts}:
        return 0
    data = pack(each for text in texts for each in make_codes(text, architecture))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return len(data)
