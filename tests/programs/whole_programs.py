"""The whole programs of whole/: how they are built, and what --check finds of their faults."""

import pathlib
import re
import subprocess

import smemkit
import smemkit.compile

FOLDER = pathlib.Path(__file__).resolve().parent / "whole"
CUDART = pathlib.Path(smemkit.__file__).parent / "cudart"
BUILD_SECONDS = 600

# Program: a kind of finding that its fault must have.
FAULTS = {
    "async_copy": "race",
    "conditional_nodes": "out_of_bounds",
    "constant_filter": "out_of_bounds",
    "cub_scan": "out_of_bounds",
    "error_codes": "out_of_bounds",
    "event_timing": "global_race",
    "functors": "out_of_bounds",
    "graph_capture": "uninitialized",
    "graph_nodes": "out_of_bounds",
    "grid_sync": "global_race",
    "groups": "race",
    "host_functions": "out_of_bounds",
    "host_threads": "global_race",
    "last_block_sum": "global_race",
    "life": "global_race",
    "linked_files": "out_of_bounds",
    "loaded_library": "out_of_bounds",
    "managed_list": "global_race",
    "mapped_memory": "out_of_bounds",
    "matrix_units": "out_of_bounds",
    "occupancy": "out_of_bounds",
    "pitched_rows": "out_of_bounds",
    "printed_lines": "uninitialized",
    "reduction": "uninitialized",
    "shared_reverse": "race",
    "stream_memory": "uninitialized",
    "streams_overlap": "out_of_bounds",
    "surface_blur": "out_of_bounds",
    "symbols": "global_race",
    "texture_filter": "out_of_bounds",
    "thread_streams": "out_of_bounds",
    "thrust_sort": "out_of_bounds",
    "thrust_transform": "out_of_bounds",
    "tiled_product": "race",
    "two_files": "out_of_bounds",
    "vector_add": "out_of_bounds",
    "volume": "out_of_bounds",
}


def read_flags(source, word):
    """What a line of the header asks for: "// Compile with: ...", "// Link with: ..."."""
    return " ".join(re.findall(rf"^// {word} with: (.*)$", source, re.MULTILINE)).split()


def build(name, folder, *, fault=False):
    """Builds a program; its path. That with the fault has a CUDA runtime linked into it.

    The other one is linked to the stand-in itself, because the packages of CUDA lack libcudart.so.
    """
    source = (FOLDER / f"{name}.cu").read_text(encoding="utf-8")
    flags = read_flags(source, "Compile")
    if "-gencode" not in flags and "-rdc=true" not in flags:  # without ptxas
        flags += ["-gencode", "arch=compute_75,code=compute_75"]
    library = folder / "libcudart.so"
    if not library.exists():
        library.symlink_to(CUDART / "libcudart.so.13")
    program = folder / (f"{name}.fault" if fault else name)
    if program.exists():
        return program
    nvcc = smemkit.compile.find_nvcc()
    library_folder = nvcc.parent.parent / "lib"  # packages have it; their nvcc looks in lib64 alone
    command = [
        *(str(nvcc), "-lineinfo"),
        *([] if fault else ["-cudart", "shared", f"-L{folder}"]),
        *("-Xcompiler", "-O0", *flags, *(["-DFAULT"] if fault else [])),
        *(f"-L{library_folder}", f"{name}.cu", *read_flags(source, "Link"), "-o", str(program)),
    ]
    done = subprocess.run(
        command, cwd=FOLDER, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return program
