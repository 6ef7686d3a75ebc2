"""The command dev: what people who change smemkit run, in a clone of its repository.

    python -m smemkit dev test [argument of pytest ...]
    python -m smemkit dev sanitize [argument of pytest ...]
    python -m smemkit dev fuzz kernels [argument of tests/run.py fuzz.differential ...]
    python -m smemkit dev fuzz ptx [argument of libFuzzer ...]
    python -m smemkit dev docs [--check]
    python -m smemkit dev machine_code [architecture ...]
    python -m smemkit dev site [--links | --words]
    python -m smemkit dev release

An installed package has neither the tests nor the sources, so there the command only says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit
from smemkit.predict import carried

from .errors import UsageError
from .options import Parser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._types import Commands

    Task = Callable[[Sequence[str]], int]  # takes its arguments; returns the exit status

ROOT = Path(__file__).resolve().parents[2]
PARTS_OF_A_CLONE = ("setup.py", "csrc", "tests", "notebooks")
SANITIZERS = "address,undefined"
# Leaks: Python itself frees little when it ends. Tests ask for more memory than there is.
ASAN_OPTIONS = "detect_leaks=0:allocator_may_return_null=1"
# What a copy of the clone needs to be built and tested.
COPIED = [
    *("csrc", "smemkit", "tests", "notebooks", "docs", "setup.py", "pyproject.toml"),
    *("README.md", "LICENSE", "MANIFEST.in", ".ci", ".clang-format"),
]
FUZZ_SECONDS = 60
ARCHITECTURES = ("75", "80", "86", "87", "89", "90", "100", "120")  # of carried machine code
TASKS = """\
tasks:
  test      run the tests; further arguments go to pytest (-k gemm, -x, tests/kernels/test_gemm.py)
  sanitize  build a copy with AddressSanitizer and UndefinedBehaviorSanitizer, and run the tests
            in it; further arguments go to pytest
  fuzz kernels  execute random and altered kernels in every way and compare, for --count or --hours
                (see tests/run.py fuzz.differential --help)
  fuzz ptx      fuzz the PTX reader and the simulator, for a minute or -max_total_time=SECONDS
                (needs clang; further arguments go to libFuzzer)
  docs      make every generated text anew: type stubs of the families, tables and pictures of the
            READMEs, and the notebooks whose cells or outputs have changed; --check only says
            which are stale
  machine_code  make the machine code anew that the package carries for predictions, of kernels
            that have changed, for 75 80 86 87 89 90 100 120 or the architectures that are named
            (needs ptxas and nvdisasm)
  site      build the documentation site, build/docs/index.html; --links asks its links to other
            sites, --words looks for misspelt words (needs the extra [docs])
  release   what a release needs beside the tests: every kernel is counted and timed on hardware,
            and every generated text is as it is made; names what is missing
"""


class Options(argparse.Namespace):
    """The command line of `smemkit dev`."""

    task: str | None
    rest: list[str]


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    parser = commands.add_parser(
        "dev",
        help="test, sanitize, fuzz, docs, machine_code, site, release: in a clone",
        epilog=TASKS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", choices=list(RUN), nargs="?", help="see below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="arguments of the task")
    parser.set_defaults(run=run)


def run(chosen: Options) -> int:
    """Runs a task and returns its exit status."""
    if chosen.task is None:
        raise UsageError(f"dev takes one of {', '.join(RUN)}; --help says what each does")
    missing = [name for name in PARTS_OF_A_CLONE if not (ROOT / name).exists()]
    if missing:
        raise smemkit.Error(
            f"dev works in a clone of the repository only, and this smemkit is installed in "
            f"{ROOT}: change to the clone and run: python -m smemkit dev {chosen.task}"
        )
    return RUN[chosen.task](chosen.rest)


# Shared ------------------------------------------------------------------------------------------


def demand_modules(task: str, *names: str, extra: str = "test") -> None:
    """Raises smemkit.Error where a module is not installed, with the command that installs it."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise smemkit.Error(f'dev {task} needs {", ".join(missing)}: pip install ".[{extra}]"')


def call(command: Sequence[str], folder: Path | None = None, **variables: str) -> int:
    """Runs a command in a folder (else the clone), with the smemkit of that folder; its status."""
    folder = folder or ROOT
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | variables
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


# Tasks -------------------------------------------------------------------------------------------


def run_tests(rest: Sequence[str]) -> int:
    """Runs the tests."""
    demand_modules("test", "pytest")
    return call([sys.executable, "-m", "pytest", *rest])


def mirror(origin: Path, target: Path) -> None:
    """Makes `target` equal to `origin`; equal files keep their time, and so their objects."""
    if origin.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != origin.read_bytes():
            shutil.copy2(origin, target)
        return
    names = {path.name for path in origin.iterdir()} - {"__pycache__"}
    for name in sorted(names):
        mirror(origin / name, target / name)
    for path in sorted(target.iterdir()) if target.exists() else ():
        if path.name in names or path.suffix in (".so", ".pyc"):
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def copy_clone(folder: Path) -> None:
    """A copy of the clone with its compiled kernels, so that nvcc need not run again."""
    for name in COPIED:
        if (ROOT / name).exists():
            mirror(ROOT / name, folder / name)
    if not (folder / "build").exists() and (ROOT / "build").exists():
        for origin in (ROOT / "build").glob("temp.*"):
            shutil.copytree(origin, folder / "build" / origin.name)


def find_sanitizers() -> str:
    """The libraries that a process with a sanitized extension has to begin with."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "gcc"
    program = shlex.split(compiler)[0]
    paths = []
    for name in ("libasan.so", "libubsan.so"):
        done = subprocess.run(
            [program, f"-print-file-name={name}"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0 or not Path(done.stdout.strip()).is_absolute():
            raise smemkit.Error(f"dev sanitize needs {name}, which {program} does not have")
        paths.append(done.stdout.strip())
    return " ".join(paths)


def run_sanitized(rest: Sequence[str]) -> int:
    """Builds a copy with sanitizers, and runs the tests in it."""
    demand_modules("sanitize", "pytest", "setuptools")
    libraries = find_sanitizers()
    folder = ROOT / "build" / "sanitize"
    copy_clone(folder)
    status = call(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        folder,
        SMEMKIT_SANITIZE=SANITIZERS,
    )
    if status != 0:
        return status
    return call(
        [sys.executable, "-m", "pytest", *rest],
        folder,
        LD_PRELOAD=libraries,
        ASAN_OPTIONS=ASAN_OPTIONS,
    )


def fuzz_kernels(rest: Sequence[str]) -> int:
    """Executes random kernels in every way."""
    return call([sys.executable, "tests/run.py", "fuzz.differential", *rest])


def fuzz_ptx(rest: Sequence[str]) -> int:
    """Fuzzes the PTX reader and the simulator."""
    if shutil.which("clang") is None:
        raise smemkit.Error("dev fuzz ptx needs clang with libFuzzer")
    program, corpus = ROOT / "build" / "fuzz_ptx", ROOT / "build" / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    status = call(["tests/fuzz/build.sh", str(program)])
    if status != 0:
        return status
    limits = [f"-max_total_time={FUZZ_SECONDS}", "-max_len=30000"]  # the last of equal ones counts
    return call([str(program), *limits, *rest, str(corpus), "tests/fuzz/corpus"])


FUZZ: dict[str, Task] = {"kernels": fuzz_kernels, "ptx": fuzz_ptx}


def run_fuzz(rest: Sequence[str]) -> int:
    """Runs one of FUZZ."""
    if not rest or rest[0] not in FUZZ:
        raise UsageError(f"dev fuzz takes one of {', '.join(FUZZ)}, and then its arguments")
    return FUZZ[rest[0]](rest[1:])


def make_docs(rest: Sequence[str]) -> int:
    """Makes the generated texts, or says which are stale."""
    parser = Parser(
        prog="smemkit dev docs", description="Makes every generated text of the clone anew."
    )
    parser.add_argument("--check", action="store_true", help="say what is stale; write nothing")
    chosen = parser.parse_args(rest)
    if chosen.check:
        demand_modules("docs", "pytest", "jupytext", "nbclient", "matplotlib")
        return call([sys.executable, "-m", "pytest", "-q", "-m", "generated"])
    demand_modules("docs", "jupytext", "nbclient", "matplotlib")
    for program in ("csrc/write_stubs.py", "notebooks/readme.py", "notebooks/build.py"):
        status = call([sys.executable, program])
        if status != 0:
            return status
    return 0


def make_machine_code(rest: Sequence[str]) -> int:
    """Makes the carried machine code of kernels that have changed."""
    parser = Parser(
        prog="smemkit dev machine_code",
        description="Makes the carried machine code of kernels that have changed.",
    )
    parser.add_argument("architecture", nargs="*", help="such as 90; by default all of them")
    for architecture in parser.parse_args(rest).architecture or ARCHITECTURES:
        for family in smemkit.families():
            texts = [smemkit.ptx(family, variant) for variant in smemkit.variants(family)]
            size = carried.make_file(texts, family, architecture)
            if size:
                print(f"sm_{architecture} {family}: {size} bytes", flush=True)
    return 0


def make_site(rest: Sequence[str]) -> int:
    """Builds the documentation site."""
    names = ("sphinx", "furo", "myst_nb", "sphinx_design", "sphinxarg", "codespell_lib")
    demand_modules("site", *names, extra="docs")
    return call([sys.executable, "docs/build.py", *rest])


def check_release(rest: Sequence[str]) -> int:
    """Runs what a release needs beside the tests."""
    demand_modules("release", "pytest", "jupytext", "nbclient", "matplotlib")
    command = [sys.executable, "-m", "pytest", "-q", "--release", "-m", "release or generated"]
    return call([*command, *rest])


RUN: dict[str, Task] = {
    "test": run_tests,
    "sanitize": run_sanitized,
    "fuzz": run_fuzz,
    "docs": make_docs,
    "machine_code": make_machine_code,
    "site": make_site,
    "release": check_release,
}
