"""Machine code for compute capability 9.0, as a list of memory accesses with their source lines.

ptxas comes from the wheel nvidia-cuda-nvcc, $SMEMKIT_NVCC's folder, $CUDA_HOME or PATH; nvdisasm
and cuobjdump from their wheels or from the same places.
"""

import collections
import errno
import functools
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ARCH = "sm_90"

# One access of the machine code. op: load, store, atomic, async, matrix; space: shared, global,
# local, generic. bytes: of a lane; of matrices those that it gets or gives.
Access = collections.namedtuple("Access", "function file line op space bytes text")

OPCODES = {
    "LDS": ("load", "shared"),
    "LDSM": ("matrix", "shared"),
    "STSM": ("matrix", "shared"),
    "STS": ("store", "shared"),
    "ATOMS": ("atomic", "shared"),
    "LDG": ("load", "global"),
    "STG": ("store", "global"),
    "ATOMG": ("atomic", "global"),
    "RED": ("atomic", "global"),
    "REDG": ("atomic", "global"),
    "LDL": ("load", "local"),
    "STL": ("store", "local"),
    "LD": ("load", "generic"),
    "ST": ("store", "generic"),
    "ATOM": ("atomic", "generic"),
    "LDGSTS": ("async", "global"),
}
VECTORS = {"F32x2": 8, "F32x4": 16, "F16x4": 8, "F16x8": 16, "BF16x4": 8, "BF16x8": 16}
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "F64": 8, "S64": 8, "U64": 8}
WIDTHS |= VECTORS
POSITION = re.compile(r'//## File "([^"]*)", line (\d+)( inlined at .*)?')
INSTRUCTION = re.compile(
    r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)((?:\.\w+)*)\s*([^;]*);"
)


def wheel_folders():
    """Folders bin of NVIDIA's Python packages."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(pathlib.Path(folder).glob("*/bin"))


@functools.cache
def find_tool(name):
    """The path of ptxas, nvdisasm or cuobjdump, or None."""
    folders = list(wheel_folders())
    nvcc = os.environ.get("SMEMKIT_NVCC")
    if nvcc:
        folders.append(pathlib.Path(nvcc).parent)
    if os.environ.get("CUDA_HOME"):
        folders.append(pathlib.Path(os.environ["CUDA_HOME"]) / "bin")
    for folder in folders:
        if (folder / name).exists():
            return str(folder / name)
    return shutil.which(name)


def run(*command, folder=None):
    options = {"cwd": folder, "capture_output": True, "text": True, "check": False}
    try:
        done = subprocess.run(command, timeout=300, **options)
    except OSError as error:
        if error.errno != errno.EFAULT:  # which some virtual machines give now and then: once more
            raise
        done = subprocess.run(command, timeout=300, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout


def assemble(text, folder):
    """The path of the machine code that ptxas makes of a PTX text, in the folder."""
    path = pathlib.Path(folder) / "code.ptx"
    path.write_text(text)
    ptxas = find_tool("ptxas")
    options = () if re.search(r"^\.target.*\bdebug\b", text, re.M) else ("-lineinfo",)
    run(ptxas, f"-arch={ARCH}", *options, "code.ptx", "-o", "code.cubin", folder=folder)
    return path.with_suffix(".cubin")


@functools.cache
def disassemble_ptx(text):
    """Accesses of the machine code that ptxas makes of a PTX text."""
    with tempfile.TemporaryDirectory() as folder:
        return read_cubin(assemble(text, folder))


def disassemble_fatbin(path):
    """Accesses of the image for 9.0 in a fatbin, or None where it holds none."""
    with tempfile.TemporaryDirectory() as folder:
        run(
            find_tool("cuobjdump"), "-xelf", "all", str(pathlib.Path(path).resolve()), folder=folder
        )
        found = sorted(pathlib.Path(folder).glob(f"*{ARCH}*.cubin"))
        return [access for image in found for access in read_cubin(image)] if found else None


def list_opcodes(text):
    """{function: opcodes with their suffixes} of what ptxas makes of a PTX text."""
    with tempfile.TemporaryDirectory() as folder:
        listing = run(find_tool("nvdisasm"), str(assemble(text, folder)))
    opcodes = collections.defaultdict(list)
    for line in listing.splitlines():
        if line.startswith(".text."):
            function = line[len(".text.") :].rstrip(":")
        instruction = INSTRUCTION.match(line)
        if instruction:
            opcodes[function].append(instruction[1] + instruction[2])
    return opcodes


def read_cubin(path):
    return parse(run(find_tool("nvdisasm"), "--print-line-info-inline", str(path)))


def width_of(opcode, suffixes):
    """Bytes a lane."""
    names = suffixes.split(".")
    if opcode in ("LDSM", "STSM"):  # .16.M88 is one matrix, .16.M88.4 are four
        return 4 * int(names[-1]) if names[-1].isdecimal() else 4
    if opcode == "LDGSTS":
        names = [name for name in names if name != "LTC128B"]
    return next((WIDTHS[name] for name in names if name in WIDTHS), 4)


def parse(listing):
    """The accesses in a listing of nvdisasm."""
    found, function, place, chain = [], "", (None, 0), []
    for line in listing.splitlines():
        if line.startswith(".text."):
            function, place = line[len(".text.") :].rstrip(":"), (None, 0)
            continue
        position = POSITION.search(line)
        if position:
            chain.append((os.path.basename(position[1]), int(position[2])))
            if position[3] is None:
                # of a chain "inlined at" the first is the innermost, the last of the kernel's file
                place = next(each for each in chain if each[0] == chain[-1][0])
                chain = []
            continue
        instruction = INSTRUCTION.match(line)
        if instruction:
            chain = []
            if "@!PT" in line:
                continue  # never executed: it only fills a pipeline
            opcode, suffixes, rest = instruction.groups()
            if opcode in OPCODES:
                width = width_of(opcode, suffixes)
                text = f"{opcode}{suffixes} {rest.strip()}"
                found.append(Access(function, *place, *OPCODES[opcode], width, text))
    return found
