"""What "auto" takes: speed times the part of the multiprocessors that are kept busy.

The rules are asked of tables made for it, so that each expected answer is computed by hand; the
last tests ask the package's own.
"""

import itertools
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.paths import CSRC
from support.tables import VARIANTS

import smemkit

SOURCES = ("cards.c", "slowdowns.c", "plan.c", "registry.c", "signature.c")

FAMILIES = """\
SMK_FAMILY(mul, "(m,k),(k,n)->(m,n)", "a b", "same", "n", "m", d[0], "two axes")
SMK_FAMILY(add, "(n),(n)->(n)", "x y", "same", "n", "", d[0], "one axis")
SMK_FAMILY(swap, "(m),(n)->(n),(m)", "x y", "same", "m", "", d[0], "two results")
"""
VARIANTS_MADE = """\
SMK_VARIANT(mul, small,  32, 8, 32,  32,  "float32 float64", 75, single,  40, "small tiles")
SMK_VARIANT(mul, large,  32, 8, 128, 128, "float32 float64", 75, single,  100, "large tiles")
SMK_VARIANT(mul, newest, 32, 8, 256, 128, "float32",         100, single, 400, "a newer machine")
SMK_VARIANT(mul, shown,  32, 8, 32,  32,  "float32 float64", 75, single,  0, "never taken")
SMK_VARIANT(add, slow,   256, 1, 1,  1,   "float32 int32",   75, single,  10, "small tiles")
SMK_VARIANT(add, fast,   256, 1, 8,  1,   "float32",         75, single,  20, "large tiles")
SMK_VARIANT(add, newer,  256, 1, 8,  1,   "int64",           90, single,  30, "of its own type")
SMK_VARIANT(swap, only,  256, 1, 8,  1,   "float32",         75, single,  10, "one axis walked")
"""
SLOWDOWNS_MADE = """\
SMK_SLOWDOWN_CARD("T4", 75, false, 40, 2.0)
SMK_SLOWDOWN(mul, small, float32, 1.0F)
"""


def build(folder, families=None, variants=None):
    """The program, of the registry's sources and of these tables in place of its own."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    shutil.copytree(CSRC / "registry", folder / "registry")
    shutil.copytree(CSRC / "base", folder / "base")
    tables = {"families.def": families, "variants.def": variants, "slowdowns.def": SLOWDOWNS_MADE}
    for name, text in tables.items():
        if variants is not None:
            (folder / "registry" / name).write_text(text, encoding="utf-8")
    sources = SOURCES if variants else [path.name for path in CSRC.glob("registry/*.c")]
    command = [compiler, "-std=gnu11", "-O1", f"-I{folder}", "-o", folder / "choose"]
    command += [Path(__file__).with_name("choose.c")]
    command += [folder / "base" / name for name in ("near.c", "status.c")]
    command += [folder / "registry" / name for name in sources]
    subprocess.run([*command, "-lm"], check=True, timeout=120)
    return folder / "choose"


def ask(program, *lines):
    text = "\n".join(" ".join(map(str, line)) for line in lines)
    done = subprocess.run(
        [program], input=text, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return build(tmp_path_factory.mktemp("made"), FAMILIES, VARIANTS_MADE)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    return build(tmp_path_factory.mktemp("own"))


def choose(program, family, dtype, dimensions, multiprocessors, capability=90):
    line = (capability, multiprocessors, 49152, family, dtype, *dimensions)
    (answer,) = ask(program, line)
    return answer


@pytest.mark.parametrize(
    ("size", "multiprocessors", "expected"),
    [
        # one block of 128 x 128 of 100 multiprocessors: 1.0; 16 of 32 x 32: 40 * 16 / 100 = 6.4
        (128, 100, "small 16"),
        # one multiprocessor is always busy: 100 against 40
        (128, 1, "large 1"),
        # 4 blocks: 100 * 4 / 10 = 40; 64 blocks in 7 rounds: 40 * 64 / 70 = 36.6
        (256, 10, "large 4"),
        # 4 blocks of 16: 25; 64 blocks in 4 full rounds: 40
        (256, 16, "small 64"),
        # 16 blocks fill 16: 100
        (512, 16, "large 16"),
        # 16 blocks in two rounds of 15: 100 * 16 / 30 = 53.3; 256 in 18: 40 * 256 / 270 = 37.9
        (512, 15, "large 16"),
        # 16 blocks of 41: 100 * 16 / 41 = 39.0; 256 in 7 rounds: 40 * 256 / 287 = 35.7
        (512, 41, "large 16"),
        # 16 of 43: 37.2; 256 in 6 rounds: 40 * 256 / 258 = 39.7
        (512, 43, "small 256"),
        # 0: what a machine has is not known, so speed alone decides
        (128, 0, "large 1"),
    ],
)
def test_use_of_multiprocessors(made, size, multiprocessors, expected):
    assert choose(made, "mul", "float32", (size, 7, size), multiprocessors) == expected


def test_a_tie_goes_to_the_row_that_comes_first(made):
    # 1 block of 8 in a machine of 2: 20 * 1/2 = 10; 2 blocks of 1: 10 * 2/2 = 10
    assert choose(made, "add", "float32", (2,), 2) == "slow 2"
    assert choose(made, "add", "float32", (3,), 2) == "fast 1"  # 10 * 3/4 against 10


def test_a_machine_that_is_too_old_is_passed_over(made):
    # 100 blocks of 256 x 128 on 100: 400; of 128 x 128: 200 blocks, 100
    line = ("mul", "float32", (1280, 1, 2560), 100)
    assert choose(made, *line, capability=100) == "newest 100"
    assert choose(made, *line, capability=120) == "newest 100"
    assert choose(made, *line, capability=90) == "large 200"


def test_where_no_row_runs_the_fastest_says_why(made):
    answer = choose(made, "add", "int64", (5,), 4, capability=75)
    assert "add variant 'newer' needs compute capability 9.0" in answer and "7.5" in answer
    assert choose(made, "add", "int64", (5,), 4) == "newer 1"


def test_nothing_is_launched_where_all_results_are_empty(made):
    # m, n: the results have n and m elements; blocks of 8 along m, one at least
    assert choose(made, "swap", "float32", (0, 0), 1) == "only 0"
    assert choose(made, "swap", "float32", (0, 5), 1) == "only 1"
    assert choose(made, "swap", "float32", (9, 0), 1) == "only 2"


def test_types(made):
    assert choose(made, "add", "int32", (10**6,), 132) == "slow 1000000"
    line = ("mul", "float64", (1280, 1, 2560), 100)
    assert choose(made, *line, capability=100) == "large 200"  # newest has no float64


def test_speed_0_is_never_taken(made):
    machines = itertools.product((1, 7, 132), (1, 33, 4000))
    answers = [choose(made, "mul", "float32", (n, n, n), count) for count, n in machines]
    assert not [answer for answer in answers if answer.startswith("shown")]


def test_grids_that_no_machine_takes_are_passed_over(made):
    # 2^31 blocks of one element are one too many; 2^28 blocks of eight are not
    assert choose(made, "add", "float32", (2**31,), 132) == f"fast {2**28}"
    answer = choose(made, "add", "int32", (2**31,), 132)
    assert "add variant 'slow'" in answer and str(2**31) in answer


def test_nothing_to_do(made):
    assert choose(made, "mul", "float32", (0, 5, 5), 132) == "large 0"
    assert choose(made, "mul", "float32", (5, 0, 5), 132) == "large 1"


# The package's own -------------------------------------------------------------------------------


# {what kind of product: shapes; the rows of gemm that may be taken for float32 on an H200}
KINDS = {
    "large": ([(4096, 4096, 4096), (1024, 1024, 1024), (4095, 1021, 4097)], {"direct", "tuned"}),
    "tiny": ([(64, 64, 64)], {"direct", "fma", "lean"}),
    "small": ([(200, 200, 200), (300, 100, 250), (256, 256, 256)], {"fma"}),
    "odd": ([(1929, 73, 87), (162, 42, 841), (477, 10, 572)], {"fma", "lean"}),
    "long": ([(128, 65536, 128), (64, 4096, 4096), (9, 20000, 16)], {"direct"}),
    "thin": ([(1, 4096, 4096), (4096, 4096, 1), (4, 8192, 8192), (8192, 8192, 3)], {"vector"}),
    "short": ([(3000, 2, 4000), (5, 3, 7), (10000, 1, 300)], {"fma", "lean", "short_k"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_gemm_of_each_kind(own, kind):
    products, rows = KINDS[kind]
    answers = ask(own, *((90, 132, 232448, "gemm", "float32", *shape) for shape in products))
    assert {answer.split()[0] for answer in answers} <= rows, answers


def test_gemm_of_float64(own):
    """On tensor cores, where the GPU is made for float64."""
    shapes = [(n, n, n) for n in (160, 300, 1024, 4096)] + [(128, 65536, 128), (4095, 1021, 4097)]
    for capability, expected in ((90, True), (100, True), (80, False), (120, False)):
        lines = ((capability, 132, 232448, "gemm", "float64", *shape) for shape in shapes)
        answers = ask(own, *lines)
        assert {answer.split()[0] == "dmma" for answer in answers} == {expected}, answers


def test_gemm_on_many_machines(own, rng):
    """Something runs everywhere; where there are no tensor cores, none that needs them is taken."""
    lines = []
    for multiprocessors, capability in itertools.product((1, 40, 132, 188), (75, 80, 90, 120)):
        for size in (1, 33, 200, 700, 1500, 5000):
            shape = [int(size * rng.uniform(0.5, 2)) + 1 for _ in range(3)]
            for dtype in ("float32", "float64"):
                lines.append((capability, multiprocessors, 232448, "gemm", dtype, *shape))
    answers = [answer.split()[0] for answer in ask(own, *lines)]
    for line, answer in zip(lines, answers, strict=True):
        row = VARIANTS["gemm", answer]
        assert int(row["arch"]) <= line[0] and line[4] in row["types"].split(), (line, answer)
    assert len(set(answers)) > 3, "auto takes nearly one and the same everywhere"


@pytest.mark.parametrize(
    ("dtype", "n", "bins", "expected"),
    [
        ("uint8", 10**7, 256, "lane"),
        ("float32", 1000, 256, "even"),
        ("float32", 10**7, 8000, "even"),
        ("int32", 10**6, 20_000, "even"),
        ("float32", 10**6, 100_000, "global"),
        ("int32", 10**7, 1_000_000, "global"),
    ],
)
def test_many_bins_are_counted_in_global_memory(own, dtype, n, bins, expected):
    """A block's copy holds 8000; beyond, x is read again for each so many."""
    (answer,) = ask(own, (90, 132, 232448, "histogram", dtype, n, bins + 1, bins))
    assert answer.split()[0] == expected


@pytest.mark.parametrize(
    ("n", "blocks"), [(0, 1), (1, 1), (2**31 - 1, 1), (2**31, 2), (2**31 + 1, 2), (5 * 2**31, 6)]
)
def test_a_block_counts_fewer_than_2_to_the_31(own, n, blocks):
    """Its counts have 32 bits; one multiprocessor has room for one block with a copy a lane."""
    (answer,) = ask(own, (90, 1, 232448, "histogram", "float32", n, 257, 256))
    assert answer == f"even {blocks}"


@pytest.mark.parametrize(("dtype", "columns"), [("float32", 128), ("float64", 64)])
@pytest.mark.parametrize(("width", "across"), [(4, 4), (3.5, 4), (4 + 1 / 128, 5)])
def test_two_strips_for_each_multiprocessor(own, dtype, columns, width, across):
    """Strips of an image as high as still gives each of 132 multiprocessors two of them."""
    down = 264 // across
    h, w = 104 * down, math.ceil(width * columns)  # each warp has an even number of rows
    (answer,) = ask(own, (90, 132, 232448, "conv2d", dtype, h, w, 5, 5))
    assert answer == f"register {across * down}"


@pytest.mark.parametrize("h", [5, 8, 100, 257, 520, 1081, 4096, 9999])
@pytest.mark.parametrize("w", [1, 300, 8192])
@pytest.mark.parametrize("multiprocessors", [1, 46, 132])
def test_each_strip_begins_with_an_even_row(own, h, w, multiprocessors):
    """Rows are added in pairs: so a pixel has the same bits on every machine, and in a slab."""
    (answer,) = ask(own, (90, multiprocessors, 232448, "conv2d", "float32", h, w, 5, 5))
    name, blocks = answer.split()
    down = int(blocks) // math.ceil(w / 128)
    assert name == "register" and math.ceil(h / (4 * down)) % 2 == 0


@pytest.mark.parametrize("size", [20, 200])
def test_a_call_takes_the_one_that_is_chosen(own, size):
    """The simulated machine has 132 multiprocessors and compute capability 9.0."""
    a = np.ones((size, 8), np.float32)
    (launch,) = smemkit.profile(smemkit.gemm, a, a.T, backend="sim").launches
    (answer,) = ask(own, (90, 132, 232448, "gemm", "float32", size, 8, size))
    assert launch.kernel.startswith(f"gemm_{answer.split()[0]}_")


def test_variants_say_what_they_need():
    for (family, name), row in VARIANTS.items():
        facts = smemkit.variants(family)[name]
        major, minor = map(int, facts["compute_capability"].split("."))
        assert major * 10 + minor == int(row["arch"]) >= 75
        assert facts["compute_capability"] in {
            row["compute_capability"] for row in smemkit.variants(family).values()
        }
