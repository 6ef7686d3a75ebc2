"""cupy.cuda.compiler: errors of compilation, and what tests of raw kernels reach of the rest."""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

from .._refuse import refuse_attribute

_kernel_cache_backend: Any = None  # names that tests replace; smemkit has a cache of its own
_empty_file_preprocess_cache: dict[Any, Any] = {}


class CompileException(Exception):
    """A text that does not compile; str() is the compiler's log."""

    def __init__(
        self, msg: str, source: str | None, name: str, options: Any, backend: str = "nvrtc"
    ) -> None:
        self._msg, self.source, self.name, self.options, self.backend = (
            msg,
            source,
            name,
            options,
            backend,
        )
        super().__init__(msg)

    def __reduce__(self) -> Any:
        return type(self), (self._msg, self.source, self.name, self.options, self.backend)

    def __str__(self) -> str:
        return self._msg

    def get_message(self) -> str:
        """The compiler's log."""
        return self._msg

    def dump(self, f: Any) -> None:
        """Writes the log and the source with numbers of lines."""
        f.write(f"{self._msg}\noptions: {self.options}\n")
        for number, line in enumerate((self.source or "").splitlines(), 1):
            f.write(f"{number:4} {line}\n")


class JitifyException(Exception):
    """As CompileException, where jitify=True was asked for."""

    def __init__(self, msg: str, *facts: Any) -> None:
        super().__init__(msg)


def read_log(code: str | None, options: Any) -> str:
    """What nvcc says of a text that it compiles; without an nvcc nothing is known."""
    from ....compile import find_nvcc

    nvcc = find_nvcc()
    if nvcc is None or code is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.cu").write_text(code, encoding="utf-8")
        command = [str(nvcc), "-ptx", *options, "-o", "kernel.ptx", "kernel.cu"]
        return _run_cc(command, folder, "nvcc")


def _get_arch() -> str:
    from . import Device

    return Device().compute_capability


def _get_bool_env_variable(name: str, default: bool) -> bool:
    value = os.environ.get(name)
    return default if not value else value == "1"


def _run_cc(cmd: Any, cwd: str | None, backend: str, log_stream: Any = None) -> str:
    try:
        done = subprocess.run(
            cmd, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        raise OSError(f"Failed to run `{backend}` command: {error}") from error
    if done.returncode:
        raise CompileException(done.stdout, None, "", tuple(cmd), backend)
    if log_stream is not None:
        log_stream.write(done.stdout)
    return done.stdout


def warn_of_jitify(jitify: Any) -> None:
    """Warns where the argument is given, as CuPy does."""
    if jitify is not None:
        text = "The jitify argument is deprecated. Avoid passing it, also as jitify=False."
        warnings.warn(text, DeprecationWarning, stacklevel=3)


def compile_using_nvrtc(
    source: str,
    options: Any = (),
    arch: Any = None,
    filename: str = "kernel.cu",
    *args: Any,
    jitify: Any = None,
) -> Any:
    """(PTX, None) of a text of CUDA C."""
    warn_of_jitify(jitify)
    from .... import CompileError
    from ....compile import compile_source

    try:
        return compile_source(source, tuple(options)).encode(), None
    except CompileError as error:
        raise CompileException(str(error), source, filename, options) from error


def __getattr__(name: str) -> Any:
    return refuse_attribute(__name__, name)
