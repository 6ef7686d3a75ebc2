"""The register count of a kernel, from a ptxas that is installed beside an nvcc."""

import re
import subprocess
import tempfile
from pathlib import Path

from . import compile


def find_ptxas():
    """The path of ptxas, or None."""
    nvcc = compile.find_nvcc()
    path = nvcc.resolve().with_name("ptxas") if nvcc else None
    return path if path and path.is_file() else None


def read_report(report, entry):
    """The register count that `ptxas -v` reports for an entry, or None."""
    mine = re.search(
        rf"Compiling entry function '{re.escape(entry)}' for(?:(?!Compiling entry)[\s\S])*?"
        r"Used (\d+) registers",
        report,
    )
    return int(mine[1]) if mine else None


def count_registers(ptx, entry, major, minor):
    """Registers a thread of a kernel in machine code for a compute capability.

    None without ptxas, or where it cannot assemble the text for that compute capability.
    """
    ptxas = find_ptxas()
    if ptxas is None:
        return None
    arch = f"sm_{major}{minor}"
    target = re.search(r"^\s*\.target\s+(sm_\d+[af]?)", ptx, re.MULTILINE)
    if target and target[1][:-1] == arch:  # sm_90a and its like are targets of their own
        arch = target[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.ptx")
        path.write_text(ptx, encoding="utf-8")
        done = subprocess.run(
            [ptxas, "-v", f"-arch={arch}", "-o", Path(folder, "kernel.cubin"), path],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    return read_report(done.stdout, entry) if done.returncode == 0 else None
