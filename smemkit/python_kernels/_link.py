"""PTX of Numba's kernels without a driver, with the CUDA C that belongs to Numba itself."""

from __future__ import annotations

import contextlib
import importlib
import re
import types
from typing import TYPE_CHECKING

from ..compile import compile_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

EXTERN = re.compile(r"^\.extern \.func\s*(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)
# Functions that every machine has.
SYSTEM = {"vprintf", "__assertfail", "malloc", "free"}
# cuda.cg.this_grid().sync(): functions of CUDA's device runtime, by its cooperative groups.
GRID = "cudaCGGetIntrinsicHandle"
GRID_SOURCE = f"""
#include <cooperative_groups.h>
extern "C" __device__ unsigned long long {GRID}(enum cudaCGScope)
{{
    return 0;
}}
extern "C" __device__ cudaError_t cudaCGSynchronize(unsigned long long, unsigned)
{{
    cooperative_groups::this_grid().sync();
    return cudaSuccess;
}}
"""
HEAD = re.compile(r"^\s*\.(?:version|target|address_size|loc|file)\b.*\n", re.MULTILINE)


def _compile_source(source: str | bytes, _name: str, cc: tuple[int, int], **_: Any) -> Any:
    """CUDA C to PTX, in place of Numba's NVRTC, which wants a driver: (PTX, log)."""
    text = source.decode() if isinstance(source, bytes) else source
    return compile_source(text, [f"-arch=compute_{cc[0]}{cc[1]}", "-rdc=true"]), ""


@contextlib.contextmanager
def _replace_driver(arch: int) -> Iterator[None]:
    """Lets Numba compile for an architecture where it asks the driver for the present GPU's.

    Its dispatcher does so for functions with @cuda.jit(device=True), and lines of these are kept
    too; its NVRTC for CUDA C that belongs to Numba. No other thread compiles meanwhile: Numba has
    one lock for all compilations.
    """
    compiler: Any = importlib.import_module("numba.cuda.compiler")
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
    kept = {name: getattr(dispatcher, name) for name in ("get_current_device", "compile_cuda")}
    device = types.SimpleNamespace(compute_capability=divmod(arch, 10))

    def compile_with_lines(*args: Any, **words: Any) -> Any:
        words["lineinfo"] = not words.get("debug")
        return kept["compile_cuda"](*args, **words)

    nvrtc = compiler.nvrtc
    with compiler.global_compiler_lock:
        compiler.nvrtc = types.SimpleNamespace(compile=_compile_source)
        dispatcher.get_current_device = lambda: device
        dispatcher.compile_cuda = compile_with_lines
        try:
            yield
        finally:
            compiler.nvrtc = nvrtc
            for name, value in kept.items():
                setattr(dispatcher, name, value)


def _join(ptx: str, others: list[str]) -> str:
    """One module of a kernel's PTX and that of functions which it calls."""
    names = {name for name in EXTERN.findall(ptx) if name not in SYSTEM}
    ptx = re.sub(
        r"^\.extern (\.func\s*(?:\([^)]*\)\s*)?)([\w$]+)",
        lambda found: found[0] if found[2] not in names else found[1] + found[2],
        ptx,
        flags=re.MULTILINE,
    )
    parts = [re.sub(r"^\.visible \.func", ".func", one, flags=re.MULTILINE) for one in others]
    bodies = [HEAD.sub("", one.partition("\t.section")[0]) for one in parts]
    end = re.search(r"^\s*\.(?:file|section)\b", ptx, re.MULTILINE)
    at = end.start() if end else len(ptx)
    return "\n".join([ptx[:at], *bodies, ptx[at:]])


def compile_kernel(
    cuda: Any, function: Any, given: tuple[Any, ...], arch: int, options: dict[str, Any]
) -> tuple[str, bool]:
    """The PTX of a kernel for those types, and whether its blocks wait for each other."""
    words = {"device": False, "cc": divmod(arch, 10), "abi": "numba", **options}
    with _replace_driver(arch):
        ptx: str = cuda.compile_ptx(function, given, **words)[0]
        called = set(EXTERN.findall(ptx)) - SYSTEM
        if not called:
            return ptx, False
        others = cuda.compile_all(function, given, output="ptx", **words)[0][1:]
    others = [code for code in others if isinstance(code, str)]
    if GRID in called:
        others.append(_compile_source(GRID_SOURCE, "", words["cc"])[0])
    return _join(ptx, others), GRID in called
