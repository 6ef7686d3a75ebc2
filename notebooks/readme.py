"""Makes what the READMEs show, their tables between marks and their pictures, and a list of help().

    python notebooks/readme.py

From the tables of the package, the recorded results and a run of the demonstration, so nothing in
it is typed. Tests compare the READMEs with what this makes. It needs smemkit[plot].
"""

import ast
import hashlib
import io
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy

import smemkit
from smemkit import bench
from smemkit.bench import shapes
from smemkit.bench.records import find_records
from smemkit.cli import variants

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT / "csrc") not in sys.path:
    sys.path.append(str(ROOT / "csrc"))
from read_tables import read_rows  # noqa: E402

PICTURES = ROOT / "notebooks" / "pictures"
SIZE = 4096
WIDTH = 100  # of what examples print


def read_ladder():
    """The ladder of gemm on the recorded H200."""
    return bench.evolution("gemm", SIZE, results=bench.recorded("h200"))


def write_ladder():
    """The evolution table with a line that says where it comes from."""
    ladder = read_ladder()
    facts = ladder.provenance
    source = (
        f"Product of {SIZE} x {SIZE} float32 matrices: {facts['device']}, driver "
        f"{facts['driver']}, {facts['date'][:10]}, smemkit {facts['smemkit']}; medians, "
        "operands on the device.\n\n"
    )
    return source + ladder.to_markdown()


# Arrays -----------------------------------------------------------------------------------------


def show_ms(ms):
    return f"{ms:.3g} ms" if ms >= 0.1 else f"{1e3 * ms:.3g} µs"


def show_figures(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def show_cell(row, ms):
    """The time of a row, and its bytes or operations over that time; no rate for a launch."""
    if row.flops and row.parameters["task"] == "product over devices":
        return f"{show_ms(ms)}, {show_figures(1e-9 * row.flops / ms)} TFLOP/s"
    rate = f", {show_figures(1e-6 * row.nbytes / ms)} GB/s" if row.nbytes else ""
    return f"{show_ms(ms)}{rate}"


def write_arrays():
    """The table of the part "arrays" with a line that says where it comes from."""
    recorded = bench.recorded("h200", part="arrays")
    facts, lines, theirs = recorded.provenance, {}, {}
    for row in recorded:
        task, ms = row.parameters["task"], float(numpy.median(row.host_times_ms))
        by, _, how = row.variant.partition(", ")
        words = f"{task}, NumPy to NumPy" if task == row.family else task
        line = lines.setdefault((task, how), {"what": f"{words}, {how}" if how else words})
        line |= {"shape": " x ".join(f"{n:,}" for n in row.shape), by: show_cell(row, ms)}
        if by == "CuPy":
            theirs[task] = ms
        elif by == "smemkit":
            line["ms"] = ms
    columns = ("what", "shape", "smemkit", "CuPy", "torch", "CuPy's time over ours")
    text = [
        f"{facts['device']}, driver {facts['driver']}, {facts['host_threads']} host threads, "
        f"{facts['date'][:10]}, smemkit {facts['smemkit']}, CuPy {facts['peers']['cupy']}, "
        f"torch {facts['peers']['torch']}; medians of the host's time.",
        "",
        f"| {' | '.join(columns)} |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for (task, _), line in lines.items():
        ratio = f"{theirs[task] / line['ms']:.3g} x" if task in theirs else ""
        cells = [line.get(name, "") for name in columns[:-1]] + [ratio]
        text.append("|" + "".join(f" {cell} |" if cell else " |" for cell in cells))
    return "\n".join([*text, ""])


# Shapes -----------------------------------------------------------------------------------------

SHAPES_COMMAND = "python -m smemkit record --shapes"
WORST = 5  # of the random shapes that the table of shapes names


def load_shapes():
    """The part "shapes" of the recorded H200, or None where there is none yet."""
    if "shapes" not in find_records()["h200"]:
        return None
    return bench.recorded("h200", part="shapes")


def show_rate(row):
    """Operations of products and convolutions, bytes of all else, over the median."""
    if row.flops and min(row.shape[-3:]) > 8:
        return f"{row.gflop_per_s / 1e3:.3g} TFLOP/s"
    return f"{show_figures(row.gb_per_s)} GB/s"


def show_error(row):
    error = row.parameters.get("error")
    return "" if error is None else f"{error:.1e}"


def list_shown(pairs):
    """Every named case, and of random shapes those with the lowest ratios."""
    random = {}
    for ours, theirs in pairs:
        group = ours.parameters["group"]
        if "random" in group:
            random.setdefault(group, []).append((ours, theirs))
        else:
            yield ours, theirs
    for found in random.values():
        yield from sorted(found, key=lambda pair: pair[1].median_ms / pair[0].median_ms)[:WORST]


def write_shapes(recorded=None):
    """A table by group and one by case; without a record, what makes one."""
    recorded = load_shapes() if recorded is None else recorded
    if recorded is None:
        return f"There is no record of an H200 yet; `{SHAPES_COMMAND}` makes one.\n"
    facts, pairs = recorded.provenance, shapes.compare(recorded)
    text = [
        f"{facts['device']}, driver {facts['driver']}, {facts['date'][:10]}, smemkit "
        f"{facts['smemkit']}, CuPy {facts['peers'].get('cupy', '-')}, torch "
        f"{facts['peers'].get('torch', '-')}; medians by CUDA events. Of several libraries the "
        "fastest counts.",
        "",
        "| group | cases | least | median | below 0.9 x | larger errors than the library's |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for group, found in shapes.sum_up(recorded).items():
        counts = (found["cases"], f"{found['least']:.2f} x", f"{found['median']:.2f} x")
        counts += (found["below 0.9"], found["larger errors"])
        text.append(f"| {group} | " + " | ".join(map(str, counts)) + " |")
    text += [
        "",
        "| call | shape | smemkit | library | library's time over ours | error | library's |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for ours, theirs in list_shown(pairs):
        name = ours.parameters["name"]
        if "random" in ours.parameters["group"]:
            name += ", random"
        cells = [
            name if ours.dtype in name or "tf32" in name else f"{name}, {ours.dtype}",
            " x ".join(f"{n:,}" for n in ours.shape),
            f"{show_ms(ours.median_ms)}, {show_rate(ours)}",
            f"{show_ms(theirs.median_ms)}, {theirs.variant}",
            f"{theirs.median_ms / ours.median_ms:.3g} x",
            show_error(ours),
            show_error(theirs),
        ]
        text.append("|" + "".join(f" {cell} |" if cell else " |" for cell in cells))
    if facts["left_out"]:
        text += [
            "",
            f"Left out: {len(facts['left_out'])} cases, which the file names with reasons.",
        ]
    return "\n".join([*text, ""])


# What commands and examples print ---------------------------------------------------------------


def run_hidden(arguments):
    """What Python prints with these arguments, on the simulator."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "SMEMKIT_BACKEND": "sim"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return done.stdout


def read_example(text):
    """The first example of Python in the README."""
    return re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]


def write_example():
    """What the first example of the README prints, its long lines wrapped."""
    example = read_example((ROOT / "README.md").read_text(encoding="utf-8"))
    lines = []
    for line in run_hidden(["-c", example]).splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
        ) or [""]
    return "\n".join(["```text", *lines, "```", ""])


def mask_demo(text):
    """The demonstration's output without what differs from run to run: seed, errors, spaces."""
    text = re.sub(r"seed \d+", "seed", text)
    return re.sub(r"(?<=yes) +\d\.\d\d", "  error", text)


def write_demo(text):
    """The demonstration's output without a GPU, or `text` where it differs by chance only."""
    printed = run_hidden(["-m", "smemkit", "demo"])
    printed = re.sub(r"^no GPU here \(.*\):", "no GPU here:", printed, flags=re.MULTILINE)
    printed = f"```text\n{printed}```\n"
    return text if mask_demo(printed) == mask_demo(text) else printed


# Who may include whom --------------------------------------------------------------------------

HOUSE = ROOT / "tests" / "test_house.py"


def read_layers():
    """{folder of csrc: those that it may include}, as the house test holds it."""
    for node in ast.parse(HOUSE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAYERS":
            code = compile(ast.Expression(node.value), str(HOUSE), "eval")
            return eval(code, {"__builtins__": {"set": set}})  # a table of texts and sets
    raise SystemExit(f"{HOUSE} has no LAYERS")


def write_layers():
    def name(layer):
        return f"`{layer}/`" if (ROOT / "csrc" / layer).is_dir() else f"`{layer}.c`"

    rows = [
        f"| {name(layer)} | {', '.join(map(name, sorted(others))) or 'the C library'} |"
        for layer, others in read_layers().items()
    ]
    return "\n".join(["| layer | may include |", "| --- | --- |", *rows, ""])


# What the simulator refuses ----------------------------------------------------------------------


def write_refused():
    """A list of what the simulator does not execute, and of what to do, for help(smemkit)."""
    lines = []
    for row in read_rows("ptx/unsupported.def", "SMK_PTX_FEATURE"):
        text = f"{row['source']}: {row['advice']}"
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent="  - ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join([*lines, ""])


# The texts -------------------------------------------------------------------------------------

# file: {mark: what makes the text between the marks, of the text that stands there}
TABLES = {
    "smemkit/__init__.py": {"refused": lambda text: write_refused()},
    "README.md": {"example": lambda text: write_example(), "demo": write_demo},
    "docs/arrays.md": {"arrays": lambda text: write_arrays()},
    "docs/shapes.md": {"shapes": lambda text: write_shapes()},
    "csrc/README.md": {"layers": lambda text: write_layers()},
    "csrc/kernels/README.md": {
        "ladder": lambda text: write_ladder(),
        "variants": lambda text: variants.write_markdown(),
    },
}


MARKS = {"refused": r"(skipped\. It does not execute:\n\n)(.*?)(\n- )"}  # of a list of help()


def fill(path, text):
    """The text of a README with each table between its marks made anew."""
    for name, write in TABLES[path].items():
        marks = MARKS.get(name, rf"(<!-- {name} -->\n)(.*?)(<!-- /{name} -->)")
        text, found = re.subn(
            marks, lambda m, w=write: m[1] + w(m[2]) + m[3], text, flags=re.DOTALL
        )
        if found != 1:
            raise SystemExit(f"{path}: {found} places are marked {name!r}, not one")
    return text


# Pictures: each draws, and gives a text that changes with the data ------------------------------


def draw_ladder(figure):
    ladder = read_ladder()
    axes = smemkit.plot.ladder(ladder, peer="cublas", ax=figure.subplots())
    rows = [f"{row.variant} {row.times_ms}" for row in ladder]
    return "\n".join([axes.get_title(loc="left"), *rows])


def draw_banks(figure):
    drawn = {"A column of float[32][32]": 128, "A column of float[32][33]": 132}  # bytes of a row
    said = []
    for axes, (words, step) in zip(figure.subplots(1, 2), drawn.items(), strict=True):
        addresses = numpy.arange(32) * step
        many = smemkit.bank_access(addresses).wavefronts
        title = f"{words} takes {many} wavefront{'s' if many != 1 else ''}"
        smemkit.plot.banks(addresses, title=title, ax=axes)
        said.append(f"{title} {smemkit.bank_access(addresses)}")
    return "\n".join(said)


DRAWN = {"ladder": (draw_ladder, (8.4, 5.6)), "banks": (draw_banks, (11.0, 5.2))}


def sum_up(text):
    return hashlib.sha256(text.encode()).hexdigest()


def make_figure(name):
    """(figure, sum of its data); the sum travels in the picture's Description."""
    from matplotlib.figure import Figure

    from smemkit.plot import style

    draw, inches = DRAWN[name]
    figure = Figure(figsize=inches, layout="constrained", facecolor=style.PAPER)
    return figure, sum_up(draw(figure))


def read_sum(path):
    """The sum of the data that a picture was drawn of; None where there is none."""
    found = re.search(
        rb"tEXtDescription\0([0-9a-f]{64})", path.read_bytes() if path.exists() else b""
    )
    return found[1].decode() if found else None


def main():
    for path in TABLES:
        old = (ROOT / path).read_text(encoding="utf-8")
        new = fill(path, old)
        if new != old:
            (ROOT / path).write_text(new, encoding="utf-8")
            print(f"{path} (written)")
    from smemkit.plot import style

    PICTURES.mkdir(exist_ok=True)
    for name in DRAWN:
        figure, data = make_figure(name)
        path = PICTURES / f"{name}.png"
        if read_sum(path) != data:  # otherwise it would change with the version of matplotlib
            drawn = io.BytesIO()
            figure.savefig(drawn, dpi=120)
            path.write_bytes(style.shrink(drawn.getvalue(), Description=data))
            print(f"{path.relative_to(ROOT)} (written)")


if __name__ == "__main__":
    main()
