"""Makes what the README shows: its tables between marks, and its pictures.

    python notebooks/readme.py

From the tables of the package and the recorded results, so nothing in it is typed. Tests compare
the README with what this makes. It needs smemkit[plot].
"""

import hashlib
import re
from pathlib import Path

import numpy

import smemkit
from smemkit import bench
from smemkit.cli import variants

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "notebooks" / "pictures"
SIZE = 4096


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


TABLES = {"variants": variants.write_markdown, "ladder": write_ladder}


def fill(text):
    """The README's text with each table between its marks made anew."""
    for name, write in TABLES.items():
        marks = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        text, found = re.subn(marks, lambda m, w=write: m[1] + w() + m[2], text, flags=re.DOTALL)
        if found != 1:
            raise SystemExit(f"README.md: {found} places are marked {name!r}, not one")
    return text


# Pictures: each draws, and gives a text that changes with the data ------------------------------


def draw_ladder(figure):
    ladder = read_ladder()
    smemkit.plot.ladder(ladder, peer="cublas", ax=figure.subplots())
    return "\n".join(f"{row.variant} {row.times_ms}" for row in ladder)


def draw_banks(figure):
    column = numpy.arange(32) * 128  # of float[32][32]
    padded = numpy.arange(32) * 132  # of float[32][33]
    drawn = {"a column of float[32][32]": column, "a column of float[32][33]": padded}
    for axes, (words, addresses) in zip(figure.subplots(1, 2), drawn.items(), strict=True):
        smemkit.plot.banks(addresses, ax=axes)
        axes.set_title(f"{words}: {axes.get_title(loc='left')}", loc="left", fontsize=10)
    return "\n".join(f"{words} {smemkit.bank_access(lanes)}" for words, lanes in drawn.items())


DRAWN = {"ladder": (draw_ladder, (8.0, 5.0)), "banks": (draw_banks, (11.0, 5.0))}


def sum_up(text):
    return hashlib.sha256(text.encode()).hexdigest()


def make_figure(name):
    """(figure, sum of its data); the sum travels in the picture's Description."""
    from matplotlib.figure import Figure

    draw, inches = DRAWN[name]
    figure = Figure(figsize=inches, layout="constrained")
    return figure, sum_up(draw(figure))


def read_sum(path):
    """The sum of the data that a picture was drawn of; None where there is none."""
    found = re.search(
        rb"tEXtDescription\0([0-9a-f]{64})", path.read_bytes() if path.exists() else b""
    )
    return found[1].decode() if found else None


def main():
    readme = ROOT / "README.md"
    readme.write_text(fill(readme.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURES.mkdir(exist_ok=True)
    for name in DRAWN:
        figure, data = make_figure(name)
        path = PICTURES / f"{name}.png"
        if read_sum(path) != data:  # otherwise it would change with the version of matplotlib
            figure.savefig(path, dpi=110, metadata={"Description": data, "Software": None})


if __name__ == "__main__":
    main()
