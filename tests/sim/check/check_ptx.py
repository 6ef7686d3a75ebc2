"""Compile the CUDA C files of kernels/ to PTX, two ways, into kernels/ptx/.

    python tests/run.py sim.check.check_ptx [name ...]

The texts are kept so that the tests run where no nvcc is; needs nvcc on PATH or in $NVCC. How texts
are compiled and cleaned of paths is tests/programs/regenerate.py's business.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from programs.regenerate import find_nvcc, flags_of, strip_paths

FOLDER = pathlib.Path(__file__).resolve().parent / "kernels"

MODES = {"O3": ["-O3", "-lineinfo"], "G": ["-G"]}


def names():
    """Names of all files here, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.cu"))


def source_of(name):
    """The CUDA C of a file."""
    return (FOLDER / f"{name}.cu").read_text()


def strip_debug(text):
    """Without the sections that only a debugger reads: they are most of a -G text."""
    cut = re.search(r"^\t\.section\t\.debug_", text, re.M)
    return text[: cut.start()] if cut else text


def compile_ptx(nvcc, name, mode):
    """PTX text of a file, compiled in one of MODES."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(FOLDER / f"{name}.cu", folder)
        flags = [*flags_of(source_of(name)), *MODES[mode]]
        command = [nvcc, "-ptx", *flags, f"{name}.cu", "-o", "out.ptx"]
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        subprocess.run(command, cwd=folder, check=True, env=environment, timeout=300)
        text = (pathlib.Path(folder) / "out.ptx").read_text()
    text = strip_paths(text)
    return strip_debug(text) if mode == "G" else text


def path_of(name, mode):
    return FOLDER / "ptx" / f"{name}.{mode}.ptx.gz"


def load_ptx(name, mode):
    """The kept PTX text of a file."""
    return gzip.decompress(path_of(name, mode).read_bytes()).decode()


def main():
    nvcc = find_nvcc()
    if nvcc is None:
        sys.exit("no nvcc on PATH, and $NVCC names none")
    for name in sys.argv[1:] or names():
        for mode in MODES:
            path = path_of(name, mode)
            path.parent.mkdir(exist_ok=True)
            text = compile_ptx(nvcc, name, mode)
            path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        print(name)


if __name__ == "__main__":
    main()
