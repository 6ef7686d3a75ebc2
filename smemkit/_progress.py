"""Progress of long work: a bar of tqdm at a terminal's standard error or in a notebook.

The extension calls tell and end while a launch runs on the simulator, and tell_copy during copies
to a GPU and back; operation and Steps are for Python code. A bar shows after two seconds, and is
removed when its work ends. All of this is for the main thread: work of other threads shows nothing.
Without tqdm, without a terminal and with SMEMKIT_PROGRESS=0 nothing is shown either.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

DELAY_S = 2.0
FEW_BLOCKS = 64  # of a launch whose instructions are told too, as its blocks end seldom
_Key = tuple[int, int]  # of a launch: the number of its execution, and its own in that
FORMAT = (
    "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} {unit} [{elapsed}<{remaining}{postfix}]"
)


def _is_notebook() -> bool:
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return getattr(shell, "kernel", None) is not None


def is_shown() -> bool:
    """Whether a bar may be shown: at a terminal or in a notebook, unless it is switched off."""
    if os.environ.get("SMEMKIT_PROGRESS") == "0":
        return False
    with contextlib.suppress(AttributeError, ValueError, OSError):  # closed, or None
        return sys.stderr.isatty() or _is_notebook()
    return False


def _choose_size() -> dict[str, Any]:
    """The terminal's size for tqdm: the present one, or a usual one where it tells none.

    A pseudoterminal of a container or of script(1) may have 0 columns, in which nothing shows.
    """
    with contextlib.suppress(AttributeError, ValueError, OSError):  # no file, as in a notebook
        if os.get_terminal_size(sys.stderr.fileno()).columns == 0:
            usual = shutil.get_terminal_size()
            return {"ncols": usual.columns or 80, "nrows": usual.lines or 24}
    return {"dynamic_ncols": True}


def _find_class() -> Any:
    """The class of bars, or None without tqdm."""
    try:
        from tqdm import tqdm as base

        is_widget = False
        if _is_notebook():
            from tqdm import notebook

            is_widget = notebook.IProgress is not None  # None without ipywidgets
            base = notebook.tqdm_notebook if is_widget else base
    except ImportError:
        return None

    class Bar(base):  # type: ignore[misc]  # tqdm has no types, so that its class is Any
        # No thread that watches bars: the simulator asks whether other threads of Python run.
        monitor_interval = 0

        def __init__(self, **words: Any) -> None:
            self.handle = None
            if is_widget:
                words["display"] = False
            super().__init__(**words)
            if is_widget:
                from IPython.display import display

                self.handle = display(self.container, display_id=True)

        def close(self) -> None:
            super().close()
            if self.handle is not None:  # else the notebook's file keeps a picture of the bar
                self.handle.update({"text/plain": ""}, raw=True)
                self.handle = None

    Bar.set_lock(threading.RLock())  # tqdm's own lock starts a process in some Pythons
    return Bar


class _Work(ABC):
    """Something that may take long, and its bar."""

    def __init__(self, words: str, wanted: bool | None = None) -> None:
        self.words, self.begun = words, time.monotonic()
        self.bar: Any = None  # of the class that _find_class gives
        self.is_silent = wanted is False

    @abstractmethod
    def tell(self, key: _Key, kernel: str, done: int, total: int, steps: int) -> None:
        """Shows that `done` of `total` blocks of a launch have ended, after so many steps."""

    @abstractmethod
    def tell_copy(self, key: _Key, done: int, total: int) -> None:
        """Shows that `done` of `total` bytes have been copied to a GPU and back."""

    def draw(self, words: str, done: int, total: int, unit: str, more: str, begun: float) -> None:
        """Shows `done` of `total`; begun is when that part of the work began."""
        if self.is_silent or time.monotonic() - self.begun < DELAY_S:
            return
        try:
            if self.bar is None:
                self._open(words, done, total, unit)
            if self.bar is not None:
                self._write(words, done, total, unit, more, begun)
        except Exception:  # a terminal that is gone must not end the work
            self.close()
            self.is_silent = True

    def _open(self, words: str, done: int, total: int, unit: str) -> None:
        make = _find_class() if is_shown() else None
        if make is None:
            self.is_silent = True
            return
        self.bar = make(
            initial=done,
            total=total,
            unit=unit,
            leave=False,
            **_choose_size(),
            bar_format=FORMAT,
            desc=words,
        )
        self.bar.initial = 0  # the rate counts from the beginning

    def _write(self, words: str, done: int, total: int, unit: str, more: str, begun: float) -> None:
        bar = self.bar
        if bar.total != total:
            bar.reset(total)
        bar.unit, bar.n = unit, done
        bar.start_t = time.time() - (time.monotonic() - begun)
        bar.set_description_str(words, refresh=False)
        bar.set_postfix_str(more, refresh=False)
        bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            with contextlib.suppress(Exception):
                self.bar.close()
            self.bar = None


class _Launches(_Work):
    """Work whose bar shows the blocks of the present launch."""

    key: _Key | None = None

    def tell(self, key: _Key, kernel: str, done: int, total: int, steps: int) -> None:
        if key != self.key:
            self.key, self.launch_begun = key, time.monotonic()
        words = f"{self.words} {kernel}".lstrip()
        more = _say_steps(steps) if total <= FEW_BLOCKS else ""
        self.draw(words, done, total, "blocks", more, self.launch_begun)

    def tell_copy(self, key: _Key, done: int, total: int) -> None:
        if key != self.key:
            self.key, self.launch_begun = key, time.monotonic()
        words = f"{self.words} copies".lstrip()
        self.draw(words, done // 10**6, total // 10**6, "MB", "", self.launch_begun)


class Steps(_Work):
    """Work of so many steps, as a context manager; launches show beside the present step."""

    def __init__(self, total: int, wanted: bool | None = None) -> None:
        super().__init__("", wanted)
        self.total, self.done = total, 0

    def begin(self, words: str) -> None:
        """Names the step that begins."""
        self.words = words
        self._draw("")

    def advance(self) -> None:
        """Counts a step as done."""
        self.done += 1
        self._draw("")

    def tell(self, key: _Key, kernel: str, done: int, total: int, steps: int) -> None:
        self._draw(f"{kernel}: block {done:,} of {total:,}")

    def tell_copy(self, key: _Key, done: int, total: int) -> None:
        self._draw(f"copies: {done // 10**6:,} of {total // 10**6:,} MB")

    def _draw(self, more: str) -> None:
        self.draw(self.words, self.done, self.total, "steps", more, self.begun)

    def __enter__(self) -> Steps:
        if _is_main():
            _open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in _open:
            _open.remove(self)
        self.close()


_open: list[_Work] = []  # the work of the main thread, outermost first
_alone: _Launches | None = None  # a launch outside of any
_executions = 0


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _say_steps(steps: int) -> str:
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if steps >= unit:
            return f"{steps / unit:.1f} {name} instructions"
    return f"{steps:,} instructions"


@contextlib.contextmanager
def operation(words: str) -> Iterator[None]:
    """A stretch of launches with one bar, unless it is a part of other work that has one."""
    if _open or not _is_main():
        yield
        return
    work = _Launches(words)
    _open.append(work)
    try:
        yield
    finally:
        _open.remove(work)
        work.close()


def _find_work() -> _Work | None:
    """The work whose bar shows what the extension tells; None outside of the main thread."""
    global _alone
    if not _is_main():
        return None
    if _open:
        return _open[0]
    _alone = _alone or _Launches("")
    return _alone


def tell(kernel: str, launch: int, done: int, total: int, steps: int) -> None:
    """What the extension calls while a launch runs: blocks done of all, instructions executed."""
    work = _find_work()
    if work is not None:
        work.tell((_executions, launch), kernel, done, total, steps)


def tell_copy(done: int, total: int) -> None:
    """What the extension calls during a long copy: bytes copied of all."""
    work = _find_work()
    if work is not None:
        work.tell_copy((_executions, 0), done, total)


def end() -> None:
    """What the extension calls at the end of an execution of which it told."""
    global _alone, _executions
    if not _is_main():
        return
    _executions += 1
    work, _alone = _alone, None
    if work is not None:
        work.close()
