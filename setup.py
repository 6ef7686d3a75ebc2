"""Builds smemkit: the C extension, and the kernels as machine code and PTX.

What pyproject.toml cannot say is here: the C files go through the C compiler (csrc/compile_c.py),
the kernels through nvcc (csrc/kernels/compile_kernels.py), both on all cores and only where
something changed. Environment variables:

  SMEMKIT_NVCC      the nvcc to use; "none" leaves the GPU part out on purpose
  SMEMKIT_ARCHES    GPU architectures to compile for: "90", or "75 80 90 100 120" (the default)
  SMEMKIT_WERROR    1 makes warnings of the C compiler errors (so does CI)
  SMEMKIT_SANITIZE  sanitizers for the extension: "address,undefined"
  CFLAGS            for the C compiler; the extension has debug information where this asks (-g)
"""

import concurrent.futures
import os
import sys
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

from compile_c import (  # noqa: E402
    DRIVER_NAME,
    RUNTIME12_NAME,
    RUNTIME_NAME,
    Compiler,
    choose_driver_link_flags,
    choose_flags,
    choose_runtime12_link_flags,
    choose_runtime_link_flags,
    list_headers,
    list_runtime12_sources,
    list_runtime_sources,
    list_sources,
)
from compile_kernels import (  # noqa: E402
    PREBUILT,
    add_prebuilt,
    finish_compiling,
    list_kernels,
    place_kernels,
    start_compiling,
)
from nvcc import BuildError, count_cores, fail, find_toolkit, say  # noqa: E402

RUNTIME = Path("smemkit", "cudart", RUNTIME_NAME)
RUNTIME12 = RUNTIME.with_name(RUNTIME12_NAME)
DRIVER = RUNTIME.with_name(DRIVER_NAME)

# Commands ----------------------------------------------------------------------------------------


def find_kernels(command):
    """The folder of compiled kernels: one for all versions of Python."""
    return Path(command.get_finalized_command("build").build_base, "kernels")


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
            folder = find_kernels(self)
            jobs = start_compiling(self.kernels, (self.toolkit, self.reason), folder, self.pool)
            super().run()
            finish_compiling(jobs)
        compiled = folder if self.toolkit else None
        target = PREBUILT if self.inplace else Path(self.build_lib) / PREBUILT
        self.kernel_outputs = place_kernels(self.kernels, compiled, target)
        root = Path() if self.inplace else Path(self.build_lib)
        self.runtime_outputs = [root / path for path in (RUNTIME, RUNTIME12, DRIVER)]
        if self.inplace:
            self.place_runtime()
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
            self.place_runtime()
        except OSError as error:
            say(f"The sources stay without the extension ({error}); import smemkit elsewhere.")

    def place_runtime(self):
        """Copies the stand-ins for the CUDA runtimes and driver into the sources."""
        RUNTIME.parent.mkdir(exist_ok=True)
        for path in (RUNTIME, RUNTIME12, DRIVER):
            self.copy_file(str(Path(self.build_lib) / path), str(path))

    def copy_file(self, infile, outfile, *options, **named):
        """Copies a file beside its target and renames it: who has the old one mapped keeps it."""
        beside = f"{outfile}.{os.getpid()}"
        copied = super().copy_file(infile, beside, *options, **named)
        os.replace(beside, outfile)
        return outfile, copied[1]

    def get_outputs(self):
        made = [*getattr(self, "kernel_outputs", []), *getattr(self, "runtime_outputs", [])]
        return super().get_outputs() + [str(path) for path in made]

    def build_extension(self, ext):
        ext.sources = list_sources(self.toolkit)
        flags, link_flags = choose_flags(self.toolkit)
        try:
            headers = list_headers(self.toolkit, numpy, self.build_temp)
            compiler = Compiler(self.compiler.compiler_so, flags, *headers)
            runtimes = list_runtime_sources() + list_runtime12_sources()
            paths = dict.fromkeys(ext.sources + runtimes)
            jobs = {
                path: self.pool.submit(compiler.compile, path, self.build_temp) for path in paths
            }
            objects = {path: job.result() for path, job in jobs.items()}
        except BuildError as error:
            fail(error)
        # Python's own libraries may lie in a folder of this machine.
        words = self.compiler.linker_so
        self.compiler.linker_so = [word for word in words if not word.startswith("-Wl,-rpath")]
        path = Path(self.get_ext_fullpath(ext.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(
            [objects[name] for name in ext.sources] + ext.extra_objects,
            str(path),
            extra_postargs=link_flags,
            target_lang="c",
        )
        self.link_runtime(
            [objects[name] for name in list_runtime_sources()],
            [objects[name] for name in list_runtime12_sources()],
        )

    def link_runtime(self, objects, objects12):
        """Links the stand-ins for the CUDA runtimes and driver, which `smemkit run` uses."""
        path = Path(self.build_lib) / RUNTIME
        path.parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(
            [*objects], str(path), extra_postargs=choose_runtime_link_flags(), target_lang="c"
        )
        self.compiler.link_shared_object(
            [*objects12],
            str(Path(self.build_lib) / RUNTIME12),
            extra_postargs=choose_runtime12_link_flags(path),
            target_lang="c",
        )
        driver = str(Path(self.build_lib) / DRIVER)
        self.compiler.link_shared_object(
            [], driver, extra_postargs=choose_driver_link_flags(path), target_lang="c"
        )


class SourceDistribution(sdist):
    """Adds the PTX, so that a machine without nvcc can install from it."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        add_prebuilt(find_toolkit(), find_kernels(self), Path(base_dir))


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
