"""Compiles the kernels: csrc/kernels/<family>/<variant>.cu to PTX and to machine code.

  SMEMKIT_ARCHES    GPU architectures to compile for: "90", or "75 80 90 100 120" (the default)

A kernel is compiled only where its source, its rows of the tables, nvcc or the options changed: a
stamp beside the results says what they were made of.
"""

import concurrent.futures
import json
import os
import re
import shutil
from pathlib import Path

from nvcc import BuildError, count_cores, fail, hash_text, run_tool, say
from read_tables import TableError, read_rows

KERNELS = Path("csrc/kernels")
ARCHES = ("75", "80", "90", "100", "120")
PREBUILT = Path("smemkit/kernels")  # in an sdist: PTX that travels with it
PREBUILT_LIST = PREBUILT / "prebuilt.json"
SUFFIXES = (".ptx", ".fatbin", ".usage")
C_TYPES = {
    "float32": "float",
    "float64": "double",
    "tf32": "float",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int32": "int",
    "int64": "long long",
    "bits8": "unsigned char",
    "bits16": "unsigned short",
    "bits32": "unsigned int",
    "bits64": "unsigned long long",
    "bits128": "ulonglong2",
}
# Of types that C++ does not have without a header: what a unit with one of them begins with.
DECLARATIONS = {
    "float16": "struct float16 { unsigned short bits; };",
    "bfloat16": "struct bfloat16 { unsigned short bits; };",
}


class Kernel:
    """One exhibit: csrc/kernels/<family>/<variant>.cu and its row of variants.def."""

    def __init__(self, path, types, arch, choices, sums):
        self.path = path
        self.family, self.variant, self.types = path.parent.name, path.stem, types
        self.name = f"{self.family}/{self.variant}"
        self.text = path.read_text(encoding="utf-8")
        self.arch = arch
        self.choices = [row for row in choices if row["family"] == self.family]
        self.sums = {row["type"]: row["sum"] for row in sums if row["family"] == self.family}
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
                yield self.write_entry(row, name)
            if not self.choices:
                sums = {"A": C_TYPES[self.sums[name]]} if name in self.sums else {}
                yield name, {"T": C_TYPES[name], **sums}, None

    def write_entry(self, row, name):
        """Of a row of choices.def: the entry's ending, what is defined for it, its operation."""
        ending = f"{row['choice']}_{name}"
        operation, structure = f"{self.family}_{ending}", ""
        kind = row.get("accumulator", row["result"])
        if kind == "INDEXED":
            accumulator = f"{operation}_pair"
            # no byte without a field: copies would read what nobody has written
            rest, none = ("", "") if name.endswith("64") else (" int rest;", "0, ")
            fields = f"{C_TYPES[name]} value;{rest} long long index;"
            structure = f"struct __align__(16) {accumulator} {{ {fields} }};\n"
            neutral = f"({accumulator}{{{row['neutral']}, {none}9223372036854775807ll}})"
        else:
            accumulator = C_TYPES[kind]
            neutral = f"({accumulator})({row['neutral']})"
        defined = {"T": C_TYPES[name], "A": accumulator, "OP": operation, "NEUTRAL": neutral}
        text = f"{structure}__device__ inline {accumulator} {operation}({accumulator} a, "
        text += f"{accumulator} b) {{ return {row['expression']}; }}"
        if "finish" in row:
            result = C_TYPES[row["result"]]
            taken = f"{operation}(a, (A)(value))"
            if structure:
                taken = f"{operation}_take(a, A{{value, {none}index}})"
                text += f"\n__device__ inline {accumulator} {operation}_take({accumulator} a, "
                text += f"{accumulator} b) {{ return {row['keep']} ? a : b; }}"
            text += f"\n__device__ inline {result} {operation}_finish({accumulator} a, long long n)"
            text += f" {{ return {row['finish']}; }}"
            defined |= {
                "R": result,
                "TAKE(a, value, index)": taken,
                "FINISH": f"{operation}_finish",
            }
        return ending, defined, text

    def write_wrapper(self):
        """The translation unit that makes one entry of each element type and choice.

        All names of the file that begin with the entry's (variables beside it) are made its own.
        """
        entry = f"{self.family}_{self.variant}"
        names = sorted({entry, *re.findall(rf"\b{entry}_\w+", self.text)})
        lines = list(DECLARATIONS.values()) if DECLARATIONS.keys() & set(self.types) else []
        for ending, defined, operation in self.list_entries():
            defined = {**defined, **{name: f"{name}_{ending}" for name in names}}
            lines += [operation] if operation else []
            lines += [f"#define {name} {text}" for name, text in defined.items()]
            lines += [
                f'#include "{self.path.name}"',
                *(f"#undef {name.partition('(')[0]}" for name in defined),
            ]
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


def read_table(name, *macros):
    try:
        return read_rows(f"registry/{name}", *macros)
    except TableError as error:
        fail(error)


def list_kernels():
    """Every .cu with its row; a missing half stops the build, by name."""
    rows = {}
    for row in read_table("variants.def", "SMK_VARIANT"):
        if f"{row['family']}/{row['name']}" in rows:
            fail(f"csrc/registry/variants.def: {row['family']}/{row['name']} stands twice")
        rows[f"{row['family']}/{row['name']}"] = row
    choices = read_table("choices.def", "SMK_CHOICE", "SMK_AXIS_CHOICE")
    sums = read_table("sums.def", "SMK_SUM")
    sources = {f"{path.parent.name}/{path.stem}": path for path in sorted(KERNELS.glob("*/*.cu"))}
    for name in sorted(rows.keys() - sources.keys()):
        fail(f"csrc/registry/variants.def has a row {name}, but there is no {KERNELS}/{name}.cu")
    for name in sorted(sources.keys() - rows.keys()):
        fail(f"{sources[name]} has no row in csrc/registry/variants.def")
    return [
        Kernel(path, rows[name]["types"].split(), rows[name]["arch"], choices, sums)
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


def start_compiling(kernels, found, folder, pool):
    """Starts a job for each kernel; none without nvcc, where PTX that travelled along must serve.

    found is what find_toolkit says.
    """
    toolkit, reason = found
    if toolkit is None:
        check_prebuilt(kernels, reason)
        return []
    arches = choose_arches(toolkit)
    say(f"nvcc {toolkit.version} from {reason}: {toolkit.nvcc}")
    return [pool.submit(kernel.compile, toolkit, arches, folder) for kernel in kernels]


def finish_compiling(jobs):
    try:
        for job in jobs:
            job.result()
    except BuildError as error:
        fail(error)


def place_kernels(kernels, compiled, target):
    """Copies what belongs to each kernel into a package folder; the paths.

    compiled is the folder of what nvcc made, None where PTX that travelled along has to serve.
    """
    origin, suffixes = (compiled, SUFFIXES) if compiled else (PREBUILT, (".ptx",))
    wanted = {}
    for kernel in kernels:
        for path in kernel.files("", *suffixes):
            wanted[target / path] = origin / path
        wanted[target / kernel.files("", ".cu")[0]] = kernel.path
    for path in target.glob("*/*"):
        if path.suffix in (".cu", *SUFFIXES) and path not in wanted:
            path.unlink()  # of a kernel that is gone
    for path, source in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if path != source:
            shutil.copyfile(source, path)
    return [str(path) for path in wanted]


def add_prebuilt(found, folder, release):
    """Puts the PTX of every kernel into the tree of an sdist, with a list of its sources."""
    kernels = list_kernels()
    with concurrent.futures.ThreadPoolExecutor(count_cores()) as pool:
        finish_compiling(start_compiling(kernels, found, folder, pool))
    origin = PREBUILT if found[0] is None else folder
    for kernel in kernels:
        target = release / kernel.files(PREBUILT, ".ptx")[0]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kernel.files(origin, ".ptx")[0], target)
    table = {kernel.name: kernel.source_hash for kernel in kernels}
    (release / PREBUILT_LIST).write_text(json.dumps(table, indent=1) + "\n")
