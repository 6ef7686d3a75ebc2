"""Where NVRTC, nvcc and their headers lie, and which versions they have."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .._types import StrPath

# Files of the packages nvcc, nvvm, crt and runtime, which may be installed one without another.
NVCC_PARTS = ("bin/nvcc", "nvvm/bin/cicc", "include/crt/host_config.h", "include/cuda_runtime.h")
# The wheels of the extra [nvrtc]: one set, as CUDA 13.0 Update 2 has it. pyproject.toml pins the
# same versions; a test compares.
WHEELS = {
    "nvidia-cuda-nvrtc": "13.0.88",
    "nvidia-cuda-runtime": "13.0.96",
    "nvidia-cuda-crt": "13.0.88",
    "nvidia-cuda-cccl": "13.0.85",
    "nvidia-curand": "10.4.0.35",
}

PTXAS_VERSION = "13.0.88"  # of the wheel nvidia-cuda-nvcc, of the same set


def _list_toolkits() -> Iterator[Path]:
    """Folders of the CUDA toolkits that environment variables name."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name])


def _sort_key(folder: Path) -> tuple[int, str]:
    """Newest first: cu13 before cu12, and both before the older layout (cuda_nvrtc, curand)."""
    number = folder.name.removeprefix("cu")
    return (-int(number), "") if number.isdecimal() else (0, folder.name)


def _list_packages() -> Iterator[Path]:
    """Folders of NVIDIA's Python packages: nvidia/cu13, nvidia/cuda_nvrtc, ..."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        yield from sorted(Path(folder).glob("cu*"), key=_sort_key)


def find_nvrtc() -> Path | None:
    """The NVRTC library that CUDA C is compiled with.

    Shapes
    ------
    None.

    Returns
    -------
    pathlib.Path, or None where there is none.

    Raises
    ------
    Nothing.

    Example
    -------
    >>> from smemkit import compile
    >>> found = compile.find_nvrtc()
    >>> found is None or found.name.startswith("libnvrtc.so")
    True
    """
    names = ("lib64", "lib", f"lib/{os.uname().machine}-linux-gnu")
    folders = [*_list_packages(), *_list_toolkits(), Path("/usr/local/cuda"), Path("/usr")]
    for folder, name in itertools.product(folders, names):
        libraries = sorted((folder / name).glob("libnvrtc.so*"))
        if libraries:
            return libraries[0]
    return None


def find_nvcc() -> Path | None:
    """The nvcc that CUDA C is compiled with where NVRTC is not enough.

    Shapes
    ------
    None.

    Returns
    -------
    pathlib.Path, or None where there is none, or SMEMKIT_NVCC is "none".

    Raises
    ------
    ArgumentError (ValueError) where SMEMKIT_NVCC is not the path of a program.

    Example
    -------
    >>> from smemkit import compile
    >>> found = compile.find_nvcc()
    >>> found is None or found.is_file()
    True
    """
    named = os.environ.get("SMEMKIT_NVCC")
    if named == "none":  # as for the build
        return None
    if named:
        if not os.access(named, os.X_OK) or not Path(named).is_file():
            raise _core.ArgumentError(
                f"the environment variable SMEMKIT_NVCC is {named!r:.200}; accepted are the path "
                "of an nvcc that can be run, and 'none'"
            )
        return Path(named).absolute()  # it is run in another folder
    for folder in _list_packages():
        if all((folder / part).is_file() for part in NVCC_PARTS):
            return folder / NVCC_PARTS[0]
    for folder in _list_toolkits():
        if os.access(folder / "bin" / "nvcc", os.X_OK):
            return folder / "bin" / "nvcc"
    found = shutil.which("nvcc")
    return Path(found) if found else None


def _find_tool(name: str, packages: bool) -> Path | None:
    """A program beside nvcc, else one of NVIDIA's packages where those count."""
    nvcc = find_nvcc()
    places = [nvcc.resolve().with_name(name)] if nvcc else []
    if packages:
        places += [folder / "bin" / name for folder in _list_packages()]
    return next((path for path in places if os.access(path, os.X_OK)), None)


def find_ptxas() -> Path | None:
    """The ptxas that tells what a kernel takes in machine code.

    Shapes
    ------
    None.

    Returns
    -------
    pathlib.Path, or None: the one beside nvcc, else that of NVIDIA's package of nvcc.

    Raises
    ------
    ArgumentError (ValueError) as find_nvcc.

    Example
    -------
    >>> from smemkit import compile
    >>> found = compile.find_ptxas()
    >>> found is None or found.is_file()
    True
    """
    packages = (
        os.environ.get("SMEMKIT_NVCC") != "none"
    )  # the package's nvcc may lack its other parts
    return _find_tool("ptxas", packages)


def find_nvdisasm() -> Path | None:
    """The nvdisasm that lists machine code.

    Shapes
    ------
    None.

    Returns
    -------
    pathlib.Path, or None: the one beside nvcc, else that of NVIDIA's package of nvdisasm.

    Raises
    ------
    ArgumentError (ValueError) as find_nvcc.

    Example
    -------
    >>> from smemkit import compile
    >>> found = compile.find_nvdisasm()
    >>> found is None or found.is_file()
    True
    """
    return _find_tool("nvdisasm", True)


def find_include_folders(nvrtc: StrPath) -> list[Path]:
    """Folders of the CUDA headers that belong to the NVRTC library at that path.

    In a toolkit and in the wheels of CUDA 13 they are include and include/cccl beside the library's
    folder; in the wheels of CUDA 12 each package (cuda_runtime, cuda_cccl, curand) has its own.
    """
    root = Path(nvrtc).parent.parent
    roots = [root]
    if root.name == "cuda_nvrtc":
        roots = sorted(root.parent.glob("cu*_*")) + [root.parent / "curand"]
    folders = []
    for include in (root / "include" for root in roots):
        if (include / "cuda_fp16.h").is_file() or (include / "curand_kernel.h").is_file():
            folders.append(include)
        if (include / "cuda" / "std").is_dir():
            folders.append(include)
        if (include / "cccl").is_dir():
            folders.append(include / "cccl")
    return list(dict.fromkeys(folders))


def list_wheels(folder: Path) -> dict[str, str]:
    """{package: version} of NVIDIA's wheels in the site-packages that holds the folder.

    Read from the names of the .dist-info folders, which is quicker than importlib.metadata.
    """
    for parent in Path(folder).parents:
        if parent.name == "nvidia":
            names = [path.name for path in parent.parent.glob("nvidia_*.dist-info")]
            matches = (re.fullmatch(r"(.+?)-([^-]+)\.dist-info", name) for name in names)
            return {match[1].replace("_", "-"): match[2] for match in matches if match}
    return {}


def _describe_file(path: StrPath) -> list[Any] | None:
    """Path, size and modification time of a file, which an update of a toolkit changes."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return [str(path), facts.st_size, facts.st_mtime_ns]


def identify(program: StrPath) -> list[Any]:
    """The identity of an NVRTC or nvcc and its headers, as lists that JSON can hold.

    It is made of the file's path, size and time; and of the versions of the wheels beside it, or
    of the version.json of its toolkit; and for nvcc of the host compiler.
    """
    program = Path(program).resolve()
    root = program.parent.parent
    wheels = list_wheels(root)
    parts = [_describe_file(program), sorted(wheels.items())]
    if program.name.startswith("nvcc"):
        host = shutil.which("g++")
        parts += [_describe_file(os.path.realpath(host)) if host else None]
    if not wheels:
        for part in ("version.json", "nvvm/bin/cicc", "include/cuda_runtime_api.h"):
            parts.append(_describe_file(root / part))
    return parts
