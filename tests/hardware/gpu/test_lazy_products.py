"""gemm over devices, and copies between them, on a runtime that works as late as it may.

The extension's object files of the build in place are linked with that runtime instead of CUDA's.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.fake_runtime import find_headers
from support.paths import CSRC, ROOT

import smemkit

HERE = Path(__file__).parent
SEEDS = 30


def find_objects():
    """The object files of all sources in a folder of the build, or why there are none."""
    other = (CSRC / "gpu" / "stub.c", *CSRC.glob("runtime/*.c"))  # stand-ins for what is made here
    sources = [path for path in CSRC.rglob("*.c") if path not in other]
    for folder in ROOT.glob(f"build/temp.*{sys.implementation.cache_tag.removeprefix('cpython-')}"):
        objects = [folder / path.relative_to(ROOT).with_suffix(".o") for path in sources]
        if all(path.is_file() for path in objects):
            return objects
    pytest.skip("no build in place with CUDA's headers has all object files")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with a package smemkit whose extension has the lazy runtime."""
    compiler, headers = shutil.which("gcc"), find_headers()
    if compiler is None or headers is None:
        pytest.skip("no cuda_runtime_api.h, or no gcc")
    objects = find_objects()
    folder = tmp_path_factory.mktemp("lazy")
    (folder / "smemkit").mkdir()
    for path in Path(smemkit.__file__).parent.iterdir():
        if not path.name.startswith(("_core.cpython", "__pycache__")):
            (folder / "smemkit" / path.name).symlink_to(path)
    made = folder / "smemkit" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [
        compiler,
        "-O1",
        "-shared",
        "-fPIC",
        f"-I{headers}",
        HERE / "lazy_runtime.c",
        HERE / "lazy_unused.c",
        *objects,
    ]
    command += ["-Wl,-Bsymbolic", "-Wl,--gc-sections", "-lpthread", "-ldl", "-lrt", "-lm"]
    subprocess.run([*command, "-o", made], check=True, timeout=120)
    return made


def test_every_order_gives_the_product(package):
    environment = {**os.environ, "PYTHONPATH": str(package.parents[1]), "SMEMKIT_BACKEND": "cuda"}
    command = [sys.executable, HERE / "lazy_products.py", package, "0", str(SEEDS)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"right {SEEDS}\n"
