"""Coverage of kernels: which lines and branches of CUDA C launches executed, by warps and lanes.

`with smemkit.coverage() as covered:` counts the launches of a block, `smemkit coverage run` those
of a command and of all processes that it starts, and pytest's `-p smemkit.cover --smemkit-cov`
those of a test session. With `plugins = ["smemkit.cover"]` in the settings of coverage.py, its
reports, and pytest --cov, show the lines of kernels beside those of Python.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core
from .._public import publish
from ._lines import Branch, FileCount, FunctionCount, LineCount
from .data import DEFAULT_FILE, VARIABLE, begin_process, find_files, merge, read_file, read_process
from .data import subtract as _subtract
from .result import Coverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .._types import StrPath

__all__ = [
    "Branch",
    "Coverage",
    "FileCount",
    "FunctionCount",
    "LineCount",
    "coverage",
    "load_coverage",
]

pytest_plugins = ("smemkit.cover._pytest_plugin",)  # for pytest -p smemkit.cover


@contextlib.contextmanager
def coverage(
    *, include: Iterable[str] = (), omit: Iterable[str] = (), package: bool = False
) -> Iterator[Coverage]:
    """Count what launches on the simulator execute of the source of kernels, in a with block.

    Launches of all threads count. Calls that smemkit.profile and smemkit.check run count, too;
    launches on a GPU do not.

    Parameters
    ----------
    include, omit : iterable of str
        Patterns of paths (fnmatch): only files that one of include matches, where it has any, and
        none that one of omit matches.
    package : bool
        Also the kernels of smemkit itself.

    Shapes
    ------
    None.

    Returns
    -------
    A context manager that gives a Coverage, which is complete when the block ends. It holds each
    module that was loaded or launched in the block, with the lines that nothing reached.

    Raises
    ------
    OutOfMemoryError (MemoryError).

    Example
    -------
    >>> import numpy, smemkit
    >>> x = numpy.ones(100, dtype="float32")
    >>> with smemkit.coverage(package=True) as covered:
    ...     y = smemkit.vector_add(x, x, backend="sim")
    >>> len(covered.files) > 0
    True
    """
    before = read_process()
    result = Coverage({}, include=include, omit=omit, package=package)
    _core._coverage_start()
    try:
        yield result
    finally:
        _core._coverage_stop()
        vars(result).pop("_counter", None)
        vars(result).pop("files", None)
        result._modules = _subtract(read_process(), before)


def load_coverage(
    *paths: StrPath, include: Iterable[str] = (), omit: Iterable[str] = (), package: bool = False
) -> Coverage:
    """Read what processes have left, and add it up.

    Parameters
    ----------
    *paths : str or Path
        Data files, by default .smemkit-coverage. With each come the files that processes have left
        beside it (.smemkit-coverage.*).
    include, omit, package
        As those of smemkit.coverage.

    Shapes
    ------
    None.

    Returns
    -------
    Coverage.

    Raises
    ------
    ArgumentError (ValueError) where there is no such file, or one cannot be read.

    Example
    -------
    >>> import os, smemkit, tempfile
    >>> from smemkit.cover import load_coverage
    >>> with smemkit.coverage(package=True) as covered:
    ...     y = smemkit.vector_add([1.0], [2.0], backend="sim")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     covered.save_data(os.path.join(folder, "data"))
    ...     again = load_coverage(os.path.join(folder, "data"), package=True)
    >>> str(again) == str(covered)
    True
    """
    files = []
    for path in paths or (DEFAULT_FILE,):
        found = find_files(Path(path))
        if not found:
            raise _core.ArgumentError(
                f"there is no coverage of kernels in {str(path)!r:.200}: smemkit coverage run "
                "COMMAND makes it"
            )
        files += [name for name in found if name not in files]
    modules = merge(read_file(name) for name in files)
    return Coverage(modules, include=include, omit=omit, package=package)


def coverage_init(registry: Any, options: dict[str, Any]) -> None:
    """Called by coverage.py, whose settings name this module as a plugin."""
    from ._coverage_plugin import begin

    begin(registry, options)


publish(__name__)

if os.environ.get(VARIABLE):
    begin_process(os.environ[VARIABLE])
