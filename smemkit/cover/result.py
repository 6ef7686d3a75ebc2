"""Coverage: what was executed of the source of kernels, as text, HTML, JSON and lcov."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core
from ..report.saved import describe_origin, write_whole
from ._lines import Counter
from ._places import is_package
from .data import write_document

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .._types import StrPath
    from ._lines import FileCount
    from .data import Modules

ENDINGS = (".info", ".html", ".json")
MOST_RANGES = 8  # of missing lines in a row of the table


def say_ranges(numbers: Iterable[int]) -> str:
    """Numbers as 3-5, 9."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in parts]
    more = len(words) - MOST_RANGES
    return ", ".join(words[:MOST_RANGES]) + (f" and {more} more" if more > 0 else "")


def count_ways(file: FileCount) -> tuple[int, int]:
    """(ways of all branches of a file, those that no lane took)."""
    every = sum(len(branch.targets) for branch in file.branches)
    return every, sum(len(branch.missed) for branch in file.branches)


def percent(hit: int, every: int) -> str:
    """A share as 87%, never 100% where something is missed."""
    if not every:
        return "-"
    return "100%" if hit == every else f"{min(99, round(100 * hit / every))}%"


def show_path(path: str) -> str:
    """A path, relative where it lies below the present folder."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


class Coverage:
    """What launches on the simulator executed of the lines and branches of kernels.

    smemkit.coverage gives one; print shows a table, a notebook the source.

    Attributes
    ----------
    files : dict from path to FileCount
        A FileCount has lines (a dict from line to LineCount: warps, lanes, instances), branches (a
        list of Branch: line, targets, kind, warps, lanes, divergent), functions (a dict from name
        to FunctionCount: line, instances, launches, warps) and text. Code that was passed as a
        str is named after its first kernel, as <scale-1f2e3d4c.cu>.
    unmapped : list of str
        Kernels that were compiled without -lineinfo, so that nothing is known of their lines.

    Example
    -------
    >>> import numpy, smemkit
    >>> code = '''extern "C" __global__ void cap(float *x, float most) {
    ...     if (x[threadIdx.x] > most)
    ...         x[threadIdx.x] = most;
    ... }'''
    >>> x = smemkit.asarray(numpy.arange(32, dtype="float32"), backend="sim")
    >>> with smemkit.coverage() as covered:
    ...     smemkit.RawKernel(code, "cap")((1,), (32,), (x, numpy.float32(20)))
    >>> (file,) = covered.files.values()
    >>> {line: (count.warps, count.lanes) for line, count in file.lines.items()}
    {1: (1, 32), 2: (1, 32), 3: (1, 11), 4: (2, 32)}
    >>> branch = file.branches[0]
    >>> branch.line, branch.targets, branch.lanes, branch.divergent
    (2, (3, 4), [11, 21], 1)
    """

    def __init__(
        self,
        modules: Modules,
        *,
        include: Iterable[str] = (),
        omit: Iterable[str] = (),
        package: bool = False,
    ) -> None:
        self._modules = modules
        self._include, self._omit, self._package = tuple(include), tuple(omit), package
        self.origin = describe_origin()

    def _wants(self, path: str) -> bool:
        if not self._package and is_package(path):
            return False
        names = (path, show_path(path))
        wanted = not self._include or any(fnmatch(n, p) for n in names for p in self._include)
        return wanted and not any(fnmatch(n, p) for n in names for p in self._omit)

    @cached_property
    def _counter(self) -> Counter:
        counter = Counter()
        counter.add(self._modules)
        return counter

    @cached_property
    def files(self) -> dict[str, FileCount]:
        """The files in the order of their paths."""
        found = self._counter.files
        for file in found.values():
            file.lines = dict(sorted(file.lines.items()))
        return {path: found[path] for path in sorted(found) if self._wants(path)}

    @property
    def unmapped(self) -> list[str]:
        """Kernels without lines."""
        return sorted(self._counter.unmapped)

    @property
    def percent(self) -> float:
        """The share of lines and ways of branches that were executed, in percent; 100 of none."""
        every = missed = 0
        for file in self.files.values():
            ways, lost = count_ways(file)
            every += len(file.lines) + ways
            missed += lost + sum(1 for count in file.lines.values() if not count.lanes)
        return 100 * (every - missed) / every if every else 100.0

    # Text ----------------------------------------------------------------------------------------

    def table(self) -> list[list[str]]:
        """Rows of text: a heading, the files, and the sums where there are several files."""
        rows = [["file", "lines", "missed", "ways", "missed", "covered", "missing"]]
        sums = [0, 0, 0, 0]
        for file in self.files.values():
            missing = [line for line, count in file.lines.items() if not count.lanes]
            every, missed = count_ways(file)
            numbers = [len(file.lines), len(missing), every, missed]
            sums = [a + b for a, b in zip(sums, numbers, strict=True)]
            partly = [
                f"{branch.line}->{branch.name_way(way).removeprefix('line ')}"
                for branch in file.branches
                for way in branch.missed
                if sum(branch.lanes)
            ]
            more = f" and {len(partly) - MOST_RANGES} more" if len(partly) > MOST_RANGES else ""
            words = [say_ranges(missing), ", ".join(partly[:MOST_RANGES]) + more]
            rows.append(self._row(show_path(file.path), numbers, "; ".join(filter(None, words))))
        if len(self.files) > 1:
            rows.append(self._row("all", sums, ""))
        return rows

    @staticmethod
    def _row(name: str, numbers: list[int], missing: str) -> list[str]:
        lines, lost, ways, missed = numbers
        share = percent(lines - lost + ways - missed, lines + ways)
        return [name, *(str(number) for number in numbers), share, missing]

    def __str__(self) -> str:
        rows = self.table()
        if len(rows) == 1:
            count = len(self._counter.files)
            words = "no line of a kernel was loaded"
            if count:
                words += f"; {count} {'file is' if count == 1 else 'files are'} left out"
            if count and not self._package:
                words += ": package=True (--package) shows smemkit's own kernels"
            return words + self._note()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            middle = (f"{cell:>{w}}" for cell, w in zip(row[1:-1], widths[1:-1], strict=True))
            lines.append("  ".join([f"{row[0]:{widths[0]}}", *middle, row[-1]]).rstrip())
        return "\n".join(lines) + self._note()

    def _note(self) -> str:
        names = self.unmapped
        if not names:
            return ""
        told = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        return f"\nwithout lines, because it was compiled without -lineinfo: {told}"

    def __repr__(self) -> str:
        files = self.files.values()
        lines = sum(len(file.lines) for file in files)
        hit = sum(1 for file in files for count in file.lines.values() if count.lanes)
        words = "file" if len(files) == 1 else "files"
        return f"<Coverage of {len(files)} {words}: {hit} of {lines} lines>"

    # Other forms ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        files = []
        for file in self.files.values():
            files.append(
                {
                    "path": file.path,
                    "lines": {line: vars(count) for line, count in file.lines.items()},
                    "branches": [
                        vars(branch) | {"missed": branch.missed} for branch in file.branches
                    ],
                    "functions": [vars(count) for count in file.functions.values()],
                }
            )
        return {"origin": dict(self.origin), "files": files, "unmapped": self.unmapped}

    def to_lcov(self, folder: StrPath | None = None) -> str:
        """The text of an lcov tracefile. Counts of lines and ways are those of lanes.

        Code that lies on no disk is written to `folder`, where one is given, since tools for lcov
        read the source.
        """
        rows = []
        for file in self.files.values():
            path = file.path
            if file.text is not None:
                path = path.strip("<>")
                if folder is not None:
                    Path(folder).mkdir(parents=True, exist_ok=True)
                    write_whole(Path(folder) / path, file.text)
                    path = str((Path(folder) / path).absolute())
            rows += ["TN:", f"SF:{path}"]
            functions = sorted(file.functions.values(), key=lambda count: (count.line, count.name))
            rows += [f"FN:{count.line},{count.name}" for count in functions]
            rows += [f"FNDA:{count.warps},{count.name}" for count in functions]
            rows += [f"FNF:{len(functions)}", f"FNH:{sum(1 for c in functions if c.warps)}"]
            numbers: dict[int, int] = {}
            for branch in file.branches:
                block = numbers[branch.line] = numbers.get(branch.line, -1) + 1
                for way, lanes in enumerate(branch.lanes):
                    taken = lanes if sum(branch.lanes) else "-"
                    rows.append(f"BRDA:{branch.line},{block},{way},{taken}")
            every, missed = count_ways(file)
            rows += [f"BRF:{every}", f"BRH:{every - missed}"]
            rows += [f"DA:{line},{count.lanes}" for line, count in file.lines.items()]
            hit = sum(1 for count in file.lines.values() if count.lanes)
            rows += [f"LF:{len(file.lines)}", f"LH:{hit}", "end_of_record"]
        return "".join(f"{row}\n" for row in rows)

    def _repr_html_(self) -> str:
        from ._html import draw_coverage

        return draw_coverage(self)

    def to_html(self) -> str:
        """A whole page: the table, and each file with the counts of its lines."""
        from ._html import make_page

        return make_page(self)

    def save(self, path: StrPath) -> None:
        """Write the report to a file.

        Parameters
        ----------
        path : str or Path
            The ending chooses: .html (a page), .info (lcov; code that lies on no disk goes to a
            folder beside it, .info.sources), .json (what to_dict gives).

        Shapes
        ------
        None.

        Returns
        -------
        None.

        Raises
        ------
        ArgumentError (ValueError) for another ending; OSError where the file cannot be written.

        Example
        -------
        >>> import pathlib, smemkit, tempfile
        >>> with smemkit.coverage(package=True) as covered:
        ...     y = smemkit.vector_add([1.0], [2.0], backend="sim")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "kernels.info"
        ...     covered.save(path)
        ...     text = path.read_text()
        >>> text.splitlines()[0], "end_of_record" in text
        ('TN:', True)
        """
        target = Path(path)
        if target.suffix not in ENDINGS:
            raise _core.ArgumentError(
                f"a coverage report is saved as {', '.join(ENDINGS)}; {str(path)!r:.200} has "
                "another ending"
            )
        if target.suffix == ".info":
            write_whole(target, self.to_lcov(target.with_name(f"{target.name}.sources")))
        elif target.suffix == ".html":
            write_whole(target, self.to_html())
        else:
            write_whole(target, json.dumps(self.to_dict(), indent=1) + "\n")

    def save_data(self, path: StrPath) -> None:
        """Write what was counted, for load_coverage and `smemkit coverage combine`: a data file."""
        write_document(self._modules, Path(path))
