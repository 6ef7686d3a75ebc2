"""CUDA C -> PTX by nvcc."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core
from ._options import FILE_NAME, complete_options, make_folders_absolute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._types import StrPath


NO_HOST_COMPILER = (
    "nvcc needs a host compiler, and there is no g++; NVRTC needs none: "
    "pip install 'smemkit[nvrtc]'"
)


def _say_who_named(path: StrPath) -> str:
    named = os.environ.get("SMEMKIT_NVCC")
    if not named or Path(named).absolute() != Path(path):
        return ""
    return "; the environment variable SMEMKIT_NVCC names it: is it an nvcc?"


def compile_nvcc(path: StrPath, source: str, options: Iterable[str] = ()) -> str:
    """CUDA C -> PTX by the nvcc at that path; see compile_source."""
    options = make_folders_absolute(complete_options(options))  # nvcc runs in another folder
    with tempfile.TemporaryDirectory(prefix="smemkit-") as folder:
        Path(folder, FILE_NAME).write_text(source, encoding="utf-8")
        command = [str(path), "-ptx", *options, "-o", "kernel.ptx", FILE_NAME]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            raise _core.CompileError(f"nvcc: {path} cannot be run: {error}") from error
        if done.returncode != 0:
            log = done.stdout.decode(errors="replace").strip()
            text = f"{path} failed with status {done.returncode}:\n{log}"
            raise _core.CompileError(text if shutil.which("g++") else f"{text}\n{NO_HOST_COMPILER}")
        try:
            ptx = Path(folder, "kernel.ptx").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise _core.CompileError(
                f"{path} ended without an error and wrote no PTX{_say_who_named(path)}"
            ) from None
        return ptx.replace(f"{folder}/", "")  # the folder is gone when someone reads it
