"""Compile every CUDA C file of this folder to PTX, three ways, into ptx/.

    python tests/run.py programs.regenerate [name ...]

The texts are kept so that the tests run where no nvcc is; needs an nvcc.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import smemkit.compile

FOLDER = pathlib.Path(__file__).resolve().parent
MODES = {"O3": ["-O3", "-lineinfo"], "O0": ["-Xcicc", "-O0"], "G": ["-G"]}
PLAIN_BYTES_MAX = 8192  # longer texts are kept compressed


def find_nvcc():
    """The nvcc to use, or None: what $NVCC names, else the one that smemkit takes."""
    named = os.environ.get("NVCC")
    return named if named and os.path.exists(named) else smemkit.compile.find_nvcc()


def names():
    """Names of all kernels here, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.cu"))


def flags_of(source):
    """The flags a file's header asks for ("// Compile with: ..."), and the default architecture."""
    asked = re.findall(r"^// Compile with: (.*)$", source, re.M)
    flags = " ".join(asked).split()
    if not any(flag.startswith("-arch") for flag in flags):
        flags.append("-arch=compute_75")
    return flags


def compile_ptx(nvcc, name, mode):
    """PTX text of a file, compiled in one of MODES, without a path of this machine in it."""
    source = (FOLDER / f"{name}.cu").read_text()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(FOLDER / f"{name}.cu", folder)
        command = [nvcc, "-ptx", *flags_of(source), *MODES[mode], f"{name}.cu", "-o", "out.ptx"]
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        subprocess.run(command, cwd=folder, check=True, env=environment, timeout=300)
        text = (pathlib.Path(folder) / "out.ptx").read_text()
    return strip_paths(text)


def strip_paths(text):
    """Cut .file names to their last part, and blank folders in debug sections, keeping lengths."""
    text = re.sub(r'(\.file\s+\d+\s+")[^"\n]*/', r"\1", text)

    def blank(match):
        lines = [line[4:].split(",") for line in match.group(0).splitlines()]
        data = bytes(int(byte) for line in lines for byte in line)
        clean = iter(re.sub(rb"/(?:[\w.+~-]{2,}/)+[\w.+~-]*", neutral, data))
        return "".join(".b8 " + ",".join(str(next(clean)) for _ in line) + "\n" for line in lines)

    return re.sub(r"(?:^\.b8 [\d,]+\n)+", blank, text, flags=re.M)


def neutral(match):
    """As many bytes that say nothing: "./././" in place of a folder."""
    length = len(match.group(0))
    return (b"./" * length)[:length]


def path_of(name, mode):
    """Where the PTX of a kernel is kept: (plain path, compressed path); one of them exists."""
    plain = FOLDER / "ptx" / f"{name}.{mode}.ptx"
    return plain, plain.with_name(plain.name + ".gz")


def load_ptx(name, mode):
    """The kept PTX text of a kernel."""
    plain, compressed = path_of(name, mode)
    if not plain.exists() and not compressed.exists():
        how = f"python {os.path.relpath(__file__)} {name} makes it"
        raise FileNotFoundError(f"there is no {plain.name}: {how}")
    if compressed.exists():
        return gzip.decompress(compressed.read_bytes()).decode()
    return plain.read_text()


def store(name, mode, text):
    plain, compressed = path_of(name, mode)
    plain.parent.mkdir(exist_ok=True)
    if len(text) > PLAIN_BYTES_MAX:
        compressed.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        plain.unlink(missing_ok=True)
    else:
        plain.write_text(text)
        compressed.unlink(missing_ok=True)


def main():
    nvcc = find_nvcc()
    if nvcc is None:
        sys.exit("smemkit finds no nvcc, and $NVCC names none")
    for name in sys.argv[1:] or names():
        for mode in MODES:
            store(name, mode, compile_ptx(nvcc, name, mode))
        print(name)


if __name__ == "__main__":
    main()
