"""The options of a compiler: those that it gets unasked, and the folders that they name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FILE_NAME = "kernel.cu"  # the source's name in messages and line information
HIGHEST_DEFAULT_ARCH = 90  # what the simulator is; a newer GPU takes it too
FOLDER_OPTIONS = ("--include-path", "-I", "--system-include", "-isystem")
INCLUDE_OPTIONS = ("--pre-include", "-include")


def choose_arch() -> str:
    """The -arch option for the current GPU, at most the simulator's."""
    facts = _core.device_info()
    present = 10 * facts["compute_capability_major"] + facts["compute_capability_minor"]
    return f"-arch=compute_{min(present, HIGHEST_DEFAULT_ARCH)}"


def complete_options(options: Iterable[str]) -> list[str]:
    """The user's options, after defaults for those that the user does not set."""
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise _core.ArgumentTypeError("options must be a sequence of str, as in ('-DTILE=16',)")
    options = list(options)
    for option in options:
        if "\0" in option or option.encode(errors="replace").decode() != option:
            raise _core.ArgumentError(f"options has {option!a:.80}, which is not valid text")
    starts = ("-arch", "--gpu-architecture", "-gencode", "--generate-code")
    if not any(option.startswith(starts) for option in options):
        options.insert(0, choose_arch())
    if not {"-G", "--device-debug", "-lineinfo"} & set(options):
        options.insert(0, "-lineinfo")
    return options


def _split_option(option: str, names: Iterable[str]) -> tuple[str, str] | None:
    """(name, its value) for an option that has one of the names; the value may be empty.

    The value is empty where it follows as a word of its own.
    """
    for name in names:
        if option == name:
            return name, ""
        if option.startswith(f"{name}="):
            return f"{name}=", option.removeprefix(f"{name}=")
        if name == "-I" and option.startswith(name):
            return name, option.removeprefix(name)
    return None


def _walk(options: Sequence[str], names: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """(index of the word, what stands before the value in it, value) for each such option."""
    i = 0
    while i < len(options):
        found = _split_option(options[i], names)
        if found and not found[1] and found[0] == options[i] and i + 1 < len(options):
            i += 1
            found = "", options[i]
        if found and found[1]:
            yield i, *found
        i += 1


def list_folders(options: Sequence[str]) -> list[Path]:
    """The folders of headers that the options name."""
    return [Path(value).absolute() for _, _, value in _walk(options, FOLDER_OPTIONS)]


def list_included(options: Sequence[str]) -> list[str]:
    """The headers that the options include."""
    return [value for _, _, value in _walk(options, INCLUDE_OPTIONS)]


def make_folders_absolute(options: Sequence[str]) -> list[str]:
    """The options for a compiler that runs in another folder."""
    options = list(options)
    for i, start, value in _walk(options, FOLDER_OPTIONS):
        options[i] = start + os.path.abspath(value)
    return options
