"""Advice, and the kernel that it judges: all launches of it, with their counts summed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ._data_flow import is_shared_by_index
from .counts import PTX_FILE, add_sums, choose_ptx, collect_lines, place_of
from .languages import translate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias, TypeVar

    from ._captured import Instruction, Place, Reach
    from .counts import Launch, Sample

    Evidence: TypeAlias = dict[str, float]
    Row: TypeAlias = tuple[Instruction, Sample | None]  # an instruction, its costliest request
    More = TypeVar("More")

REACH: tuple[Reach, ...] = ("none", "lanes", "threads")  # lanes: of one warp


@dataclass(frozen=True)
class Advice:
    """What is slow, and what would help; smemkit.explain gives a list of them.

    Attributes
    ----------
    kind : str
    lines : tuple
        (file, line) of each line that it is about; line is the number of the first one, or None.
    text : str
        Made of subject (the first line as file:line, or the kernel's name where the advice is of a
        whole launch), message (what is wrong, and what to do) and source (the text of that line).
    evidence : dict
        What was counted.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> advice = report.advice[0]
    >>> advice.kind, advice.subject
    ('bank_conflict', 'column.cu:37')
    """

    kind: str
    lines: tuple[tuple[str, int], ...]
    message: str
    evidence: dict[str, float] = field(default_factory=dict)
    subject: str = ""
    source: str = ""

    @property
    def text(self) -> str:
        """Subject, message and source in one line."""
        source = f" [{self.source}]" if self.source else ""
        return f"{self.subject}: {self.message}{source}"

    @property
    def line(self) -> int | None:
        """Number of the first line, or None."""
        return self.lines[0][1] if self.lines else None

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {
            "kind": self.kind,
            "lines": [list(place) for place in self.lines],
            "subject": self.subject,
            "message": self.message,
            "source": self.source,
            "text": self.text,
            "evidence": dict(self.evidence),
        }


class Kernel:
    """All launches of one kernel, with their instructions summed."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        self.name = launches[0].kernel
        self.launches = launches
        self.sources = launches[0].sources
        self.sums = add_sums(launch.counters for launch in launches)
        self.lines = collect_lines(launches)
        self.first: dict[Place, str] = {}  # by place the PTX of its first access or instruction
        self.samples: dict[tuple[str, int, str, str], Sample] = {}
        rows: dict[tuple[str, int], list[Instruction]] = {}
        for launch in launches:
            for facts in launch.instructions:
                rows.setdefault((facts["function"], facts["ptx_line"]), []).append(facts)
                place = place_of(facts)
                self.first[place] = choose_ptx(self.first.get(place), facts["ptx"])
            for sample in launch.samples:
                key = (sample.function, sample.ptx_line, sample.space, sample.op)
                if key not in self.samples or self.samples[key].cost < sample.cost:
                    self.samples[key] = sample
        self.instructions: list[Instruction] = [
            {**same[0], "counters": add_sums(instruction["counters"] for instruction in same)}
            for _, same in sorted(rows.items())
        ]

    def sample(self, facts: Instruction, space: str, op: str) -> Sample | None:
        """The costliest request that an instruction made of that kind."""
        return self.samples.get((facts["function"], facts["ptx_line"], space, op))

    def find_reach(self) -> dict[Place, Reach]:
        """{place: between whose accesses its barriers order something, the furthest of REACH}.

        Empty where only some blocks were counted. All of them "threads" where data or arguments of
        the launch choose addresses of shared memory: others may need what these did not.
        """
        found: dict[Place, int] = {}
        for launch in self.launches:
            if launch.blocks < launch.blocks_total:
                return {}
            for facts in launch.instructions:
                reach = facts.get("reach")
                if reach is not None:
                    place = place_of(facts)
                    found[place] = max(found.get(place, 0), REACH.index(reach))
        if found and not is_shared_by_index(self):
            return dict.fromkeys(found, REACH[-1])
        return {place: REACH[number] for place, number in found.items()}

    def gather(
        self, chosen: Iterable[tuple[Instruction, More]]
    ) -> list[tuple[Place, list[tuple[Instruction, More]]]]:
        """(place, [(facts, more)]) for chosen instructions, those of one source line together."""
        places: dict[Place, list[tuple[Instruction, More]]] = {}
        for facts, more in chosen:
            places.setdefault(place_of(facts), []).append((facts, more))
        return sorted(places.items(), key=lambda item: item[0])

    def advise(
        self,
        kind: str,
        places: Sequence[Place],
        message: str,
        evidence: Evidence,
        *,
        is_access: bool = False,
    ) -> Advice:
        """Advice on source lines, the first of which gives its text."""
        source = self.access_text(places[0]) if is_access else self.text(places[0])
        subject = name_place(places[0])
        message = translate(message, self.sources.package)
        return Advice(kind, tuple(places), message, evidence, subject=subject, source=source)

    def advise_launch(self, kind: str, message: str, evidence: Evidence) -> Advice:
        """Advice on whole launches of the kernel."""
        message = translate(message, self.sources.package)
        return Advice(kind, (), message, evidence, subject=self.name)

    def text(self, place: Place) -> str:
        """The text of the source line, or the PTX where the source is missing."""
        return self.sources.text(*place, self.first.get(place, ""))

    def access_text(self, place: Place) -> str:
        """The same for an access, which may have been moved there."""
        moved = "; moved by the compiler" if self.sources.is_moved(*place) else ""
        return f"{self.text(place)}{moved}"

    def ptx(self, sample: Sample) -> str:
        """The PTX of the instruction that made a request."""
        return self.sources.text(PTX_FILE, sample.ptx_line)


def name_place(place: Place) -> str:
    """As messages have it: "file:line"."""
    return f"{place[0]}:{place[1]}"


def add_rows(rows: Iterable[tuple[Instruction, object]], *names: str) -> Evidence:
    """The sums of the counters of instructions."""
    sums = add_sums(facts["counters"] for facts, _ in rows)
    return {name: sums.get(name, 0) for name in names}
