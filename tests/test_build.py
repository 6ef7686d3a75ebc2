"""setup.py: what it says where something is missing, what it makes of a kernel."""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import setuptools
from support.paths import ROOT

OWN = ("read_tables", "nvcc", "compile_c", "compile_kernels")  # what setup.py imports of csrc
EXHIBIT = Path("csrc/kernels/gemm/tiled.cu")
TABLE = Path("csrc/registry/variants.def")


@pytest.fixture
def tree(tmp_path):
    """What setup.py reads, without the C files: a copy to break."""
    names = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "smemkit/_version.py")
    for name in (*names, "csrc/runtime/exports.map", "csrc/runtime/cuda12.map"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for package in project["tool"]["setuptools"]["packages"]:
        (tmp_path / package.replace(".", "/")).mkdir(parents=True, exist_ok=True)
    copy_modules(tmp_path)
    for name in ("csrc/kernels", "csrc/registry"):
        ignore = shutil.ignore_patterns("*.c", "*.h", "__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore, dirs_exist_ok=True)
    return tmp_path


def copy_modules(tree):
    for path in [*ROOT.glob("csrc/*.py"), *(ROOT / "csrc/kernels").glob("*.py")]:
        target = tree / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


@pytest.fixture
def run_setup(monkeypatch):
    """A function that runs a tree's setup.py without setting anything up: the names in it.

    What it imports of csrc comes from that tree, and is forgotten after the test.
    """

    def run(tree):
        monkeypatch.chdir(tree)
        monkeypatch.setattr("setuptools.setup", lambda **_: None)
        monkeypatch.setattr(sys, "path", list(sys.path))
        for name in OWN:
            monkeypatch.setitem(sys.modules, name, None)
            del sys.modules[name]
        return runpy.run_path(str(tree / "setup.py"))

    return run


@pytest.fixture
def kernels(tree, run_setup):
    """The module that compiles the kernels of the copy."""
    run_setup(tree)
    return sys.modules["compile_kernels"]


def build(tree, *, status=1, **variables):
    """The output of a build without nvcc that ends with `status`."""
    environment = os.environ | {"SMEMKIT_NVCC": "none"} | variables
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "build_ext", "--inplace"],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == status, done.stdout
    assert "Traceback" not in done.stdout
    return done.stdout


def test_row_without_exhibit(tree):
    (tree / EXHIBIT).unlink()
    assert f"has a row gemm/tiled, but there is no {EXHIBIT}" in build(tree)


def test_exhibit_without_row(tree):
    shutil.copy(tree / EXHIBIT, tree / "csrc/kernels/gemm/orphan.cu")
    assert f"gemm/orphan.cu has no row in {TABLE}" in build(tree)


def test_row_twice(tree):
    text = (tree / TABLE).read_text(encoding="utf-8")
    row = re.search(r"^SMK_VARIANT.*\n", text, re.MULTILINE)[0]
    (tree / TABLE).write_text(text + row, encoding="utf-8")
    assert f"{TABLE}: gemm/naive stands twice" in build(tree)


def test_malformed_row(tree):
    text = (tree / TABLE).read_text(encoding="utf-8")
    (tree / TABLE).write_text(text + "SMK_VARIANT(gemm, short, 1)\n", encoding="utf-8")
    assert f"{TABLE}: a row is malformed: gemm, short, 1" in build(tree)


def test_unknown_element_type(tree):
    text = (tree / TABLE).read_text(encoding="utf-8")
    (tree / TABLE).write_text(
        text.replace("float32 float64", "float32 float99", 1), encoding="utf-8"
    )
    assert "gemm/naive: no C type is known for float99" in build(tree)


def test_checkout_without_nvcc_says_what_is_missing(tree):
    output = build(tree)
    assert "has no prebuilt PTX, and there is no nvcc to compile it (SMEMKIT_NVCC=none)" in output
    assert "CUDA_HOME" in output


def test_wrong_nvcc_is_named(tree):
    assert "SMEMKIT_NVCC: /nonexistent/nvcc is not a program" in build(
        tree, SMEMKIT_NVCC="/nonexistent/nvcc"
    )
    assert "says nothing that looks like a version" in build(
        tree, SMEMKIT_NVCC=shutil.which("true")
    )


def make_prebuilt(tree, kernels):
    """What an sdist carries."""
    folder = tree / kernels.PREBUILT
    table = {}
    for kernel in kernels.list_kernels():
        path = kernel.files(folder, ".ptx")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("// PTX\n")
        table[kernel.name] = kernel.source_hash
    (tree / kernels.PREBUILT_LIST).write_text(json.dumps(table))


def test_prebuilt_ptx_serves_where_there_is_no_nvcc(tree, kernels):
    make_prebuilt(tree, kernels)
    stale = tree / "smemkit/kernels/gemm/gone.fatbin"
    stale.write_bytes(b"")
    output = build(tree, status=0)
    assert "BUILT WITHOUT THE GPU PART: SMEMKIT_NVCC=none" in output
    built = tree / "smemkit/kernels/gemm"
    assert (built / "tiled.cu").read_bytes() == (tree / EXHIBIT).read_bytes()
    assert (built / "tiled.ptx").read_text() == "// PTX\n"
    assert not stale.exists()


def test_prebuilt_ptx_of_another_source_is_refused(tree, kernels):
    make_prebuilt(tree, kernels)
    with open(tree / EXHIBIT, "a", encoding="utf-8") as file:
        file.write("// changed\n")
    assert f"{EXHIBIT} differs from the prebuilt PTX" in build(tree)


def test_wrapper_makes_an_entry_of_each_type(kernels):
    kernel = kernels.Kernel(EXHIBIT, ["float32", "float64"], "75", [], [])
    assert kernel.wrapper.splitlines() == [
        "#define T float",
        "#define gemm_tiled gemm_tiled_float32",
        '#include "tiled.cu"',
        "#undef T",
        "#undef gemm_tiled",
        "#define T double",
        "#define gemm_tiled gemm_tiled_float64",
        '#include "tiled.cu"',
        "#undef T",
        "#undef gemm_tiled",
    ]


def test_wrapper_makes_an_entry_of_each_choice(tree, kernels):
    (tree / EXHIBIT).write_text("__constant__ T gemm_tiled_weights[9];\n")
    row = {"family": "gemm", "choice": "sum", "type": "int32", "result": "int64"}
    row |= {"expression": "a + b", "neutral": "0ll"}
    kernel = kernels.Kernel(EXHIBIT, ["int32"], "75", [row, row | {"family": "dot"}], [])
    assert kernel.wrapper.splitlines() == [
        "__device__ inline long long gemm_sum_int32(long long a, long long b) { return a + b; }",
        "#define T int",
        "#define A long long",
        "#define OP gemm_sum_int32",
        "#define NEUTRAL (long long)(0ll)",
        "#define gemm_tiled gemm_tiled_sum_int32",
        "#define gemm_tiled_weights gemm_tiled_weights_sum_int32",
        '#include "tiled.cu"',
        "#undef T",
        "#undef A",
        "#undef OP",
        "#undef NEUTRAL",
        "#undef gemm_tiled",
        "#undef gemm_tiled_weights",
    ]


def test_choice_without_a_row_for_a_type(kernels):
    row = {"family": "gemm", "choice": "sum", "type": "int32", "result": "int64"}
    with pytest.raises(SystemExit, match="choices.def has no row for gemm/tiled of float32"):
        kernels.Kernel(EXHIBIT, ["float32"], "75", [row], [])


def test_file_lines_keep_the_name_only(kernels):
    text = '\t.file\t1 "/home/a b/x/tiled.cu"\n.file 2 "plain.h"\n// "/home/x"\n'
    cut = '\t.file\t1 "tiled.cu"\n.file 2 "plain.h"\n// "/home/x"\n'
    assert kernels.cut_file_paths(text) == cut


def spell(text, width):
    """The lines of a debug section."""
    codes = [*map(str, text.encode())]
    return "".join(f".b8 {','.join(codes[i : i + width])}\n" for i in range(0, len(codes), width))


@pytest.mark.parametrize("width", [1, 7, 40, 100])
def test_names_of_a_unit_do_not_tell_its_folder(kernels, width):
    made = [
        f"_ZN4_INTERNAL_{number}_4_u_cu_c9ef41e7_1fE\n" + spell(f"a._INTERNAL_{number}_b", width)
        for number in ("887bc3c9", "72fb4412")
    ]
    assert made[0] != made[1]
    cut = [kernels.cut_unit_names(text) for text in made]
    assert cut[0] == cut[1] and "c9ef41e7" in cut[0]
    assert len(cut[0].splitlines()) == len(made[0].splitlines())
    assert spell("a._INTERNAL_00000000_b", width) in cut[0]
    assert kernels.cut_unit_names(cut[0]) == cut[0]


def test_a_kernel_does_not_depend_on_where_it_is_built(tree, kernels, tmp_path, monkeypatch):
    toolkit, reason = sys.modules["nvcc"].look_for_toolkit()
    if toolkit is None:
        pytest.skip(f"no nvcc: {reason}")
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # nvcc does not run under a sanitizer
    made = []
    for folder in ("one", "another/place"):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copytree(tree / "csrc", tmp_path / folder / "csrc")
        monkeypatch.chdir(tmp_path / folder)
        kernel = kernels.Kernel(EXHIBIT, ["float32"], "75", [], [])
        kernel.compile(toolkit, ["90"], Path("build"))
        made.append([path.read_bytes() for path in kernel.files("build", ".ptx", ".fatbin")])
    assert made[0] == made[1]


def test_what_setup_imports_needs_nothing_installed():
    for name in OWN:
        (path,) = [*ROOT.glob(f"csrc/{name}.py"), *ROOT.glob(f"csrc/kernels/{name}.py")]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            used = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            used += [node.module] if isinstance(node, ast.ImportFrom) else []
            for module in used:
                assert module in OWN or module.partition(".")[0] in sys.stdlib_module_names, path


@pytest.mark.parametrize("ask", ["wheel", "sdist", "editable"])
@pytest.mark.parametrize("nvcc", ["none", ""])
def test_build_of_pip_finds_what_setup_imports(tree, ask, nvcc):
    """Where pip builds, the folder of setup.py is not on the path; nvcc is fetched where used."""
    code = (
        "import os, sys\n"
        "assert not {'', os.getcwd()} & set(sys.path)\n"
        "sys.path.append('csrc')\n"
        "import build_backend\n"
        f"print('required:', build_backend.get_requires_for_build_{ask}())\n"
    )
    command = [sys.executable, "-P", "-W", "ignore", "-c", code]
    environment = os.environ | {"SMEMKIT_NVCC": nvcc}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, cwd=tree, env=environment, text=True, timeout=120, **pipes)
    assert done.returncode == 0 and "required: [" in done.stdout, done.stdout
    assert done.stdout.count("nvidia-") == (0 if nvcc else 5)


# C files -----------------------------------------------------------------------------------------

PROBE = """
#include "../base/status.h"
#include <Python.h>
#include <assert.h>
int smk_probe(int x);
int smk_probe(int x)
{
    assert(x != 7 && __FILE__ != NULL);
    return x + 1;
}
"""


@pytest.fixture
def compile_probe(monkeypatch, run_setup, tmp_path):
    """A function that compiles a C file in a folder of that name as setup.py would; its object."""
    for name in ("CFLAGS", "CPPFLAGS", "SMEMKIT_SANITIZE"):
        monkeypatch.delenv(name, raising=False)

    def compile_it(name, **variables):
        tree = tmp_path / name
        shutil.copytree(ROOT / "csrc/base", tree / "csrc/base")
        shutil.copy(ROOT / "setup.py", tree)
        copy_modules(tree)
        (tree / "csrc/py").mkdir()
        (tree / "csrc/py/probe.c").write_text(PROBE)
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        run_setup(tree)
        own = sys.modules["compile_c"]
        flags, _ = own.choose_flags(None)
        folders, versions = own.list_headers(None, np, tree / "build" / "temp")
        folders = [*folders, str(tree / "headers")]  # pip puts those of NumPy anywhere
        known = setuptools.distutils.ccompiler.new_compiler()
        setuptools.distutils.sysconfig.customize_compiler(known)
        compiler = own.Compiler(known.compiler_so, flags, folders, versions)
        path = compiler.compile("csrc/py/probe.c", "build/temp")
        return (tree / path).read_bytes()

    return compile_it


@pytest.mark.parametrize("flags", ["", "-g", "-O1 -ggdb3"])
def test_what_is_compiled_does_not_depend_on_where(compile_probe, flags):
    first = compile_probe("first", CFLAGS=flags)
    assert first == compile_probe("second/one", CFLAGS=flags)
    assert b"csrc/py/probe.c" in first or not flags
    assert (b".debug_info" in first) == bool(flags)


def test_signed_overflow_is_no_wrapping(compile_probe):
    """Python's flags would define it, and then no sanitizer looks."""
    probe = compile_probe("sanitized", SMEMKIT_SANITIZE="undefined", CFLAGS="-fwrapv")
    assert b"__ubsan_handle_add_overflow" in probe
    assert b"__assert_fail" in probe
    assert b"__ubsan" not in compile_probe("plain", SMEMKIT_SANITIZE="")
