"""mma: where elements lie, what comes out bit for bit, and who must be there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sim.exec import mma_model, mma_tools
from sim.exec.mma_model import decode, encode
from sim.exec.mma_tools import FORMS, multiply, write_kernel

import smemkit
from smemkit import _core

EACH_FORM = pytest.mark.parametrize("form", FORMS, ids=str)
TABLE = json.loads(Path(__file__).with_name("mma_h200.json").read_text(encoding="utf-8"))
RECORDED = [
    pytest.param(form, regime, id=f"{form}-{regime}")
    for form in FORMS
    for regime in TABLE["forms"].get(str(form), {})
]


def find_capability(machine):
    """10 times the compute capability, such as 90."""
    facts = smemkit.device_info(backend=machine)
    return 10 * facts["compute_capability_major"] + facts["compute_capability_minor"]


@pytest.fixture
def product(machine):
    """mma_tools.multiply on a machine that has the form."""

    def run(form, *operands):
        if find_capability(machine) < form.target:
            pytest.skip("this GPU's tensor cores have no such product")
        return multiply(form, *operands, machine)

    return run


def encode_all(form, *operands):
    """Bits of a, b and c."""
    return [encode(kind, x) for kind, x in zip(form.kinds, operands, strict=True)]


def decode_all(form, *operands):
    return [decode(kind, x) for kind, x in zip(form.kinds, operands, strict=True)]


def same_bits(form, bits, expected):
    """Equal, but for the bits of a NaN of double precision."""
    if form.double:
        nan = np.isnan(decode("f64", expected))
        assert (np.isnan(decode("f64", bits)) == nan).all()
        return bool((bits == expected)[~nan].all())
    return bool((bits == expected).all())


# What comes out ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "regime"), RECORDED)
def test_as_on_an_h200(form, regime):
    """What was recorded on a GPU, of normal numbers and of those at the ends of the formats."""
    *operands, expected = mma_model.read_case(form, TABLE["forms"][str(form)][regime])
    assert same_bits(form, multiply(form, *operands), expected)


def test_the_record_is_whole():
    assert TABLE["device"] == "NVIDIA H200" and TABLE["driver"] and TABLE["date"]
    floats = [form for form in FORMS if not form.integer]
    assert {form.kind for form in floats} <= {name.split("_")[1] for name in TABLE["forms"]}
    for form in floats:
        if not form.double:
            assert set(TABLE["forms"][str(form)]) == set(mma_model.REGIMES)


@pytest.mark.parametrize(
    ("form", "regime"),
    [
        pytest.param(form, regime, id=f"{form}-{regime}")
        for form in FORMS
        for regime in mma_model.list_regimes(form)
    ],
)
def test_bits(form, regime, rng, machine, product):
    """New numbers each run, against the model in whole numbers."""
    operands = mma_model.make_numbers(form, regime, rng, 4)
    out = product(form, *operands)
    if (
        form.double or form.integer or find_capability(machine) == 90
    ):  # others keep fewer or more bits
        assert same_bits(form, out, mma_model.multiply(form, *operands))


WIDE = [form for form in FORMS if form.kind in ("tf32", "bf16") and not form.half]


@pytest.mark.parametrize("form", WIDE, ids=str)
def test_a_negative_sum_that_is_too_small_is_positive_zero(form, machine, product):
    """2^-126 - 2^-126 - 3 * 2^-151: an H200 gave 0 for such a sum, and not -0."""
    a, b = np.zeros((1, form.rows, form.depth)), np.zeros((1, form.depth, 8))
    a[:, :, :2] = -(2.0**-63), -(2.0**-75)
    b[:, :2] = [[2.0**-63], [3 * 2.0**-76]]
    c = np.full((1, form.rows, 8), 2.0**-126)
    operands = [mma_model.encode(form.kind, x) for x in (a, b)]
    operands.append(mma_model.encode(form.result, c))
    if find_capability(machine) == 90:
        assert not product(form, *operands).any()


PROGRAM = """
import hashlib, sys
import numpy
from sim.exec import mma_model, mma_tools
from smemkit import _core
rng = numpy.random.default_rng(int(sys.argv[1]))
for form in mma_tools.FORMS:
    for regime in mma_model.list_regimes(form):
        out = mma_tools.multiply(form, *mma_model.make_numbers(form, regime, rng, 4))
        print(form, regime, hashlib.sha256(out.tobytes()).hexdigest())
print(_core._isa())
"""


def run_isa(isa, seed):
    environment = {**os.environ, "SMEMKIT_ISA": isa}
    command = [sys.executable, "-c", PROGRAM, str(seed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    *digests, name = done.stdout.split("\n")[:-1]
    return digests, name


def test_same_bits_on_every_instruction_set(rng):
    seed = int(rng.integers(2**32))
    best, name = run_isa("", seed)
    for isa in {"baseline": [], "avx2": ["baseline"]}.get(name, ["baseline", "avx2"]):
        assert run_isa(isa, seed) == (best, isa)


@EACH_FORM
def test_small_integers_are_exact(form, rng, product):
    low = 0 if "u8" in form.kinds else -8
    a = rng.integers(low, 9, (20, form.rows, form.depth))
    b = rng.integers(low, 9, (20, form.depth, 8))
    c = rng.integers(-99, 100, (20, form.rows, 8))
    bits = encode_all(form, a, b, c)
    out = product(form, *bits)
    assert (decode(form.result, out) == a @ b + c).all()


@pytest.mark.parametrize("form", [form for form in FORMS if not form.integer], ids=str)
def test_normal_numbers(form, rng, product):
    a = encode(form.kind, rng.standard_normal((20, form.rows, form.depth)))
    b = encode(form.kinds[1], rng.standard_normal((20, form.depth, 8)))
    c = encode(form.result, rng.standard_normal((20, form.rows, 8)))
    out = decode(form.result, product(form, a, b, c))
    a, b, c = decode_all(form, a, b, c)
    kind = "f8" if form.double else "f2" if form.half else "f4"
    bound = 4 * np.finfo(kind).eps * (np.abs(a) @ np.abs(b) + np.abs(c))
    if form.double:
        bound *= form.depth
    assert (np.abs(out - (a @ b + c)) <= bound).all()


@EACH_FORM
def test_each_element_has_its_place(form, product):
    """One element of a and one of b at a time: d has one element, where row and column meet."""
    n = form.rows * form.depth
    a = np.zeros((n, n))
    a[np.arange(n), np.arange(n)] = 1
    a = a.reshape(n, form.rows, form.depth)
    b = 1 + np.arange(8 * form.depth).reshape(form.depth, 8) % 127  # 8 bits hold them
    b = np.broadcast_to(b, (n, form.depth, 8))
    c = np.zeros((n, form.rows, 8))
    bits = encode_all(form, a, b, c)
    assert (decode(form.result, product(form, *bits)) == a @ b).all()


# The instruction ---------------------------------------------------------------------------------


@EACH_FORM
def test_needs_its_target(form):
    below = {75: 70, 80: 75, 90: 89}[form.target]
    with pytest.raises(smemkit.PtxError, match=rf"sm_{form.target} or later, this is sm_{below}"):
        smemkit.RawModule(write_kernel(form, target=below), backend="sim")
    smemkit.RawModule(write_kernel(form, target=form.target), backend="sim")


@EACH_FORM
def test_result_over_a_source(form, rng):
    """d may be c, or share registers with a and b."""
    a = encode(form.kind, rng.integers(-8, 9, (3, form.rows, form.depth)))
    b = encode(form.kinds[1], rng.integers(-8, 9, (3, form.depth, 8)))
    c = encode(form.result, rng.integers(-8, 9, (3, form.rows, 8)))
    _, list_a, list_b, list_c = mma_tools.register_lists(form)
    count = form.counts()[0]
    twice = f"{form.opcode} {list_c}, {list_a}, {list_b}, {list_c};"
    copy = "\n".join(f"mov.{form.stored} %d{i}, %c{i};" for i in range(count))
    text = write_kernel(form, lists=(list_c, list_a, list_b, list_c), after=twice + "\n" + copy)
    out = decode(form.result, multiply(form, a, b, c, text=text))
    a, b, c = decode_all(form, a, b, c)
    assert (out == 2 * (a @ b) + c).all()


@pytest.mark.parametrize(
    ("before", "guard", "after", "block", "words"),
    [
        ("setp.lt.u32 %p1, %r1, 31;\n@!%p1 bra DONE;", "", "DONE:", 32, "wait at PTX line"),
        ("setp.lt.u32 %p1, %r1, 5;", "@%p1", "", 32, "lanes 0x0000001f of warp 0, without its"),
        ("setp.eq.u32 %p1, %r1, 7;\n@%p1 exit;", "", "", 32, "0x00000080 are not there or have"),
        ("", "", "", 31, "lanes 0x80000000 are not there"),
    ],
    ids=["branch", "guard", "exit", "block"],
)
@EACH_FORM
def test_all_lanes_must_be_there(form, before, guard, after, block, words):
    text = write_kernel(form, before=before, guard=guard, after=after)
    zeros = [
        np.zeros((1, *shape))
        for shape in ((form.rows, form.depth), (form.depth, 8), (form.rows, 8))
    ]
    bits = encode_all(form, *zeros)
    with pytest.raises(smemkit.BarrierError, match=words) as caught:
        multiply(form, *bits, text=text, block=block)
    line = next(i for i, x in enumerate(text.split("\n"), 1) if form.opcode in x)
    assert caught.value.ptx_line == line


def count(text):
    """What profile counts of one warp."""
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    buffers = [np.zeros(32 * 8, np.uint64) for _ in range(4)]
    _, launches = _core._capture("profile", kernel, (1, 32, tuple(buffers)), {}, 0, True)
    return launches[0]["counters"]


@EACH_FORM
def test_counts_as_one_instruction(form):
    """Of registers only: nothing else is counted for it."""
    once, thrice = count(write_kernel(form)), count(write_kernel(form, repeat=3))
    assert thrice.pop("instructions.warp") - once.pop("instructions.warp") == 2
    assert thrice.pop("instructions.thread") - once.pop("instructions.thread") == 64
    assert (once.pop("matrix.instructions"), thrice.pop("matrix.instructions")) == (1, 3)
    products = form.rows * form.depth * 8
    assert (once.pop("matrix.products"), thrice.pop("matrix.products")) == (products, 3 * products)
    assert once == thrice


@EACH_FORM
def test_check_finds_nothing(form):
    kernel = smemkit.RawModule(write_kernel(form), backend="sim").get_function("k")
    buffers = tuple(np.zeros(2 * 32 * 8, np.uint64) for _ in range(4))
    assert smemkit.check(kernel, 2, 32, buffers).findings == []


@EACH_FORM
def test_sums_in_a_loop(form, rng):
    """d is c of the next turn; registers and guards as a compiler leaves them."""
    a = encode(form.kind, rng.integers(-3, 4, (3, form.rows, form.depth)))
    b = encode(form.kinds[1], rng.integers(-3, 4, (3, form.depth, 8)))
    c = encode(form.result, rng.integers(-3, 4, (3, form.rows, 8)))
    d, list_a, list_b, _ = mma_tools.register_lists(form)
    back = "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 10;\n@%p1 bra LOOP;"
    lists = (d, list_a, list_b, d)
    text = write_kernel(form, before="mov.u32 %r4, 0;\nLOOP:", lists=lists, after=back)
    out = decode(form.result, multiply(form, a, b, c, text=text))
    a, b, c = decode_all(form, a, b, c)
    assert (out == 10 * (a @ b) + c).all()


@EACH_FORM
def test_sinks_and_constants(form, rng):
    """_ takes a result that nobody wants; a literal stands for a register."""
    a = encode(form.kind, rng.integers(-3, 4, (1, form.rows, form.depth)))
    b = encode(form.kinds[1], rng.integers(-3, 4, (1, form.depth, 8)))
    c = encode(form.result, rng.integers(-3, 4, (1, form.rows, 8)))
    d, list_a, list_b, list_c = mma_tools.register_lists(form)
    one = "0d3FF0000000000000" if form.double else "1" if form.integer else "0f3F800000"
    one = "0x3C003C00" if form.half else one
    lists = (d.replace("%d1", "_"), list_a, list_b, list_c.replace("%c0", one))
    bits = multiply(form, a, b, c, text=write_kernel(form, lists=lists))
    a, b, was = decode_all(form, a, b, c)
    expected = a @ b + was
    rows, columns = mma_tools.places_c(form)
    for i in (0, 1) if form.half else (0,):  # of the first register
        expected[:, rows[:, i], columns[:, i]] += 1 - was[:, rows[:, i], columns[:, i]]
    for i in (2, 3) if form.half else (1,):
        expected[:, rows[:, i], columns[:, i]] = was[:, rows[:, i], columns[:, i]]
    assert (decode(form.result, bits) == expected).all()


@EACH_FORM
def test_guard_that_nobody_passes(form, rng):
    c = encode(form.result, rng.standard_normal((1, form.rows, 8)))
    a, b = np.zeros((1, form.rows, form.depth)), np.zeros((1, form.depth, 8))
    text = write_kernel(form, before="setp.gt.u32 %p1, %r1, 31;", guard="@%p1")
    a, b, _ = encode_all(form, a, b, c)
    assert (multiply(form, a, b, c, text=text) == c).all()
    assert count(text)["matrix.instructions"] == count(text)["matrix.products"] == 0
