"""The point of a picture: one sentence, with figures that are computed from what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..bench.workloads import first_variant
from ..report.counts import COUNT_LANES
from ._rows import UNITS, find_peer, list_ours, read_value, show_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy
    from numpy.typing import NDArray

    from ..bench.results import Measurement
    from ._roofline import Mark, Roof
    from ._rows import LinePoint, Spread

EQUAL = 0.05  # part by which bytes may differ that a sentence calls as many


def show_times(ratio: float) -> str:
    """A ratio in words of two or three figures: "1.35", "25", "1,240"."""
    if ratio >= 100:
        return f"{ratio:,.0f}"
    return f"{ratio:.3g}" if ratio < 10 else f"{ratio:.0f}"


def show_value(value: float) -> str:
    """Three figures, and whole numbers from 1000 on."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def show_unit(row: Measurement, unit: str) -> str:
    """The value with its unit: "1,240 GFLOP/s", "0.2 ms"."""
    word = "ms" if unit == "median_ms" else UNITS[unit].partition(" (")[0]
    return f"{show_value(read_value(row, unit))} {word}"


def rate(row: Measurement, unit: str) -> float:
    """Speed in that unit; of a time its inverse, so that more is better."""
    value = read_value(row, unit)
    return 1 / value if unit == "median_ms" else value


def find_baseline(ours: Sequence[Measurement]) -> Measurement:
    """The row to which the best of ours is compared: the family's first variant, or the slowest."""
    first = first_variant(ours[0].family)
    slowest = max(ours, key=lambda row: row.median_ms)
    return next((row for row in ours if row.variant == first), slowest)


def compare_rows(
    rows: Sequence[Measurement], unit: str, peer: str | None = None, size: str = ""
) -> tuple[str, set[str]]:
    """(sentence, names in it) of the rows of one family at one shape."""
    known = list_ours(rows[0].family)
    measured = [row for row in rows if not row.is_predicted]
    rows, would = measured or rows, not measured
    ours = [row for row in rows if row.variant in known and row.machine != "cpu"]
    whole = find_peer(rows, peer)
    where = f" at {size}" if size else ""
    if not ours:
        best = max(rows, key=lambda row: rate(row, unit))
        return f"{best.variant} is the fastest{where}: {show_unit(best, unit)}", {best.variant}
    best, base = max(ours, key=lambda row: rate(row, unit)), find_baseline(ours)
    gain = rate(best, unit) / rate(base, unit)
    words, names = [], {best.variant, base.variant}
    if base is not best:
        verb = "would be" if would else "is"
        words.append(f"{verb} {show_times(gain)} times as fast as {base.variant}")
    if whole is not None and whole is not best:
        part = show_percent(100 * rate(best, unit) / rate(whole, unit))
        words.append(f"reaches {part} % of {whole.variant}'s speed")
        names.add(whole.variant)
    if not words:
        verb = "would reach" if would else "reaches"
        return f"{best.variant} {verb} {show_unit(best, unit)}{where}", names
    return f"{best.variant} {' and '.join(words)}{where}", names


def compare_sizes(
    rows: Sequence[Measurement], sizes: Sequence[float], unit: str, peer: str | None = None
) -> tuple[str, set[str]]:
    """(sentence, names in it) of several sizes: at the largest of those that most rows have."""
    families = dict.fromkeys(row.family for row in rows)
    if len(families) > 1:
        best = max(rows, key=lambda row: rate(row, unit))
        value = f"{show_value(read_value(best, unit))} {UNITS[unit].partition(' (')[0]}"
        return (
            f"{best.family} {best.variant} is the fastest of {len(families)} families: {value}",
            {best.variant},
        )
    numbers = {size: sizes.count(size) for size in sizes}
    largest = max(size for size, number in numbers.items() if number == max(numbers.values()))
    there = [row for row, size in zip(rows, sizes, strict=True) if size == largest]
    kinds = {tuple(map(str, row.parameters.values())) for row in there}
    if len(kinds) > 1:
        there = [row for row in there if row.parameters == there[0].parameters]
    return compare_rows(there, unit, peer, f"{largest:,.0f}")


def compare_strides(label: str, points: Sequence[LinePoint], parameter: str) -> str:
    """The sentence of useful bandwidth against a stride."""
    first, last = points[0], points[-1]
    if len(points) == 1:
        return f"{label}: {show_value(first[1])} GB/s at {parameter} {first[0]:g}"
    part = show_percent(100 * last[1] / first[1])
    return (
        f"{parameter.capitalize()} {last[0]:g} leaves {part} % of the bandwidth of {parameter} "
        f"{first[0]:g}"
    )


def compare_banks(
    counted: Mapping[float, float], timed: Mapping[float, Spread], parameter: str
) -> str:
    """The sentence of wavefronts, and times, against a stride."""
    if not counted:
        slow = max(timed, key=lambda step: timed[step][0])
        fast = min(timed, key=lambda step: timed[step][0])
        words = f"{show_times(timed[slow][0] / timed[fast][0])} times as long as {parameter} {fast}"
        return f"{parameter.capitalize()} {slow} takes {words}"
    worst, least = max(counted, key=lambda step: counted[step]), min(counted.values())
    words = f"{parameter.capitalize()} {worst} takes {show_wavefronts(counted[worst])}"
    odd = [value for step, value in counted.items() if step % 2]
    if worst in timed and len(timed) > 1:
        free = [step for step in timed if counted.get(step) == least]
        fast = 1 if 1 in free else min(free, default=worst)
        if fast != worst:
            ratio = timed[worst][0] / timed[fast][0]
            words += f" and {show_times(ratio)} times as long as {parameter} {fast}"
    elif "request" not in words:
        words += " a request"
    if odd and max(odd) == least < counted[worst]:
        words += f"; every odd {parameter} takes {show_wavefronts(least)}"
    return words


def show_wavefronts(number: float) -> str:
    """As in "1 wavefront", "2.5 wavefronts"."""
    return f"{number:.3g} wavefront{'' if number == 1 else 's'}"


def compare_sectors(labels: Sequence[str], counted: Sequence[float], least: Sequence[float]) -> str:
    """The sentence of sectors a request."""
    worst = max(range(len(labels)), key=lambda i: counted[i])
    best = min(range(len(labels)), key=lambda i: counted[i])
    words = f"A request of {labels[worst]} touches {counted[worst]:.3g} sectors"
    if counted[best] < counted[worst]:
        return f"{words}, of {labels[best]} only {counted[best]:.3g}"
    if len(labels) > 1:
        words = f"All {len(labels)} touch {counted[best]:.3g} sectors a request"
    if counted[worst] > least[worst] > 0:
        return f"{words}, {show_times(counted[worst] / least[worst])} times what its bytes fill"
    return f"{words}, no more than its bytes fill"


def compare_divergence(
    labels: Sequence[str], values: Sequence[float], lanes: Sequence[float], timed: bool
) -> str:
    """The sentence of times or instructions of subjects, against the first."""
    word = "time" if timed else "instructions"
    if len(labels) == 1:
        return f"{labels[0]}: {lanes[0]:.3g} of 32 lanes work in an average instruction"
    ratios = [max(value / values[0], values[0] / value) for value in values]
    far = max(range(len(labels)), key=lambda i: ratios[i])
    ratio = values[far] / values[0]
    part = f"{show_times(ratio)} times" if ratio >= 1 else f"{show_percent(100 * ratio)} % of"
    words = f"{labels[far]} takes {part} the {word} of {labels[0]}"
    if abs(lanes[far] - lanes[0]) < 1:
        return words
    return f"{words}: {lanes[far]:.0f} of 32 lanes work, not {lanes[0]:.0f}"


def describe_banks(
    words: NDArray[numpy.int64], op: str, wavefronts: int, conflicts: int, phases: int
) -> str:
    """The sentence of one access: which bank serves most, and what that costs."""
    most, word = int(words.max()), "lanes" if op in COUNT_LANES else "words"
    cost = f"{show_wavefronts(wavefronts)}, "
    cost += {0: "no conflict", 1: "1 of them a conflict"}.get(
        conflicts, f"{conflicts} of them conflicts"
    )
    if most <= 1:
        return f"No bank serves two {word}{' in a phase' if phases > 1 else ''}: {cost}"
    many = [bank for bank in range(32) if words[bank] == most]
    each = " in a phase" if phases > 1 else ""
    if len(many) == 1:
        return f"Bank {many[0]} serves {most} {word}{each}: {cost}"
    return f"{len(many)} banks serve {most} {word} each{each}: {cost}"


def compare_marks(marks: Sequence[Mark], roof: Roof) -> tuple[str, set[str]]:
    """(sentence, labels in it) of a roofline: from the first variant of a family to its tile."""
    families: dict[str, list[Mark]] = {}
    for mark in marks:
        families.setdefault(mark.family, []).append(mark)
    best = max(families.values(), key=len)
    first = first_variant(best[0].family)
    base = next((mark for mark in best if mark.name == first), None)
    tiled = next((mark for mark in best if mark.name in ("tiled", "shared")), None)
    if base is not None and tiled is not None and base.near and tiled.near:
        faster = show_times(tiled.gflop_per_s / base.gflop_per_s)
        verb = compare_bytes(base.near / tiled.near, is_moved=bool(tiled.l2))
        words = f"{tiled.label} {verb} {base.label}"
        verb = "is" if tiled.span is None else "would be"
        return f"{words} and {verb} {faster} times as fast", {tiled.label, base.label}
    top = max(marks, key=lambda mark: reach(mark, roof))
    part = show_percent(100 * reach(top, roof))
    verb = "reaches" if top.span is None else "would reach"
    return f"{top.label} {verb} {part} % of the roof, the most of {len(marks)}", {top.label}


def compare_bytes(ratio: float, *, is_moved: bool) -> str:
    """The verb of a variant with 1 / ratio of another one's bytes, up to "than" or "as".

    The bytes are those that moved between L1 and L2, or those that were requested.
    """
    if not is_moved:
        return f"asks for {show_times(ratio)} times fewer bytes than"
    if ratio > 1 + EQUAL:
        return f"moves {show_times(ratio)} times fewer bytes of L2 than"
    if ratio < 1 / (1 + EQUAL):
        return f"moves {show_times(1 / ratio)} times the bytes of L2 of"
    return "moves as many bytes of L2 as"


def reach(mark: Mark, roof: Roof) -> float:
    """The speed of a mark as a part of the memory's roof, by the bytes that must move."""
    return mark.gflop_per_s / min(roof.gflop_per_s, roof.gb_per_s * mark.flops / mark.nbytes)
