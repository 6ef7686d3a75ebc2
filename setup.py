"""Builds smemkit: the C extension, and the kernels as machine code and PTX.

What pyproject.toml cannot say is here: sources are globbed, kernels go through nvcc
(csrc/kernels/compile_kernels.py), both on all cores and only where something changed. Environment
variables:

  SMEMKIT_NVCC      the nvcc to use; "none" leaves the GPU part out on purpose
  SMEMKIT_ARCHES    GPU architectures to compile for: "90", or "75 80 90 100 120" (the default)
  SMEMKIT_WERROR    1 makes warnings of the C compiler errors (so does CI)
  SMEMKIT_SANITIZE  sanitizers for the extension: "address,undefined"
  CFLAGS            for the C compiler; the extension has debug information where this asks (-g)
"""

import concurrent.futures
import os
import shlex
import sys
import sysconfig
from pathlib import Path

import numpy
import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1 leaves wheels to a package of their own
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        bdist_wheel = None

ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "csrc"), str(ROOT / "csrc" / "kernels")]  # pip leaves the sources out

from compile_kernels import (  # noqa: E402
    PREBUILT,
    add_prebuilt,
    finish_compiling,
    list_kernels,
    place_kernels,
    start_compiling,
)
from nvcc import BuildError, count_cores, fail, find_toolkit, hash_text, run_tool, say  # noqa: E402

LAYERS = ("sim", "ptx", "py", "gpu", "registry", "base")  # sim first: it takes longest
WARNINGS = "-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes".split()
# These come after Python's own flags, which would define signed overflow (and so hide it from the
# sanitizers) and add debug information that names the folder of the build.
C_FLAGS = (
    "-std=gnu11 -O2 -fno-wrapv -g0 -fvisibility=hidden -ffunction-sections -fdata-sections "
    "-iquote csrc -ffp-contract=off -fno-math-errno -fno-trapping-math"
).split()


# Commands ----------------------------------------------------------------------------------------


class BuildExtension(build_ext):
    """Kernels and C files side by side on all cores."""

    def run(self):
        if getattr(self, "editable_mode", False):  # setuptools would have it in a folder of one use
            build = self.get_finalized_command("build")
            name = f"temp.{build.plat_name}-{sys.implementation.cache_tag}"
            self.build_temp = os.path.join(build.build_base, name)
        self.toolkit, self.reason = find_toolkit()
        self.kernels = list_kernels()
        with concurrent.futures.ThreadPoolExecutor(count_cores()) as self.pool:
            folder = Path(self.build_temp) / "kernels"
            jobs = start_compiling(self.kernels, (self.toolkit, self.reason), folder, self.pool)
            super().run()
            finish_compiling(jobs)
        compiled = folder if self.toolkit else None
        target = PREBUILT if self.inplace else Path(self.build_lib) / PREBUILT
        self.kernel_outputs = place_kernels(self.kernels, compiled, target)
        if not self.inplace:
            self.complete_sources(compiled)
        if self.toolkit is None:
            say("*" * 100)
            say(f"BUILT WITHOUT THE GPU PART: {self.reason}.")
            say("Kernels run on the simulator only. smemkit.show_config() says so too.")
            say("*" * 100)

    def complete_sources(self, compiled):
        """In a clone Python finds the sources before what was installed: they must be whole too."""
        try:
            self.copy_extensions_to_source()
            place_kernels(self.kernels, compiled, PREBUILT)
        except OSError as error:
            say(f"The sources stay without the extension ({error}); import smemkit elsewhere.")

    def get_outputs(self):
        return super().get_outputs() + getattr(self, "kernel_outputs", [])

    def build_extension(self, ext):
        ext.sources = list_sources(self.toolkit)
        flags, link_flags = choose_flags(self.toolkit)
        folders, versions = list_headers(self.toolkit)
        jobs = [
            self.pool.submit(self.compile_object, path, flags, folders, versions)
            for path in ext.sources
        ]
        try:
            objects = [job.result() for job in jobs]
        except BuildError as error:
            fail(error)
        path = Path(self.get_ext_fullpath(ext.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(
            objects + ext.extra_objects, str(path), extra_postargs=link_flags, target_lang="c"
        )

    def compile_object(self, source, flags, folders, versions):
        """Compiles one C file unless its object is fresh. Returns the object's path."""
        target = Path(self.build_temp) / Path(source).with_suffix(".o")
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [*self.compiler.compiler_so, *flags]
        # pip builds with NumPy and CUDA in a new folder each time: their versions count, not the
        # folders.
        wanted = hash_text(*command, *versions)
        stamp = target.with_suffix(".stamp")
        if stamp.exists() and stamp.read_text() == wanted and is_fresh(target):
            return str(target)
        stamp.unlink(missing_ok=True)
        # Other people's headers are not ours to warn about, nor to watch for changes: -isystem.
        systems = [word for folder in folders for word in ("-isystem", folder)]
        # No folder of this machine in what is built: the same sources give the same bytes anywhere.
        places = [
            f"-ffile-prefix-map={ROOT}=.",
            *(f"-ffile-prefix-map={f}=include" for f in folders),
        ]
        output = run_tool([*command, *systems, *places, "-MMD", "-c", source, "-o", str(target)])
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


def list_sources(toolkit):
    paths = [path for layer in LAYERS for path in sorted(Path("csrc", layer).rglob("*.c"))]
    stub = Path("csrc/gpu/stub.c")  # stands in for the rest of gpu/ where there is no CUDA
    if toolkit:
        return [str(path) for path in paths if path != stub]
    return [str(path) for path in paths if path.parent != stub.parent or path == stub]


def list_headers(toolkit):
    """(folders of other people's headers, what they are)."""
    folders = [
        sysconfig.get_path("include"),
        sysconfig.get_path("platinclude"),
        numpy.get_include(),
    ]
    versions = [sys.version, numpy.__version__]
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


class SourceDistribution(sdist):
    """Adds the PTX, so that a machine without nvcc can install from it."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        folder = Path(self.get_finalized_command("build").build_temp) / "kernels"
        add_prebuilt(find_toolkit(), folder, Path(base_dir))


class Wheel(bdist_wheel or object):
    """A wheel without the GPU part says so in its name, which pip prints."""

    def finalize_options(self):
        toolkit, _ = find_toolkit()
        if toolkit is None and not self.build_number:
            self.build_number = "0_WITHOUT_GPU_no_nvcc"
        super().finalize_options()


# pyproject.toml could say this, but not so that setuptools on both sides of version 77 take it.
licence = "license_expression" if int(setuptools.__version__.split(".")[0]) >= 77 else "license"

os.chdir(ROOT)
setup(
    **{licence: "MIT"},
    ext_modules=[Extension("smemkit._core", sources=[])],
    cmdclass={"build_ext": BuildExtension, "sdist": SourceDistribution}
    | ({"bdist_wheel": Wheel} if bdist_wheel else {}),
)
