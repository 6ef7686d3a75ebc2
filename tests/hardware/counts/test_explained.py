"""Explanations of differences that machine code can confirm without a GPU."""

import itertools
import json
import re
import tempfile
import zlib
from pathlib import Path

import numpy
import pytest
from hardware.counts import regenerate_counts
from hardware.counts.explained import (
    CHOSEN,
    EXPLAINED,
    FILLED,
    GUARDED,
    PASSED,
    POLLED,
    RETRIED,
    SPILLED,
    STRAY,
)
from sim.check import mutate
from sim.check.altered import altered, sample_words
from support import disassemble

import smemkit
from smemkit import _core
from smemkit.bench import ncu, workloads

PACKAGE = Path(smemkit.__file__).parent
ENTRY = re.compile(r"^\s*Function : (\w+)$")
OPPOSITE = re.compile(r"@!P0 LDGSTS\.\S*BYPASS\S* \[[^]]*\], desc")
COPY = re.compile(r"@!?P0 LDGSTS\.\S*BYPASS\S* \[[^]]*\], desc")
FILL = re.compile(r"LDGSTS\.\S*BYPASS\S*\.ZFILL \[[^]]*\], desc\[[^]]*\]\[[^]]*\](?:, (!?P\w+))? ;")
CHOICE = re.compile(
    r"LDGSTS\.(?!\S*ZFILL)\S*BYPASS\S* \[[^]]*\], desc\[[^]]*\]\[[^]]*\](?:, (!?P\w+))? ;"
)


def find_entries(listing, pattern):
    """Entries in a listing of cuobjdump with a line in which the pattern is found."""
    found, entry = set(), None
    for line in listing.splitlines():
        name = ENTRY.match(line)
        entry = name[1] if name else entry
        if pattern.search(line):
            found.add(entry)
    return found


def find_guarded(listing):
    """Entries with a copy past the L1 cache under a guard of P0."""
    return find_entries(listing, COPY)


def list_choices(listing, copies=CHOICE):
    """The predicate by which each copy past the L1 cache chooses zeros, or "", by entry."""
    found, entry = {}, None
    for line in listing.splitlines():
        name, copy = ENTRY.match(line), copies.search(line)
        entry = name[1] if name else entry
        if copy:
            found.setdefault(entry, []).append(copy[1] or "")
    return found


def list_reasons(reason):
    return [key for key, own in EXPLAINED.items() if own is reason]


def need_tools():
    for tool in ("ptxas", "cuobjdump"):
        if not disassemble.find_tool(tool):
            pytest.skip(f"no {tool}; the extra [test] brings it")


@pytest.fixture(scope="module")
def rows():
    """Of the record."""
    return json.loads((PACKAGE / "recorded" / "counts_h200.json").read_text())["rows"]


@pytest.fixture(scope="module")
def copies():
    """Listings of all that copies past the L1 cache."""
    need_tools()
    return [dump_text(text, path) for text, path in list_texts() if "cp.async.cg" in text]


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


def test_guarded_copies_are_in_the_machine_code(copies):
    """Nothing is explained by guards that has none, and nothing that has one is left out."""
    guarded = set().union(*map(find_guarded, copies))
    assert {kernel for kernel, _ in list_reasons(GUARDED)} == guarded


def test_guarded_copies_are_missing_in_the_record(rows, copies):
    """Never more are shown than were moved but under @!P0; requests agree."""
    opposite = set().union(*(find_entries(listing, OPPOSITE) for listing in copies))
    compared = 0
    for kernel, counter in list_reasons(GUARDED):
        for row in (row for row in rows if row["kernel"] == kernel):
            requests, pair = row["counters"]["async.requests"], row["counters"][counter]
            assert requests["sim"] == requests["ncu"] > 0
            less = pair["ncu"] <= pair["sim"]
            assert less or kernel in opposite, f"{kernel} ({row['case']}): {counter}"
            compared += 1
    assert compared >= 2


def test_filled_copies(copies):
    """Copies whose size ptxas does not know, by the model, have .ZFILL in machine code."""
    modelled = set()
    for text, _ in list_texts():
        for entry in re.findall(r"\.entry (\w+)\(", text) if "cp.async.cg" in text else []:
            lines = text.splitlines()
            modelled |= {
                entry
                for access in _core._fuse(text, entry)
                if access["zfill"] and "cp.async.cg." in lines[access["ptx_line"] - 1]
            }
    assert modelled == set().union(*(find_entries(listing, FILL) for listing in copies))
    assert modelled


def take_zeros(launch, choices):
    """Wavefronts of a launch's copies past the L1 cache where those that P0 chooses are all zeros.

    The predicates stand in the order of the PTX.
    """
    lines, entry = [], None
    for number, line in enumerate(launch.ptx.splitlines(), 1):
        name = re.search(r"\.entry (\w+)\(", line)
        entry = name[1] if name else entry
        if entry == launch.kernel and "cp.async.cg." in line:
            lines.append(number)
    assert len(lines) == len(choices)
    chosen = {line for line, choice in zip(lines, choices, strict=True) if choice == "P0"}
    total = launch.counters["async.wavefronts"]
    for facts in (facts for facts in launch.instructions if facts["ptx_line"] in chosen):
        sample = next(
            sample
            for sample in launch.samples
            if sample.space == "shared" and sample.ptx_line == facts["ptx_line"]
        )
        # its targets move by whole rows of banks from turn to turn: each request costs the same
        zeros = smemkit.bank_access(
            sample.addresses, sample.bytes, mask=sample.mask, op="async"
        ).wavefronts
        counters = facts["counters"]
        total += counters["async.copies"] * zeros - counters["async.wavefronts"]
    return total


def test_chosen_zeros(rows, copies):
    """What CHOSEN says gives the hardware's count, and nothing else has such copies that differ."""
    choices = {entry: own for listing in copies for entry, own in list_choices(listing).items()}
    known = {entry for entry, own in choices.items() if {"P0", "!P0"} & set(own)}
    assert {kernel for kernel, _ in list_reasons(CHOSEN)} <= known
    recorded = {(row["kernel"], row["case"]): row["counters"] for row in rows}
    calls = [row for row in ncu.list_rows(["conv2d"], []) if row.kernel in known]
    for call in calls:
        own = choices[call.kernel]
        assert own.count("P0") == len(own[3::4]) and set(own[3::4]) == {"P0"}
    names = {kernel.replace("_small", "").replace("_raw", "") for kernel in known}
    calls += [row for row in ncu.list_rows(["gemm"], []) if row.kernel in names]
    counted = different = 0
    for call in calls:
        launches = smemkit.profile(lambda call=call: call.make().run("sim")).launches
        for number, launch in enumerate(launches, 1):
            case = call.case if number == 1 else f"{call.case}, launch {number}"
            if launch.kernel not in known or (launch.kernel, case) not in recorded:
                continue  # another tile, or not yet counted on hardware
            counted += 1
            pair = recorded[launch.kernel, case]["async.wavefronts"]
            assert take_zeros(launch, choices[launch.kernel]) == pair["ncu"], case
            different += pair["sim"] != pair["ncu"]
    assert different >= 2 or counted == 0


def let_read(text, choices):
    """The PTX with copies by P0 that read in all lanes; choices: predicates of entries' copies."""
    made, entry, left = [], None, {name: iter(own) for name, own in choices.items()}
    copy = re.compile(r"cp\.async\.cg\.shared\.global \[\S+\], \[\S+\], 16, (%r\d+);")
    for line in text.splitlines():
        name, found = re.search(r"\.entry (\w+)\(", line), copy.search(line)
        entry = name[1] if name else entry
        if found and next(left[entry]) == "P0":
            made.append(f"max.s32 {found[1]}, {found[1]}, 16;")
        made.append(line)
    assert all(next(own, None) is None for own in left.values())  # a copy for each predicate
    return "\n".join(made) + "\n"


def test_filled_by_p0(rows, copies):
    """What FILLED says gives the hardware's count."""
    choices = {}
    for listing in copies:
        choices |= list_choices(listing, FILL)
    kernels = {kernel for kernel, _ in list_reasons(FILLED)} & {row["kernel"] for row in rows}
    assert all("P0" in choices[kernel] for kernel in kernels)
    text = smemkit.ptx("gemm", "dmma")
    text = let_read(text, {kernel: own for kernel, own in choices.items() if kernel in text})
    compared = different = 0
    with altered("gemm", "dmma", text) as core:
        memory = core.empty(1 << 18, dtype="float64", backend="sim")  # also what lies beside them
        for row in (row for row in rows if row["kernel"] in kernels):
            m, k, n = map(int, re.findall(r"=(\d+)", row["case"]))
            b_first = (memory.size - 2 * k * n) // 32 * 32  # where a line of memory begins
            a, b = memory[: m * k].reshape(m, k), memory[b_first:][: k * n].reshape(k, n)
            words = {"variant": "dmma", "backend": "sim"}
            (launch,) = smemkit.profile(core.gemm, a, b, **words).launches
            pair = row["counters"]["async.wavefronts"]
            assert launch.kernel == row["kernel"]
            assert launch.counters["async.wavefronts"] == pair["ncu"], row["case"]
            compared += 1
            different += pair["sim"] != pair["ncu"]
    assert different >= 1 or compared == 0


def test_spilled_values_are_in_the_machine_code():
    need_tools()
    spilled = {kernel for kernel, _ in list_reasons(SPILLED)}
    found = set()
    for family in smemkit.families():
        for variant in smemkit.variants(family):
            text = smemkit.ptx(family, variant)
            if any(f".entry {kernel}(" in text for kernel in spilled):
                assert ".local" not in text
                path = PACKAGE / "kernels" / family / f"{variant}.fatbin"
                listing = dump_text(text, path if path.exists() else None)
                for part in listing.split("Function : ")[1:]:
                    if re.search(r"\bSTL\b", part) and re.search(r"\bLDL\b", part):
                        found.add(part.split()[0])
    assert spilled <= found


def test_passed_structures(rows):
    """What PASSED says gives the hardware's count."""
    ((kernel, _),) = {
        (kernel, reason) for kernel, reason in list_reasons(PASSED) if "req" in reason
    }
    text = smemkit.ptx(*kernel.split("_")[:2])
    lines = text.splitlines()
    start, stop = mutate.entries_of(text)[kernel]
    passed = sum("st.param" in line and "[param0+" in line for line in lines[start:stop])
    own = sum("st.local" in line for line in lines[start:stop])  # of an array, before each call
    assert passed > 1 and own > 1 and sum("call.uni" in line for line in lines[start:stop]) == 1
    for counters in (row["counters"] for row in rows if row["kernel"] == kernel):
        for what, each in (("requests", 1), ("sectors", 4)):
            stores = counters[f"local.store.{what}"]
            calls = stores["sim"] // (own * each)
            assert stores["sim"] == calls * own * each > 0
            assert stores["ncu"] == calls * (own + passed + 1) * each


def test_polls_are_single_sectors(rows):
    """Each round more reads one word of the two parts, which lie in one sector."""
    compared = 0
    for row in (row for row in rows if (row["kernel"], "global.load.requests") in EXPLAINED):
        if EXPLAINED[row["kernel"], "global.load.requests"] is POLLED:
            more = {name: pair["ncu"] - pair["sim"] for name, pair in row["counters"].items()}
            polls = more["global.load.requests"]
            assert polls == more["global.load.sectors"] >= 0
            # a lane that had to wait puts a word back by itself, of the two that it has
            assert 0 <= more["global.store.requests"] <= 2
            assert 0 <= more["global.store.sectors"] <= 2
            compared += 1
    assert compared >= 2


def test_retries_are_pairs(rows):
    """Each round more reads a word and tries it once."""
    kernels, compared = {kernel for kernel, _ in list_reasons(RETRIED)}, 0
    for row in (row for row in rows if row["kernel"] in kernels):
        loads, tries = (row["counters"][f"shared.{op}.instructions"] for op in ("load", "atomic"))
        assert loads["ncu"] - loads["sim"] == tries["ncu"] - tries["sim"] >= 0, row["case"]
        compared += 1
    assert compared >= 2


SOME_MORE = {  # stray wavefronts of each: a few in a hundred
    "histogram_lane_float32": 0.03,
    "histogram_lane_int32": 0.03,
    "gemm_tf32_small_tf32": 0.01,
    "gemm_vector_along8_float64": 0.01,
    "reduce_axis_panel_argmax_int64": 0.04,
}


def test_stray_wavefronts_are_few(rows):
    compared = 0
    for kernel, counter in list_reasons(STRAY):
        for row in (row for row in rows if row["kernel"] == kernel and counter in row["counters"]):
            pair = row["counters"][counter]
            wavefronts = row["counters"][counter.replace("conflicts", "wavefronts")]["sim"]
            few = max(8, SOME_MORE.get(kernel, 0) * wavefronts)
            assert 0 <= pair["ncu"] - pair["sim"] <= few, f"{kernel} ({row['case']}): {counter}"
            compared += 1
    assert compared >= 2


def sink_indices(text, copied=False):
    """The PTX with each read of a second index behind the branch that compares values alone.

    copied: only those with a copy of a register between the comparison and that branch.
    """
    read = re.compile(r"\s*ld\.shared\.u64 \s*(%rd\d+), ")
    made, held, moved = [], None, 0  # held: place, line and register of a read
    for line in text.splitlines():
        found = read.match(line)
        if found:
            held = len(made), line, found[1]
        elif held and (held[2] in line or re.match(r"\$L|\s*(st|ld)\.", line)):
            held = None
        elif held and "@%p" in line and " bra " in line:
            place, own, _ = held
            held = None
            if not copied or any(re.match(r"\s*mov\.", other) for other in made[place:]):
                moved += 1
                made[place : place + 1] = []
                made += [line, own]
                continue
        made.append(line)
    return "\n".join(made) + "\n", moved


def count_sunk(part, dtype, rows, copied=False):
    """(kernel, counter, what these reads moved give, recorded pair) of each recorded launch."""
    text, moved = sink_indices(smemkit.ptx("reduce_axis", part), copied)
    assert moved > 10
    recorded = {(row["kernel"], row["case"]): row["counters"] for row in rows}
    sizes = workloads.list_sizes("reduce_axis")
    with altered("reduce_axis", part, text) as core:
        for op, shape in itertools.product(("argmax", "argmin"), sizes):
            chosen = {"op": op}
            seed = zlib.crc32(repr(("reduce_axis", shape, dtype, chosen)).encode())
            random = numpy.random.RandomState(seed)
            sample = workloads.make_sample("reduce_axis", shape, dtype, random, chosen)
            counters = recorded.get((sample.entry(part), sample.label))
            if counters is None:
                continue  # not yet counted on hardware, or of another operation alone
            words = sample_words(sample, part)
            launch = smemkit.profile(core.reduce_axis, *sample.arrays, **words).launches[0]
            for what in ("instructions", "wavefronts", "conflicts"):
                name = f"shared.load.{what}"
                yield launch.kernel, name, launch.counters[name], counters[name]


@pytest.mark.parametrize("part", ["strip", "panel"])
def test_sunk_indices(part, rows):
    """What SUNK_INDEX says gives the hardware's counts."""
    compared = different = 0
    for kernel, name, moved, pair in count_sunk(part, "float32", rows):
        assert moved == pair["ncu"], (kernel, name)
        different += pair["sim"] != pair["ncu"]
        compared += 1
    assert different >= 2 or compared == 0


def test_indices_sunk_in_part(rows):
    """What SUNK_IN_PART says gives the hardware's counts; those of argmin are equal anyhow."""
    compared = different = 0
    for kernel, name, moved, pair in count_sunk("panel", "int32", rows, copied=True):
        assert moved == pair["ncu"], (kernel, name)
        different += pair["sim"] != pair["ncu"]
        compared += 1
    assert different >= 2 or compared == 0


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
        "\t\tFunction : fourth",
        "        /*0100*/                   LDGSTS.E.BYPASS.128.ZFILL [R5], desc[UR4][R2.64], P0 ;",
    ]
    listing = "\n".join(lines)
    assert find_guarded(listing) == {"second", "third"}
    assert list_choices(listing) == {"first": ["P0", ""], "second": ["!PT"], "third": [""]}
    assert list_choices(listing, FILL) == {"fourth": ["P0"]}
