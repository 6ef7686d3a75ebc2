"""CudaKernel: a kernel under test, compiled, launched, compared, checked and counted."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from .. import _core
from ..report import check, profile
from ..report.counts import read_condition
from . import _messages
from ._copies import copy_arguments

if TYPE_CHECKING:
    from ..report import CheckReport, Counters, Report

checks: collections.Counter[str] = collections.Counter()  # {kernel: its launches that were checked}


class KernelFailure(AssertionError):
    """A kernel under test does not do what its test expects; the text says where and what.

    Example
    -------
    >>> from smemkit.testing import KernelFailure
    >>> issubclass(KernelFailure, AssertionError)
    True
    """


class KernelRun:
    """One launch of a kernel under test that did all that was expected of it.

    Attributes
    ----------
    args : tuple
        The arguments; its arrays hold what the kernel has written.
    checked : CheckReport or None
        What check found: nothing. None with check=False.
    profiled : Report or None
        The counts, where there were claims.

    Example
    -------
    >>> import numpy
    >>> from smemkit.testing import CudaKernel
    >>> twice = CudaKernel(code='''
    ... extern "C" __global__ void twice(const int *x, int *y)
    ... {
    ...     y[threadIdx.x] = 2 * x[threadIdx.x];
    ... }
    ... ''')
    >>> x, y = numpy.arange(32, dtype="int32"), numpy.zeros(32, dtype="int32")
    >>> run = twice(1, 32, (x, y), claims=["global.load.sectors = 4"])
    >>> run.counters["global.store.sectors"], int(run.args[1][31])
    (4, 62)
    """

    args: tuple[Any, ...]
    checked: CheckReport | None
    profiled: Report | None

    def __init__(
        self, args: tuple[Any, ...], checked: CheckReport | None, profiled: Report | None
    ) -> None:
        self.args, self.checked, self.profiled = args, checked, profiled

    @property
    def counters(self) -> Counters:
        """The counters of the launch. Raises ArgumentError where it was launched without claims."""
        if self.profiled is None:
            raise _core.ArgumentError(
                "the launch was not counted: give it claims=[...], or claims=() for counts alone"
            )
        return self.profiled.counters


class CudaKernel:
    """A kernel of a `.cu` file (or of text) under test; the fixture cuda_kernel makes it.

    Parameters
    ----------
    path : str or path, optional
        A file of CUDA C or PTX. Headers beside it are found. In tests it is relative to the test's
        file.
    name : str, optional
        The kernel, as in CUDA C: "scale", or "scale<float>" for an instance of a template. It may
        be left out where the file has one kernel alone.
    code : str, optional
        The text instead of a file.
    options : sequence of str
        For the compiler, as of RawModule.

    A call launches the kernel, kernel(grid, block, args, ...), and raises KernelFailure, an
    AssertionError, where something is not as expected:

    expected
        What an array holds after the launch: an array or a scalar, or a function of the arguments
        as they were before, for the last array among args. A dict from the number of an argument to
        such a value names other arrays.
    claims : sequence of str
        Conditions on counters, "shared.load.conflicts = 0", as Report.holds takes them; a text of
        several lines is a claim a line. None, the default: nothing is counted.
    check : bool
        Whether smemkit.check must find nothing, True by default; ignore_same_value is that of
        check. False leaves it to --smemkit-check.
    rtol, atol : float
        As of numpy.isclose. By default floats may differ by 16 units in the last place, and
        integers not at all.
    shared_mem, backend
        As of RawKernel. Claims and check run on the simulator, on copies of the arrays where the
        launch itself runs on a GPU.

    Returns a KernelRun.

    Example
    -------
    >>> import numpy
    >>> from smemkit.testing import CudaKernel, KernelFailure
    >>> scale = CudaKernel(code='''
    ... extern "C" __global__ void scale(const float *x, float *y, float a, int n)
    ... {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n)
    ...         y[i] = a * x[i];
    ... }
    ... ''')
    >>> x, y = numpy.ones(1000, dtype="float32"), numpy.zeros(1000, dtype="float32")
    >>> run = scale(4, 256, (x, y, 3.0, 1000), expected=lambda x, y, a, n: a * x)
    >>> try:
    ...     scale(4, 256, (x, y, 3.0, 999), expected=2.0)
    ... except KernelFailure as failure:
    ...     print(failure)
    scale: y (args[1]) is not what was expected
        1,000 of 1,000 elements differ
        the first at [0]: 3.0, expected 2.0
        the largest difference is 1
    """

    name: str
    path: Path | None
    kernel: _core.RawKernel
    module: _core.RawModule

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        code: str | None = None,
        options: Sequence[str] = (),
    ) -> None:
        if (path is None) == (code is None):
            raise _core.ArgumentTypeError("CudaKernel takes a path or code=, and one of them alone")
        template = [name] if name is not None and "<" in name else None
        self.path = None if path is None else Path(path)
        self.module = _core.RawModule(
            code, path=path, options=tuple(options), name_expressions=template
        )
        if name is None:
            names = self.module.kernels
            if len(names) != 1:
                raise _core.ArgumentError(
                    f"{path or 'the code'} has {len(names)} kernels; name one: "
                    f"{', '.join(names) or 'none is there'}"
                )
            name = names[0]
        self.kernel = self.module.get_function(name)
        self.name = name

    def __repr__(self) -> str:
        place = f" of {self.path}" if self.path else ""
        return f"<CudaKernel {self.name}{place}>"

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: Iterable[Any],
        *,
        expected: Any = None,
        claims: str | Iterable[str] | None = None,
        check: bool = True,
        ignore_same_value: bool = False,
        rtol: float | None = None,
        atol: float = 0.0,
        shared_mem: int = 0,
        backend: Any = None,
    ) -> KernelRun:
        __tracebackhide__ = True
        args = tuple(args)
        conditions = _list_claims(claims)
        wanted = self._list_expected(expected, args)
        before = copy_arguments(args) if wanted else args
        words: dict[str, Any] = {"shared_mem": shared_mem}
        profiled = None
        if conditions is not None:
            profiled = call_plainly(
                profile, self.kernel, grid, block, copy_arguments(args), **words
            )
        on_gpu = self._runs_on_gpu(backend, args)
        checked = None
        if check:  # on the simulator the launch that is checked is the launch itself
            given = copy_arguments(args) if on_gpu else args
            checked = self._check(grid, block, given, ignore_same_value, words)
        if not check or on_gpu:
            call_plainly(self.kernel, grid, block, args, backend=backend, **words)
        for number, value in wanted.items():
            self._compare(number, value, args, before, rtol, atol)
        for claim in conditions or ():
            if profiled is not None and not self._holds(profiled, claim):
                self._fail("a claim does not hold", _messages.explain_claim(profiled, claim))
        return KernelRun(args, checked, profiled)

    def _runs_on_gpu(self, backend: Any, args: tuple[Any, ...]) -> bool:
        for value in args:
            if isinstance(value, _core.DeviceArray):
                return value.backend == "cuda"
        return (_core.get_backend() if backend in (None, "auto") else backend) == "cuda"

    def _fail(self, what: str, lines: Sequence[str]) -> None:
        __tracebackhide__ = True
        place = f"{self.path.name}: " if self.path else ""
        raise KernelFailure(f"{place}{self.name}: {what}\n{_messages.indent(lines)}")

    def _holds(self, report: Report, claim: str) -> bool:
        name, _, _ = read_condition(claim)
        return report.counters[name] is not None and bool(report.holds(claim))

    def _check(
        self, grid: Any, block: Any, args: Any, ignore_same_value: bool, words: dict[str, Any]
    ) -> CheckReport:
        __tracebackhide__ = True
        words = {**words, "ignore_same_value": ignore_same_value}
        report: CheckReport = call_plainly(check, self.kernel, grid, block, args, **words)
        checks[self.kernel.name] += 1
        if not report:
            self._fail("check found faults", str(report).splitlines())
        return report

    def _list_expected(self, expected: Any, args: tuple[Any, ...]) -> dict[int, Any]:
        """{the number of an argument: what it must hold}."""
        arrays = [number for number, value in enumerate(args) if _is_array(value)]
        if expected is None:
            return {}
        if not isinstance(expected, Mapping):
            if not arrays:
                raise _core.ArgumentError("expected is given, and there is no array among args")
            return {arrays[-1]: expected}
        for number in expected:
            if number not in arrays:
                raise _core.ArgumentError(
                    f"expected has a value for args[{number!r}], which is no array; arrays are "
                    f"{', '.join(f'args[{one}]' for one in arrays) or 'none'}"
                )
        return dict(expected)

    def _compare(
        self,
        number: int,
        value: Any,
        args: tuple[Any, ...],
        before: tuple[Any, ...],
        rtol: float | None,
        atol: float,
    ) -> None:
        __tracebackhide__ = True
        if callable(value):
            value = value(*before)
        lines = _messages.compare_arrays(_to_numpy(args[number]), _to_numpy(value), rtol, atol)
        if lines is not None:
            name = _messages.name_argument(self.kernel.source, self.kernel.name, number)
            self._fail(f"{name} is not what was expected", lines)


def call_plainly(function: Callable[..., Any], *args: Any, **words: Any) -> Any:
    """Calls it; an error is shown at the test's line, without those of smemkit behind it."""
    __tracebackhide__ = True
    try:
        return function(*args, **words)
    except _core.Error as error:
        raise error.with_traceback(None) from error.__cause__


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray | _core.DeviceArray)


def _to_numpy(value: Any) -> Any:
    return _core.asnumpy(value) if isinstance(value, _core.DeviceArray) else numpy.asarray(value)


def _list_claims(claims: str | Iterable[str] | None) -> list[str] | None:
    __tracebackhide__ = True
    if claims is None:
        return None
    lines = claims.splitlines() if isinstance(claims, str) else list(claims)
    lines = [_normalize(line) for line in lines if line.strip()]
    for line in lines:
        call_plainly(read_condition, line)  # a wrong one is refused before anything is launched
    return lines


def _normalize(claim: str) -> str:
    """ "a = 0", as headers of kernels write it, is "a == 0"."""
    words = claim.split()
    return " ".join("==" if word == "=" else word for word in words)
