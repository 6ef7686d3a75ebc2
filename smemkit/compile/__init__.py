"""CUDA C -> PTX, by NVRTC where it is found and takes it, else by nvcc.

NVRTC comes from the package nvidia-cuda-nvrtc or from a CUDA toolkit; nvcc is the one that
SMEMKIT_NVCC names, or that of NVIDIA's packages, of CUDA_HOME or of PATH, and it needs a host
compiler.
"""

import ctypes
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .. import _core

FILE_NAME = "kernel.cu"  # what messages and line information call the source
ADVICE = (
    "CUDA C needs a compiler, and neither NVRTC nor nvcc is found: "
    "pip install 'smemkit[nvrtc]', or install a CUDA toolkit and name its nvcc in SMEMKIT_NVCC "
    "or its folder in CUDA_HOME. PTX text needs none."
)
HEADERS = (
    "NVRTC's package brings no headers: install a CUDA toolkit, or add options=('-I/its/include',)."
)
# Packages that belong together (nvcc, nvvm, crt, runtime) bring these; one may be there alone.
NVCC_PARTS = ("bin/nvcc", "nvvm/bin/cicc", "include/crt/host_config.h", "include/cuda_runtime.h")
HIGHEST_DEFAULT_ARCH = 90  # what the simulator is; a newer GPU takes it too
# What nvcc knows without any #include, by the headers of the host's math.h and limits.h, and NVRTC
# does not: a kernel that one of them takes is taken by the other.
HOST_MACROS = {
    "INFINITY": "__builtin_bit_cast(float,0x7f800000)",
    "NAN": "__builtin_bit_cast(float,0x7fc00000)",
    "HUGE_VALF": "__builtin_bit_cast(float,0x7f800000)",
    "HUGE_VAL": "__builtin_bit_cast(double,0x7ff0000000000000)",
    "M_E": "2.71828182845904523536",
    "M_LOG2E": "1.44269504088896340736",
    "M_LOG10E": "0.434294481903251827651",
    "M_LN2": "0.693147180559945309417",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.785398163397448309616",
    "M_1_PI": "0.318309886183790671538",
    "M_2_PI": "0.636619772367581343076",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.707106781186547524401",
    "CHAR_BIT": "8",
    "SCHAR_MIN": "(-128)",
    "SCHAR_MAX": "127",
    "UCHAR_MAX": "255",
    "SHRT_MIN": "(-32768)",
    "SHRT_MAX": "32767",
    "USHRT_MAX": "65535",
    "INT_MIN": "(-2147483647-1)",
    "INT_MAX": "2147483647",
    "UINT_MAX": "4294967295U",
    "LONG_MIN": "(-9223372036854775807L-1L)",
    "LONG_MAX": "9223372036854775807L",
    "ULONG_MAX": "18446744073709551615UL",
    "LLONG_MIN": "(-9223372036854775807LL-1LL)",
    "LLONG_MAX": "9223372036854775807LL",
    "ULLONG_MAX": "18446744073709551615ULL",
}


def _list_toolkits():
    """Folders of CUDA toolkits that the environment names."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name])


def _list_packages():
    """Folders of NVIDIA's Python packages: nvidia/cu13, nvidia/cuda_nvrtc, ..."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        yield from sorted(Path(folder).glob("cu*"), reverse=True)


def find_nvrtc():
    """The NVRTC library's path, or None."""
    names = ("lib64", "lib", f"lib/{os.uname().machine}-linux-gnu")
    folders = [*_list_packages(), *_list_toolkits(), Path("/usr/local/cuda"), Path("/usr")]
    for folder, name in itertools.product(folders, names):
        libraries = sorted((folder / name).glob("libnvrtc.so*"))
        if libraries:
            return libraries[0]
    return None


def find_nvcc():
    """The path of nvcc, or None. ArgumentError where SMEMKIT_NVCC names none."""
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


def choose_arch():
    """The option for the present machine's architecture, at most the simulator's."""
    facts = _core.device_info()
    present = 10 * facts["compute_capability_major"] + facts["compute_capability_minor"]
    return f"-arch=compute_{min(present, HIGHEST_DEFAULT_ARCH)}"


def _complete(options):
    """The user's options behind those that they do not set themselves."""
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise _core.ArgumentTypeError("options must be a sequence of str, as in ('-DTILE=16',)")
    options = list(options)
    for option in options:
        if "\0" in option or option.encode(errors="replace").decode() != option:
            raise _core.ArgumentError(f"options has {option!a:.80}, which is not a text")
    starts = ("-arch", "--gpu-architecture", "-gencode", "--generate-code")
    if not any(option.startswith(starts) for option in options):
        options.insert(0, choose_arch())
    if not {"-G", "--device-debug"} & set(options):
        options.insert(0, "-lineinfo")
    return options


# NVRTC -------------------------------------------------------------------------------------------


class _Nvrtc:
    """The few functions of the library that are needed here."""

    def __init__(self, path):
        # The package's NVRTC asks for its other half by name and does not look beside itself.
        for builtins in sorted(Path(path).parent.glob("libnvrtc-builtins.so*"))[:1]:
            ctypes.CDLL(str(builtins))
        self.library = ctypes.CDLL(str(path))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            reason = self.library.nvrtcGetErrorString(status).decode()
            raise _core.CompileError(f"NVRTC: {name}: {reason}")

    def get_text(self, program, what):
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.value.decode(errors="replace")

    def compile(self, source, options):
        program = ctypes.c_void_p()
        self.call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source.encode(),
            FILE_NAME.encode(),
            0,
            None,
            None,
        )
        try:
            words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
            if self.library.nvrtcCompileProgram(program, len(options), words) != 0:
                raise _core.CompileError("NVRTC:\n" + self.get_text(program, "ProgramLog").strip())
            return self.get_text(program, "PTX")
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def compile_nvrtc(path, source, options=()):
    """CUDA C -> PTX by the NVRTC library at that path; see compile_source."""
    options = _complete(options)
    headers = Path(path).parent.parent / "include"
    if (headers / "cuda_fp16.h").is_file():
        options.append(f"-I{headers}")
    try:
        library = _Nvrtc(path)
    except OSError as error:
        raise _core.CompileError(f"NVRTC: {path} cannot be loaded: {error}") from error
    macros = [f"-D{name}={value}" for name, value in HOST_MACROS.items()]
    ptx = library.compile(source, [*macros, *options])
    if ".version" not in ptx:
        raise _core.CompileError(f"NVRTC: no PTX comes of these options: {' '.join(options)}")
    return ptx.replace(f'"{os.getcwd()}/{FILE_NAME}"', f'"{FILE_NAME}"')  # it lies in no folder


# nvcc --------------------------------------------------------------------------------------------


def _say_who_named(path):
    named = os.environ.get("SMEMKIT_NVCC")
    if not named or Path(named).absolute() != Path(path):
        return ""
    return "; the environment variable SMEMKIT_NVCC names it: is it an nvcc?"


def compile_nvcc(path, source, options=()):
    """CUDA C -> PTX by the nvcc at that path; see compile_source."""
    with tempfile.TemporaryDirectory(prefix="smemkit-") as folder:
        Path(folder, FILE_NAME).write_text(source, encoding="utf-8")
        command = [str(path), "-ptx", *_complete(options), "-o", "kernel.ptx", FILE_NAME]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            raise _core.CompileError(f"nvcc: {path} cannot be run: {error}") from error
        if done.returncode != 0:
            log = done.stdout.decode(errors="replace").strip()
            raise _core.CompileError(f"{path} failed with status {done.returncode}:\n{log}")
        try:
            ptx = Path(folder, "kernel.ptx").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise _core.CompileError(
                f"{path} ended without an error and wrote no PTX{_say_who_named(path)}"
            ) from None
        return ptx.replace(f"{folder}/", "")  # the folder is gone when someone reads it


def describe_nvrtc(path):
    """Which NVRTC it is, in words."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _Nvrtc(path).call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value} ({path})"


def compile_by(source, options=()):
    """As compile_source: (PTX, who has made it), which is said where a driver does not take it."""
    if "\0" in source:
        raise _core.CompileError("CUDA C with a NUL in it")
    nvrtc, nvcc = find_nvrtc(), find_nvcc()
    if not nvrtc and not nvcc:
        raise _core.CompileError(ADVICE)
    if nvrtc:
        try:
            return compile_nvrtc(nvrtc, source, options), describe_nvrtc(nvrtc)
        except _core.CompileError as error:
            if not nvcc and "could not open source file" in str(error):
                raise _core.CompileError(f"{error}\n{HEADERS}") from None
            if not nvcc:
                raise
    # nvcc has all headers and the host's types too
    return compile_nvcc(nvcc, source, options), f"nvcc ({nvcc})"


def compile_source(source, options=()):
    """CUDA C -> PTX with line information.

    Parameters
    ----------
    source : str
    options : sequence of str
        For the compiler. Without -arch it compiles for the present GPU, and at most for 9.0, which
        is what the simulator is.

    Returns
    -------
    str

    Raises
    ------
    CompileError with the compiler's log, or with what to install where there is no compiler.
    """
    return compile_by(source, options)[0]
