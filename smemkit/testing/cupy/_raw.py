"""RawKernel and RawModule of CuPy, on those of smemkit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy

from ... import _core
from ._array import ndarray
from ._memory import Memory, MemoryPointer
from .cuda.compiler import CompileException, JitifyException, warn_of_jitify
from .cuda.driver import CUDADriverError

INCLUDE = Path(__file__).resolve().parent / "include"
OWN_WORDS = ("-dc", "--device-c", "-rdc=true", "--relocatable-device-code=true")
CUCOMPLEX = re.compile(r"#\s*include\s*[<\"]cuComplex\.h[>\"]")
MACHINE_CODE = (b"\x7fELF", b"\x50\xed\x55\xba")  # cubin, fatbin


def _complete_options(options: Any) -> tuple[str, ...]:
    kept = [word for word in options if word not in OWN_WORDS]
    return (*kept, f"-I{INCLUDE}")


def read_ints(lengths: Any, what: str) -> tuple[int, ...]:
    """Grid or block as a tuple of ints."""
    values = lengths if isinstance(lengths, tuple | list) else (lengths,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{what} has {len(values)} lengths; 1 to 3 are needed")
    return tuple(int(value) for value in values)


def convert_argument(value: Any, by_address: bool = True) -> Any:
    """An argument as smemkit's kernels take it; arrays are addresses, as on a GPU.

    Else arrays that are a whole allocation are passed as such: errors and findings then name them.
    """
    if isinstance(value, ndarray):
        whole = None if by_address else value._find_allocation()
        return value.data.ptr if whole is None else whole
    if isinstance(value, MemoryPointer):
        return value.ptr
    if isinstance(value, _core.DeviceArray):
        return value.pointer
    facts = getattr(value, "__cuda_array_interface__", None)
    if facts is not None:
        return facts["data"][0]
    if isinstance(value, numpy.ndarray) and value.ndim:
        raise TypeError(f"Unsupported type {type(value)}: use cupy.asarray first")
    if isinstance(value, numpy.bool_):
        return bool(value)
    if isinstance(value, numpy.void):
        return value.tobytes()
    if isinstance(value, numpy.ndarray):
        return value.tobytes() if value.dtype.names else value[()]
    if isinstance(value, complex):
        return numpy.complex128(value).tobytes()
    if isinstance(value, numpy.complexfloating):
        return value.tobytes()
    if isinstance(value, int | float | numpy.generic | bytes):
        return value
    raise TypeError(f"Unsupported type {type(value)}")


class RawModule:
    """A module of CUDA C or PTX, compiled when it is first needed, as CuPy's RawModule.

    Parameters
    ----------
    code : str, optional
    path : str, optional
        A file of PTX or CUDA C instead. Machine code (cubin, fatbin) needs a GPU.
    options : tuple of str
    backend : {"nvrtc", "nvcc"}
        Which compiler takes the text; here smemkit chooses, and finds both.
    translate_cucomplex, jitify : bool
        As of CuPy.
    enable_cooperative_groups : bool
    name_expressions : sequence of str, optional
        Instances of templates, and names of C++.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> module = cupy.RawModule(code='''
    ... template <typename T> __global__ void twice(T *x) { x[threadIdx.x] *= 2; }
    ... ''', name_expressions=["twice<float>"])
    >>> x = cupy.ones(4, dtype="float32")
    >>> module.get_function("twice<float>")((1,), (4,), (x,))
    >>> x.get().tolist()
    [2.0, 2.0, 2.0, 2.0]
    """

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Any = None,
        jitify: bool | None = None,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if path is not None and name_expressions is not None:
            raise ValueError("can't use name_expressions when loading from binaries.")
        if backend not in ("nvrtc", "nvcc"):
            raise ValueError(f"Invalid backend: {backend!r}")
        if name_expressions is not None and backend != "nvrtc":
            raise ValueError("only nvrtc supports retrieving the mangled names")
        if isinstance(options, str):
            raise TypeError("options must be a tuple of str")
        warn_of_jitify(jitify)
        self.code, self.file_path, self.options = code, path, tuple(options)
        self.backend, self.enable_cooperative_groups = backend, enable_cooperative_groups
        self.translate_cucomplex, self.jitify = translate_cucomplex, bool(jitify)
        self.name_expressions = None if name_expressions is None else tuple(name_expressions)
        self._made: _core.RawModule | None = None

    def __reduce__(self) -> Any:
        return _restore_module, ({**self.__dict__, "_made": None},)

    @property
    def module(self) -> _core.RawModule:
        """smemkit's module."""
        if self._made is None:
            self._made = self._compile()
        return self._made

    def _compile(self) -> _core.RawModule:
        words: dict[str, Any] = {
            "options": _complete_options(self.options),
            "enable_cooperative_groups": self.enable_cooperative_groups,
        }
        if self.name_expressions is not None:
            words["name_expressions"] = self.name_expressions
        code = self.code
        if code is not None and self.translate_cucomplex:
            code = CUCOMPLEX.sub("#include <cupy/cucomplex.cuh>", code)
        try:
            if self.file_path is None:
                return _core.RawModule(code, backend="sim", **words)
            _check_file(self.file_path)
            return _core.RawModule(path=self.file_path, backend="sim", **words)
        except _core.CompileError as error:
            kind = JitifyException if self.jitify else CompileException
            raise kind(str(error), self.code, "kernel.cu", self.options) from error

    def compile(self, log_stream: Any = None) -> None:
        """Compiles now; what the compiler says goes to log_stream."""
        module = self.module
        if log_stream is not None:
            from .cuda.compiler import read_log

            log_stream.write(read_log(self.code, _complete_options(self.options)))
        del module

    def get_function(self, name: str) -> RawKernel:
        """A kernel of the module."""
        try:
            kernel = self.module.get_function(name)
        except _core.ArgumentError as error:
            raise CUDADriverError(
                500, "CUDA_ERROR_NOT_FOUND", f"named symbol not found: {error}"
            ) from None
        return RawKernel._of_module(self, name, kernel)

    def get_global(self, name: str) -> MemoryPointer:
        """A pointer to a variable of the module."""
        try:
            array = self.module.get_global(name, numpy.uint8, "sim")
        except _core.ArgumentError as error:
            raise CUDADriverError(
                500, "CUDA_ERROR_NOT_FOUND", f"named symbol not found: {error}"
            ) from None
        return MemoryPointer(Memory(array.nbytes, array), 0)

    def get_texref(self, name: str) -> Any:
        """Refused: CUDA has no texture references any more."""
        raise NotImplementedError(
            "smemkit's stand-in of CuPy has no RawModule.get_texref: CUDA 12 took texture "
            "references away; pass a texture object"
        )


def _check_file(path: str) -> None:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise CUDADriverError(301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found") from None
    if start in MACHINE_CODE:
        raise NotImplementedError(
            f"smemkit's stand-in of CuPy runs PTX and CUDA C; {path} is machine code of a GPU"
        )


def _restore_module(state: dict[str, Any]) -> RawModule:
    made = RawModule.__new__(RawModule)
    made.__dict__.update(state)
    return made


class RawKernel:
    """A kernel of CUDA C, compiled when it is first needed, as CuPy's RawKernel.

    Parameters are those of RawModule, with the kernel's name behind the code.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> count = cupy.RawKernel(r'''
    ... extern "C" __global__ void count(int *x, int n) { if (threadIdx.x < n) x[threadIdx.x]++; }
    ... ''', "count")
    >>> x = cupy.zeros(4, dtype=cupy.int32)
    >>> count((1,), (32,), (x, cupy.int32(3)))
    >>> x.get().tolist()
    [1, 1, 1, 0]
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        warn_of_jitify(jitify)
        self._module = RawModule(
            code,
            options=options,
            backend=backend,
            translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups,
        )
        self._module.jitify = bool(jitify)
        self.name = name
        self._kernel: _core.RawKernel | None = None
        self._dynamic_bytes: int | None = None

    @classmethod
    def _of_module(cls, module: RawModule, name: str, kernel: Any) -> RawKernel:
        made = cls.__new__(cls)
        made._module, made.name, made._kernel, made._dynamic_bytes = module, name, kernel, None
        return made

    def __reduce__(self) -> Any:
        return _restore_kernel, (self._module, self.name)

    @property
    def kernel(self) -> _core.RawKernel:
        """smemkit's kernel, which profile and check take."""
        if self._kernel is None:
            self._kernel = self._module.get_function(self.name)._kernel
        assert self._kernel is not None
        return self._kernel

    def __call__(
        self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None
    ) -> None:
        lengths = read_ints(grid, "grid"), read_ints(block, "block")
        words: dict[str, Any] = {"shared_mem": int(shared_mem), "backend": "sim"}
        named = tuple(convert_argument(value, by_address=False) for value in args)
        try:
            self.kernel(*lengths, named, **words)
        except _core.ArgumentTypeError:  # elements of another type, which CuPy does not look at
            plain = tuple(convert_argument(value) for value in args)
            self.kernel(*lengths, plain, **words)

    def compile(self, log_stream: Any = None) -> None:
        """Compiles now; what the compiler says goes to log_stream."""
        self._module.compile(log_stream)
        self.kernel  # noqa: B018  (found, or an error)

    code = property(lambda self: self._module.code)
    options = property(lambda self: self._module.options)
    backend = property(lambda self: self._module.backend)
    file_path = property(lambda self: self._module.file_path)
    enable_cooperative_groups = property(lambda self: self._module.enable_cooperative_groups)

    @property
    def attributes(self) -> dict[str, int]:
        """What CUDA tells of a kernel; the registers are those of ptxas where it is installed."""
        facts: dict[str, Any] = dict(self.kernel.attributes)
        registers = facts["num_regs"] or self._count_registers()
        return {
            "max_threads_per_block": facts["max_threads_per_block"],
            "shared_size_bytes": facts["shared_size_bytes"],
            "const_size_bytes": facts["const_size_bytes"],
            "local_size_bytes": facts["local_size_bytes"],
            "num_regs": registers,
            "ptx_version": facts["ptx_version"],
            "binary_version": facts["binary_version"] or 90,
            "cache_mode_ca": 0,
            "max_dynamic_shared_size_bytes": self.max_dynamic_shared_size_bytes,
            "preferred_shared_memory_carveout": self.preferred_shared_memory_carveout,
        }

    def _count_registers(self) -> int:
        try:
            return int(_core.occupancy(self.kernel, block=32)[0] and 32)
        except _core.Error:
            return 32

    max_threads_per_block = property(lambda self: self.attributes["max_threads_per_block"])
    shared_size_bytes = property(lambda self: self.attributes["shared_size_bytes"])
    const_size_bytes = property(lambda self: self.attributes["const_size_bytes"])
    local_size_bytes = property(lambda self: self.attributes["local_size_bytes"])
    num_regs = property(lambda self: self.attributes["num_regs"])
    ptx_version = property(lambda self: self.attributes["ptx_version"])
    binary_version = property(lambda self: self.attributes["binary_version"])
    cache_mode_ca = property(lambda self: 0)

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """So many bytes a launch may ask for; smemkit raises the limit by itself."""
        if self._dynamic_bytes is not None:
            return self._dynamic_bytes
        return 49152 - int(self.kernel.attributes["shared_size_bytes"])

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        self._dynamic_bytes = int(size)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """As of smemkit's kernel."""
        return self.kernel.preferred_shared_memory_carveout

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, percent: int) -> None:
        self.kernel.preferred_shared_memory_carveout = percent


def _restore_kernel(module: RawModule, name: str) -> RawKernel:
    return RawKernel._of_module(module, name, None)
