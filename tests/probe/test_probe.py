"""Probes: what their kernels compute, what their headers claim, and what the functions report."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest

import smemkit
from smemkit import probe
from smemkit.probe import _probes

KERNELS = smemkit.variants("probe")
BITS = {"bits8": "uint8", "bits16": "uint16", "bits32": "uint32", "bits64": "uint64"}
BLOCK = 256

# The kernels: what they compute ------------------------------------------------------------------


def run(variant, dtype, grid, args, machine, block=BLOCK, **options):
    smemkit.kernel("probe", variant, dtype)(grid, block, args, backend=machine, **options)


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_strided(dtype, machine, rng):
    for n in (1, 31, 1024, 1025, 3000):
        for stride, offset in ((1, 0), (1, 5), (2, 1), (7, 0), (32, 3)):
            x = rng.integers(1, 2**31, (n - 1) * stride + offset + 1).astype(dtype)
            y = np.zeros(n, dtype)
            run("strided", dtype, -(-n // 1024), (x, y, n, stride, offset), machine)
            assert np.array_equal(y, x[offset::stride])


def scramble(i, n):
    """The place of element i of n, in Python's integers."""
    mask = 2**64 - 1
    h = i * 0x9E3779B97F4A7C15 & mask
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & mask
    h = (h ^ h >> 27) * 0x94D049BB133111EB & mask
    return (h ^ h >> 31) * n >> 64


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_random(dtype, machine):
    for n, seed in ((1, 0), (100, 3), (2500, 2**40)):
        x, y = np.arange(5, 5 + n).astype(dtype), np.zeros(n, dtype)
        run("random", dtype, -(-n // 1024), (x, y, n, seed), machine)
        assert y.tolist() == [5 + scramble(i + seed, n) for i in range(n)]
    assert len(set(y.tolist())) > 1000


def expect_banks(stride, rounds, value):
    """The exclusive or of what each of 32 lanes reads; value(i) is element i of the tile."""
    first = np.arange(32) * stride & 2047
    found = np.zeros_like(value(first))
    for _ in range(rounds):
        for k in range(8):
            found ^= value(first + 32 * k)
        first = (first + 256) & 2047
    return found


@pytest.mark.parametrize("dtype", BITS.values())
def test_banks(dtype, machine):
    for stride, rounds in ((0, 1), (1, 3), (3, 4), (2, 9), (33, 20), (5000, 2), (7, 0)):
        out = np.full(2 * BLOCK, 77, dtype)
        run("banks", dtype, 2, (out, stride, rounds), machine)
        lanes = expect_banks(stride, rounds, lambda i: i.astype(dtype))
        assert np.array_equal(out, np.tile(lanes, 16))
    assert not out.any()


def test_banks_wide(machine):
    for stride, rounds in ((0, 1), (1, 3), (3, 4), (8, 9), (33, 20)):
        out = np.full(BLOCK, 77, "uint32")
        run("banks_wide", "uint32", 1, (out, stride, rounds), machine)
        parts = [expect_banks(stride, rounds, lambda i, j=j: i + j) for j in range(4)]
        assert np.array_equal(out, np.tile(np.bitwise_xor.reduce(parts), 8))


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
@pytest.mark.parametrize("ending", ["", "_padded"])
@pytest.mark.parametrize("walk", ["row", "column"])
def test_walks(walk, ending, dtype, machine):
    tiles = np.arange(4 * 32 * 32).astype(dtype).reshape(4, 32, 32)
    tiles = tiles if walk == "row" else tiles.transpose(0, 2, 1)
    for rounds in (0, 1, 4, 40):
        out = np.full(BLOCK, 77, dtype)
        run(walk + ending, dtype, 1, (out, rounds), machine)
        expected = np.zeros((8, 32), dtype)
        for warp in range(8):
            for r in range(rounds):
                expected[warp] ^= np.bitwise_xor.reduce(tiles[:, (r + warp) % 32])
        assert np.array_equal(out, expected.ravel())


@pytest.mark.parametrize(("variant", "dtype"), [("chase", "uint64"), ("chase_shared", "uint32")])
def test_chase_walks_the_ring(variant, dtype, machine, rng):
    order = rng.permutation(1024)
    ring = np.zeros(1024, dtype)
    ring[order] = np.roll(order, -1)
    for steps in (0, 1, 4, 7, 1000, 2000):
        state = order[:1].astype(dtype)
        run(variant, dtype, 1, (ring, state, steps), machine, block=1)
        assert state[0] == order[steps % 1024]


def expect_ways(x, first, steps):
    y = x.copy()
    for _ in range(steps):
        y = np.where(
            first, y * np.float32(0.5) + np.float32(1), y * np.float32(-0.25) + np.float32(2)
        )
    return y


@pytest.mark.parametrize("pattern", probe.PATTERNS)
def test_branches(pattern, machine, rng):
    """Products by powers of two are exact, so each step rounds once on any machine."""
    variant = probe.PATTERNS[pattern]
    for n in (1, 31, 255, 256, 257, 1000):
        for steps in (0, 1, 4, 9):
            x = rng.standard_normal(n).astype("float32")
            y, i = np.full(n, 77, "float32"), np.arange(n)
            run(variant, "float32", -(-n // BLOCK), (x, y, n, steps), machine)
            kind = pattern.split("_")[0]
            first = {"lane": i % 2 == 1, "warp": i // 32 % 2 == 1, "random": x < 0}[kind]
            assert np.array_equal(y, expect_ways(x, first, steps))


@pytest.mark.parametrize(
    ("variant", "sizes", "head"),
    [
        ("static_shared", (1, 255, 12288), None),
        ("dynamic_shared", (1, 255, 12288, 12289, 40000), 0),
        ("mixed_shared", (1, 1023, 1024, 1025, 20000), 1024),
    ],
)
def test_turning_round(variant, sizes, head, machine, rng):
    for n in sizes:
        x, y = rng.integers(0, 2**32, n, dtype="uint32"), np.zeros(n, "uint32")
        dynamic = 0 if head is None else max(0, n - head) * 4
        if machine == "cuda" and dynamic > smemkit.device_info()["shared_bytes_per_block_optin"]:
            continue
        run(variant, "uint32", 1, (x, y, n), machine, shared_mem=dynamic)
        assert np.array_equal(y, x[::-1])


# The kernels: what their headers claim -----------------------------------------------------------

LINE = re.compile(r"([a-z_]+(?:\.[a-z_]+)+) = ([0-9.]+)(?: +(.*))?")


def signs(n):
    """Elements of both signs in each warp, a number of negative ones that is no multiple of 32."""
    return np.where(np.arange(n) % 3 == 0, -1, 1).astype("float32")


LAUNCHES = {
    "strided": lambda dtype, stride=1, offset=0, n=4096: (
        -(-n // 1024),
        (np.zeros((n - 1) * stride + offset + 1, dtype), np.zeros(n, dtype), n, stride, offset),
    ),
    "random": lambda dtype, n=4096: (-(-n // 1024), (np.zeros(n, dtype), np.zeros(n, dtype), n, 1)),
    "chase": lambda dtype, steps=96: (1, (np.zeros(8, dtype), np.zeros(1, dtype), steps)),
    "chase_shared": lambda dtype, steps=96: (1, (np.zeros(1024, dtype), np.zeros(1, dtype), steps)),
    **dict.fromkeys(
        ("banks", "banks_wide"),
        lambda dtype, stride=1, rounds=3: (2, (np.zeros(2 * BLOCK, dtype), stride, rounds)),
    ),
    **dict.fromkeys(
        ("row", "row_padded", "column", "column_padded"),
        lambda dtype, rounds=40: (2, (np.zeros(2 * BLOCK, dtype), rounds)),
    ),
    **dict.fromkeys(
        probe.PATTERNS.values(),
        lambda dtype, n=BLOCK, steps=9: (-(-n // BLOCK), (signs(n), signs(n), n, steps)),
    ),
    **dict.fromkeys(
        ("static_shared", "mixed_shared"),
        lambda dtype, n=1024: (1, (np.arange(n, dtype=dtype), np.zeros(n, dtype), n)),
    ),
    "dynamic_shared": lambda dtype, n=1024: (
        1,
        (np.arange(n, dtype=dtype), np.zeros(n, dtype), n),
        {"shared_mem": 4 * n},
    ),
}


def launch(verb, variant, dtype, **sizes):
    grid, args, *options = LAUNCHES[variant](BITS.get(dtype, dtype), **sizes)
    kernel = smemkit.kernel("probe", variant, BITS.get(dtype, dtype))
    options = options[0] if options else {}
    return getattr(kernel, verb)(grid, KERNELS[variant]["block"], args, backend="sim", **options)


def read_claims(variant):
    """(counter, value, element types, sizes) of each claim of a header."""
    lines = smemkit.source("probe", variant).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("// Claims"))
    for line in lines[start:]:
        if line.startswith("// Source"):
            return
        counter, value, words = LINE.fullmatch(line[12:].strip()).groups()
        types, sizes = [], {}
        for word in (words or "always").split(":")[0].split(";"):
            name, _, number = word.strip().partition(" ")
            if number:
                sizes[name] = int(number)
            elif name != "always":
                types.append(name)
        assert set(types) <= set(KERNELS[variant]["dtypes"]), line
        yield counter, float(value), types or KERNELS[variant]["dtypes"], sizes


@pytest.mark.parametrize("variant", KERNELS)
def test_claims(variant):
    claims = list(read_claims(variant))
    assert claims
    for counter, value, types, sizes in claims:
        for dtype in types:
            counted = launch("profile", variant, dtype, **sizes).counters[counter]
            assert counted == value, f"{counter} {dtype} {sizes}"


@pytest.mark.parametrize("variant", ["row", "row_padded", "column", "column_padded"])
def test_walks_read_in_every_round(variant):
    """What they read cancels out, four tiles of one number each: so reads are counted, too."""
    for dtype, rounds in itertools.product(KERNELS[variant]["dtypes"], (0, 1, 3, 4, 5)):
        counted = launch("profile", variant, dtype, rounds=rounds).counters
        assert counted["shared.load.instructions"] == 2 * 8 * 4 * rounds


@pytest.mark.parametrize("variant", KERNELS)
def test_kernels_are_clean(variant):
    for dtype in KERNELS[variant]["dtypes"]:
        report = launch("check", variant, dtype)
        assert report, str(report)


@pytest.mark.parametrize("variant", KERNELS)
def test_every_barrier_is_needed(variant):
    ptx = smemkit.ptx("probe", variant)
    barriers = list(re.finditer(r"^\s*(?:bar|barrier)\.sync[^;]*;", ptx, re.MULTILINE))
    entries = list(re.finditer(r"\.visible \.entry (\w+)\(", ptx))
    assert len(barriers) == len(entries) * smemkit.source("probe", variant).count("__syncthreads()")
    for barrier in barriers:
        entry = [match[1] for match in entries if match.start() < barrier.start()][-1]
        dtype = BITS.get(entry.rsplit("_", 1)[1], "float32")
        text = ptx[: barrier.start()] + ptx[barrier.end() :]
        grid, args, *options = LAUNCHES[variant](dtype)
        kernel = smemkit.RawKernel(text, entry)
        options = options[0] if options else {}
        report = kernel.check(grid, BLOCK, args, backend="sim", **options)
        assert {"race", "uninitialized"} & {finding.kind for finding in report.findings}, entry


# The functions -----------------------------------------------------------------------------------


def check_times(found, machine):
    """Measured times on a GPU; without one there are none, rather than the host's."""
    assert found.backend == machine
    if machine == "cuda":
        assert len(found.times_ms) >= 10 and min(found.times_ms) > 0
        assert min(found.times_ms) <= found.time_ms <= max(found.times_ms)
    else:
        assert found.times_ms == () and found.time_ms is None
    json.dumps(found.to_dict())
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.times_ms = (1.0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_global_access(dtype, machine):
    bytes_each = np.dtype(dtype).itemsize
    for stride in (1, 2, 3, 4, 8, 16, 32):
        found = probe.global_access(stride, dtype=dtype, elements=1 << 16, backend=machine)
        check_times(found, machine)
        assert found.sectors_per_request == min(32, bytes_each * stride)
        assert found.used_bytes == 2 * found.elements * bytes_each
        assert found.moved_bytes == found.elements * (min(32, bytes_each * stride) + bytes_each)
        assert (found.used_gb_per_s is None) == (found.moved_gb_per_s is None) == (machine == "sim")


def test_global_access_offset_and_random(machine):
    options = {"elements": 1 << 15, "backend": machine}
    for offset, sectors in ((0, 4), (1, 5), (7, 5), (8, 4), (33, 5)):
        assert probe.global_access(offset=offset, **options).sectors_per_request == sectors
    found = probe.global_access(random=True, seed=5, **options)
    check_times(found, machine)
    assert found.random and 31 < found.sectors_per_request <= 32
    few = probe.global_access(elements=1, backend=machine)
    assert few.sectors_per_request == 1 and few.elements == 1


def test_bank_access(machine):
    for stride in (*range(34), 64, 1000):
        found = probe.bank_access(stride, backend=machine)
        worst = np.gcd(stride, 32) if stride else 1
        assert found.wavefronts_per_request == worst
        assert found.conflicts_per_request == worst - 1
    check_times(found, machine)
    assert (found.ns_per_request is None) == (machine == "sim")


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_bank_access_is_what_the_rule_says(width):
    for stride in range(34):
        found = probe.bank_access(stride, width, backend="sim")
        rule = smemkit.bank_access(np.arange(32) * stride * width, width)
        assert found.wavefronts_per_request == rule.wavefronts
        assert found.conflicts_per_request == rule.conflicts
        assert found.width == width and found.stride == stride


@pytest.mark.parametrize(("width", "worst"), [(4, 32), (8, 16)])
def test_row_column(width, worst, machine):
    plain, padded = (probe.row_column(flag, width, backend=machine) for flag in (False, True))
    assert plain.wavefronts_ratio == worst and padded.wavefronts_ratio == 1
    assert plain.row.wavefronts_per_request == width // 4 == padded.row.wavefronts_per_request
    assert (plain.padded, padded.padded) == (False, True)
    check_times(plain.column, machine)
    json.dumps(plain.to_dict())
    assert (plain.time_ratio is None) == (machine == "sim")


def test_divergence(machine):
    found = {name: probe.divergence(name, backend=machine) for name in probe.PATTERNS}
    warps = _probes.COUNTED // 32
    for name in ("warp", "lane_grouped", "lane_selected"):
        assert found[name].divergent_branches == 0 and found[name].active_lanes > 31
    for name in ("lane", "random"):
        assert found[name].divergent_branches == warps and found[name].active_lanes < 18
    assert found["random_grouped"].divergent_branches <= warps // 8  # one of a block's 8
    for each in found.values():
        check_times(each, machine)


def test_latency_needs_a_clock():
    for level in probe.LEVELS:
        with pytest.raises(smemkit.BackendError, match="no clock"):
            probe.latency(level, backend="sim")


def test_latency_without_a_gpu(cuda_missing):
    if cuda_missing is None:
        for level in probe.LEVELS:  # how long they take is measured, not tested
            found = probe.latency(level)
            assert found.level == level and all(0 < ns < 1e6 for ns in found.samples_ns)
    else:
        with pytest.raises(smemkit.BackendError):
            probe.latency("l1", backend="cuda")


def test_ring_is_one_ring_through_all_places():
    for places, spacing in ((1, 16), (2, 1), (100, 16)):
        ring = _probes._make_ring(places, spacing, 3, "uint64")
        place, seen = 0, set()
        for _ in range(places):
            seen.add(place)
            place = int(ring[place])
        assert place == 0 and seen == set(range(0, places * spacing, spacing))


def test_shared_limits(machine):
    found = probe.shared_limits(backend=machine)
    facts = smemkit.device_info(backend=machine)
    assert found.static_bytes == 48 * 1024
    assert found.dynamic_bytes == facts["shared_bytes_per_block"]
    assert found.optin_bytes == facts["shared_bytes_per_block_optin"]
    assert found.mixed_static_bytes + found.mixed_dynamic_bytes == found.optin_bytes
    assert str(found.optin_bytes) in found.refusal and "shared memory" in found.refusal
    assert found.backend == machine
    json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: probe.global_access(0), ValueError),
        (lambda: probe.global_access(1.5), TypeError),
        (lambda: probe.global_access(True), TypeError),
        (lambda: probe.global_access(offset=-1), ValueError),
        (lambda: probe.global_access(2, random=True), ValueError),
        (lambda: probe.global_access(random="yes"), TypeError),
        (lambda: probe.global_access(dtype="uint8"), TypeError),
        (lambda: probe.global_access(elements=0), ValueError),
        (lambda: probe.global_access(backend="tpu"), ValueError),
        (lambda: probe.bank_access(-1), ValueError),
        (lambda: probe.bank_access(1, 3), ValueError),
        (lambda: probe.bank_access("1"), TypeError),
        (lambda: probe.row_column(1), TypeError),
        (lambda: probe.row_column(width=16), ValueError),
        (lambda: probe.divergence("lanes"), ValueError),
        (lambda: probe.divergence(["lane"]), ValueError),
        (lambda: probe.divergence("lane", seed=-1), ValueError),
        (lambda: probe.latency("l3"), ValueError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, smemkit.Error)
