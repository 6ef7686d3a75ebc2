"""The plugin of coverage.py: lines and branches of kernels in its data and in its reports.

coverage.py keeps lines and arcs that were executed. Which ones there are it asks a reporter for
each file when it reports, perhaps in another process: that is in files beside coverage.py's own.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
from coverage.plugin import CoveragePlugin, FileReporter

from .. import _core
from ._lines import END
from .data import merge, read_file, read_process, write_document
from .result import Coverage

if TYPE_CHECKING:
    from typing import Any

    from ._lines import Branch, FileCount

LINES_FILE = ".smemkit-coverage-lines"  # with a number behind it: what could be executed
PLUGIN = "smemkit.cover.KernelPlugin"


def place_of(path: str) -> str:
    """The file name that coverage.py knows a file by."""
    return os.path.abspath(path.strip("<>"))


def list_arcs(file: FileCount) -> dict[tuple[int, int], tuple[Branch, int]]:
    """The arcs from lines with branches: {(line, target): (branch, number of its way)}.

    A target below 0 is the end, or a way that leads to no line of its own.
    """
    arcs: dict[tuple[int, int], tuple[Branch, int]] = {}
    numbers: dict[int, int] = {}
    for branch in file.branches:
        for way, target in enumerate(branch.targets):
            plain = target not in (END, branch.line) and branch.targets.count(target) == 1
            if not plain:
                target = numbers[branch.line] = numbers.get(branch.line, 0) - 1
            known = arcs.get((branch.line, target))
            if known is None or not known[0].lanes[known[1]]:
                arcs[branch.line, target] = branch, way
    return arcs


def list_executed(file: FileCount) -> set[tuple[int, int]]:
    """The executed arcs: one to each executed line, and the ways that a lane took."""
    done = {line for line, count in file.lines.items() if count.lanes}
    taken = {
        arc
        for arc, (branch, way) in list_arcs(file).items()
        if branch.lanes[way] and (arc[1] < 0 or arc[1] in done)
    }
    return {(-1, line) for line in done} | taken


class KernelReporter(FileReporter):  # type: ignore[misc, unused-ignore]
    """What could be executed of a file."""

    def __init__(self, filename: str, file: FileCount) -> None:
        super().__init__(filename)
        self.file = file

    def source(self) -> str:
        """The text of the file."""
        return self.file.text if self.file.text is not None else super().source()

    def lines(self) -> set[int]:
        """The lines that have instructions."""
        return set(self.file.lines)

    def arcs(self) -> set[tuple[int, int]]:
        """The ways of branches."""
        return set(list_arcs(self.file))

    def exit_counts(self) -> dict[int, int]:
        """The number of ways from each line with a branch."""
        counts: dict[int, int] = {}
        for line, _ in list_arcs(self.file):
            counts[line] = counts.get(line, 0) + 1
        return counts

    def missing_arc_description(self, start: int, end: int, executed_arcs: Any = None) -> str:
        """What is said of a way that no lane took."""
        found = list_arcs(self.file).get((start, end))
        where = found[0].name_way(found[1]) if found else f"line {end}"
        return f"no lane went from line {start} to {where}"


class KernelPlugin(CoveragePlugin):  # type: ignore[misc, unused-ignore]
    """Makes the reporters of files."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.package = str(options.get("package", "")).lower() in ("1", "true", "yes")

    def configure(self, config: Any) -> None:
        """Nothing is configured: it is a plugin of this kind so that it does not slow tracing."""

    @functools.cached_property
    def _files(self) -> dict[str, tuple[Path, FileCount]]:
        found: dict[str, tuple[Path, FileCount]] = {}
        folder = Path.cwd()
        paths = sorted(folder.glob(f"{LINES_FILE}.*"), key=lambda path: path.stat().st_mtime)
        for path in paths:
            for name, file in Coverage(read_file(path), package=True).files.items():
                found[place_of(name)] = path, file
        self._merge_fresh(paths, found)
        return found

    @staticmethod
    def _merge_fresh(paths: list[Path], found: dict[str, tuple[Path, FileCount]]) -> None:
        """Adds up what was written since a file was changed last: several processes may have run
        different kernels of it. Of one that was changed since, the latest alone stays."""
        for name in list(found):
            changed = os.stat(name).st_mtime if os.path.exists(name) else 0.0
            fresh = [path for path in paths if path.stat().st_mtime >= changed]
            if len(fresh) > 1:
                together = Coverage(merge(map(read_file, fresh)), package=True).files
                for path, file in together.items():
                    if place_of(path) == name:
                        found[name] = fresh[-1], file

    def file_reporter(self, filename: str) -> KernelReporter | str:
        """The reporter of a file."""
        known = self._files.get(place_of(filename))
        if known is None:
            raise coverage.exceptions.NoSource(
                f"{filename} is a file of kernels, and {LINES_FILE}.*, which say what can be "
                "executed of it, are not in the present folder: copy them along with .coverage"
            )
        return KernelReporter(filename, known[1])


def add_to(cov: coverage.Coverage, package: bool) -> None:
    """Adds what this process has executed to the data that coverage.py is about to save."""
    modules = read_process()
    if not modules:
        return
    data = cov.get_data()
    files = Coverage(modules, package=package).files.values()
    is_branch = bool(cov.get_option("run:branch")) or data.has_arcs()
    names = {place_of(file.path): file for file in files}
    if is_branch:
        data.add_arcs({name: list_executed(file) for name, file in names.items()})
    else:
        done = {
            name: [line for line, count in file.lines.items() if count.lanes]
            for name, file in names.items()
        }
        data.add_lines(done)
    for name in names:
        data.touch_file(name, PLUGIN)
    number = hashlib.sha256(json.dumps(sorted(modules)).encode()).hexdigest()[:16]
    write_document(modules, Path(cov.get_data().base_filename()).parent / f"{LINES_FILE}.{number}")


def begin(registry: Any, options: dict[str, Any]) -> None:
    """Counts all launches of this process, and lets each save of coverage.py include them."""
    plugin = KernelPlugin(options)
    registry.add_configurer(plugin)
    save = coverage.Coverage.save
    if getattr(save, "of_kernels", False):
        return
    _core._coverage_start()

    @functools.wraps(save)
    def save_all(self: coverage.Coverage) -> None:
        add_to(self, plugin.package)
        save(self)

    save_all.of_kernels = True  # type: ignore[attr-defined, unused-ignore]
    coverage.Coverage.save = save_all  # type: ignore[method-assign, unused-ignore]
