"""The packages of smemkit: who may import whom, what is private, what importing must not load."""

import ast
import importlib
import tomllib

import pytest
from support.paths import ROOT, TESTS

PACKAGE = ROOT / "smemkit"
# What stands beside the packages, and what it is for; data apart.
TOP = {
    "__init__": "the public names of all",
    "__main__": "python -m smemkit",
    "_bfloat16": "numbers of bfloat16 in NumPy arrays",
    "_configured": "a kernel with its grid and block",
    "_core": "the extension module",
    "_declarations": "parameters and shared arrays as CUDA C declares them",
    "_facts": "the dicts that queries of the extension return",
    "_importing": "why the extension module cannot be imported",
    "_kernel_code": "the code of RawModule: files, and instances of templates",
    "_mangled": "names of C++ functions",
    "_pandas": "pandas, where it is needed",
    "_ptxas": "registers of a kernel by ptxas",
    "_progress": "progress of long work",
    "_pytest_backend": "the simulator for runs of pytest that need it",
    "_public": "how a package presents its public names",
    "_types": "types that annotations share",
    "_variables": "variables of a module as CUDA C declares them",
    "_version": "the version",
    "_whole_numbers": "whole numbers that callers give",
    "arrays": "device arrays that Python code makes or prints",
    "config": "show_config",
    "results": "Measurement and Results by an older path",
    "textures": "textures and surfaces for kernels",
}
# Which packages a package may import. All may import the modules beside them, but for FACES.
LAYERS = {
    "functions": set(),
    "compile": set(),
    "report": {"compile", "predict"},
    "cover": {"report"},
    "lessons": {"compile", "report"},
    "predict": {"compile"},
    "probe": {"report"},
    "python_kernels": {"compile", "report", "predict"},
    "bench": {"compile", "report", "predict", "probe"},
    "plot": {"report", "predict", "probe", "bench"},
    "cli": {"cover", "lessons", "report", "predict", "probe", "bench", "plot"},
    "testing": {"compile", "report"},
}
# The modules at the top that import packages.
FACES = {
    "__init__": {
        "cover",
        "functions",
        "lessons",
        "predict",
        "report",
        "bench",
        "plot",
        "probe",
        "testing",
    }
    | {"python_kernels"},
    "__main__": {"cli"},
    "_configured": {"predict", "report"},  # for the types of its annotations
    "_kernel_code": {"compile"},
    "_ptxas": {"compile"},
    "config": {"compile"},
    "results": {"bench"},
}
# What smemkit itself imports, so that these may not import smemkit.
BELOW = {"cover", "functions", "lessons", "report", "arrays", "config", "compile", "_pandas"}
BELOW |= {"_progress", "_public", "_version", "python_kernels"}
# Private modules that a test reaches, because it replaces or tests what has no public name.
TESTED = {
    "_types",  # which the annotations of command lines name
    "_core",
    "_bfloat16",
    "_declarations",
    "_mangled",
    "compile._expressions",
    "_ptxas",
    "bench._ceilings",
    "bench._evolution",
    "bench._progress",
    "bench._run",
    "plot._tiles",
}
TESTED |= {"compile._cache", "compile._dependencies", "compile._headers", "compile._nvrtc"}
TESTED |= {"compile._options", "compile._toolchain"}
TESTED |= {"bench._tile_sweep", "bench.families._workload", "probe._probes", "report._moved"}
TESTED |= {"lessons._catalog", "_progress", "_facts", "testing._messages"}


def list_modules():
    """{dotted name below smemkit: its file}, "" for smemkit itself."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = list_modules()


def list_imports(tree, name, is_package, whole=True):
    """(line, module below smemkit or None, imported name) of each import of smemkit's own.

    whole: also those within functions, which are made later than the module's.
    """
    nodes = ast.walk(tree) if whole else walk_statements(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                head, _, rest = alias.name.partition(".")
                if head == "smemkit":
                    yield node.lineno, rest, None
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                parts = name.split(".") if name else []
                parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
                parts += node.module.split(".") if node.module else []
            elif node.module.partition(".")[0] == "smemkit":
                parts = node.module.split(".")[1:]
            else:
                continue
            for alias in node.names:
                yield node.lineno, ".".join(parts), alias.name


def walk_statements(tree):
    """The statements that are executed when a module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from walk_statements(node)


def resolve(module, name):
    """The module of smemkit that `from module import name` needs."""
    dotted = f"{module}.{name}".strip(".") if name else module
    return dotted if dotted in MODULES or dotted == "_core" else module


def imports_of(module, whole=True):
    """(line, module of smemkit) of the imports of a module of smemkit."""
    path = MODULES[module]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for line, other, name in list_imports(tree, module, path.name == "__init__.py", whole):
        yield line, resolve(other, name)


def check_layer(module, other):
    """AssertionError where a module may not import another one."""
    mine, theirs = module.partition(".")[0], other.partition(".")[0]
    mine = mine or "__init__"
    if theirs == "":
        assert mine not in BELOW, f"{mine} is imported by smemkit, and imports it"
    elif theirs in LAYERS and mine != theirs:
        allowed = LAYERS.get(mine, FACES.get(mine, set()))
        assert theirs in allowed, f"{mine} may not import {theirs}"
    private = [part for part in other.split(".")[1:] if part.startswith("_")]
    inside = other.rpartition("._")[0]
    assert not private or f"{module}.".startswith(f"{inside}."), f"{other} is private to {inside}"


def test_folders_and_top_are_those_listed():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == LAYERS.keys()
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {"_core"}
    assert modules == TOP.keys()


def test_the_build_carries_every_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = {
        ".".join(["smemkit", *path.parent.relative_to(PACKAGE).parts])
        for path in PACKAGE.rglob("__init__.py")
    }
    assert set(project["tool"]["setuptools"]["packages"]) == found


@pytest.mark.parametrize("module", [name for name in MODULES if name])
def test_imports_keep_to_the_layers(module):
    for line, other in imports_of(module):
        try:
            check_layer(module, other)
        except AssertionError as error:
            pytest.fail(f"{MODULES[module].relative_to(ROOT)}:{line}: {error}")


@pytest.mark.parametrize(
    ("module", "other", "allowed"),
    [
        ("report.counts", "bench.results", False),
        ("report._report", "", False),
        ("bench.record", "probe", True),
        ("plot._charts", "bench._run", False),
        ("bench.families.gemm", "bench.families._workload", True),
        ("bench._run", "bench._ceilings", True),
        ("compile", "report", False),
        ("cli.bench", "", True),
    ],
)
def test_layer_check_sees_a_wrong_import(module, other, allowed):
    try:
        check_layer(module, other)
    except AssertionError:
        assert not allowed
    else:
        assert allowed


def test_no_circle_when_modules_are_imported():
    """Of the imports that are made at once; smemkit's own face is whole before others see it."""
    graph = {
        module: {other for _, other in imports_of(module, whole=False) if other and other != module}
        for module in MODULES
        if module
    }
    done, under_way = set(), []

    def visit(module):
        assert module not in under_way, " -> ".join([*under_way, module])
        if module in done or module not in graph:
            return
        under_way.append(module)
        for other in sorted(graph[module]):
            if not f"{module}.".startswith(f"{other}."):  # its own package imports it
                visit(other)
        done.add(under_way.pop())

    for module in graph:
        visit(module)
    assert len(done) > 40


@pytest.mark.parametrize("name", sorted(LAYERS.keys() - {"cli"}))
def test_public_names_belong_to_their_package(name):
    package = importlib.import_module(f"smemkit.{name}")
    assert package.__doc__ and package.__all__
    assert len(set(package.__all__)) == len(package.__all__)
    for word in package.__all__:
        own = getattr(getattr(package, word), "__module__", None)
        assert own in (None, package.__name__, "smemkit", "smemkit._core"), f"{word} is {own}'s"


def test_tests_use_public_faces():
    """Private modules that tests import are in TESTED, which has no others."""
    used = set()
    for path in sorted(TESTS.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for _, module, name in list_imports(tree, "", False):
            if name is None or path.name == "test_import.py":
                continue
            parts = resolve(module, name).split(".")
            if any(part.startswith("_") and not part.endswith("__") for part in parts):
                used.add(".".join(parts))
    assert used == TESTED


def test_results_import_by_their_older_path():
    from smemkit import bench, results

    assert results.Measurement is bench.Measurement and results.Results is bench.Results
