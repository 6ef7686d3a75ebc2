"""CUDA C -> PTX, by NVRTC where it is found and accepts the source, else by nvcc.

NVRTC comes from the package nvidia-cuda-nvrtc or from a CUDA toolkit; nvcc is the one that
SMEMKIT_NVCC names, or that of NVIDIA's packages, of CUDA_HOME or of PATH, and it needs a host
compiler.

pip install "smemkit[nvrtc]" brings NVRTC and the headers of CUDA: half and bfloat16 types,
cooperative groups, CUB, libcu++ (cuda::barrier, cuda::pipeline, cuda::std), cuRAND, mma. <cstdint>,
<cfloat>, <cmath>, <cstdio>, <cassert> and the like need no host: smemkit has them for NVRTC. The
other headers of C++ that make sense in a kernel (<limits>, <type_traits>, <tuple>, <array>, ...)
are those of libcu++.

Compiled PTX is cached on disk, in the folder that SMEMKIT_CACHE names, by default smemkit in
XDG_CACHE_HOME or ~/.cache. The key holds the source, the options, the compiler, the versions of its
headers, and the text of the user's own headers that the source includes. Sources whose inputs the
text does not tell (#include of a macro, __has_include, __DATE__, options that read files) are
compiled each time.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from .. import _core
from .._public import publish
from . import _cache, _headers
from ._dependencies import UnknownDependencies, find_headers
from ._expressions import add_expressions, take_names
from ._nvcc import compile_nvcc
from ._nvrtc import compile_nvrtc, describe_nvrtc, lacks_host, measure_nvrtc
from ._options import FILE_NAME, complete_options, list_folders, list_included
from ._toolchain import (
    PTXAS_VERSION,
    find_include_folders,
    find_nvcc,
    find_nvdisasm,
    find_nvrtc,
    find_ptxas,
    identify,
)
from ._usage import UnknownArchError, assemble_usage, choose_options, join_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Any

__all__ = [
    "ADVICE",
    "add_expressions",
    "take_names",
    "FILE_NAME",
    "PTXAS_VERSION",
    "UnknownArchError",
    "assemble_usage",
    "choose_options",
    "compile_by",
    "compile_nvcc",
    "compile_nvrtc",
    "compile_source",
    "compile_usage",
    "describe_cache",
    "find_nvcc",
    "find_nvdisasm",
    "find_nvrtc",
    "find_ptxas",
    "join_usage",
]

ADVICE = (
    "CUDA C needs a compiler, and neither NVRTC nor nvcc is found: "
    "pip install 'smemkit[nvrtc]', or install a CUDA toolkit and name its nvcc in SMEMKIT_NVCC "
    "or its folder in CUDA_HOME. PTX text needs none."
)
# Options that make a compiler read or write files which the key does not cover.
UNCACHED = re.compile(
    r"--?(?:time|fdevice-time-trace|pch|create-pch|use-pch|pch-dir|keep|save-temps|keep-dir|"
    r"optf|options-file|ccbin|compiler-bindir|dryrun|Xcompiler|compiler-options|odir|"
    r"dependency-output|MD|MF|MM|M)\b.*|@.*"
)
# Environment variables that nvcc and its host compiler read.
NVCC_ENVIRONMENT = """
NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
""".split()


def _make_key(
    nvrtc: Path | None, nvcc: Path | None, source: str, options: Sequence[str]
) -> str | None:
    """The cache's key for a compilation, or None where its inputs are not all known."""
    if any(UNCACHED.fullmatch(option) for option in options):
        return None
    compilers, system = [], []
    if nvrtc:
        system = find_include_folders(nvrtc)
        compilers += [identify(nvrtc), [*map(str, system)], _headers.collect_headers(system)]
    if nvcc:
        compilers += [identify(nvcc), {name: os.environ.get(name) for name in NVCC_ENVIRONMENT}]
    try:
        folders = [folder for folder in list_folders(options) if folder not in system]
        headers = find_headers(source, folders, list_included(options))
    except (UnknownDependencies, OSError):  # OSError: the present folder is gone
        return None
    texts = {str(path): text.hex() for path, text in headers.items()}
    names = [str(folder) for folder in folders]
    return _cache.make_key([compilers, source, options, names, texts])


def _compile(nvrtc: Path | None, nvcc: Any, source: str, options: Sequence[str]) -> tuple[str, str]:
    refusal = None
    if nvrtc:
        try:
            return compile_nvrtc(nvrtc, source, options), describe_nvrtc(nvrtc)
        except _core.CompileError as error:
            if not nvcc:
                raise
            refusal = error
    try:  # nvcc also finds the host's headers and types
        return compile_nvcc(nvcc, source, options), f"nvcc ({nvcc})"
    except _core.CompileError:
        if refusal and not lacks_host(
            str(refusal)
        ):  # the same errors, or an nvcc that does not work
            raise refusal from None
        raise


def compile_by(source: str, options: Iterable[str] = ()) -> tuple[str, str]:
    """As compile_source: (PTX, the compiler's name, which errors of the driver show)."""
    if "\0" in source:
        raise _core.CompileError("CUDA C with a NUL in it")
    nvrtc, nvcc = find_nvrtc(), find_nvcc()
    if not nvrtc and not nvcc:
        raise _core.CompileError(ADVICE)
    options = complete_options(options)
    cache = _cache.open_cache()
    key = _make_key(nvrtc, nvcc, source, options) if cache else None
    found = cache.read(key) if cache and key else None
    if found is None:
        found = _compile(nvrtc, nvcc, source, options)
        if cache and key:
            cache.write(key, *found)
    return found


def _measure_nvcc(nvcc: Path, source: str, options: Sequence[str], arch: str) -> dict[str, Any]:
    chosen, *rest = choose_options(options, arch)
    try:
        ptx = compile_nvcc(nvcc, source, [chosen.replace("sm_", "compute_"), *rest])
    except _core.CompileError as error:
        if "Unsupported gpu architecture" not in str(error):
            raise
        raise UnknownArchError(f"{nvcc} makes no code for it") from None
    ptxas = find_ptxas()
    if ptxas is None:
        raise UnknownArchError(f"there is no ptxas beside {nvcc}")
    return assemble_usage(ptxas, ptx, chosen.removeprefix("-arch=sm_"))


def _measure(
    nvrtc: Path | None, nvcc: Any, source: str, options: Sequence[str], arch: str
) -> dict[str, Any]:
    """The usage of each kernel, by NVRTC where it accepts the source, else by nvcc and ptxas."""
    refusal = None
    if nvrtc:
        try:
            return measure_nvrtc(nvrtc, source, options, arch)
        except (_core.CompileError, UnknownArchError) as error:
            ours = isinstance(error, _core.CompileError) and not lacks_host(str(error))
            if ours or not nvcc:
                raise
            refusal = error
    try:
        return _measure_nvcc(nvcc, source, options, arch)
    except UnknownArchError:
        if isinstance(refusal, UnknownArchError):
            raise refusal from None  # it lists what there is
        raise


def compile_usage(source: str, options: Sequence[str], arch: str) -> dict[str, Any]:
    """What the kernels of CUDA C take in machine code for an architecture, such as "86".

    Parameters
    ----------
    source : str
    options : sequence of str
        For the compiler; the architecture takes the place of an -arch of another one.
    arch : str

    Returns
    -------
    dict from the name in PTX to {"registers", "shared_bytes" (static), "barriers",
    "spill_store_bytes", "spill_load_bytes" (of instructions, once for each), "threads_max" (launch
    bounds, 0: none)}. It is cached on disk, as PTX is.

    Raises
    ------
    CompileError with the compiler's log, or with what to install where there is no compiler;
    UnknownArchError where it makes no code for that architecture.
    """
    nvrtc, nvcc = find_nvrtc(), find_nvcc()
    if not nvrtc and not nvcc:
        raise _core.CompileError(ADVICE)
    cache = _cache.open_cache()
    words = [
        *options,
        f"usage and spills for sm_{arch}",
    ]  # the last one keeps the key apart from PTX's
    key = _make_key(nvrtc, nvcc, source, words) if cache else None
    found = cache.read(key) if cache and key else None
    if found is not None:
        known: dict[str, Any] = json.loads(found[0])
        return known
    usage = _measure(nvrtc, nvcc, source, options, arch)
    if cache and key:
        cache.write(key, json.dumps(usage), "usage")
    return usage


def describe_cache() -> str:
    """What the cache of compiled kernels holds.

    Shapes
    ------
    None.

    Returns
    -------
    str: its folder, entries and size; "off" where there is none.

    Raises
    ------
    Nothing.

    Example
    -------
    >>> from smemkit import compile
    >>> isinstance(compile.describe_cache(), str)
    True
    """
    cache = _cache.open_cache()
    return cache.describe() if cache else "off"


def compile_source(source: str, options: Iterable[str] = ()) -> str:
    """Compile CUDA C to PTX with line information.

    Parameters
    ----------
    source : str
    options : sequence of str
        For the compiler. Without -arch it compiles for the present GPU, and at most for 9.0, which
        is what the simulator is.

    Shapes
    ------
    None.

    Returns
    -------
    str: the PTX, from the cache where it is known.

    Raises
    ------
    CompileError (RuntimeError) with the compiler's log, or with what to install where there is no
    compiler.

    Example
    -------
    >>> from smemkit import compile
    >>> ptx = compile.compile_source('extern "C" __global__ void nothing() {}')
    >>> ".visible .entry nothing" in ptx
    True
    """
    return compile_by(source, options)[0]


publish(__name__)
