"""ElementwiseKernel: an expression for each element, as a kernel of CUDA C."""

from __future__ import annotations

from typing import Any

import numpy

from . import _parameters
from ._array import ndarray
from ._parameters import Parameter, Types
from ._raw import RawKernel

WORDS = {"size", "block_size", "stream"}


class ElementwiseKernel:
    """A kernel that does the same for each element of its arrays, broadcast, as CuPy's.

    Parameters
    ----------
    in_params, out_params : str
        "T x, raw float32 y": a type of NumPy, or a letter for the type of the argument.
    operation : str
        CUDA C for one element; `i` is its number. `raw` parameters are indexed by hand.
    name : str
    reduce_dims, preamble, no_return, return_tuple, loop_prep, after_loop, options
        As of CuPy.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> axpy = cupy.ElementwiseKernel("T a, T x", "T y", "y += a * x", "axpy")
    >>> x, y = cupy.arange(3, dtype="float32"), cupy.ones(3, dtype="float32")
    >>> axpy(2, x, y).get().tolist()
    [1.0, 3.0, 5.0]
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        *,
        doc: str | None = None,
        loop_prep: str = "",
        after_loop: str = "",
        options: tuple[str, ...] = (),
        **words: Any,
    ) -> None:
        _parameters.check_name(name)
        self.in_params = _parameters.read_parameters(in_params)
        self.out_params = _parameters.read_parameters(out_params)
        self.params = self.in_params + self.out_params
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        if any(parameter.name == "i" for parameter in self.params):
            raise ValueError("Can not use 'i' as a parameter name")
        self.operation, self.name, self.preamble = operation, name, preamble
        self.no_return, self.return_tuple = no_return, return_tuple
        self.loop_prep, self.after_loop, self.options = loop_prep, after_loop, tuple(options)
        self.reduce_dims, self.__doc__ = reduce_dims, doc or type(self).__doc__
        self._cached_codes: dict[Any, str] = {}
        self._kernels: dict[Any, RawKernel] = {}

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The CUDA C that was made, by the types of the arguments."""
        return dict(self._cached_codes)

    @property
    def cached_code(self) -> str:
        """The CUDA C, where one was made."""
        if len(self._cached_codes) != 1:
            raise AttributeError("the kernel was made for several types, or for none: cached_codes")
        return next(iter(self._cached_codes.values()))

    def __call__(self, *args: Any, **words: Any) -> Any:
        size, block_size = words.get("size"), words.get("block_size", _parameters.BLOCK)
        if set(words) - WORDS:
            raise TypeError(f"Wrong arguments {words}")
        if block_size <= 0:
            raise ValueError("block_size must be greater than zero")
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name}: {len(args)}")
        values = [_parameters.read_argument(value) for value in args]
        given = values[self.nin :]
        if any(not isinstance(value, ndarray) for value in given):
            raise TypeError("Output arguments must be cupy.ndarray")
        types = _parameters.find_types(self.in_params, self.out_params, values[: self.nin], given)
        shape = self._find_shape(values, size)
        outs = self._make_outs(given, shape, types)
        if numpy.prod(shape, dtype=object) > 0:
            self._launch(values[: self.nin] + outs, shape, types, int(block_size))
        return self._give(outs)

    def _give(self, outs: list[ndarray]) -> Any:
        if self.no_return:
            return None
        if len(outs) == 1 and not self.return_tuple:
            return outs[0]
        return tuple(outs) if outs or self.return_tuple else None

    def _find_shape(self, values: list[Any], size: Any) -> tuple[int, ...]:
        shapes = [
            value.shape
            for parameter, value in zip(self.params, values, strict=False)
            if isinstance(value, ndarray) and not parameter.raw
        ]
        if shapes and size is not None:
            raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
        if size is not None:
            return (int(size),)
        if not shapes:
            raise ValueError("Loop size is undecided.")
        return numpy.broadcast_shapes(*shapes)

    def _make_outs(self, given: list[Any], shape: tuple[int, ...], types: Types) -> list[ndarray]:
        if given:
            for parameter, array in zip(self.out_params, given, strict=True):
                if not parameter.raw and array.shape != shape:
                    raise ValueError("Out shape is mismatched")
            return given
        if any(parameter.raw for parameter in self.out_params) and not shape:
            raise ValueError("Output array size is Undecided")
        return [ndarray(shape, types.get(parameter)) for parameter in self.out_params]

    def _launch(self, values: list[Any], shape: tuple[int, ...], types: Types, block: int) -> None:
        parts, packed, key = [], [], []
        for parameter, value in zip(self.params, values, strict=True):
            dtype = types.get(parameter)
            if isinstance(value, ndarray):
                if not parameter.raw and value.shape != shape:
                    host = numpy.broadcast_to(value._host, shape)
                    value = ndarray._view(value._memory, host)
                axes = value.ndim
                packed.append(_parameters.pack_array(value))
            else:
                axes = -1
                packed.append(_parameters.pack_scalar(value, dtype))
            parts.append((parameter, dtype, axes))
            key.append((dtype, axes))
        packed.append(_parameters.pack_indexer(shape))
        kernel = self._find_kernel((*key, len(shape)), parts, len(shape), types)
        count = int(numpy.prod(shape, dtype=object))
        kernel(((count + block - 1) // block,), (block,), packed)

    def _find_kernel(self, key: Any, parts: Any, axes: int, types: Types) -> RawKernel:
        if key not in self._kernels:
            code = self._write(parts, axes, types)
            self._cached_codes[key] = code
            self._kernels[key] = RawKernel(code, self.name, self.options)
        return self._kernels[key]

    def _write(self, parts: list[tuple[Parameter, Any, int]], axes: int, types: Types) -> str:
        heads, bodies = [], []
        for number, (parameter, dtype, rank) in enumerate(parts):
            kind = _parameters.name_type(dtype)
            is_out = number >= self.nin
            if rank < 0:
                heads.append(f"const {kind} {parameter.name}")
            elif parameter.raw:
                const = "" if is_out else "const "
                heads.append(f"const CArray<{const}{kind}, {rank}> {parameter.name}")
            else:
                const = "" if is_out else "const "
                heads.append(f"const CArray<{const}{kind}, {rank}> _raw_{parameter.name}")
                at = f"_raw_{parameter.name}[i]"
                reference = "&" if is_out else ""
                bodies.append(f"{const}{kind} {reference}{parameter.name} = {at};")
        heads.append(f"CIndexer<{max(axes, 1)}> _ind")
        lines = "\n        ".join(bodies)
        headers = _parameters.list_headers([dtype for _, dtype, _ in parts])
        return f"""{headers}{types.code}{self.preamble}
extern "C" __global__ void {self.name}({", ".join(heads)})
{{
    {self.loop_prep};
    for (ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x; i < _ind.size();
         i += (ptrdiff_t)blockDim.x * gridDim.x) {{
        _ind.set(i);
        {lines}
        {self.operation};
    }}
    {self.after_loop};
}}
"""
