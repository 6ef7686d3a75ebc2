"""CUDA C -> PTX by NVRTC, a library."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core
from . import _headers, _usage
from ._expressions import split_expressions, write_names
from ._options import FILE_NAME, complete_options
from ._toolchain import WHEELS, find_include_folders, list_wheels

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from .._types import StrPath


MISSING = re.compile(r'(?:cannot|could not) open source file "([^"]+)"')
HOST_FUNCTION = "is considered a host function"
ALL_WHEELS = "pip install 'smemkit[nvrtc]' brings all of CUDA's headers"
# Headers of CUDA by the beginning of their names, and the wheel that brings them.
BRINGS = {
    "crt/": "nvidia-cuda-crt",
    "curand": "nvidia-curand",
    "cub/": "nvidia-cuda-cccl",
    "thrust/": "nvidia-cuda-cccl",
    "cuda/": "nvidia-cuda-cccl",
    "nv/": "nvidia-cuda-cccl",
    "cooperative_groups": "nvidia-cuda-runtime",
    "cuda_": "nvidia-cuda-runtime",
    "cuComplex.h": "nvidia-cuda-runtime",
    "device_": "nvidia-cuda-runtime",
    "driver_": "nvidia-cuda-runtime",
    "host_": "nvidia-cuda-runtime",
    "library_types.h": "nvidia-cuda-runtime",
    "math_constants.h": "nvidia-cuda-runtime",
    "mma.h": "nvidia-cuda-runtime",
    "sm_": "nvidia-cuda-runtime",
    "vector_": "nvidia-cuda-runtime",
}
HOST_ONLY = """
cerrno clocale csignal cstdarg ctype.h cudaTypedefs.h deque errno.h exception filesystem
forward_list fstream future iomanip ios iostream istream list locale map mutex ostream queue
random regex set signal.h sstream stack stdarg.h stdexcept streambuf string string_view thread
unistd.h unordered_map unordered_set vector
""".split()


def _explain_header(name: str, wheels: Mapping[str, str]) -> str:
    """What to do where that header is not found; `wheels` are those that are here."""
    for start, wheel in BRINGS.items():
        if name.startswith(start):
            if wheel in wheels:
                return f"{name} is no header of {wheel} {wheels[wheel]}, which is here"
            return f"{name} is not here: pip install {wheel}=={WHEELS[wheel]} ({ALL_WHEELS})"
    if name in HOST_ONLY or name.startswith(("sys/", "bits/")):
        return f"{name} belongs to the host: NVRTC compiles device code alone, leave it out"
    return f"{name} is not here: name its folder, options=('-I/its/folder',)"


def _explain_mixture(wheels: Mapping[str, str]) -> str:
    """What to do where wheels of different CUDAs stand together; empty where they do not."""
    names = [name for name in WHEELS if name != "nvidia-curand"]  # it counts its versions anew
    versions = {name: wheels[name] for name in names if name in wheels}
    if len({version.rsplit(".", 1)[0] for version in versions.values()}) < 2:
        return ""
    there = ", ".join(f"{name} {version}" for name, version in versions.items())
    pins = " ".join(f"{name}=={WHEELS[name]}" for name in versions)
    return f"NVRTC and its headers are of different versions ({there}): pip install {pins}"


def lacks_host(log: str) -> bool:
    """Whether the log complains of what nvcc has and NVRTC does not: headers, host functions."""
    return bool(MISSING.search(log)) or HOST_FUNCTION in log


def _advise(log: str, path: StrPath) -> str:
    """What to do about a log of the NVRTC at that path; empty where it says all."""
    wheels = list_wheels(Path(path).resolve())
    missing = MISSING.search(log)
    lines = [_explain_header(missing[1], wheels) if missing else "", _explain_mixture(wheels)]
    if HOST_FUNCTION in log:
        lines.append(
            "NVRTC compiles device code alone: write __device__ before a function that a kernel "
            "calls, and leave main() and what else belongs to the host out"
        )
    return "\n".join(filter(None, lines))


class _Nvrtc:
    """The functions of the NVRTC library that compile_nvrtc calls."""

    def __init__(self, path: StrPath) -> None:
        # NVRTC loads its second library by name, and does not search its own folder.
        for builtins in sorted(Path(path).parent.glob("libnvrtc-builtins.so*"))[:1]:
            ctypes.CDLL(str(builtins))
        self.library = ctypes.CDLL(str(path))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            reason = self.library.nvrtcGetErrorString(status).decode()
            raise _core.CompileError(f"NVRTC: {name}: {reason}")

    def get_text(self, program: Any, what: str) -> str:
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.value.decode(errors="replace")

    def get_name(self, program: Any, expression: str) -> str:
        """The name in PTX of what an expression of C++ names."""
        name = ctypes.c_char_p()
        self.call("nvrtcGetLoweredName", program, expression.encode(), ctypes.byref(name))
        return (name.value or b"").decode()

    def list_archs(self) -> list[int]:
        """The architectures for which it makes machine code, as [75, 80, ...]."""
        count = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        archs = (ctypes.c_int * count.value)()
        self.call("nvrtcGetSupportedArchs", archs)
        return list(archs)

    def compile(
        self, source: str, options: Sequence[str], headers: Mapping[str, str]
    ) -> tuple[str, str]:
        """(PTX, log) of a source."""
        program = ctypes.c_void_p()
        source, expressions = split_expressions(source)
        self.call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source.encode(),
            FILE_NAME.encode(),
            len(headers),
            _make_array(headers.values()),
            _make_array(headers),
        )
        try:
            for one in expressions:
                self.call("nvrtcAddNameExpression", program, one.encode())
            words = _make_array(options)
            if self.library.nvrtcCompileProgram(program, len(options), words) != 0:
                raise _core.CompileError("NVRTC:\n" + self.get_text(program, "ProgramLog").strip())
            names = [self.get_name(program, one) for one in expressions]
            ptx, log = self.get_text(program, "PTX"), self.get_text(program, "ProgramLog")
            return write_names(ptx, names) if names else ptx, log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def _make_array(texts: Collection[str]) -> Any:
    """A C array of C strings."""
    return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])


def _load(path: StrPath) -> _Nvrtc:
    try:
        return _Nvrtc(path)
    except OSError as error:
        raise _core.CompileError(f"NVRTC: {path} cannot be loaded: {error}") from error


def _compile(
    library: _Nvrtc, path: StrPath, source: str, options: Iterable[str]
) -> tuple[str, str]:
    """(PTX, log), with advice in the message of an error."""
    folders = find_include_folders(path)
    options = [*options, *(f"-I{folder}" for folder in folders)]
    try:
        ptx, log = library.compile(
            source,
            [*_headers.list_options(source), *options],
            _headers.collect_headers(folders),
        )
    except _core.CompileError as error:
        advice = _advise(str(error), path)
        if not advice:
            raise
        raise _core.CompileError(f"{error}\n{advice}") from None
    if ".version" not in ptx:
        raise _core.CompileError(f"NVRTC: these options produce no PTX: {' '.join(options)}")
    return ptx, log


def compile_nvrtc(path: StrPath, source: str, options: Iterable[str] = ()) -> str:
    """CUDA C -> PTX by the NVRTC library at that path; see compile_source."""
    ptx, _ = _compile(_load(path), path, source, complete_options(options))
    return ptx.replace(f'"{os.getcwd()}/{FILE_NAME}"', f'"{FILE_NAME}"')  # it lies in no folder


def measure_nvrtc(path: StrPath, source: str, options: Iterable[str], arch: str) -> dict[str, Any]:
    """The usage of each kernel in machine code for an architecture, by NVRTC; see _usage.py."""
    library = _load(path)
    archs = library.list_archs()
    if int(arch) not in archs:
        _usage.refuse_arch("NVRTC", archs)
    options = [*_usage.choose_options(options, arch), "--ptxas-options=-v"]
    ptx, log = _compile(library, path, source, options)
    if not _usage.read_report(log):  # a program of NVRTC's own cache, which keeps no report
        try:
            ptx, log = _compile(library, path, source, [*options, "--no-cache"])
        except _core.CompileError:
            pass  # an older NVRTC, which has neither the option nor the cache
    if not log.strip():  # some builds of NVRTC drop what ptxas -v says
        raise _usage.UnknownArchError("this NVRTC does not report what a kernel takes")
    return _usage.demand_usage(_usage.join_usage(ptx, log), log)


def describe_nvrtc(path: StrPath) -> str:
    """The name and version of an NVRTC library."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _Nvrtc(path).call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value} ({path})"
