"""House rules that need no machine: layers, tables, exhibits, the built extension, documents."""

import ast
import builtins
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy
import pytest
from read_tables import read_rows
from support import children
from support.paths import CSRC, ROOT
from support.tables import FAMILIES, PARTS, VARIANTS

import smemkit

KERNELS = CSRC / "kernels"

# Who may include whom. A layer may always include itself and the C library. The simulator and the
# Python layer have rooms of their own: "sim" is the simulator's interface, csrc/sim/sim.h, and
# "py/module" is csrc/py/module.c, which nothing includes.
LAYERS = {
    "base": set(),
    "ptx": {"base"},
    "registry": {"base"},
    "sim": {"base", "ptx", "sim/code"},
    "sim/code": {"base", "ptx"},
    "sim/cost": {"base", "sim/code"},
    "sim/issue": {"base"},
    "sim/exec": {"base", "ptx", "sim/code"},
    "sim/ptxas": {"base", "ptx"},
    "sim/lower": {"base", "ptx", "sim", "sim/code", "sim/exec", "sim/ptxas"},
    "sim/profile": {
        "base",
        "ptx",
        "sim/code",
        "sim/cost",
        "sim/exec",
        "sim/ptxas",
        "sim/lower",
    },
    "sim/check": {"base", "ptx", "sim/code", "sim/exec", "sim/ptxas", "sim/lower"},
    "gpu": {"base"},
    "runtime": {"base", "ptx", "registry", "sim", "sim/code", "sim/check", "sim/profile"},
    "py": {"base"},
    "py/backends": {
        "base",
        "ptx",
        "registry",
        "gpu",
        "py",
        "sim",
        "sim/code",
        "sim/profile",
        "sim/check",
    },
    "py/streams": {"py", "py/backends", "base"},
    "py/arrays": {"py", "py/backends", "py/streams", "base"},
    "py/calls": {
        "base",
        "ptx",
        "registry",
        "py",
        "py/backends",
        "py/streams",
        "py/arrays",
        "sim/cost",
        "sim/ptxas",
    },
    "py/queries": {
        *("base", "ptx", "registry", "gpu", "sim/code", "sim/cost", "sim/issue", "sim/ptxas"),
        "sim/profile",
        *("py", "py/backends", "py/streams", "py/arrays", "py/calls"),
    },
    "py/module": {"py", "py/backends", "py/streams", "py/arrays", "py/calls", "py/queries"},
}
# Other people's headers, by the only layer (with its folders) that may include them.
FOREIGN = {
    "Python.h": "py",
    "structmember.h": "py",
    "numpy/": "py",
    "cuda": "gpu",
    "driver_types.h": "gpu",
}


EXHIBITS = sorted(KERNELS.glob("*/*.cu"))


def list_own_files():
    """Every text file of the house that people edit."""
    folders = [
        (CSRC, ("*.c", "*.h", "*.def", "*.cu", "*.py")),
        (ROOT / "smemkit", ("*.py", "*.pyi")),
        (ROOT / "tests", ("*.py", "*.cu", "*.c")),
    ]
    for folder, patterns in folders:
        for pattern in patterns:
            for path in sorted(folder.rglob(pattern)):
                if "smemkit/kernels" not in path.as_posix():
                    yield path
    yield from (ROOT / name for name in ("setup.py", "pyproject.toml", "README.md"))


# Layers ------------------------------------------------------------------------------------------


def find_layer(path):
    """The layer of a file below csrc: its folder, but for the definition of the module."""
    path = path.relative_to(CSRC)
    return "py/module" if path == Path("py/module.c") else path.parent.as_posix()


def check_include(path, line, quoted, angled):
    layer = find_layer(path)
    where = f"{path.relative_to(ROOT)}:{line}"
    if quoted is not None:
        target = CSRC / quoted
        assert target.is_file(), f"{where} includes {quoted}, which is not a path from csrc/"
        other = find_layer(target)
        assert other == layer or other in LAYERS[layer], f"{where}: {layer} may not include {other}"
    else:
        for prefix, owner in FOREIGN.items():
            if angled.startswith(prefix):
                assert layer.split("/")[0] == owner, f"{where}: only {owner} may include <{angled}>"


def test_layers_include_only_what_lies_below():
    include = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
    seen = 0
    for path in sorted(CSRC.rglob("*.[ch]")) + sorted(CSRC.rglob("*.def")):
        assert find_layer(path) in LAYERS, f"{path} lies outside every layer"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = include.match(line)
            if found:
                check_include(path, number, *found.groups())
                seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    ("layer", "line", "allowed"),
    [
        ("gpu", '#include "sim/sim.h"', False),
        ("sim", '#include "gpu/gpu.h"', False),
        ("ptx", "#include <Python.h>", False),
        ("py", "#include <Python.h>", True),
        ("sim", '#include "ptx/module.h"', True),
        ("base", "#include <cuda_runtime_api.h>", False),
        ("sim/code", '#include "sim/exec/warp.h"', False),
        ("sim/cost", '#include "sim/exec/block.h"', False),
        ("sim/exec", '#include "sim/lower/lower.h"', False),
        ("sim/ptxas", '#include "sim/exec/atomic.h"', False),
        ("sim/profile", '#include "sim/check/finding.h"', False),
        ("sim/check", '#include "sim/lower/instrument.h"', True),
        ("py", '#include "py/backends/backend.h"', False),
        ("py/arrays", '#include "py/calls/execute.h"', False),
        ("py/calls", '#include "py/arrays/array.h"', True),
    ],
)
def test_layer_check_sees_a_wrong_include(layer, line, allowed):
    quoted, angled = re.search(r'"([^"]+)"|<([^>]+)>', line).groups()
    try:
        check_include(CSRC / layer / "imagined.c", 1, quoted, angled)
    except AssertionError:
        assert not allowed
    else:
        assert allowed


def test_the_map_shows_the_layers():
    def name(layer):
        return f"`{layer}/`" if (CSRC / layer).is_dir() else f"`{layer}.c`"

    text = (CSRC / "README.md").read_text(encoding="utf-8")
    table = text.split("<!-- layers -->\n", 1)[1].split("<!-- /layers -->", 1)[0]
    rows = [
        f"| {name(layer)} | {', '.join(map(name, sorted(others))) or 'the C library'} |"
        for layer, others in LAYERS.items()
    ]
    assert table.splitlines()[2:] == rows, "python -m smemkit dev docs makes csrc/README.md anew"


def read_includes(room):
    """Which files of a room each of them includes; a .c and its header are one file, "py/error"."""
    graph = {}
    for path in sorted((CSRC / room).rglob("*.[ch]")):
        name = path.relative_to(CSRC).with_suffix("").as_posix()
        found = re.findall(r'^#include "(.+)\.h"', path.read_text(encoding="utf-8"), re.MULTILINE)
        graph.setdefault(name, set()).update(
            other for other in found if other != name and other.startswith(f"{room}/")
        )
    return graph


def join_rooms(graph):
    """The same between the layers of the files."""
    rooms = {}
    for name, others in graph.items():
        own = find_layer(CSRC / f"{name}.c")
        rooms.setdefault(own, set()).update(
            {find_layer(CSRC / f"{other}.c") for other in others} - {own}
        )
    return rooms


def find_circle(graph):
    """The names along one circle, the first again at the end; empty where there is none."""
    done = set()

    def follow(name, way):
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if circle := follow(other, [*way, name]):
                return circle
        done.add(name)
        return []

    return next((circle for name in sorted(graph) if (circle := follow(name, []))), [])


def test_circle_is_found_and_named():
    graph = {"a": {"b", "d"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert find_circle(graph) == ["b", "c", "b"]
    graph["c"].remove("b")
    assert find_circle(graph) == []


def test_python_layer_has_no_circle_of_includes():
    files = read_includes("py")
    assert len(files) > 30 and "py/module" in files
    for graph in (files, join_rooms(files)):
        circle = find_circle(graph)
        assert not circle, " -> ".join(circle)


def test_python_layer_names_tell_the_file():
    """A header declares what its own .c defines, under names that begin with the file's."""
    seen = 0
    for path in sorted((CSRC / "py").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = re.sub(r"\{[^{}]*\}", "{}", text)
        names = re.findall(r"^\w[\w *]*?\b(\w+)\([^()]*\);", text, re.MULTILINE)
        names += re.findall(r"^extern .*?\b(\w+)(?:\[\])?;", text, re.MULTILINE)
        for name in names:
            assert re.match(rf"smk_{path.stem}(_|$)", name), f"{path.relative_to(ROOT)}: {name}"
            source = path.with_suffix(".c").read_text(encoding="utf-8")
            assert re.search(rf"^\w.*\b{name}\b", source, re.MULTILINE), (
                f"{name} is not in its file"
            )
            seen += 1
    assert seen > 80


def test_docstrings_stand_above_their_functions():
    """A docstring of csrc/py ends where its function begins, and stands in one row of the file."""
    seen = 0
    for path in sorted((CSRC / "py").rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        for name, end in re.findall(
            r"^static const char (\w+_doc)\[\] =(?:.|\n)*?;\n\n(.*)", text, re.MULTILINE
        ):
            where = f"{path.relative_to(ROOT)}: {name}"
            assert end.startswith("static PyObject *"), f"{where} stands above {end}"
            assert len(re.findall(rf"\b{name}\b", text)) == 2, where
            seen += 1
        rows = re.findall(r'^ +\{"\w+", .*?(".*|\w+)\},$', text, re.MULTILINE)
        assert not any(row.startswith('"') and "\\n--\\n" in row for row in rows), path
    assert seen > 40


def test_files_are_short():
    long = {}
    for path in list_own_files():
        lines = path.read_text(encoding="utf-8").count("\n")
        if (
            lines > 700 and path.suffix != ".pyi"
        ):  # a stub lists a module, whose size it cannot choose
            long[str(path.relative_to(ROOT))] = lines
    assert not long


# Tables ------------------------------------------------------------------------------------------


def test_every_status_is_an_exception():
    for row in read_rows("base/status.def", "SMK_STATUS"):
        name, base, mixin, sentence = (row[key] for key in ("class", "base", "mixin", "sentence"))
        kind = getattr(smemkit, name)
        assert issubclass(kind, getattr(smemkit, base))
        assert issubclass(kind, smemkit.Error)
        assert mixin == "-" or issubclass(kind, getattr(builtins, mixin))
        assert kind.__doc__.startswith(sentence)
        assert kind.__module__ == "smemkit"


def test_tables_have_one_reader():
    """Other Python code asks read_tables.read_rows for rows and searches no table by itself."""
    search = re.compile(r"SMK_\w+[\\]\(|\.def\W+read_text")
    for path in list_own_files():
        if path.suffix == ".py" and path.name not in ("read_tables.py", "test_house.py"):
            found = search.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(ROOT)}: {found[0]}"


# Families ----------------------------------------------------------------------------------------


def list_texts(node):
    """The strings that a node is, or that it lists."""
    nodes = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return [one.value for one in nodes if isinstance(one, ast.Constant)]


def asks_for_family(node):
    """Whether a node compares a name or an attribute `family` with the name of one."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    named = any(getattr(side, "id", getattr(side, "attr", "")) == "family" for side in sides)
    return named and any(set(list_texts(side)) & set(FAMILIES) for side in sides)


def list_families_in(tree, conditions_only):
    """(line, words) of each place that treats a family in a way of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            names = set(list_texts(ast.List(node.keys))) & set(FAMILIES)
            if len(names) > 1 and 2 * len(names) > len(node.keys):
                yield node.lineno, "a dict keyed by families"
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            if any(map(asks_for_family, ast.walk(node.test))):
                yield node.lineno, "a condition on the family"
        elif not conditions_only and asks_for_family(node):
            yield node.lineno, "a comparison with a family"


def test_families_are_known_to_their_classes_alone():
    """What differs from family to family stands in smemkit/bench/families, and all others ask."""
    seen = 0
    for path in list_own_files():
        if path.suffix != ".py" or path.parent.name == "families":
            continue
        tree, where = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
        for line, words in list_families_in(tree, where.parts[0] == "tests"):
            pytest.fail(f"{where}:{line}: {words}; that belongs to smemkit/bench/families")
        seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("if family == 'gemm': pass", True),
        ("x = 1 if case.family in ('dot', 'gemm') else 2", True),
        ("x = {'gemm': 1, 'dot': 2, 'other': 3}", True),
        ("x = {'family': 'gemm', 'shape': 3}", False),
        ("if family == name: pass", False),
        ("x = [row for row in rows if row.family == 'gemm']", False),
    ],
)
def test_family_check_sees_a_special_case(code, found):
    assert bool(list(list_families_in(ast.parse(code), True))) is found


# Exhibits ----------------------------------------------------------------------------------------


@pytest.fixture(params=EXHIBITS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def exhibit(request):
    return request.param


def test_exhibit_header(exhibit):
    lines = exhibit.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"// {exhibit.parent.name} / {exhibit.stem}"
    header = lines[: next(i for i, line in enumerate(lines) if not line.startswith("//"))]
    fields = [found[1] for line in header if (found := re.match(r"// ([A-Z][a-z]+) ", line))]
    assert [field for field in fields if field != "Length"] == [
        "What",
        "Idea",
        "Differs",
        "Claims",
        "Source",
    ]
    assert any(re.match(r"// (Claims| {6}) +[a-z_.]+ = [0-9.]+( |$)", line) for line in header)


def test_exhibit_body(exhibit):
    text = exhibit.read_text(encoding="utf-8")
    family, variant = exhibit.parent.name, exhibit.stem
    row = VARIANTS[family, variant]
    directives = re.findall(r"^\s*#\s*(.*)", text, re.MULTILINE)
    assert all(re.match(r"pragma unroll\b", words) for words in directives), directives
    # one that is longer says why, and is not long for all that
    assert len(text.splitlines()) <= (650 if "\n// Length   " in text else 100)
    assert max(map(len, text.splitlines())) <= 120
    heads = re.findall(r"__global__\s+void\s+__launch_bounds__\((\d+)(?:, .+)?\)\s+(\w+)\(", text)
    threads = int(row["block_x"]) * int(row["block_y"])
    parts = PARTS.get((family, variant), [])
    names = ["_".join((family, variant, *part)) for part in (*zip(parts), ())]
    assert [name for _, name in heads] == names
    assert heads[-1][0] == str(threads)  # parts beside the main kernel may have other blocks
    code = text.splitlines()
    for number, line in enumerate(code):
        if "__syncthreads" in line:
            above = code[number - 1].strip()
            assert above.startswith("//"), f"line {number + 1}: who waits for whom?"


def test_exhibit_travels_with_the_package(exhibit):
    assert smemkit.source(exhibit.parent.name, exhibit.stem) == exhibit.read_text(encoding="utf-8")


def test_exhibit_ptx(exhibit):
    ptx = smemkit.ptx(exhibit.parent.name, exhibit.stem)
    files = re.findall(r'^\s*\.file\s+\d+\s+"([^"]*)"', ptx, re.MULTILINE)
    assert exhibit.name in files
    assert all("/" not in name for name in files), "a path of the machine that built it"
    assert re.search(r"^\s*\.loc\s+\d+ \d+", ptx, re.MULTILINE), "line information"
    # nvcc puts the number of its process behind that of the unit, where a static function has a
    # class with a constructor
    lines = re.findall(r"^\.b8 ([\d,]+)$", ptx, re.MULTILINE)
    data = bytes(int(byte) for line in lines for byte in line.split(",")).decode("latin-1")
    assert not re.search(r"_INTERNAL_\w+?_cu_[0-9a-f]{8}_\d", ptx + data), "another in each build"


def test_gemm_exhibits_round_once_a_step():
    # All but those that add partial sums: each product and sum is one fma, in the order of k.
    for variant in smemkit.variants("gemm").keys() - {
        "tuned",
        "direct",
        "dmma",
        "unstaged",
        "vector",
        "fma",
        "lean",
        "split_k",
        "stream_k",
        "tensor",
        "overlapped",
        "tf32",
    }:
        ptx = smemkit.ptx("gemm", variant)
        assert "fma.rn.f32" in ptx and "fma.rn.f64" in ptx
        assert not re.search(r"\b(mul|add|mad)\.(rn\.)?f(32|64)", ptx)


# The built extension -----------------------------------------------------------------------------


def read_elf(what):
    """What readelf says of the extension."""
    command = ["readelf", "--wide", what, smemkit._core.__file__]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_extension_needs_no_cuda_library():
    text = read_elf("--dynamic")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    assert any(name.startswith("libc.so") for name in needed)
    assert not [name for name in needed if "cuda" in name or "nv" in name]


def test_extension_exports_only_its_entry():
    text = read_elf("--dyn-syms")
    exported = [
        words[7]
        for line in text.splitlines()
        if len(words := line.split()) >= 8 and words[4] in ("GLOBAL", "WEAK") and words[6] != "UND"
    ]
    assert exported == ["PyInit__core"]


def test_extension_carries_nothing_of_where_it_was_built():
    """No debug information (17 MB) unless the builder asked for it, and no folder in any case."""
    text = read_elf("--sections")
    data = Path(smemkit._core.__file__).read_bytes()
    if b"__ubsan_" not in data and b"__asan_" not in data and "-g" not in os.getenv("CFLAGS", ""):
        assert ".text" in text and ".debug_" not in text
    folders = {ROOT, Path(numpy.__file__).parents[1], Path(tempfile.gettempdir())}
    assert not [folder for folder in folders if f"{folder}/".encode() in data]


# The tests ---------------------------------------------------------------------------------------


def list_calls(path):
    """(line, name as in subprocess.run, names of the keywords) of every call in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.lineno, ast.unparse(node.func), {word.arg for word in node.keywords}


def test_every_process_has_a_limit():
    """A child that hangs fails its test; one that is talked to ends with the test (children.py)."""
    seen = 0
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for line, name, keywords in list_calls(path):
            where = f"{path.relative_to(ROOT)}:{line}: {name}"
            if re.fullmatch(r"subprocess\.(run|call|check_call|check_output)", name):
                assert "timeout" in keywords, f"{where} has no timeout"
                seen += 1
            if name == "subprocess.Popen" and path.name.startswith("test_"):
                pytest.fail(f"{where}: use children.started")
    assert seen > 30


def test_signals_that_were_ignored():
    """As under nohup: children inherit what is ignored, and no Ctrl-C would end their kernels."""
    test = f"{ROOT / 'tests' / 'py' / 'test_errors_run.py'}::test_ctrl_c"
    code = (
        "import os, signal, sys\n"
        "for number in (signal.SIGINT, signal.SIGALRM):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'pytest', '-q', *sys.argv[1:]])\n"
    )
    command = [sys.executable, "-c", code, "-p", "no:cacheprovider", test]
    with children.started(
        command, stdout=subprocess.PIPE, cwd=ROOT, env=children.leave_out_pytest()
    ) as process:
        out, _ = process.communicate(timeout=100)
    assert process.returncode == 0 and "1 passed" in out, out


def test_a_test_that_hangs_ends_the_run(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(
        "import time\ndef test_fast(): pass\ndef test_hangs(): time.sleep(100)\n"
    )
    code = (
        "import sys, conftest, pytest\n"
        "conftest.TEST_LIMIT_S = 1\n"
        "pytest.main(['-p', 'conftest', '-p', 'no:cacheprovider', *sys.argv[1:]])\n"
    )
    environment = children.leave_out_pytest()
    environment["PYTHONPATH"] = f"{ROOT / 'tests'}:{environment['PYTHONPATH']}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", code, tmp_path]
    with children.started(command, env=environment, cwd=tmp_path, **pipes) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Timeout (0:00:01)!" in err and "in test_hangs" in err


# Documents ---------------------------------------------------------------------------------------


def read_readme_commands():
    """The two commands of the README's start, in their order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    start = text.split("## Start", 1)[1].split("\n## ", 1)[0]
    return [
        line
        for block in re.findall(r"```sh\n(.*?)```", start, re.DOTALL)
        for line in block.strip().splitlines()
        if not line.startswith(("sudo ", "git clone", "cd "))
    ]


def test_ci_runs_the_commands_of_the_readme():
    commands = read_readme_commands()
    assert len(commands) == 2
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    for command in commands:
        assert command in script
    assert commands[1] in [line for line in script if line and not line.startswith("#")][-1]


def test_ci_runs_the_notebooks_with_what_the_readme_names():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`(pip install \S+)` brings what they need", readme)
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (python,) = re.findall(r"^(\S+/)python notebooks/build.py --run$", script, re.MULTILINE)
    assert f"\n{python}{command}\n" in script


@pytest.mark.parametrize("allowed", [True, False])
def test_ci_sees_no_toolkit_of_the_machine(allowed, tmp_path):
    """Toolkits by PATH, by a variable, by a link; where there may be no namespace, by no name."""
    toolkit = tmp_path / "toolkit"
    (toolkit / "include").mkdir(parents=True)
    (toolkit / "include" / "cuda_runtime.h").touch()
    for folder in (toolkit / "bin", tmp_path / "other" / "bin"):
        folder.mkdir(parents=True)
        (folder / "nvcc").write_text("#!/bin/sh\n")
        (folder / "nvcc").chmod(0o755)
    (tmp_path / "link").symlink_to(toolkit)
    (tmp_path / "tools").mkdir()
    if not allowed:
        (tmp_path / "tools" / "unshare").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "tools" / "unshare").chmod(0o755)
    environment = {**os.environ, "CUDA_HOME": str(tmp_path / "other")}
    environment["PATH"] = f"{tmp_path}/tools:{tmp_path}/link/bin:{os.environ['PATH']}"
    environment["LD_LIBRARY_PATH"] = f"{toolkit}/lib:/nowhere:{os.getenv('LD_LIBRARY_PATH', '')}"
    code = (
        "import os, shutil\n"
        "words = [os.getenv(name, '') for name in ('PATH', 'LD_LIBRARY_PATH', 'CUDA_HOME')]\n"
        f"print(os.path.exists({str(toolkit / 'bin' / 'nvcc')!r}), *words, sep='\\n')\n"
    )
    done = subprocess.run(
        [ROOT / ".ci" / "without-cuda", sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    exists, path, libraries, home = done.stdout.splitlines()
    assert not any(str(tmp_path / name) in path for name in ("link", "toolkit", "other"))
    assert str(tmp_path / "tools") in path and "/nowhere" in libraries
    assert str(toolkit) not in libraries and home == ""
    may = "no mount namespace may be made here" not in done.stderr
    assert (exists == "False") == may
    assert allowed or not may


def test_extra_build_is_what_the_build_requires():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extra = project["project"]["optional-dependencies"]["build"]
    always = project["build-system"]["requires"]
    assert extra[: len(always)] == always
    assert all(line.startswith("nvidia-") for line in extra[len(always) :])  # by build_backend.py


def test_extra_test_has_the_build_s_cuda():
    """nvcc does not pin its parts: left alone, pip takes those of the newest CUDA."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    pins = [line for line in extras["build"] if line.startswith("nvidia-")]
    assert len(pins) == 5 and not set(pins) - set(extras["test"])


def test_manual_names_every_environment_variable():
    """help(smemkit) has them all; the README has those that most people need."""
    used = set()
    for path in [*CSRC.rglob("*.[ch]"), *CSRC.rglob("*.py"), *(ROOT / "smemkit").rglob("*.py")]:
        used |= set(re.findall(r'"(SMEMKIT_[A-Z_]+)"', path.read_text(encoding="utf-8")))
    used |= set(re.findall(r'"(SMEMKIT_[A-Z_]+)"', (ROOT / "setup.py").read_text(encoding="utf-8")))
    used.add("SMEMKIT_TEST_SEED")
    manual = smemkit.__doc__.split("\nEnvironment variables\n", 1)[1].split("\nErrors\n", 1)[0]
    assert used == set(re.findall(r"^(SMEMKIT_[A-Z_]+) ", manual, re.MULTILINE))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {"SMEMKIT_BACKEND"} <= set(re.findall(r"`(SMEMKIT_[A-Z_]+)", readme)) <= used
