"""Explanations of differences that machine code can confirm without a GPU."""

import json
import re
import tempfile
from pathlib import Path

import disassemble
import pytest
import regenerate_counts
from explained import EXPLAINED, GUARDED

import smemkit

PACKAGE = Path(smemkit.__file__).parent
ENTRY = re.compile(r"^\s*Function : (\w+)$")
COPY = re.compile(r"@!?P0 LDGSTS\.\S*BYPASS\S* \[[^]]*\], desc")


def find_guarded(listing):
    """Entries in a listing of cuobjdump with a copy past the L1 cache under a guard of P0."""
    found, entry = set(), None
    for line in listing.splitlines():
        name = ENTRY.match(line)
        entry = name[1] if name else entry
        if COPY.search(line):
            found.add(entry)
    return found


def list_texts():
    """(PTX, path of the package's machine code or None) of all that copies past the L1 cache."""
    for family in smemkit.families():
        for variant in smemkit.variants(family):
            path = PACKAGE / "kernels" / family / f"{variant}.fatbin"
            yield smemkit.ptx(family, variant), path if path.exists() else None
    for name in regenerate_counts.names():
        yield regenerate_counts.load_ptx(name), None


def dump(path):
    option = ["-arch", disassemble.ARCH] if path.suffix == ".fatbin" else []
    return disassemble.run(disassemble.find_tool("cuobjdump"), "-sass", *option, str(path))


def dump_text(text, path):
    """A listing of machine code: of ptxas where the package holds none for the architecture."""
    listing = dump(path) if path is not None else ""
    if "Function :" in listing:
        return listing
    with tempfile.TemporaryDirectory() as folder:
        return dump(disassemble.assemble(text, folder))


def test_guarded_copies_are_in_the_machine_code():
    """Nothing is explained by guards that has none, and nothing that has one is left out."""
    for tool in ("ptxas", "cuobjdump"):
        if not disassemble.find_tool(tool):
            pytest.skip(f"no {tool}; the extra [test] brings it")
    guarded = set()
    for text, path in list_texts():
        if "cp.async.cg" in text:
            guarded |= find_guarded(dump_text(text, path))
    assert {kernel for (kernel, _), reason in EXPLAINED.items() if reason is GUARDED} == guarded


def test_guarded_copies_are_missing_in_the_record():
    """Never more are shown than were moved; requests agree."""
    record = json.loads((PACKAGE / "recorded" / "counts_h200.json").read_text())["rows"]
    compared = 0
    for kernel, counter in (key for key, reason in EXPLAINED.items() if reason is GUARDED):
        for row in (row for row in record if row["kernel"] == kernel):
            requests, pair = row["counters"]["async.requests"], row["counters"][counter]
            assert requests["sim"] == requests["ncu"] > 0
            assert pair["ncu"] <= pair["sim"], f"{kernel} ({row['case']}): {counter}"
            compared += 1
    assert compared >= 2


def test_listings_are_read():
    lines = [
        "\t\tFunction : first",
        "        /*0100*/                   LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64], P0 ;",
        "        /*0110*/               @P1 LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64] ;",
        "        /*0120*/              @!P0 LDGSTS.E.64 [R5], desc[UR4][R2.64] ;",
        "\t\tFunction : second",
        "        /*0100*/              @!P0 LDGSTS.E.BYPASS.128 [R5+0x80], desc[UR4][R2.64], !PT ;",
        "\t\tFunction : third",
        "        /*0100*/               @P0 LDGSTS.E.BYPASS.LTC128B.128 [R5], desc[UR4][R2.64] ;",
    ]
    assert find_guarded("\n".join(lines)) == {"second", "third"}
