"""The commands profile and check, for kernels of the package or of a file."""

from __future__ import annotations

import argparse
import inspect
import json
import math
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy

import smemkit

from .. import report
from ..bench import workloads
from ..bench.families import find_class
from ..predict import planning
from ..report import counts, html
from ..report.capture import ORDERS
from . import suite, suite_file
from .errors import UsageError
from .kernel_arguments import (
    FORMS,
    make_argument,
    make_random,
    parse_lengths,
    read_dtype,
    read_number,
    say_type,
)
from .options import (
    Parser,
    add_backend,
    add_save,
    add_seed,
    check_endings,
    output_file,
    output_or_stdout,
    suggest,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from .._types import Backend, Order
    from ..bench.types import DType
    from ._types import Commands

    Condition = tuple[str, str, float]  # counter, operator, number
    Setting = str | float | tuple[float, ...]

WIDEST = 8  # bytes of an element as it is drawn

Done = TypeVar("Done", report.Report, report.CheckReport)


class Unjudged(UsageError):
    """Conditions without an answer, because the kernel did not run; exit status 2."""


class CallOptions(argparse.Namespace):
    """The options that say what is called."""

    command: str
    what: str
    variant: str
    shape: str
    dtype: str
    set: list[str]
    kernel: str | None
    grid: str | None
    block: str | None
    arg: list[str]
    shared_mem: int
    option: list[str]
    blocks: int | None
    backend: Backend | None
    seed: int
    json: str | None
    of_a_family: dict[str, object]  # from option to its value by default
    of_a_file: dict[str, object]


class Options(CallOptions):
    """The command line of both commands."""

    html: str | None
    junit: str | None
    sarif: str | None
    save: list[str]


class ProfileOptions(Options):
    """The command line of `smemkit profile`."""

    fail_on: list[str]
    as_written: bool
    device: str | None
    baseline: str | None
    update: bool


class CheckOptions(Options):
    """The command line of `smemkit check`."""

    ignore_same_value: bool
    order: Order
    padding: int


class Call(NamedTuple):
    """What is profiled or checked: a function, or a kernel, and what it is called with."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    keywords: dict[str, Any]


class _OptionGroup:
    """Options of a parser that apply to one kind of what is run; usual: their values by default."""

    def __init__(self, parser: Parser, title: str) -> None:
        self.group = parser.add_argument_group(title)
        self.usual: dict[str, object] = {}

    def add(self, *words: str, **keywords: Any) -> None:
        option = self.group.add_argument(*words, **keywords)
        self.usual[option.dest] = option.default


def add_commands(commands: Commands) -> None:
    """Adds profile and check to the subparsers of the main parser."""
    parser = _add_command(
        commands,
        "profile",
        "count bank conflicts, sectors, divergence by source line, and advise",
    )
    _add_profile_options(parser)
    parser.set_defaults(run=run_profile)
    parser = _add_command(
        commands,
        "check",
        "look for races, missing barriers, accesses out of bounds and of uninitialised memory",
    )
    _add_check_options(parser)
    parser.set_defaults(run=run_check)


def _add_command(commands: Commands, name: str, words: str) -> Parser:
    """The parser of a command, with the options that both have."""
    parser = commands.add_parser(
        name,
        help=words,
        description=f"{words}; on the simulator, no GPU needed",
        epilog=f"{FORMS}\n{suite_file.FORM}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "what",
        help="a family (gemm), a kernel of it (gemm/tiled), a file (kernel.cu, kernel.ptx), or a "
        "folder with a smemkit.toml",
    )
    add_call_options(parser)
    parser.add_argument("--blocks", type=whole(1), help="watch only so many blocks of each launch")
    add_backend(parser, "cuda: measured time beside the counts (profile)")
    add_seed(parser, 0, "of random values (default: 0)")
    parser.add_argument(
        "--json",
        type=output_or_stdout,
        metavar="FILE",
        help="write it as JSON; - is standard output",
    )
    parser.add_argument("--html", type=output_file, metavar="FILE", help="write it as a page")
    parser.add_argument(
        "--junit",
        type=output_file,
        metavar="FILE",
        help="write it as JUnit XML, a test case a launch (or claim), for services that run tests",
    )
    parser.add_argument(
        "--sarif",
        type=output_file,
        metavar="FILE",
        help="write what is wrong as SARIF 2.1.0, by line, for code hosts and editors",
    )
    add_save(
        parser,
        "keep the report: x.html is a page, x.json is read by `smemkit compare` and "
        "smemkit.load_report (repeatable)",
    )
    return parser


def add_call_options(parser: Parser) -> None:
    """Adds the options that say what is called, for make_call."""
    family = _OptionGroup(parser, "of a family")
    family.add("--variant", default="auto", help="default: the fastest")
    family.add(
        "--shape",
        default="256",
        help="lengths in the order of the family's signature (gemm: m,k,n); one number: all "
        "the same (default: 256)",
    )
    family.add("--dtype", default="float32", help="element type (default: float32)")
    family.add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what else the family takes: op=max, mode=reflect, bins=64 (may be repeated)",
    )
    file = _OptionGroup(parser, "of a file")
    file.add("--kernel", help="name of the kernel (where the file has several)")
    file.add("--grid", help="blocks: x[,y[,z]]")
    file.add("--block", help="threads of a block: x[,y[,z]]")
    file.add("--arg", action="append", default=[], help="an argument; see below")
    file.add("--shared-mem", type=whole(), default=0, help="bytes of dynamic shared memory")
    file.add(
        "--option",
        action="append",
        default=[],
        help="for the compiler, as in --option=-DTILE=16",
    )
    parser.set_defaults(of_a_family=family.usual, of_a_file=file.usual)


def _add_check_options(parser: Parser) -> None:
    parser.add_argument(
        "--ignore-same-value",
        action="store_true",
        help="leave out races of stores that all write one value",
    )
    parser.add_argument(
        "--order",
        choices=list(ORDERS),
        default="forward",
        help="order of blocks and warps: reverse finds faults of the first one to arrive",
    )
    parser.add_argument(
        "--padding",
        type=whole(),
        default=0,
        metavar="BYTES",
        help="kept free between shared variables and behind arrays (default: 0)",
    )


def _add_profile_options(parser: Parser) -> None:
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="CONDITION",
        help='exit status 1 where it holds, as in "shared.load.conflicts>0", 2 where the '
        "kernel fails or the counter has no value; repeatable",
    )
    parser.add_argument(
        "--as-written",
        action="store_true",
        help="count PTX accesses as written, not as ptxas fuses them",
    )
    parser.add_argument(
        "--device",
        metavar="CARD",
        help='predict the time on a card ("RTX 4090"), and what each advice would save there',
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="counters as they were: exit status 1 where one has moved by more than its tolerance",
    )
    parser.add_argument(
        "--update", action="store_true", help="write the counters of this run as that baseline"
    )


# Conditions --------------------------------------------------------------------------------------


def parse_condition(text: str) -> Condition:
    """ "shared.load.conflicts>0" -> (name, operator, number)."""
    try:
        return counts.read_condition(text)
    except report.UnknownCounterError as error:
        raise UsageError(f"--fail-on {text!r}: {error}") from None
    except smemkit.ArgumentError as error:
        raise UsageError(f"--fail-on {error}") from None


def judge_condition(condition: Condition, done: report.Report) -> tuple[int, str | None]:
    """(exit status, a sentence or None): 1 where the condition holds, 2 where it has no value."""
    name, sign, limit = condition
    words = f"{name} {sign} {limit:g}"
    try:
        held = done.holds(f"{name} {sign} {limit!r}")
    except report.UncountedError as error:
        return 2, f"cannot judge {words}: {error}"
    return (1, f"failed on {words}: it is {done.counters[name]:g}") if held else (0, None)


# The call ------------------------------------------------------------------------------------


def _read_sizes(family: str, text: str, names: Sequence[str]) -> dict[str, int]:
    """{dimension: size} from one number for all, or one each without those that have a default."""
    lengths, usual = parse_lengths("--shape", text), find_class(family).usual_sizes
    needed = [name for name in names if name not in usual]
    if len(lengths) == len(names):
        return dict(zip(names, lengths, strict=True))
    if len(lengths) == 1:
        lengths *= len(needed)
    if len(lengths) != len(needed):
        raise UsageError(f"--shape {text!r}: {family} has {','.join(names)}")
    return {**usual, **dict(zip(needed, lengths, strict=True))}


def _read_settings(texts: Iterable[str]) -> dict[str, Setting]:
    """{"op": "max", "bins": 64, "range": (0, 1)} of op=max, bins=64, range=0,1."""
    settings: dict[str, Setting] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not re.fullmatch(r"\w+=.+", text):
            raise UsageError(f"--set {text!r}: say NAME=VALUE, as in --set op=max")
        try:
            numbers = tuple(map(read_number, value.split(",")))
        except ValueError:
            settings[name] = value
        else:
            settings[name] = numbers if len(numbers) > 1 else numbers[0]
    return settings


def _refuse_options(chosen: CallOptions, options: Mapping[str, object], kind: str) -> None:
    """UsageError where an option is given that says nothing of what is run."""
    for name, usual in options.items():
        if getattr(chosen, name) != usual:
            raise UsageError(
                f"--{name.replace('_', '-')} is an option for {kind}, which {chosen.what} is not"
            )


def _refuse_settings(function: Callable[..., Any], keywords: Mapping[str, Setting]) -> None:
    """UsageError where --set names what the family's function does not take by position."""
    own = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
    ]
    for name in sorted(keywords.keys() - set(own)):
        taken = f"takes {', '.join(own)}" if own else "takes none"
        raise UsageError(f"--set {name}=...: {function.__name__} {taken}")


def make_operands(
    chosen: CallOptions,
    shapes: Sequence[tuple[int, ...]],
    dtype: DType,
    rng: numpy.random.Generator,
) -> list[Any]:
    """Random operands of a family; large ones of a prediction, without values where none matter."""
    elements = sum(map(math.prod, shapes))
    if chosen.command == "predict" and elements * dtype.itemsize > planning.LARGE_BYTES:
        if not find_class(chosen.what).reads_values:
            return [planning.make_sparse(shape, dtype) for shape in shapes]
        needed = elements * (WIDEST + 2 * dtype.itemsize)  # drawn, converted, copied
        planning.demand_memory(f"random operands of --shape {chosen.shape}", needed)
    return [make_random(rng, dtype, shape) for shape in shapes]


def make_family_call(chosen: CallOptions, rng: numpy.random.Generator) -> Call:
    """The call of a family, its operands random."""
    _refuse_options(chosen, chosen.of_a_file, "a .cu or .ptx file")
    family = chosen.what
    signature = smemkit.families()[family]["signature"]
    if signature is None:
        raise UsageError(
            f"{family}: its kernels have no call in common; smemkit.{family} runs them"
        )
    inputs, _, names = workloads.read_signature(signature)
    size = _read_sizes(family, chosen.shape, names)
    dtype = read_dtype("--dtype", chosen.dtype)
    settings = _read_settings(chosen.set)
    _refuse_settings(getattr(smemkit, family), settings)
    shapes = [tuple(size[name] for name in operand) for operand in inputs]
    try:
        arrays = make_operands(chosen, shapes, dtype, rng)
        keywords: dict[str, Any] = {"variant": chosen.variant, **settings}
        arrays, keywords = find_class(family).adjust_command(arrays, size, keywords, rng)
    except smemkit.Error:
        raise
    except ValueError as error:  # NumPy's, for more elements than it can count
        raise UsageError(f"--shape {chosen.shape}: {error}") from None
    return Call(getattr(smemkit, family), arrays, keywords)


def check_source(path: str) -> None:
    """UsageError for a file that is not there, before it is asked how to launch its kernel."""
    if not Path(path).exists():
        raise UsageError(f"there is no file {path}")
    if Path(path).is_dir():
        raise UsageError(f"{path} is a directory")


def open_kernel(path: str, name: str | None, options: Sequence[str]) -> smemkit.RawKernel:
    """The kernel of a .cu or .ptx file that --kernel names, or the only one."""
    suffix = Path(path).suffix
    instances = None if name is None or "<" not in name or suffix != ".cu" else [name]
    module = smemkit.RawModule(path=path, options=options, name_expressions=instances)
    if name is None:
        if not module.kernels:
            form = ".entry" if suffix == ".ptx" else 'extern "C" __global__'
            raise UsageError(f"{path} has no kernel, which begins with {form}")
        if len(module.kernels) > 1:
            raise UsageError(
                f"{path} has the kernels {', '.join(module.kernels)}: --kernel says which"
            )
        name = module.kernels[0]
    return module.get_function(name)


def make_file_call(chosen: CallOptions, rng: numpy.random.Generator) -> Call:
    """The call of a kernel of a .cu or .ptx file."""
    _refuse_options(chosen, chosen.of_a_family, "a family of kernels")
    check_source(chosen.what)
    for name in ("grid", "block"):
        if getattr(chosen, name) is None:
            raise UsageError(f"a kernel of a file needs --{name}, as in --{name} 8,8")
    grid, block = (
        parse_lengths(f"--{name}", getattr(chosen, name), 3) for name in ("grid", "block")
    )
    values = tuple(make_argument(text, rng) for text in chosen.arg)
    kernel = open_kernel(chosen.what, chosen.kernel, chosen.option)
    return Call(kernel, (grid, block, values), {"shared_mem": chosen.shared_mem})


def make_call(chosen: CallOptions) -> Call:
    """The call that the command line asks for."""
    rng = numpy.random.default_rng(chosen.seed)
    family, slash, variant = chosen.what.partition("/")
    if slash and workloads.is_kernel(family, variant):
        if chosen.variant not in ("auto", variant):
            raise UsageError(f"{chosen.what} and --variant {chosen.variant} name two variants")
        chosen.what, chosen.variant = family, variant
    if chosen.what in smemkit.families():
        call = make_family_call(chosen, rng)
    elif Path(chosen.what).suffix in (".cu", ".ptx"):
        call = make_file_call(chosen, rng)
    else:
        raise UsageError(
            f"{chosen.what!r} is neither a family of kernels ({', '.join(smemkit.families())}) nor "
            f"a .cu or .ptx file{suggest(chosen.what.partition('/')[0], smemkit.families())}"
        )
    if chosen.backend is not None:
        call.keywords["backend"] = chosen.backend
    if chosen.blocks is not None:
        call.keywords["blocks"] = chosen.blocks
    return call


# Running -----------------------------------------------------------------------------------------


def run_profile(chosen: ProfileOptions) -> int:
    """Runs profile and returns the exit status."""
    conditions = [parse_condition(text) for text in chosen.fail_on]
    if is_suite(chosen):
        return suite.profile(chosen, open_kernel)
    before = suite.read_baseline(chosen)
    done = _run(chosen, lambda call: _profile(chosen, call))
    return max(judge(conditions, done), suite.judge_one(chosen, done, before))


def run_check(chosen: CheckOptions) -> int:
    """Runs check and returns the exit status."""
    if is_suite(chosen):
        return suite.check(chosen, open_kernel)
    done = _run(chosen, lambda call: _check(chosen, call))
    return 0 if done else 1 if done.findings else 2  # 2: it ended early, for no finding


def is_suite(chosen: Options) -> bool:
    """Whether a folder or its TOML file is run; refuses options that say nothing of it."""
    path = Path(chosen.what)
    is_folder = path.is_dir() and path.suffix not in (".cu", ".ptx")
    if not is_folder and path.suffix != ".toml":
        return False
    check_endings(chosen.save)
    named = {name: usual for name, usual in chosen.of_a_file.items() if name != "kernel"}
    _refuse_options(chosen, chosen.of_a_family, "a family of kernels")
    _refuse_options(chosen, {**named, "html": None, "save": []}, "one launch")
    if getattr(chosen, "device", None) is not None:  # an option of profile alone
        raise UsageError(f"--device is an option for one launch, which {chosen.what} is not")
    return True


def _run(chosen: Options, make: Callable[[Call], Done]) -> Done:
    """The report that `make` gives of the call; prints it, and writes what the options name."""
    check_endings(chosen.save)
    what, begun = chosen.what, time.perf_counter()
    try:
        call = make_call(chosen)
        done = make(call)
    except (KeyboardInterrupt, smemkit.InterruptedError):
        raise
    except smemkit.Error as error:
        if isinstance(error, smemkit.ArgumentTypeError):
            error = say_type(error, chosen.arg)
        suite.write_one(chosen, what, None, error, time.perf_counter() - begun)
        raise error from None
    suite.write_one(chosen, what, done, None, time.perf_counter() - begun)
    if chosen.json != "-":
        print(done)
    if chosen.json:
        text = json.dumps(done.to_dict(), indent=1, allow_nan=False) + "\n"
        if chosen.json == "-":
            print(text, end="")
        else:
            Path(chosen.json).write_text(text, encoding="utf-8")
    if chosen.html:
        page = html.make_page(done, f"smemkit {chosen.command} {chosen.what}")
        Path(chosen.html).write_text(page, encoding="utf-8")
    for path in chosen.save:
        done.save(path)
    return done


def _check(chosen: CheckOptions, call: Call) -> report.CheckReport:
    return report.check(
        call.function,
        *call.arguments,
        order=chosen.order,
        padding=chosen.padding,
        ignore_same_value=chosen.ignore_same_value,
        **call.keywords,
    )


def _profile(chosen: ProfileOptions, call: Call) -> report.Report:
    """The Report. With --fail-on, Unjudged where the kernel fails."""
    model = not chosen.as_written
    try:
        done = report.profile(call.function, *call.arguments, model=model, **call.keywords)
        if chosen.device is not None:
            done.time(chosen.device)
        return done
    except (KeyboardInterrupt, smemkit.InterruptedError):
        raise
    except smemkit.Error as error:
        if not chosen.fail_on:
            raise
        raise Unjudged(f"{error}\nsmemkit: cannot judge --fail-on: nothing was counted") from error


def judge(conditions: Iterable[Condition], done: report.Report) -> int:
    """The exit status by the conditions; prints a line for each that holds or has no value."""
    status = 0
    for condition in conditions:
        one, words = judge_condition(condition, done)
        if words:
            print(f"smemkit: {words}", file=sys.stderr)
        status = max(status, one)
    return status
