"""Compile every CUDA C file of this folder to PTX, into ptx/.

    python tests/run.py hardware.counts.regenerate_counts [name ...]

The texts are kept so that counts can be compared where no nvcc is, and because another compiler
would make other PTX and other counts. Needs an nvcc.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import smemkit.compile

FOLDER = pathlib.Path(__file__).resolve().parent


def find_nvcc():
    """The nvcc to use, or None: what $NVCC names, else the one that smemkit takes."""
    named = os.environ.get("NVCC")
    return named if named and os.path.exists(named) else smemkit.compile.find_nvcc()


def names():
    """Names of all kernels here, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.cu"))


def compile_ptx(nvcc, name):
    """PTX text of a file, by the flags its header asks for ("// Compile with: ...")."""
    source = (FOLDER / f"{name}.cu").read_text()
    flags = " ".join(re.findall(r"^// Compile with: (.*)$", source, re.M)).split()
    if not any(flag.startswith("-arch") for flag in flags):
        flags.append("-arch=compute_75")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(FOLDER / f"{name}.cu", folder)
        command = [nvcc, "-ptx", "-O3", "-lineinfo", *flags, f"{name}.cu", "-o", "out.ptx"]
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        subprocess.run(command, cwd=folder, check=True, env=environment, timeout=300)
        text = (pathlib.Path(folder) / "out.ptx").read_text()
    return re.sub(r'(\.file\s+\d+\s+")[^"\n]*/', r"\1", text)  # no path of this machine


def path_of(name):
    """Where the PTX of a kernel is kept."""
    return FOLDER / "ptx" / f"{name}.ptx"


def say_how(name):
    """What makes the PTX of a kernel anew."""
    return f"python {os.path.relpath(__file__)} {name} makes it anew"


def load_ptx(name):
    """The kept PTX text of a kernel."""
    if not path_of(name).exists():
        raise FileNotFoundError(f"there is no {path_of(name).name}: {say_how(name)}")
    return path_of(name).read_text()


def main():
    nvcc = find_nvcc()
    if nvcc is None:
        sys.exit("smemkit finds no nvcc, and $NVCC names none")
    (FOLDER / "ptx").mkdir(exist_ok=True)
    for name in sys.argv[1:] or names():
        path_of(name).write_text(compile_ptx(nvcc, name))
        print(name)


if __name__ == "__main__":
    main()
