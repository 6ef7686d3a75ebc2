"""Builds smemkit: the C extension, and the kernels as machine code and PTX.

What pyproject.toml cannot say is here: sources are globbed, kernels go through nvcc, both on all
cores and only where something changed. Environment variables:

  SMEMKIT_NVCC      the nvcc to use; "none" leaves the GPU part out on purpose
  SMEMKIT_ARCHES    GPU architectures to compile for: "90", or "75 80 90 100 120" (the default)
  SMEMKIT_WERROR    1 makes warnings of the C compiler errors (so does CI)
  SMEMKIT_SANITIZE  sanitizers for the extension: "address,undefined"
  CFLAGS            for the C compiler; the extension has debug information where this asks (-g)
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
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
KERNELS = Path("csrc/kernels")
LAYERS = ("sim", "ptx", "py", "gpu", "registry", "base")  # sim first: it takes longest
ARCHES = ("75", "80", "90", "100", "120")
LOWEST_ARCH = "75"
NVCC_OLDEST = (12, 8)  # the first that knows sm_100 and sm_120, and whose cudart loads libraries
C_TYPES = {
    "float32": "float",
    "float64": "double",
    "uint8": "unsigned char",
    "int32": "int",
    "int64": "long long",
    "bits8": "unsigned char",
    "bits16": "unsigned short",
    "bits32": "unsigned int",
    "bits64": "unsigned long long",
}

WARNINGS = "-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes".split()
# These come after Python's own flags, which would define signed overflow (and so hide it from the
# sanitizers) and add debug information that names the folder of the build.
C_FLAGS = (
    "-std=gnu11 -O2 -fno-wrapv -g0 -fvisibility=hidden -ffunction-sections -fdata-sections "
    "-iquote csrc -ffp-contract=off -fno-math-errno -fno-trapping-math"
).split()


class BuildError(Exception):
    """Something that the person who builds has to put right; shown without a traceback."""


def fail(message):
    raise SystemExit(f"\nsmemkit: error: {message}\n")


def say(message):
    print(f"smemkit: {message}", file=sys.stderr, flush=True)


def hash_text(*parts):
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(str(len(data)).encode() + b":" + data)
    return digest.hexdigest()


def run_tool(command, **options):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(map(str, command))}\n{done.stdout}")
    return done.stdout


# The CUDA toolkit --------------------------------------------------------------------------------


class Toolkit:
    """An nvcc with the parts that belong to it. Raises BuildError where one is missing."""

    def __init__(self, nvcc):
        self.nvcc = Path(nvcc)
        if not os.access(self.nvcc, os.X_OK) or not self.nvcc.is_file():
            raise BuildError(f"{nvcc} is not a program")
        text = run_tool([self.nvcc, "--version"])
        match = re.search(r"release (\d+)\.(\d+), V([\d.]+)", text)
        if not match:
            raise BuildError(f"{nvcc} --version says nothing that looks like a version")
        self.version = match[3]
        if (int(match[1]), int(match[2])) < NVCC_OLDEST:
            raise BuildError(f"{nvcc} is {match[3]}, older than {'.'.join(map(str, NVCC_OLDEST))}")
        root = self.nvcc.resolve().parent.parent
        machine = os.uname().machine
        targets = [root / "targets" / f"{name}-linux" for name in (machine, "sbsa")]
        roots = [root, *targets, root.parent / "usr"]
        self.include = self.find(roots, ["include"], "cuda_runtime_api.h")
        libraries = ["lib64", "lib", f"lib/{machine}-linux-gnu"]
        self.cudart = self.find(roots, libraries, "libcudart_static.a") / "libcudart_static.a"

    def find(self, roots, folders, name):
        for root in roots:
            for folder in folders:
                if (root / folder / name).is_file():
                    return root / folder
        raise BuildError(f"{self.nvcc} has no {name} beside it (looked under {roots[0]})")

    def cut_arches(self, arches):
        known = set(re.findall(r"sm_(\d+)", run_tool([self.nvcc, "--list-gpu-code"])))
        unknown = [arch for arch in arches if arch not in known]
        if unknown:
            raise BuildError(
                f"{self.nvcc} ({self.version}) cannot compile for sm_{', sm_'.join(unknown)}"
            )
        return arches


def list_nvcc_places():
    """(where, path) of every nvcc, the best first."""
    for folder in sys.path:
        for path in sorted(Path(folder or ".").glob("nvidia/cu[0-9]*/bin/nvcc")):
            yield "the build environment", path
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield name, Path(os.environ[name]) / "bin" / "nvcc"
    found = shutil.which("nvcc")
    if found:
        yield "PATH", Path(found)


def find_toolkit():
    """(Toolkit or None, the reason in words). Asks once."""
    if not hasattr(find_toolkit, "answer"):
        find_toolkit.answer = look_for_toolkit()
    return find_toolkit.answer


def look_for_toolkit():
    named = os.environ.get("SMEMKIT_NVCC")
    if named == "none":
        return None, "SMEMKIT_NVCC=none"
    if named:
        try:
            return Toolkit(named), "SMEMKIT_NVCC"
        except BuildError as error:
            fail(f"SMEMKIT_NVCC: {error}")
    reasons = []
    for where, path in list_nvcc_places():
        try:
            return Toolkit(path), where
        except BuildError as error:
            reasons.append(f"{where}: {error}")
    return None, "; ".join(reasons) or "no nvcc in the build environment, CUDA_HOME or PATH"


# Kernels -----------------------------------------------------------------------------------------


class Kernel:
    """One exhibit: csrc/kernels/<family>/<variant>.cu and its row of variants.def."""

    def __init__(self, path, types, arch, choices):
        self.path = path
        self.family, self.variant, self.types = path.parent.name, path.stem, types
        self.name = f"{self.family}/{self.variant}"
        self.text = path.read_text(encoding="utf-8")
        self.arch = arch
        self.choices = [row for row in choices if row["family"] == self.family]
        self.wrapper = self.write_wrapper()
        self.source_hash = hash_text(self.text, self.wrapper, arch)

    def list_entries(self):
        """(ending of the entry's name, what is defined for it) of each entry."""
        for name in self.types:
            if name not in C_TYPES:
                fail(f"variants.def: {self.name}: no C type is known for {name}")
            rows = [row for row in self.choices if row["type"] == name]
            if self.choices and not rows:
                fail(f"choices.def has no row for {self.name} of {name}")
            for row in rows:
                accumulator = C_TYPES[row["result"]]
                operation = f"{self.family}_{row['choice']}_{name}"
                yield (
                    f"{row['choice']}_{name}",
                    {
                        "T": C_TYPES[name],
                        "A": accumulator,
                        "OP": operation,
                        "NEUTRAL": f"({accumulator})({row['neutral']})",
                    },
                    f"__device__ inline {accumulator} {operation}({accumulator} a, {accumulator} b)"
                    f" {{ return {row['expression']}; }}",
                )
            if not self.choices:
                yield name, {"T": C_TYPES[name]}, None

    def write_wrapper(self):
        """The translation unit that makes one entry of each element type and choice.

        All names of the file that begin with the entry's (variables beside it) are made its own.
        """
        entry = f"{self.family}_{self.variant}"
        names = sorted({entry, *re.findall(rf"\b{entry}_\w+", self.text)})
        lines = []
        for ending, defined, operation in self.list_entries():
            defined = {**defined, **{name: f"{name}_{ending}" for name in names}}
            lines += [operation] if operation else []
            lines += [f"#define {name} {text}" for name, text in defined.items()]
            lines += [f'#include "{self.path.name}"', *(f"#undef {name}" for name in defined)]
        return "\n".join(lines) + "\n"

    def files(self, folder, *suffixes):
        return [Path(folder) / self.family / f"{self.variant}{suffix}" for suffix in suffixes]

    def compile(self, toolkit, arches, folder):
        """Leaves .ptx, .fatbin, the machine code of that very PTX, and .usage in folder."""
        chosen = [arch for arch in arches if int(arch) >= int(self.arch)]
        codes = ",".join([f"sm_{arch}" for arch in chosen] + [f"compute_{self.arch}"])
        ptx, fatbin, usage = self.files(folder, ".ptx", ".fatbin", ".usage")
        stamp, unit = self.files(folder, ".stamp", ".types.cu")
        to_ptx = [
            "-ptx",
            "-lineinfo",
            "-fmad=true",
            f"-arch=compute_{self.arch}",
            "-Werror",
            "all-warnings",
        ]
        to_fatbin = ["-fatbin", "-lineinfo", f"-gencode=arch=compute_{self.arch},code=[{codes}]"]
        to_fatbin += ["-Xptxas", "-v"]
        wanted = hash_text(self.source_hash, toolkit.version, *to_ptx, *to_fatbin)
        made = all(path.exists() for path in (ptx, fatbin, usage, stamp))
        if made and stamp.read_text() == wanted:
            return
        stamp.unlink(missing_ok=True)
        unit.parent.mkdir(parents=True, exist_ok=True)
        unit.write_text(self.wrapper, encoding="utf-8")
        say(f"nvcc {self.path} for {', '.join(self.types)}")
        run_tool([toolkit.nvcc, *to_ptx, f"-I{self.path.parent}", "-o", ptx, unit])
        text = cut_unit_names(cut_file_paths(ptx.read_text(encoding="utf-8")))
        ptx.write_text(text, encoding="utf-8")
        report = run_tool([toolkit.nvcc, *to_fatbin, "-o", fatbin, ptx])
        usage.write_text(read_usage(report, self.name, len(chosen)), encoding="utf-8")
        stamp.write_text(wanted)


def read_usage(report, name, arch_count):
    """ptxas -v -> a line each: entry, architecture, registers a thread, shared bytes a block."""
    entry = r"Compiling entry function '(\w+)' for 'sm_(\d+)'"
    used = r"Used (\d+) registers(?:[^\n]*?\b(\d+)(?:\+\d+)? bytes smem)?"
    rows = re.findall(rf"{entry}(?:(?!Compiling entry)[\s\S])*?{used}", report)
    if len(rows) != len(re.findall(entry, report)) or len({row[1] for row in rows}) != arch_count:
        raise BuildError(f"{name}: what ptxas -v says was not understood:\n{report}")
    return "".join(f"{row[0]} {row[1]} {row[2]} {row[3] or 0}\n" for row in rows)


def cut_file_paths(ptx):
    """.file lines name the file only, so that what is built does not depend on where."""
    return re.sub(r'^(\s*\.file\s+\d+\s+")[^"\n]*/', r"\1", ptx, flags=re.MULTILINE)


def cut_unit_names(ptx):
    """Names in a unit's own namespace without the number that nvcc makes of the unit's folder.

    They stand in the text, and byte by byte in the sections of debug information.
    """
    lines = re.findall(r"^\.b8 ([\d,]+)$", ptx, re.MULTILINE)
    data = bytes(map(int, ",".join(lines).split(","))) if lines else b""
    for number in set(re.findall(r"_INTERNAL_([0-9a-f]{8})_", ptx + data.decode("latin-1"))):
        own = f"_INTERNAL_{number}_"
        ptx = ptx.replace(own, f"_INTERNAL_{'0' * 8}_")
        pattern = r"(,|\n\.b8 )".join(map(str, own.encode()))
        ptx = re.sub(rf"\b{pattern}\b", clear_number, ptx)
    return ptx


def clear_number(found):
    """The match of a unit's name in decimal bytes, with separators as groups, numbered 0."""
    separators = [*found.groups(), ""]
    name = f"_INTERNAL_{'0' * 8}_".encode()
    return "".join(f"{byte}{separator}" for byte, separator in zip(name, separators, strict=True))


def read_table(name, macro, columns):
    """The rows of a table of csrc/registry as dicts."""
    path = Path("csrc/registry") / name
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = []
    for body in re.findall(rf"^{macro}\((.*)\)[ \t]*$", text, re.MULTILINE):
        cells = [
            quoted if plain == "" else plain.strip()
            for quoted, plain in re.findall(r'\s*(?:"([^"]*)"|([^,"]+))\s*(?:,|$)', body)
        ]
        if len(cells) != len(columns):
            fail(f"{path}: a row is malformed: {body}")
        rows.append(dict(zip(columns, cells, strict=True)))
    if len(rows) != len(re.findall(rf"^{macro}\(", text, re.MULTILINE)):
        fail(f"{path}: a row is malformed")
    return rows


VARIANT_COLUMNS = "family name block_x block_y tile_x tile_y types arch plan speed shows".split()
CHOICE_COLUMNS = "family choice type result expression neutral".split()


def list_kernels():
    """Every .cu with its row; a missing half stops the build, by name."""
    rows = {}
    for row in read_table("variants.def", "SMK_VARIANT", VARIANT_COLUMNS):
        if f"{row['family']}/{row['name']}" in rows:
            fail(f"csrc/registry/variants.def: {row['family']}/{row['name']} stands twice")
        rows[f"{row['family']}/{row['name']}"] = row
    choices = read_table("choices.def", "SMK_CHOICE", CHOICE_COLUMNS)
    sources = {f"{path.parent.name}/{path.stem}": path for path in sorted(KERNELS.glob("*/*.cu"))}
    for name in sorted(rows.keys() - sources.keys()):
        fail(f"csrc/registry/variants.def has a row {name}, but there is no {KERNELS}/{name}.cu")
    for name in sorted(sources.keys() - rows.keys()):
        fail(f"{sources[name]} has no row in csrc/registry/variants.def")
    return [
        Kernel(path, rows[name]["types"].split(), rows[name]["arch"], choices)
        for name, path in sources.items()
    ]


def choose_arches(toolkit):
    text = os.environ.get("SMEMKIT_ARCHES")
    arches = re.split(r"[\s,;]+", text.strip()) if text and text.strip() else list(ARCHES)
    if not all(arch.isdigit() for arch in arches):
        fail(f'SMEMKIT_ARCHES is {text!r}: say "90" or "75 80 90"')
    try:
        return toolkit.cut_arches(arches)
    except BuildError as error:
        fail(error)


PREBUILT = Path("smemkit/kernels")  # in an sdist: PTX that travels with it
PREBUILT_LIST = PREBUILT / "prebuilt.json"


def check_prebuilt(kernels, reason):
    """Stops the build unless the PTX of every kernel, as it now is, lies at hand."""
    known = json.loads(PREBUILT_LIST.read_text()) if PREBUILT_LIST.exists() else {}
    for kernel in kernels:
        if (
            known.get(kernel.name) == kernel.source_hash
            and kernel.files(PREBUILT, ".ptx")[0].exists()
        ):
            continue
        why = "differs from the prebuilt PTX" if kernel.name in known else "has no prebuilt PTX"
        fail(
            f"{kernel.path} {why}, and there is no nvcc to compile it ({reason}).\n"
            "An sdist carries PTX; a checkout needs nvcc. Let pip build in isolation, so that it\n"
            "fetches nvcc, or put nvcc on PATH, or name it in CUDA_HOME or SMEMKIT_NVCC."
        )


def count_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
            jobs = self.start_kernels()
            super().run()
            self.finish_kernels(jobs)
        self.kernel_outputs = self.place_kernels(self.inplace)
        if not self.inplace:
            self.complete_sources()
        if self.toolkit is None:
            say("*" * 100)
            say(f"BUILT WITHOUT THE GPU PART: {self.reason}.")
            say("Kernels run on the simulator only. smemkit.show_config() says so too.")
            say("*" * 100)

    def kernel_cache(self):
        return Path(self.build_temp) / "kernels"

    def start_kernels(self):
        if self.toolkit is None:
            check_prebuilt(self.kernels, self.reason)
            return []
        arches = choose_arches(self.toolkit)
        say(f"nvcc {self.toolkit.version} from {self.reason}: {self.toolkit.nvcc}")
        folder = self.kernel_cache()
        return [
            self.pool.submit(kernel.compile, self.toolkit, arches, folder)
            for kernel in self.kernels
        ]

    def finish_kernels(self, jobs):
        try:
            for job in jobs:
                job.result()
        except BuildError as error:
            fail(error)

    def complete_sources(self):
        """In a clone Python finds the sources before what was installed: they must be whole too."""
        try:
            self.copy_extensions_to_source()
            self.place_kernels(in_sources=True)
        except OSError as error:
            say(f"The sources stay without the extension ({error}); import smemkit elsewhere.")

    def place_kernels(self, in_sources):
        """Copies what belongs to each kernel into the package; the paths."""
        target = PREBUILT if in_sources else Path(self.build_lib) / PREBUILT
        origin, suffixes = PREBUILT, (".ptx",)
        if self.toolkit:
            origin, suffixes = self.kernel_cache(), (".ptx", ".fatbin", ".usage")
        wanted = {}
        for kernel in self.kernels:
            for path in kernel.files("", *suffixes):
                wanted[target / path] = origin / path
            wanted[target / kernel.files("", ".cu")[0]] = kernel.path
        for path in target.glob("*/*"):
            if path.suffix in (".cu", ".ptx", ".fatbin", ".usage") and path not in wanted:
                path.unlink()  # of a kernel that is gone
        for path, source in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if path != source:
                shutil.copyfile(source, path)
        return [str(path) for path in wanted]

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
    absent = Path("csrc/gpu/absent.c")  # stands in for the rest of gpu/ where there is no CUDA
    if toolkit:
        return [str(path) for path in paths if path != absent]
    return [str(path) for path in paths if path.parent != absent.parent or path == absent]


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
        toolkit, reason = find_toolkit()
        kernels = list_kernels()
        if toolkit:
            folder = Path(self.get_finalized_command("build").build_temp) / "kernels"
            arches = choose_arches(toolkit)
            with concurrent.futures.ThreadPoolExecutor(count_cores()) as pool:
                try:
                    list(pool.map(lambda kernel: kernel.compile(toolkit, arches, folder), kernels))
                except BuildError as error:
                    fail(error)
        else:
            check_prebuilt(kernels, reason)
            folder = PREBUILT
        for kernel in kernels:
            target = Path(base_dir) / kernel.files(PREBUILT, ".ptx")[0]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kernel.files(folder, ".ptx")[0], target)
        table = {kernel.name: kernel.source_hash for kernel in kernels}
        (Path(base_dir) / PREBUILT_LIST).write_text(json.dumps(table, indent=1) + "\n")


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
