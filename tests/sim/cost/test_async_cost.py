"""What cp.async costs: small cases by hand, and every copy that was measured on an H200."""

import dataclasses
import re
import tempfile

import numpy as np
import pytest
from sim.cost import copy_rows, record_copies
from support import disassemble

import smemkit

TABLE = copy_rows.load_table()
ROWS = list(copy_rows.list_rows(TABLE))
FUNCTIONS, MEMORY = copy_rows.load_kernels("sim")


def count(row):
    launch = (FUNCTIONS[row.kernel], (1,), (32,), (copy_rows.pack(row), MEMORY))
    found = smemkit.profile(*launch).counters
    return {name: found[f"async.{name}"] for name in ("wavefronts", "conflicts", "sectors")}


def copy(kernel, moves, zeros=()):
    """Counts of {lane: (from, to)}, in units of the copy's size."""
    width = copy_rows.KERNELS[kernel][1]
    lanes = sorted(moves)
    row = copy_rows.Row(
        kernel,
        "by hand",
        sum(1 << lane for lane in lanes),
        sum(1 << lane for lane in zeros),
        tuple(moves[lane][0] * width for lane in lanes),
        tuple(moves[lane][1] * width for lane in lanes),
        {},
    )
    return tuple(count(row).values())


# By hand: (wavefronts, conflicts, sectors) -------------------------------------------------------


@pytest.mark.parametrize("kernel", ["ca_4", "ca_8", "ca_16", "ca_4z", "ca_8z", "ca_16z"])
def test_lanes_in_the_way(kernel):
    row = 128 // copy_rows.KERNELS[kernel][1]
    assert copy(kernel, {0: (0, 0), 1: (1, 1)}) == (1, 0, 1)
    assert copy(kernel, {0: (0, 0), 1: (row, 1)}) == (2, 1, 2)  # both read one bank
    assert copy(kernel, {0: (0, 0), 1: (1, row)}) == (2, 1, 1)  # both write one bank
    assert copy(kernel, {0: (0, 0), 1: (0, 0)}) == (2, 1, 1)  # and so on one word
    assert copy(kernel, {0: (0, 0), 1: (row, row)}) == (2, 1, 2)  # met twice, but one lane
    # lane 1 has two others in its way, whatever these could do meanwhile
    assert copy(kernel, {0: (0, 0), 1: (row, 1), 2: (1, row + 1)}) == (3, 2, 2)
    assert copy(kernel, {lane: (lane, row * lane) for lane in range(row)})[0] == row
    assert copy(kernel, {lane: (lane, lane) for lane in range(32)})[:2] == (32 // row, 0)


def test_zeros_have_no_source_in_the_cache():
    assert copy("ca_4z", {0: (0, 0), 1: (32, 1)}) == (2, 1, 2)
    assert copy("ca_4z", {0: (0, 0), 1: (32, 1)}, zeros=[1]) == (1, 0, 1)
    assert copy("ca_4z", {0: (0, 0), 1: (1, 32)}, zeros=[0, 1]) == (2, 1, 0)


def test_sectors_that_move_together():
    """Units are halves of a sector, eight to a line."""
    assert copy("cg_16", {lane: (lane, lane) for lane in range(32)}) == (4, 0, 16)
    assert copy("cg_16", {lane: (lane, 31 - lane) for lane in range(32)}) == (4, 0, 16)
    assert copy("cg_16", {0: (0, 0), 16: (4, 4)}) == (1, 0, 2)
    assert copy("cg_16", {0: (0, 0), 1: (12, 4)}) == (2, 0, 2)  # of two lines
    assert copy("cg_16", {0: (0, 0), 1: (4, 12)}) == (2, 0, 2)  # to two lines
    assert copy("cg_16", {0: (0, 0), 1: (1, 1), 2: (2, 2)}) == (2, 0, 2)  # a half beside a whole
    assert copy("cg_16", {0: (0, 1), 1: (2, 2)}) == (2, 0, 2)  # halves exchanged or not
    assert copy("cg_16", {0: (0, 0), 1: (2, 4)}) == (2, 0, 2)  # as far as it is, and further
    assert copy("cg_16", {0: (0, 0), 1: (6, 2)}) == (1, 0, 2)  # an even number of sectors further
    assert copy("cg_16", {0: (0, 0), 1: (0, 4)}) == (2, 0, 2)  # one source for two targets
    assert copy("cg_16", {0: (0, 0), 1: (5, 1)}) == (2, 0, 2)  # two sources for one sector
    assert copy("cg_16", {0: (0, 0), 1: (4, 0)}) == (1, 0, 1)  # of one target the lowest lane


def test_rounds_of_sectors():
    """What one sector is moved to keeps others from going together; the last lane comes first."""
    a, b, c, d = (2, 0), (2, 2), (0, 4), (0, 6)  # from sector 1 to 0 and 1, from 0 to 2 and 3
    assert copy("cg_16", {0: a, 1: d}) == (1, 0, 2)
    assert copy("cg_16", {0: b, 1: c}) == (1, 0, 2)
    assert copy("cg_16", {0: a, 1: b, 2: c}) == (2, 0, 3)  # b and c are the last of their sectors
    assert copy("cg_16", {0: a, 1: c, 2: d}) == (2, 0, 3)  # a and d
    assert copy("cg_16", {0: a, 1: b, 2: d}) == (3, 0, 3)  # b and d, which are not of one kind
    assert copy("cg_16", {0: b, 1: c, 2: d}) == (3, 0, 3)
    assert copy("cg_16", {0: a, 1: b, 2: c, 3: d}) == (4, 0, 4)
    assert copy("cg_16", {0: b, 1: a, 2: c, 3: d}) == (2, 0, 4)  # a with d, then b with c
    # of another line is of other rounds
    assert copy("cg_16", {0: b, 1: c, 2: (0, 14)}) == (2, 0, 3)
    # a half that goes with d fills both its halves; c has waited for d as before
    assert copy("cg_16", {0: b, 1: c, 2: d, 3: (1, 7)}) == (3, 0, 3)


def test_halves_of_sectors_in_rounds():
    """Sector 0 to sectors 0 and 1: whole where both its halves go to one sector in one round."""
    x, y, z, w = (0, 0), (1, 1), (0, 2), (1, 3)
    assert copy("cg_16", {0: x, 1: y, 2: z, 3: w}) == (2, 0, 2)
    assert copy("cg_16", {0: x, 1: z, 2: y, 3: w}) == (2, 0, 2)
    assert copy("cg_16", {0: x, 1: z, 2: w, 3: y}) == (4, 0, 2)
    # beside them sector 1 to sectors 2 and 3: whole ones go together, and so do halves
    u, v, s, t = (2, 6), (3, 7), (2, 4), (3, 5)
    assert copy("cg_16", dict(enumerate([x, y, z, w, s, t, u, v]))) == (4, 0, 4)
    assert copy("cg_16", dict(enumerate([x, y, z, w, u, v, s, t]))) == (2, 0, 4)
    assert copy("cg_16", dict(enumerate([x, z, w, y, u, s, t, v]))) == (4, 0, 4)
    assert copy("cg_16", dict(enumerate([x, y, z, w, u, s, t, v]))) == (6, 0, 4)


def test_zeros_past_the_cache():
    """What reads goes as if alone; then all lanes go once more, as through the cache."""
    row = {lane: (lane, lane) for lane in range(32)}
    column = {lane: (lane, 8 * lane) for lane in range(32)}
    spread = {lane: (8 * lane, lane) for lane in range(32)}
    assert copy("cg_16z", row, zeros=range(32)) == (4, 0, 0)
    assert copy("cg_16z", row, zeros=range(8, 32)) == (1 + 4, 0, 4)
    assert copy("cg_16z", row, zeros=[1]) == (5 + 4, 0, 16)  # half of a sector is apart
    assert copy("cg_16z", column) == (32, 0, 32)
    assert copy("cg_16z", column, zeros=range(32)) == (32, 28, 0)
    assert copy("cg_16z", column, zeros=range(16)) == (16 + 32, 28, 16)
    assert copy("cg_16z", spread, zeros=range(32)) == (4, 0, 0)  # no sources
    assert copy("cg_16z", spread, zeros=range(8)) == (24 + 25, 21, 24)
    one = dict.fromkeys(range(32), (0, 0))
    assert copy("cg_16z", one, zeros=range(32)) == (32, 28, 0)


# Against the H200 --------------------------------------------------------------------------------


def test_table_is_complete():
    assert "H200" in TABLE["device"]
    assert {row.kernel for row in ROWS} == copy_rows.KERNELS.keys()
    assert len({str(row) + repr(row.source) + repr(row.target) for row in ROWS}) == len(ROWS)
    assert len(ROWS) > 500
    # only conflicts past the cache, where lanes with sources have none, were at times not measured
    whole = TABLE["metrics"].keys()
    parts = [row for row in ROWS if row.counts.keys() != whole]
    assert {row.kernel for row in parts} == {"cg_16"}
    assert all(row.counts.keys() == whole - {"conflicts"} for row in parts)


def see(row):
    """Counts as Nsight Compute has them.

    Its wavefronts past the cache are those of predicate P0 false in all lanes: then none of z's
    lanes write zeros. (In y the choice is P1's.)
    """
    found = count(row)
    if row.kernel == "cg_16z":
        found["wavefronts"] = count(dataclasses.replace(row, zeros=0))["wavefronts"]
    return {name: found[name] for name in row.counts}


@pytest.mark.parametrize("kernel", copy_rows.KERNELS)
def test_hardware(kernel):
    for row in (row for row in ROWS if row.kernel == kernel):
        assert see(row) == row.counts, str(row)


def test_zeros_are_chosen_by_the_predicates_named():
    """What tells z from y: in the machine code that ptxas makes of the kernels here."""
    for tool in ("ptxas", "cuobjdump"):
        if not disassemble.find_tool(tool):
            pytest.skip(f"no {tool}; the extra [test] brings it")
    with tempfile.TemporaryDirectory() as folder:
        code = disassemble.assemble(copy_rows.write_ptx(), folder)
        listing = disassemble.run(disassemble.find_tool("cuobjdump"), "-sass", str(code))
    found = {}
    for kernel in listing.split("Function : ")[1:]:
        found[kernel.split()[0]] = re.findall(r"LDGSTS\.[^;]*, !?P(\d) ;", kernel)
    chosen = {"": [], "z": ["0"], "y": ["1", "0"]}
    assert found == {name: chosen[zeros] for name, (_, _, zeros) in copy_rows.KERNELS.items()}


# The recorder ------------------------------------------------------------------------------------


def test_kernels_run(machine):
    """What the recording launches is what the simulator takes as well."""
    functions, memory = copy_rows.load_kernels(machine)
    for name, function in functions.items():
        row = next(row for row in ROWS if row.kernel == name)
        function((1,), (32,), (copy_rows.pack(row), memory), backend=machine)
    assert not smemkit.asnumpy(memory).any()


def test_table_is_written_as_it_is(tmp_path):
    record_copies.write_table(tmp_path / "table.json", TABLE)
    assert (tmp_path / "table.json").read_text() == copy_rows.TABLE.read_text()
    assert record_copies.launch_all("sim") == len(ROWS)
    lanes = np.frombuffer(copy_rows.pack(ROWS[-1]), np.uint32)
    assert lanes.size == 66 and int(lanes[64]) == ROWS[-1].mask
