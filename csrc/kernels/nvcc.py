"""Finds nvcc, and runs the tools of the build.

SMEMKIT_NVCC names the nvcc to use ("none": none on purpose). Without it, the one that the build
requirements brought serves, then that of CUDA_HOME or CUDA_PATH, then the one on PATH.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

NVCC_OLDEST = (12, 8)  # the first that knows sm_100 and sm_120, and whose cudart loads libraries


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


def count_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
