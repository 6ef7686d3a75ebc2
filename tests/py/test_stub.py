"""smemkit/_core.pyi says what smemkit._core is: names, parameters, bases, attributes."""

import ast
import inspect
from pathlib import Path

import pytest
import write_stubs
from support.paths import ROOT

import smemkit
from smemkit import _core, _facts

pytestmark = pytest.mark.generated

PATH = ROOT / "smemkit" / "_core.pyi"
TREE = ast.parse(PATH.read_text(encoding="utf-8"))
FUNCTIONS, CLASSES = {}, {}
for node in TREE.body:
    if isinstance(node, ast.FunctionDef):
        FUNCTIONS.setdefault(node.name, []).append(node)
    elif isinstance(node, ast.ClassDef):
        CLASSES[node.name] = node


def describe_stub(function, drop=0):
    """(name, kind, default) of each parameter."""
    spec = function.args
    kinds = [(arg, "positional-only") for arg in spec.posonlyargs]
    kinds += [(arg, "positional or keyword") for arg in spec.args]
    defaults = [None] * (len(kinds) - len(spec.defaults)) + spec.defaults
    rows = [(arg, kind, default) for (arg, kind), default in zip(kinds, defaults, strict=True)]
    rows += [(spec.vararg, "variadic positional", None)] if spec.vararg else []
    rows += [
        (arg, "keyword-only", default)
        for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    ]
    rows += [(spec.kwarg, "variadic keyword", None)] if spec.kwarg else []
    return [
        (arg.arg, kind, "required" if default is None else ast.literal_eval(default))
        for arg, kind, default in rows[drop:]
    ]


def describe_real(function, drop=0):
    return [
        (
            parameter.name,
            parameter.kind.description,
            "required" if parameter.default is parameter.empty else parameter.default,
        )
        for parameter in list(inspect.signature(function).parameters.values())[drop:]
    ]


# Methods of the interpreter's protocols, which have no signature of their own.
PROTOCOLS = ("__buffer__", "__copy__", "__deepcopy__", "__getitem__", "__len__", "__setitem__")
STALE = "python -m smemkit dev docs makes it anew"


def test_generated_parts_are_those_of_the_tables():
    assert write_stubs.fill_core(PATH.read_text(encoding="utf-8")) == PATH.read_text(), STALE
    facts = PATH.parent / "_facts.py"
    assert write_stubs.fill_facts(facts.read_text(encoding="utf-8")) == facts.read_text(), STALE
    functions = PATH.parent / "functions" / "__init__.pyi"
    assert functions.read_text(encoding="utf-8") == write_stubs.write_functions(), STALE
    tree = ast.parse(functions.read_text(encoding="utf-8"))
    assert sorted(ast.literal_eval(tree.body[-1].value)) == sorted(smemkit.functions.__all__)


@pytest.mark.parametrize(
    ("count", "lines"), [(1, 1), (3, 3), (9, 11)], ids=["short", "longer", "long"]
)
def test_stub_is_cut_as_the_formatter_cuts(count, lines):
    parameters = ["parameter: _Array" for _ in range(count)]
    text = write_stubs.write_function("name" * 8, parameters, "Any")
    assert text.count("\n") == lines and ast.parse(text)
    assert all(len(line) <= 100 for line in text.splitlines())


def test_names():
    real = {name for name in vars(_core) if not name.startswith("__")}
    assert real == FUNCTIONS.keys() | CLASSES.keys()
    assert (Path(smemkit.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    for overload in FUNCTIONS[name]:
        assert describe_stub(overload) == describe_real(getattr(_core, name))


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (_facts.SimulatorInfo, lambda: _core.device_info(backend="sim")),
        (_facts.Limits, lambda: _core.limits("9.0")),
        (_facts.Counter, lambda: _core._counters()[0]),
        (_facts.Family, lambda: _core.families()["gemm"]),
        (_facts.Variant, lambda: _core.variants("gemm")["tiled"]),
        (_facts.Attributes, lambda: _core.kernel("gemm", "tiled").attributes),
    ],
)
def test_keys_of_a_dict(kind, call):
    assert list(kind.__annotations__) == list(call())


@pytest.mark.parametrize("name", CLASSES)
def test_class(name):
    real = getattr(_core, name)
    bases = tuple(map(ast.unparse, CLASSES[name].bases))
    bases = ("tuple",) if bases == ("NamedTuple",) else bases
    assert bases == tuple(base.__name__ for base in real.__bases__ if base is not object)
    for member in CLASSES[name].body:
        if isinstance(member, ast.AnnAssign):
            assert hasattr(real, ast.unparse(member.target))
        elif not isinstance(member, ast.FunctionDef):
            assert isinstance(member, ast.Expr) and member.value.value is ...
        elif member.name == "__new__":
            assert describe_stub(member, drop=1) == describe_real(real)
        elif [ast.unparse(decorator) for decorator in member.decorator_list] in (
            ["property"],
            [f"{member.name}.setter"],
        ):
            assert inspect.isgetsetdescriptor(vars(real)[member.name])
        elif member.name in PROTOCOLS:
            assert callable(getattr(real, member.name, None)) or member.name == "__buffer__"
        else:
            assert describe_stub(member, drop=1) == describe_real(getattr(real, member.name), 1)


@pytest.mark.parametrize("name", ["DeviceArray", "RawModule", "RawKernel"])
def test_class_has_no_more(name):
    stub = {member.name for member in CLASSES[name].body if isinstance(member, ast.FunctionDef)}
    public = {member for member in vars(getattr(_core, name)) if not member.startswith("_")}
    assert public <= stub
