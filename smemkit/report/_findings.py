"""Findings of check: faults of a launch, each with its two accesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._version import __version__
from ._layout import wrap
from .counts import Sources, count_blocks, place_of, split_refused
from .languages import is_copy, translate
from .saved import (
    Saved,
    describe_sources,
    pack_launches,
    say_launches,
    unpack_launches,
)
from .variables import SharedVariables, read_sizes, strip_index

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Self

    from ._captured import Checked, FindingSide, FoundFault, Refused
    from .saved import Json


class Side:
    """One of the two accesses of a finding."""

    op: str
    space: str
    bytes: int
    address: int
    block: tuple[int, ...]
    thread: tuple[int, ...]
    function: str
    ptx_line: int
    ptx: str
    file: str
    line: int
    variable: str
    text: str
    moved: bool

    def __init__(self, facts: FindingSide, sources: Sources, shared: SharedVariables) -> None:
        self.op, self.space, self.bytes = facts["op"], facts["space"], facts["bytes"]
        self.address = facts["address"]
        self.block, self.thread = tuple(facts["block"]), tuple(facts["thread"])
        self.function, self.ptx_line, self.ptx = facts["function"], facts["ptx_line"], facts["ptx"]
        self.file, self.line = place_of(facts)
        self.variable = shared.translate(facts["variable"], self.file)
        self.text = sources.text(self.file, self.line, self.ptx)
        is_access = self.op in ("load", "store", "atomic") and self.space in ("shared", "global")
        self.moved = is_access and sources.is_moved(self.file, self.line)

    @property
    def place(self) -> str:
        """Where it stands: "file:line", a str."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        words = f"thread {self.thread} of block {self.block}"
        if self.op == "wait":
            words += " waits here for the other lanes of its warp"
        else:
            words = f"{self.op} by {words}"
        if self.bytes:
            name = f" ({self.variable})" if self.variable else ""
            words += f", {self.bytes} bytes at {self.space} {self.address:#x}{name}"
        if self.moved:
            words += "; the compiler has moved it here: the line itself accesses no memory"
        return f"{self.place}  {self.text}\n      {words}"

    def __repr__(self) -> str:
        return f"Side({self.place!r}, {self.op}, block={self.block}, thread={self.thread})"

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        names = ("op", "file", "line", "text", "ptx_line", "ptx", "space", "address", "bytes")
        facts = {name: getattr(self, name) for name in (*names, "variable", "function", "moved")}
        return facts | {"block": list(self.block), "thread": list(self.thread)}


class Finding:
    """A fault that smemkit.check has found.

    Those of one kernel with the same kind, source lines, operations and variable are one: a loop
    that the compiler unrolls is many instructions of one line.

    Attributes
    ----------
    kind : str
        A key of the list of kinds in smemkit.check.
    message : str
        What happened, in a sentence.
    action : str
        What to do about it; the lines that it names are those of first and second.
    count : int
        How often it was found.
    first, second : Side or None
        The accesses: file, line, text, block, thread, address, space, variable, bytes and op.
    same_value : bool
        True of a race of two stores that write the same value, each time it was found.

    Example
    -------
    >>> import numpy, smemkit
    >>> shift = smemkit.RawKernel(r'''
    ... extern "C" __global__ void shift(float *x)
    ... {
    ...     x[threadIdx.x] = x[threadIdx.x + 1];
    ... }
    ... ''', "shift")
    >>> report = shift.check(1, 64, (numpy.ones(65, dtype="float32"),))
    >>> finding = report.findings[0]
    >>> finding.kind, finding.first.line
    ('global_race', 4)
    """

    kind: str
    kernel: str
    message: str
    action: str
    count: int
    same_value: bool
    first: Side
    second: Side | None

    def __init__(
        self, facts: FoundFault, kernel: str, sources: Sources, shared: SharedVariables
    ) -> None:
        self.kind, self.count, self.kernel = facts["kind"], facts["count"], kernel
        self.same_value = facts.get("same_value", False)
        self.first = Side(facts["first"], sources, shared)
        second = facts.get("second")
        self.second = Side(second, sources, shared) if second else None
        self.message = shared.translate(facts["message"], self.first.file)
        self.message = translate(self.message, sources.package)
        self.action = translate(facts["action"], sources.package)

    def add(self, other: Finding) -> None:
        """Merges an equal finding; it becomes the example where only its stored values differ."""
        if self.same_value and not other.same_value:
            self.first, self.second, self.message = other.first, other.second, other.message
            self.action, self.same_value = other.action, False
        self.count += other.count

    def __str__(self) -> str:
        times = f" ({self.count:,} times)" if self.count > 1 else ""
        parts = [f"{self.kind} in {self.kernel}: {self.message}{times}", f"    {self.first}"]
        if self.second is not None:
            parts.append(f"    {self.second}")
        parts += wrap(f"advice: {self.action}", 4)
        return "\n".join(parts)

    def __repr__(self) -> str:
        places = [side.place for side in (self.first, self.second) if side is not None]
        return f"Finding({self.kind!r}, {', '.join(places)}, count={self.count})"

    @property
    def key(self) -> tuple[Any, ...]:
        """The key of findings that are merged into one."""
        sides = [side for side in (self.first, self.second) if side is not None]
        places = sorted((side.place, side.op) for side in sides)
        variables = {strip_index(side.variable) for side in sides}
        return self.kind, self.kernel, tuple(places), frozenset(variables)

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {
            "kind": self.kind,
            "kernel": self.kernel,
            "message": self.message,
            "action": self.action,
            "count": self.count,
            "same_value": self.same_value,
            "first": self.first.to_dict(),
            "second": self.second.to_dict() if self.second else None,
        }


class CheckReport(Saved):
    """What check found, and the result of the call. True where nothing was found.

    Attributes
    ----------
    result
        What the call returned.
    findings : list of Finding
    kernels : tuple of str
        A name for each launch.
    sampled : tuple of two ints or None
        The blocks that were checked and all blocks, where blocks= was given.
    truncated : bool
        Whether there were more different findings than are kept.
    incomplete : int
        How many accesses were judged without all earlier ones of other blocks, of which there were
        too many to remember: races may have been missed.
    stopped : str or None
        Why a launch ended early.
    refused : tuple
        (kernel, message) of each launch that failed, where the function went on; stopped says it
        too.
    ignored : int
        How many findings were left out: races of stores of one value, with ignore_same_value=True,
        and of a kernel of Triton the copies of a value that its compiler lets several threads store
        at one place of shared memory.
    origin : dict
        Date, version and machines.

    Example
    -------
    >>> import numpy, smemkit
    >>> shift = smemkit.RawKernel(r'''
    ... extern "C" __global__ void shift(float *x)
    ... {
    ...     x[threadIdx.x] = x[threadIdx.x + 1];
    ... }
    ... ''', "shift")
    >>> report = shift.check(1, 64, (numpy.ones(65, dtype="float32"),))
    >>> bool(report), {finding.kind for finding in report.findings}
    (False, {'global_race'})
    """

    result: Any
    findings: list[Finding]
    kernels: tuple[str, ...]
    sampled: tuple[int, int] | None
    truncated: bool
    incomplete: int
    stopped: str | None
    refused: tuple[tuple[str, str], ...]
    ignored: int

    def __init__(
        self,
        launches: Iterable[Checked | Refused],
        result: Any,
        *,
        blocks: int = 0,
        given: str | None = None,
        ignore_same_value: bool = False,
    ) -> None:
        super().__init__()
        self._captured = list(launches)
        self._sources: list[Sources] = []
        self._settings = {"blocks": blocks, "ignore_same_value": ignore_same_value}
        self.result = result
        ran, self.refused = split_refused(self._captured)
        self.kernels = tuple(launch["kernel"] for launch in ran)
        self.truncated = any(launch["truncated"] for launch in ran)
        self.incomplete = sum(launch.get("incomplete", 0) for launch in ran)
        reasons = [launch["stopped"] for launch in ran if launch["stopped"]]
        reasons += [f"{kernel}: {message}" for kernel, message in self.refused]
        self.stopped = "; ".join(reasons) or None
        self.sampled = count_blocks(ran) if blocks else None
        kept: dict[tuple[str, tuple[Any, ...]], Finding] = {}
        copies: set[tuple[str, tuple[Any, ...]]] = set()
        for launch in ran:
            sources = Sources.of(launch, given)
            self._sources.append(sources)
            shared = SharedVariables(read_sizes(launch["ptx"]), sources.lines)
            for facts in launch["findings"]:
                finding = Finding(facts, launch["kernel"], sources, shared)
                if is_copy(sources.package, finding.same_value, finding.first, finding.second):
                    copies.add((launch["ptx"], finding.key))
                    continue
                alike = kept.setdefault((launch["ptx"], finding.key), finding)
                if alike is not finding:
                    alike.add(finding)
        found = list(kept.values())
        self.findings = [
            finding for finding in found if not (ignore_same_value and finding.same_value)
        ]
        self.ignored = len(found) - len(self.findings) + len(copies)

    def __bool__(self) -> bool:
        return not self.findings and self.stopped is None

    @property
    def label(self) -> str:
        """What the report is of, in words."""
        if self.sampled and self.sampled[0] < self.sampled[1]:
            return f"SAMPLE: {self.sampled[0]:,} of {self.sampled[1]:,} blocks checked"
        no_kernel = not self.kernels and self.stopped is None
        return "no kernel was launched" if no_kernel else "all blocks checked"

    @property
    def warning(self) -> str | None:
        """What may have been missed, or None."""
        if not self.incomplete:
            return None
        return (
            f"Races may have been missed: at {self.incomplete:,} accesses not all earlier ones of "
            "other blocks could be remembered. Check a smaller grid."
        )

    @property
    def _title(self) -> str:
        return f"Check of {', '.join(dict.fromkeys(self.kernels))}"

    @property
    def _launched(self) -> list[str]:
        return [say_launches(self._captured)]

    def _capture(self) -> Json:
        sources = iter(self._sources)
        rows: list[Checked | Refused] = []
        for facts in self._captured:
            if "refused" in facts:
                rows.append(facts)
                continue
            pairs = [(row["first"], row["second"]) for row in facts["findings"]]
            places = {side["file"] for pair in pairs for side in pair if side is not None}
            rows.append({**facts, "sources": describe_sources(next(sources), places)})
        return {**self._settings, **pack_launches(rows)}

    @classmethod
    def _restore(cls, captured: Json) -> Self:
        rows: list[Checked | Refused] = unpack_launches(captured)
        settings = {name: captured[name] for name in ("blocks", "ignore_same_value")}
        return cls(rows, None, **settings)

    def __repr__(self) -> str:
        words = self._count()
        if self.findings:
            finding = self.findings[0]
            place = f" at {finding.first.place}" if finding.first else ""
            words += f"; the first: {finding.kind}{place}"
        elif self.stopped is not None:
            words += f"; it ended early: {self.stopped.partition(chr(10))[0]}"
        return f"<CheckReport of {', '.join(dict.fromkeys(self.kernels))}: {words}>"

    def _count(self) -> str:
        number = len(self.findings)
        found = f"{number} finding{'' if number == 1 else 's'}" if number else "nothing found"
        return found + (f", {self.ignored} of stores of one value left out" if self.ignored else "")

    def __str__(self) -> str:
        names = ", ".join(dict.fromkeys(self.kernels))
        subject = f"{names}: " if names else ""
        parts = [f"{subject}{self._count()}; {self.label}"]
        parts += [f"\n{finding}" for finding in self.findings]
        if self.truncated:
            parts.append("\nThere are more; cure these first.")
        if self.incomplete:
            parts.append(f"\n{self.warning}")
        if self.stopped:
            parts.append(f"\nIt ended early: {self.stopped}")
        return "\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {
            "smemkit": __version__,
            "kind": "check",
            "kernels": list(self.kernels),
            "sampled": list(self.sampled) if self.sampled else None,
            "truncated": self.truncated,
            "incomplete": self.incomplete,
            "stopped": self.stopped,
            "ignored": self.ignored,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def _repr_html_(self) -> str:
        from . import html  # only notebooks need it

        return html.draw_findings(self)
