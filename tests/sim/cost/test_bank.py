"""Bank conflicts: worked out by hand, an oracle in plain Python, and what an H200 counted."""

import json
import pickle
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim.cost import bank_patterns

import smemkit

LANE = np.arange(32)
ALL = 0xFFFFFFFF
TABLE = json.loads(Path(__file__).with_name("banks_h200.json").read_text(encoding="utf-8"))
OPS = ("load", "store", "atomic", "async", "cas", "increment", "matrix")


def cost(addresses, width=4, **named):
    found = smemkit.bank_access(addresses, width, **named)
    return found.wavefronts, found.conflicts, found.phases


# By hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["load", "store"])
@pytest.mark.parametrize(
    ("addresses", "wavefronts"),
    [
        (4 * LANE, 1),
        (0 * LANE, 1),  # broadcast
        (8 * LANE, 2),
        (12 * LANE, 1),  # an odd stride meets every bank
        (4 * 32 * LANE, 32),  # a column of [32][32]
        (4 * 33 * LANE, 1),  # of [32][33]
        (4 * (32 * LANE + (LANE ^ 5)), 1),  # swizzled
        (4 * (LANE // 2), 1),
        (4 * (LANE % 2) * 32, 2),  # two words of one bank
    ],
)
def test_words(op, addresses, wavefronts):
    assert cost(addresses, op=op) == (wavefronts, wavefronts - 1, 1)


@pytest.mark.parametrize("width", [1, 2])
def test_narrow_lanes_share_words(width):
    assert cost(width * LANE, width) == (1, 0, 1)
    assert cost(4 * 32 * LANE, width) == (32, 31, 1)


@pytest.mark.parametrize("op", ["atomic", "cas"])
def test_narrow_atomics_count_lanes(op):
    """A row of 2-byte lanes is no shortcut for them: two lanes meet in each bank."""
    each = 2 if op == "cas" else 1
    assert cost(2 * LANE, 2, op=op) == (2 * each, 1, each)
    assert cost(4 * LANE, 4, op=op)[:2] == (each, 0)


def test_wide_phases():
    assert cost(8 * LANE, 8) == (2, 0, 2)
    assert cost(16 * LANE, 16) == (4, 0, 4)
    assert cost(16 * LANE, 8) == (4, 2, 2)
    assert cost(8 * LANE, 8, mask=0xFFFF) == (1, 0, 1)
    assert cost(16 * LANE, 16, mask=0xFF0000FF) == (2, 0, 2)


def test_pairs_double_the_phase_of_loads():
    pairs, apart = LANE // 2, LANE & ~2
    assert cost(8 * pairs, 8) == (1, 0, 1)
    assert cost(8 * apart, 8) == (2, 1, 1)  # 16 units of every second bank pair: two in each
    assert cost(16 * pairs, 16) == (2, 0, 2)
    assert cost(8 * pairs, 8, op="store") == (2, 0, 2)
    assert cost(8 * (LANE // 4), 8) == (1, 0, 1)
    broken = 8 * pairs
    broken[7] = 8 * 15
    assert cost(broken, 8) == (2, 0, 2)
    assert cost(broken, 8, mask=ALL ^ 1 << 7) == (1, 0, 1)  # without a partner nothing differs
    assert cost(8 * (LANE & ~4), 8)[2] == 2  # lanes four apart do not count as a pair


def test_each_matrix_is_a_phase():
    """No two matrices share one, whatever lanes share their rows."""
    assert cost(16 * LANE, 16, op="matrix") == (4, 0, 4)
    assert cost(0 * LANE, 16, op="matrix") == (4, 0, 4)
    assert cost(16 * (LANE // 2), 16, op="matrix") == (4, 0, 4)
    assert cost(128 * (LANE & ~2), 16, op="matrix") == (16, 12, 4)
    assert cost(128 * LANE, 16, op="matrix", mask=0xFF) == (8, 7, 1)


def test_pairs_that_meet():
    """Units 0 and 16 of one bank pair in each half, the same in both: two words of one phase."""
    addresses = 8 * 16 * (LANE // 2 % 2)
    assert cost(addresses, 8) == (2, 1, 1)
    assert cost(addresses, 8, op="store") == (4, 2, 2)


def test_atomics_count_lanes():
    assert cost(0 * LANE, op="atomic") == (32, 31, 1)
    assert cost(4 * LANE, op="atomic") == (1, 0, 1)
    assert cost(4 * (LANE // 4), op="atomic") == (4, 3, 1)
    assert cost(8 * LANE, 8, op="atomic") == (2, 0, 2)
    assert cost(0 * LANE, 8, op="atomic") == (32, 30, 2)
    assert cost(4 * LANE, op="cas") == (2, 0, 2)
    assert cost(4 * (LANE // 4), op="cas") == (8, 3, 2)
    assert cost(0 * LANE, op="increment") == (1, 0, 1)
    assert cost(128 * LANE, op="increment") == (32, 31, 1)


def test_copies():
    assert cost(16 * LANE, 16, op="async") == (4, 0, 4)
    assert cost(32 * LANE, 16, op="async") == (8, 4, 4)
    assert cost(0 * LANE, 16, op="async") == (32, 28, 4)


@pytest.mark.parametrize("op", OPS)
def test_nothing_active(op):
    found = smemkit.bank_access(4 * LANE, mask=0, op=op)
    assert found[:3] == (0, 0, 0) and found.words.tolist() == [0] * 32


def test_words_per_bank():
    assert smemkit.bank_access(8 * LANE).words.tolist() == [2, 0] * 16
    assert smemkit.bank_access(8 * LANE, 8).words.tolist() == [1] * 32
    assert smemkit.bank_access(0 * LANE, op="atomic").words.tolist() == [32] + [0] * 31


def test_far_apart():
    assert cost(LANE * (1 << 20)) == (32, 31, 1)
    assert cost((LANE // 2) * (1 << 20)) == (16, 15, 1)
    assert cost((LANE % 3) * ((1 << 31) - 128)) == (3, 2, 1)


# Arrays ------------------------------------------------------------------------------------------


def test_leading_axes(rng):
    addresses = rng.integers(0, 3000, (3, 5, 32)) * 4
    masks = rng.integers(0, 1 << 32, (5,))
    found = smemkit.bank_access(addresses, mask=masks)
    sectors = smemkit.sectors(addresses, mask=masks)
    assert found.wavefronts.shape == sectors.shape == (3, 5) and found.words.shape == (3, 5, 32)
    assert {part.dtype for part in (*found, sectors)} == {np.dtype(np.int64)}
    for i in np.ndindex(3, 5):
        one = smemkit.bank_access(addresses[i].tolist(), mask=int(masks[i[1]]))
        assert all(type(part) is int for part in one[:3])
        assert [part[i] for part in found[:3]] == list(one[:3])
        assert found.words[i].tolist() == one.words.tolist()
        assert sectors[i] == smemkit.sectors(addresses[i], mask=int(masks[i[1]]))


def test_any_integer_array():
    expected = smemkit.bank_access(8 * LANE)
    for dtype in ("u1", "i2", ">u4", "<i8", "u8"):
        found = smemkit.bank_access((8 * LANE).astype(dtype))
        assert found[:3] == expected[:3]
    spread = np.zeros((32, 3), int)
    spread[:, 1] = 8 * LANE
    assert smemkit.bank_access(spread.T)[0].tolist() == [1, 2, 1]
    assert smemkit.bank_access(np.zeros((0, 32), int)).words.shape == (0, 32)


def test_named_tuple():
    found = smemkit.bank_access(4 * LANE)
    assert found._fields == ("wavefronts", "conflicts", "phases", "words")
    assert pickle.loads(pickle.dumps(found))[:3] == (1, 0, 1)


def test_lanes_that_do_not_take_part_may_hold_anything():
    addresses = np.where(LANE < 16, 4 * LANE, -7)
    assert cost(addresses, mask=0xFFFF) == (1, 0, 1)


@pytest.mark.parametrize(
    ("call", "kind", "word"),
    [
        ({"addresses": 4.0 * LANE}, smemkit.ArgumentTypeError, "float64"),
        ({"addresses": LANE > 3}, smemkit.ArgumentTypeError, "bool"),
        ({"addresses": [2**70] * 32}, smemkit.ArgumentTypeError, "64 bits"),
        ({"addresses": 4 * LANE[:31]}, smemkit.ShapeError, r"\(31,\)"),
        ({"addresses": []}, smemkit.ShapeError, r"\(0,\)"),
        ({"addresses": 5}, smemkit.ShapeError, r"\(\)"),
        ({"addresses": 4 * LANE - 8}, smemkit.ArgumentError, "lane 0 is -8"),
        ({"addresses": 4 * LANE - 8, "mask": 2}, smemkit.ArgumentError, "lane 1 is -4"),
        ({"addresses": 4 * LANE + LANE // 9}, smemkit.ArgumentError, "lane 9 is 37"),
        ({"addresses": 4 * LANE, "width": 8}, smemkit.ArgumentError, "lane 1 is 4"),
        ({"addresses": [[4] * 32, [6] * 32]}, smemkit.ArgumentError, "lane 0 of access 1 is 6"),
        ({"addresses": 4 * LANE, "width": 3}, smemkit.ArgumentError, "width is 3"),
        ({"addresses": 4 * LANE, "width": 2**80}, smemkit.ArgumentError, "width is"),
        ({"addresses": 4 * LANE, "width": 4.0}, smemkit.ArgumentTypeError, "width"),
        ({"addresses": 4 * LANE, "mask": -1}, smemkit.ArgumentError, "mask is -1"),
        ({"addresses": 4 * LANE, "mask": 1 << 32}, smemkit.ArgumentError, "mask is 4294967296"),
        ({"addresses": 4 * LANE, "mask": 1 << 80}, smemkit.ArgumentError, "mask is"),
        ({"addresses": 4 * LANE, "mask": 1.0}, smemkit.ArgumentTypeError, "mask"),
        ({"addresses": 4 * LANE, "mask": [1, 2]}, smemkit.ShapeError, "mask of shape"),
    ],
)
def test_refusals(call, kind, word):
    for function in (smemkit.bank_access, smemkit.sectors):
        with pytest.raises(kind, match=f"{function.__name__}: .*{word}"):
            function(**call)


def test_refusals_of_banks_alone():
    with pytest.raises(smemkit.ArgumentError, match="op is 'fetch'"):
        smemkit.bank_access(4 * LANE, op="fetch")
    with pytest.raises(smemkit.ArgumentTypeError, match="op"):
        smemkit.bank_access(4 * LANE, op=3)
    with pytest.raises(smemkit.ArgumentError, match="lane 0 is 4294967296"):
        smemkit.bank_access([1 << 32] * 32)
    with pytest.raises(TypeError):
        smemkit.bank_access(4 * LANE, 4, ALL)


# Against an oracle -------------------------------------------------------------------------------


def split(lanes, size):
    groups = [[lane for lane in lanes if lane // size == k] for k in range(32 // size)]
    return [group for group in groups if group]


def count_most(addresses, width, group, by_lane):
    """Largest number of words (or lanes) in one bank, word by word and bank by bank."""
    banks = defaultdict(Counter)
    for lane in group:
        for word in {byte // 4 for byte in range(addresses[lane], addresses[lane] + width)}:
            banks[word % 32][word] += 1
    return max(sum(words.values()) if by_lane else len(words) for words in banks.values())


def ask_oracle(addresses, width, mask, op):
    active = [lane for lane in range(32) if mask >> lane & 1]
    size = min(32, 128 // width)
    by_lane = op in ("atomic", "async", "cas")
    narrow = [count_most(addresses, width, group, by_lane) for group in split(active, size)]
    if op == "cas":
        return 2 * sum(narrow), sum(narrow) - len(narrow), 2 * len(narrow)
    paired = any(
        all(addresses[lane] == addresses[lane ^ d] for lane in active if lane ^ d in active)
        for d in (1, 2)
    )
    if op == "load" and width >= 8 and paired:
        wide = split(active, 2 * size)
        narrow = [count_most(addresses, width, group, False) for group in wide]
    return sum(narrow), sum(narrow) - len(narrow), len(narrow)


@st.composite
def accesses(draw):
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    window = draw(st.sampled_from([2, 7, 33, 200, 5000, (1 << 28) - 1]))
    units = draw(st.lists(st.integers(0, window), min_size=32, max_size=32))
    step = draw(st.sampled_from([None, 1, 2, 3, 8, 16, 32]))
    if step is not None:
        units = [units[0] % 64 + lane * step for lane in range(32)]
    keep = draw(st.sampled_from([31, 30, 29, 28, 27, 15, 0]))
    mask = draw(st.one_of(st.just(ALL), st.integers(0, ALL)))
    return [width * units[lane & keep] for lane in range(32)], width, mask


@settings(max_examples=300, deadline=None)
@given(access=accesses(), op=st.sampled_from(OPS))
def test_oracle(access, op):
    addresses, width, mask = access
    found = smemkit.bank_access(addresses, width, mask=mask, op=op)
    assert found[:3] == ask_oracle(addresses, width, mask, op)
    most = found.words.max()
    assert most <= found.wavefronts <= 64 and (most > 0) == (mask != 0)
    phases = found.phases // (2 if op == "cas" else 1)
    assert most - 1 <= found.conflicts <= max(0, most - 1) * phases
    assert found.wavefronts - found.phases == found.conflicts * (2 if op == "cas" else 1)


# Against the H200 --------------------------------------------------------------------------------


def group_rows():
    rows = defaultdict(list)
    for row in bank_patterns.list_rows(TABLE):
        rows[row[0].name].append(row)
    return rows


ROWS = group_rows()


def test_table_is_complete():
    assert "H200" in TABLE["device"]
    assert ROWS.keys() == bank_patterns.KERNELS.keys()
    assert sum(map(len, ROWS.values())) > 1500
    for name, kernel in bank_patterns.KERNELS.items():
        now = [(layout, a, mask) for layout, a, mask in bank_patterns.list_patterns(kernel)]
        assert [(layout, a, mask) for _, layout, a, mask, _ in ROWS[name]] == now


@pytest.mark.parametrize("name", bank_patterns.KERNELS)
def test_hardware(name):
    for kernel, layout, addresses, mask, counts in ROWS[name]:
        expected = bank_patterns.expect(kernel, addresses, mask)
        found = {key: counts[key] for key in expected}
        assert found == expected, f"{layout} {mask:#x}"
        assert kernel.loop == (expected == {})


LOOPS = [name for name, kernel in bank_patterns.KERNELS.items() if kernel.loop]


def spin(addresses, width, mask):
    """Rounds, wavefronts and wavefronts of the loads of a loop of LDS and ATOMS.CAST.SPIN."""
    lanes = 128 // width if width == 8 else 32
    left = [lane for lane in range(32) if mask >> lane & 1]
    rounds = wavefronts = loads = 0
    while left:
        rounds += 1
        here = sum(1 << lane for lane in left)
        loads += smemkit.bank_access(addresses, width, mask=here).wavefronts
        done = []
        for group in split(left, lanes):
            wavefronts += 2
            before = {addresses[lane] for lane in done}
            taken = set()
            for lane in group:
                bank = addresses[lane] // width % lanes
                if bank not in taken and addresses[lane] not in before:
                    done.append(lane)
                taken.add(bank)
        left = [lane for lane in left if lane not in done]
    return rounds, wavefronts, loads


@pytest.mark.parametrize("name", LOOPS)
def test_hardware_loops(name):
    """The lowest lane of each bank gets through, unless its word has changed in that round.

    Of the loads the table holds smsp__sass_l1tex_..., which has more where pairs meet in a bank.
    """
    for kernel, layout, addresses, mask, counts in ROWS[name]:
        rounds, wavefronts, loads = spin(addresses, kernel.width, mask)
        assert counts["wavefronts_l1tex"] == wavefronts, f"{layout} {mask:#x}"
        assert counts["conflicts"] == 0
        assert counts["requests"] == counts["load_requests"] == rounds
        assert counts["load_wavefronts"] == loads or "pairs" in layout or "random200" in layout


def count_launches(name):
    """(layout, mask, what profile counts, what Nsight Compute counted) of each row."""
    kernel = bank_patterns.KERNELS[name]
    module = smemkit.RawModule(bank_patterns.write_ptx([kernel]), backend="sim")
    function, memory = module.get_function(name), np.ones(bank_patterns.GLOBAL_BYTES, np.uint8)
    for _, layout, addresses, mask, counts in ROWS[name]:
        pattern = np.array([*addresses, mask], np.uint32).tobytes()
        report = smemkit.profile(function, (1,), (32,), (pattern, memory))
        yield layout, mask, report.counters, counts


@pytest.mark.parametrize("name", LOOPS)
def test_hardware_loops_as_counted(name):
    for layout, mask, found, counts in count_launches(name):
        assert found["shared.atomic.wavefronts"] == counts["wavefronts_l1tex"], (
            f"{layout} {mask:#x}"
        )
        assert found["shared.atomic.conflicts"] == 0
        assert found["shared.atomic.instructions"] == counts["requests"]
        assert found["shared.load.instructions"] == counts["load_requests"]


@pytest.mark.parametrize("name", [name for name in bank_patterns.KERNELS if "_matrix_" in name])
def test_hardware_matrices_as_counted(name):
    """An ldmatrix is among the loads; of the loads' own metrics that of instructions has it not."""
    for layout, mask, found, counts in count_launches(name):
        where = f"{layout} {mask:#x}"
        requests = counts["requests"] + counts["requests_ld"]
        assert found["shared.load.instructions"] == requests, where
        assert found["shared.load.wavefronts"] == counts["wavefronts_l1tex"], where
        assert found["shared.load.conflicts"] == counts["conflicts"], where


@pytest.mark.parametrize("name", [name for name in bank_patterns.KERNELS if "_async_" in name])
def test_hardware_copies_as_counted(name):
    for layout, mask, found, counts in count_launches(name):
        where = f"{layout} {mask:#x}"
        assert found["async.wavefronts"] == counts["wavefronts"], where
        assert found["async.conflicts"] == counts["conflicts_sass"], where
        assert found["async.sectors"] == counts["sectors"], where
        assert found["async.copies"] == counts["instructions"], where
        assert found["async.requests"] == counts["requests"], where


@pytest.mark.parametrize("name", bank_patterns.KERNELS)
def test_kernels_run(machine, name):
    """What the recording launches is what the simulator takes as well."""
    kernel = bank_patterns.KERNELS[name]
    module = smemkit.RawModule(bank_patterns.write_ptx([kernel]), backend=machine)
    memory = smemkit.asarray(np.zeros(bank_patterns.GLOBAL_BYTES, np.uint8), backend=machine)
    _, addresses, mask = next(iter(bank_patterns.list_patterns(kernel)))
    pattern = np.array([*addresses, mask], np.uint32).tobytes()
    module.get_function(name)((1,), (32,), (pattern, memory), backend=machine)
    smemkit.asnumpy(memory)
