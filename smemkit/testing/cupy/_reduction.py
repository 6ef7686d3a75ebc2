"""ReductionKernel: expressions for elements, pairs and results, as a kernel of CUDA C."""

from __future__ import annotations

from typing import Any

import numpy

from . import _parameters
from ._array import ndarray
from ._parameters import Types
from ._raw import RawKernel

BLOCK_MAX = 256


class ReductionKernel:
    """A kernel that reduces arrays along axes, as CuPy's: one block for each result.

    Parameters
    ----------
    in_params, out_params : str
        As of ElementwiseKernel.
    map_expr : str
        What is made of the elements of one place.
    reduce_expr : str
        What is made of two values `a` and `b`.
    post_map_expr : str
        What is done with the last one, `a`.
    identity : str or None
        The value of nothing.
    name, reduce_type, reduce_dims, preamble, options
        As of CuPy.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> length = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
    >>> length(cupy.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1).get().tolist()
    [5.0, 10.0]
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: tuple[str, ...] = (),
        **words: Any,
    ) -> None:
        _parameters.check_name(name)
        self.in_params = _parameters.read_parameters(in_params)
        self.out_params = _parameters.read_parameters(out_params)
        self.params = self.in_params + self.out_params
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        self.identity = None if identity is None or identity == "" else str(identity)
        self.name, self.reduce_type, self.preamble = name, reduce_type, preamble
        self.options, self.reduce_dims = tuple(options), reduce_dims
        self._cached_codes: dict[Any, str] = {}
        self._kernels: dict[Any, RawKernel] = {}

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The CUDA C that was made, by the types of the arguments."""
        return dict(self._cached_codes)

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        axis: Any = None,
        keepdims: bool = False,
        stream: Any = None,
    ) -> Any:
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name}: {len(args)}")
        values = [_parameters.read_argument(value) for value in args[: self.nin]]
        given = list(args[self.nin :])
        if out is not None:
            if given or self.nout != 1:
                raise ValueError("cannot specify 'out' as both a positional and keyword argument")
            given = [out]
        types = _parameters.find_types(self.in_params, self.out_params, values, given)
        shape = self._find_shape(values)
        axes = _read_axes(axis, len(shape))
        kept = [number for number in range(len(shape)) if number not in axes]
        result_shape = tuple(shape[number] for number in kept)
        full = tuple(1 if number in axes else length for number, length in enumerate(shape))
        outs = given or [
            ndarray(full if keepdims else result_shape, types.get(one)) for one in self.out_params
        ]
        for array in outs:
            if array.shape != (full if keepdims else result_shape):
                raise ValueError("Out shape is mismatched")
        reduced = tuple(shape[number] for number in axes)
        self._reduce(values, outs, kept + axes, shape, result_shape, reduced, types)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _find_shape(self, values: list[Any]) -> tuple[int, ...]:
        shapes = [
            value.shape
            for parameter, value in zip(self.in_params, values, strict=True)
            if isinstance(value, ndarray) and not parameter.raw
        ]
        if not shapes:
            raise ValueError("Loop size is undecided.")
        return numpy.broadcast_shapes(*shapes)

    def _reduce(
        self,
        values: list[Any],
        outs: list[ndarray],
        order: list[int],
        shape: tuple[int, ...],
        result_shape: tuple[int, ...],
        reduced: tuple[int, ...],
        types: Types,
    ) -> None:
        results = int(numpy.prod(result_shape, dtype=object))
        length = int(numpy.prod(reduced, dtype=object))
        if length == 0 and self.identity is None:
            raise ValueError(
                f"zero-size array to reduction operation {self.name} which has no identity"
            )
        if results == 0:
            return
        packed, parts = [], []
        for parameter, value in zip(self.in_params, values, strict=True):
            dtype = types.get(parameter)
            if not isinstance(value, ndarray):
                parts.append((parameter, dtype, -1))
                packed.append(_parameters.pack_scalar(value, dtype))
                continue
            if not parameter.raw:
                host = numpy.broadcast_to(value._host, shape).transpose(order)
                value = ndarray._view(value._memory, host)
            parts.append((parameter, dtype, value.ndim))
            packed.append(_parameters.pack_array(value))
        for parameter, array in zip(self.out_params, outs, strict=True):
            flat = ndarray._view(array._memory, array._host)
            parts.append((parameter, types.get(parameter), flat.ndim))
            packed.append(_parameters.pack_array(flat))
        packed.append(_parameters.pack_indexer(tuple(shape[number] for number in order)))
        packed.append(_parameters.pack_indexer(result_shape))
        block = min(BLOCK_MAX, max(32, 1 << max(length - 1, 0).bit_length()))
        key = (*((dtype, rank) for _, dtype, rank in parts), len(shape), len(result_shape), block)
        if key not in self._kernels:
            code = self._write(parts, len(shape), len(result_shape), block, types)
            short = tuple((dtype, rank) for _, dtype, rank in parts)
            self._cached_codes[short] = code
            self._kernels[key] = RawKernel(code, self.name, self.options)
        self._kernels[key]((results,), (block,), packed)

    def _write(self, parts: Any, axes: int, out_axes: int, block: int, types: Types) -> str:
        heads, ins, outs = [], [], []
        for number, (parameter, dtype, rank) in enumerate(parts):
            kind, name = _parameters.name_type(dtype), parameter.name
            if rank < 0:
                heads.append(f"const {kind} {name}")
            elif number >= self.nin:
                heads.append(f"const CArray<{kind}, {rank}> _raw_{name}")
                outs.append(f"{kind} &{name} = _raw_{name}[_i];")
            elif parameter.raw:
                heads.append(f"const CArray<const {kind}, {rank}> {name}")
            else:
                heads.append(f"const CArray<const {kind}, {rank}> _raw_{name}")
                ins.append(f"const {kind} {name} = _raw_{name}[_i * _length + _j];")
        heads += [f"CIndexer<{max(axes, 1)}> _in_ind", f"CIndexer<{max(out_axes, 1)}> _out_ind"]
        kind = self.reduce_type or _parameters.name_type(parts[self.nin][1])
        headers = _parameters.list_headers([dtype for _, dtype, _ in parts])
        first = f"_type_reduce _s({self.identity}); bool _any = true;"
        if self.identity is None:
            first = "_type_reduce _s = _type_reduce(); bool _any = false;"
        lines_in, lines_out = "\n        ".join(ins), "\n        ".join(outs)
        return f"""{headers}{types.code}{self.preamble}
typedef {kind} _type_reduce;
static __device__ _type_reduce _reduce(const _type_reduce &a, const _type_reduce &b)
{{
    return _type_reduce({self.reduce_expr});
}}
extern "C" __global__ void {self.name}({", ".join(heads)})
{{
    __shared__ alignas(_type_reduce) char _space[{block} * sizeof(_type_reduce)];
    __shared__ bool _filled[{block}];
    _type_reduce *_values = (_type_reduce *)_space;
    const ptrdiff_t _i = blockIdx.x, _length = _in_ind.size() / _out_ind.size();
    {first}
    for (ptrdiff_t _j = threadIdx.x; _j < _length; _j += blockDim.x) {{
        const ptrdiff_t i = _i * _length + _j;
        _in_ind.set(i);
        {lines_in}
        const _type_reduce _a = static_cast<_type_reduce>({self.map_expr});
        _s = _any ? _reduce(_s, _a) : _a;
        _any = true;
    }}
    _values[threadIdx.x] = _s;
    _filled[threadIdx.x] = _any;
    __syncthreads();
    for (int _half = {block // 2}; _half > 0; _half /= 2) {{
        if (threadIdx.x < _half && _filled[threadIdx.x + _half]) {{
            _values[threadIdx.x] = _filled[threadIdx.x]
                ? _reduce(_values[threadIdx.x], _values[threadIdx.x + _half])
                : _values[threadIdx.x + _half];
            _filled[threadIdx.x] = true;
        }}
        __syncthreads();
    }}
    if (threadIdx.x == 0) {{
        _out_ind.set(_i);
        {lines_out}
        _type_reduce &a = _values[0];
        {self.post_map_expr};
    }}
}}
"""


def _read_axes(axis: Any, rank: int) -> list[int]:
    """The axes along which is reduced, in order."""
    if axis is None:
        return list(range(rank))
    axes = numpy.lib.array_utils.normalize_axis_tuple(axis, rank)
    return sorted(axes)


class SimpleReduction:
    """A reduction for several types, as CuPy's create_reduction_func makes one."""

    def __init__(self, name: str, rules: Any, routine: Any, identity: Any) -> None:
        self.name = name
        self._kernels: dict[Any, ReductionKernel] = {}
        self._rules: list[Any] = []
        for rule in rules:
            types, own = rule if isinstance(rule, tuple) else (rule, routine)
            given, _, made = types.partition("->")
            self._rules.append((numpy.dtype(given), numpy.dtype(made), own, identity))

    @property
    def _cached_codes(self) -> dict[Any, str]:
        return {
            (dtype, *key): code
            for dtype, kernel in self._kernels.items()
            for key, code in kernel._cached_codes.items()
        }

    def __call__(
        self, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **words: Any
    ) -> Any:
        if not isinstance(a, ndarray) and isinstance(a, numpy.ndarray):
            raise TypeError("Argument 'a' has incorrect type (expected cupy.ndarray)")
        a = _parameters.read_argument(a)
        for given, made, (map_expr, reduce_expr, post_expr, kind), identity in self._rules:
            if numpy.can_cast(a.dtype, given):
                kernel = self._kernels.setdefault(
                    given,
                    ReductionKernel(
                        f"{given} in0", f"{made} out0", map_expr, reduce_expr, post_expr,
                        identity, self.name, kind,
                    ),
                )  # fmt: skip
                return kernel(a.astype(given, copy=False), axis=axis, out=out, **words)
        raise TypeError(f"{self.name} takes no elements of {a.dtype}")
