"""Compiles the C files: the commands, their flags, and what tells that an object is fresh.

  SMEMKIT_WERROR    1 makes warnings of the C compiler errors (so does CI)
  SMEMKIT_SANITIZE  sanitizers for the extension: "address,undefined"
  CFLAGS            for the C compiler; the extension has debug information where this asks (-g)

gcc and clang serve, and zig cc, which cross-compiles. Run as a program (with csrc/kernels on
PYTHONPATH), this lists the flags that single files need.
"""

import importlib.util
import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from nvcc import BuildError, hash_text, run_tool

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("sim", "ptx", "py", "gpu", "registry", "base")  # sim first: it takes longest
# The stand-in for the CUDA runtime is a library of its own, of these folders and files.
RUNTIME = ("sim", "ptx", "runtime", "base")
RUNTIME_FILES = ("cards.c", "occupancy.c")  # of registry
RUNTIME_NAME = "libcudart.so.13"
RUNTIME12_NAME = "libcudart.so.12"  # of what differs in CUDA 12; all else is the other's
RUNTIME12_FILES = ("cuda12_calls.c", "cuda12_properties.c")
DRIVER_NAME = "libcuda.so.1"  # stands in for the driver: empty, its functions are the other's
RUNTIME_EXPORTS = "csrc/runtime/exports.map"
RUNTIME12_EXPORTS = "csrc/runtime/cuda12.map"
WARNINGS = "-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes".split()
# These come after Python's own flags, which would define signed overflow (and so hide it from the
# sanitizers) and add debug information that names the folder of the build.
C_FLAGS = (
    "-std=gnu11 -O2 -fno-wrapv -g0 -fvisibility=hidden -ffunction-sections -fdata-sections "
    "-iquote csrc -ffp-contract=off -fno-math-errno -fno-trapping-math"
).split()
AVX2 = "-mavx2 -mfma"
AVX2_BITS = "-mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt"
AVX512 = "-mavx512f -mavx512dq -mavx512vl"
# Flags of the files that are loops over lanes, and of those that are compiled once for each
# instruction set: (everywhere, on x86-64).
# The arithmetic has vectors of 256 bits, and no BW: gcc 13 fails on masked 16-bit extremes.
FILE_FLAGS = {
    "access_avx2.c": ("-O3", AVX2_BITS),
    "access_avx512.c": ("-O3", f"{AVX512} -mavx512bw {AVX2_BITS} -mprefer-vector-width=512"),
    "warp_exchange.c": ("-O3", ""),
    "barrier.c": ("-O3", ""),
    "alu_general.c": ("-O3", ""),
    "alu_baseline.c": ("-O3", ""),
    "alu_avx2.c": ("-O3", AVX2),
    "alu_avx512.c": ("-O3", f"{AVX512} {AVX2} -mprefer-vector-width=256"),
    "mma_baseline.c": ("-O3", ""),
    "mma_avx2.c": ("-O3", AVX2),
    "mma_avx512.c": ("-O3", f"{AVX512} {AVX2} -mprefer-vector-width=256"),
}


def list_sources(toolkit):
    paths = [path for layer in LAYERS for path in sorted(Path("csrc", layer).rglob("*.c"))]
    stub = Path("csrc/gpu/stub.c")  # stands in for the rest of gpu/ where there is no CUDA
    if toolkit:
        return [str(path) for path in paths if path != stub]
    return [str(path) for path in paths if path.parent != stub.parent or path == stub]


def list_runtime_sources():
    paths = [path for layer in RUNTIME for path in sorted(Path("csrc", layer).rglob("*.c"))]
    paths += [
        path for path in sorted(Path("csrc/registry").glob("*.c")) if path.name in RUNTIME_FILES
    ]
    return [str(path) for path in paths if path.name not in RUNTIME12_FILES]


def list_runtime12_sources():
    paths = sorted(Path("csrc/runtime").glob("*.c"))
    return [str(path) for path in paths if path.name in RUNTIME12_FILES]


def choose_runtime_link_flags():
    """Flags of the linker for the stand-in: programs see what a CUDA runtime exports alone."""
    link = [f"-Wl,-soname,{RUNTIME_NAME}", f"-Wl,--version-script={RUNTIME_EXPORTS}"]
    link += "-Wl,--gc-sections -Wl,-z,defs -lpthread -ldl -lm".split()
    sanitizers = os.environ.get("SMEMKIT_SANITIZE")
    return [*link, f"-fsanitize={sanitizers}"] if sanitizers else [*link, "-Wl,--strip-debug"]


def choose_runtime12_link_flags(runtime):
    """Flags of the linker for the stand-in for CUDA 12, which loads that for CUDA 13."""
    link = [f"-Wl,-soname,{RUNTIME12_NAME}", f"-Wl,--version-script={RUNTIME12_EXPORTS}"]
    return [*link, "-Wl,--no-as-needed", str(runtime), "-Wl,-rpath,$ORIGIN", "-Wl,--strip-debug"]


def choose_driver_link_flags(runtime):
    """Flags of the linker for the stand-in for the driver, which loads that for the runtime."""
    return [f"-Wl,-soname,{DRIVER_NAME}", "-Wl,--no-as-needed", str(runtime), "-Wl,-rpath,$ORIGIN"]


def find_dlpack():
    """dlpack.h of a package: that of apache-tvm-ffi, which the build asks for, or PyTorch's."""
    for package, path in (
        ("tvm_ffi", "include/dlpack/dlpack.h"),
        ("torch", "include/ATen/dlpack.h"),
    ):
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            header = Path(folder) / path
            if header.exists() and "DLPackExchangeAPI;" in header.read_text(encoding="utf-8"):
                return header
    raise BuildError("dlpack.h of version 1.3 is needed: pip install apache-tvm-ffi")


def place_dlpack(folder):
    """Copies dlpack.h below a folder of the build, where <dlpack/dlpack.h> finds it alone."""
    source, target = find_dlpack(), Path(folder) / "include" / "dlpack" / "dlpack.h"
    if not target.exists() or target.read_bytes() != source.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return str(target.parent.parent)


def list_headers(toolkit, numpy, folder):
    """(folders of other people's headers, what they are); some are placed below `folder`."""
    folders = [
        sysconfig.get_path("include"),
        sysconfig.get_path("platinclude"),
        numpy.get_include(),
        place_dlpack(folder),
    ]
    versions = [sys.version, numpy.__version__, hash_text(find_dlpack().read_text())]
    if toolkit:
        folders.append(str(toolkit.include))
        versions.append(toolkit.version)
    return list(dict.fromkeys(folders)), versions


def choose_flags(toolkit):
    """Flags of the C compiler and of the linker."""
    flags = [*C_FLAGS, *WARNINGS]
    link = ["-Wl,--gc-sections", "-lpthread", "-ldl", "-lrt", "-lm"]
    asked = [word for word in shlex.split(os.environ.get("CFLAGS", "")) if word.startswith("-g")]
    if os.environ.get("SMEMKIT_WERROR", os.environ.get("CI", "")) not in ("", "0", "false"):
        flags.append("-Werror")
    if toolkit:
        link = [str(toolkit.cudart), "-Wl,--exclude-libs,ALL", *link]
    else:
        flags.append("-DSMK_WITHOUT_CUDA=1")
    sanitizers = os.environ.get("SMEMKIT_SANITIZE")
    if sanitizers:
        extra = [
            f"-fsanitize={sanitizers}",
            "-fno-sanitize-recover=all",
            "-fno-omit-frame-pointer",
            "-g",
        ]
        flags += [*extra, "-UNDEBUG"]
        link += extra
    elif asked:
        flags += asked
    else:
        link.append("-Wl,--strip-debug")
    return flags, link


def list_file_flags(source, is_x86):
    """What a file needs beside the flags of all."""
    everywhere, on_x86 = FILE_FLAGS.get(Path(source).name, ("", ""))
    return [*everywhere.split(), *(on_x86.split() if is_x86 else ())]


class Compiler:
    """A C compiler with the flags and the headers of one build."""

    def __init__(self, command, flags, folders, versions):
        self.command = [*command, *flags]
        macros = run_tool([*command, "-dM", "-E", "-x", "c", os.devnull])
        self.is_x86 = "#define __x86_64__ " in macros
        # pip builds with NumPy and CUDA in a new folder each time: their versions count, not the
        # folders.
        self.versions = versions
        # Other people's headers are not ours to warn about, nor to watch for changes: -isystem.
        self.headers = [word for folder in folders for word in ("-isystem", folder)]
        # No folder of this machine in what is built: the same sources give the same bytes anywhere.
        self.headers += [f"-ffile-prefix-map={ROOT}=."]
        self.headers += [f"-ffile-prefix-map={folder}=include" for folder in folders]

    def compile(self, source, folder):
        """Compiles one C file unless its object in `folder` is fresh. Returns the object's path."""
        target = Path(folder) / Path(source).with_suffix(".o")
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [*self.command, *list_file_flags(source, self.is_x86)]
        wanted = hash_text(*command, *self.versions)
        stamp = target.with_suffix(".stamp")
        if stamp.exists() and stamp.read_text() == wanted and is_fresh(target):
            return str(target)
        stamp.unlink(missing_ok=True)
        output = run_tool([*command, *self.headers, "-MMD", "-c", source, "-o", str(target)])
        if output:
            sys.stderr.write(output)
        stamp.write_text(wanted)
        return str(target)


def is_fresh(target):
    """True where the object is newer than every file that the compiler read for it."""
    listing = target.with_suffix(".d")
    if not target.exists() or not listing.exists():
        return False
    names = listing.read_text().replace("\\\n", " ").split(":", 1)[-1].split()
    built = target.stat().st_mtime_ns
    return all(os.path.exists(name) and os.stat(name).st_mtime_ns < built for name in names)


if __name__ == "__main__":
    for name in FILE_FLAGS:
        print(name, *list_file_flags(name, os.uname().machine == "x86_64"))
