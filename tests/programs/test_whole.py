"""Whole CUDA programs on the simulator: as built, checked, and with a planted fault."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from programs import whole_programs
from programs.whole_programs import CUDART, FAULTS
from support.paths import CSRC, ROOT

import smemkit.compile
from smemkit.cli.run import check_program, merge_findings

NVCC = smemkit.compile.find_nvcc()
ALWAYS = ("managed_list",)  # the others take minutes to compile: pytest --programs
WITHOUT_LINES = (
    "cub_scan",
    "loaded_library",
    "thrust_sort",
    "thrust_transform",
)  # the code at fault is not theirs
REFUSED = ("error_codes", "occupancy")  # launches that are wrong on purpose

needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc here: the extra build has one")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


def run(*words, status=0, folder=ROOT, **variables):
    """The finished `smemkit run ...`."""
    done = subprocess.run(
        [sys.executable, "-m", "smemkit", "run", *map(str, words)],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_every_program_has_a_fault():
    names = {path.stem for path in whole_programs.FOLDER.glob("*.cu") if ".inc" not in path.name}
    assert names == set(FAULTS) and len(names) >= 25
    for name in names:
        text = (whole_programs.FOLDER / f"{name}.cu").read_text(encoding="utf-8")
        others = "".join(
            (whole_programs.FOLDER / other).read_text(encoding="utf-8")
            for other in whole_programs.read_flags(text, "Link")
        )
        assert "FAULT: " in text.partition("#include")[0], name
        assert "def FAULT" in text + others, name


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_program(name, folder, request):
    if name not in ALWAYS and not request.config.getoption("--programs"):
        pytest.skip("takes seconds to compile: --programs runs it")
    program = whole_programs.build(name, folder)
    assert run(program).stdout.splitlines()[-1] == "right"
    checked = run("--check", program, status=2 if name in REFUSED else 0)
    assert checked.stdout.splitlines()[-1] == "right"
    assert "no findings" in checked.stderr
    faulty = whole_programs.build(name, folder, fault=True)
    report = folder / f"{name}.json"
    done = subprocess.run(
        [sys.executable, "-m", "smemkit", "run", "--check", "--json", report, faulty],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode != 0
    findings = json.loads(report.read_text())["findings"]
    found = [finding for finding in findings if finding["kind"] == FAULTS[name]]
    assert found, findings
    if name not in WITHOUT_LINES:
        assert found[0]["first"]["file"].endswith((".cu", ".h"))
        assert found[0]["first"]["line"] > 0


@needs_nvcc
@pytest.mark.slow
def test_reports_of_a_program(folder):
    program = whole_programs.build("managed_list", folder)
    report = folder / "profile.json"
    done = run("--profile", "--json", report, program)
    facts = json.loads(report.read_text())
    assert [kernel["name"] for kernel in facts["kernels"]] == ["double_all"]
    loads = facts["kernels"][0]["counters"]["global.load.requests"]
    assert loads >= 2 * 10  # a value and a pointer of each item
    assert facts["launches"] == 1 and facts["mode"] == "profile" and facts["status"] == 0
    assert "double_all" in done.stderr and "divergent branches" in done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_libraries_of_machine_code_are_named(tmp_path):
    library = tmp_path / "libcublas.so.13"
    command = ["cc", "-shared", "-x", "c", os.devnull, "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    script = f"import ctypes, sys; ctypes.CDLL({str(library)!r}); sys.exit(int(sys.argv[1]))"
    failed = run(sys.executable, "-c", script, 3, status=3)
    assert "has loaded libcublas.so.13" in failed.stderr
    assert "libcublas" not in run(sys.executable, "-c", script, 0).stderr


def test_the_driver_has_the_context_of_the_runtime():
    script = (
        "import ctypes\n"
        "runtime, driver = (ctypes.CDLL(f'lib{x}') for x in ('cudart.so.13', 'cuda.so.1'))\n"
        "device, context = ctypes.c_int(), ctypes.c_void_p()\n"
        "assert driver.cuCtxGetDevice(ctypes.byref(device)) == 201\n"
        "assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and not context\n"
        "assert runtime.cudaFree(None) == 0\n"
        "assert driver.cuCtxGetDevice(ctypes.byref(device)) == 0\n"
        "assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context\n"
        "banks = ctypes.c_int()\n"
        "assert runtime.cudaDeviceSetSharedMemConfig(2) == 0\n"
        "assert runtime.cudaDeviceGetSharedMemConfig(ctypes.byref(banks)) == 0\n"
        "assert banks.value == 1\n"
    )
    run(sys.executable, "-c", script)


@needs_nvcc
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_layouts_are_those_of_cuda(tmp_path):
    """Sizes and offsets of what programs pass, against CUDA's headers."""
    include = NVCC.resolve().parent.parent / "include"
    if not (include / "cuda_runtime_api.h").exists():
        pytest.skip("no headers of CUDA beside nvcc")
    pairs = {
        "smk_cuda_properties": "struct cudaDeviceProp",
        "smk_cuda_pitched": "struct cudaPitchedPtr",
        "smk_cuda_copy3d": "struct cudaMemcpy3DParms",
        "smk_cuda_pointer_facts": "struct cudaPointerAttributes",
        "smk_cuda_function_facts": "struct cudaFuncAttributes",
        "smk_cuda_launch_attribute": "cudaLaunchAttribute",
        "smk_cuda_launch_config": "cudaLaunchConfig_t",
        "smk_cuda_kernel_node": "struct cudaKernelNodeParams",
        "smk_cuda_memset_node": "struct cudaMemsetParams",
        "smk_cuda_host_node": "struct cudaHostNodeParams",
        "smk_driver_launch": "CUlaunchConfig",
        "smk_driver_rows": "CUDA_MEMCPY2D",
        "smk_cuda_channels": "struct cudaChannelFormatDesc",
        "smk_cuda_resource": "struct cudaResourceDesc",
        "smk_cuda_sampling": "struct cudaTextureDesc",
        "smk_cuda_view": "struct cudaResourceViewDesc",
        "smk_cuda_array_needs": "struct cudaArrayMemoryRequirements",
        "smk_cuda_peer_copy3d": "struct cudaMemcpy3DPeerParms",
    }
    fields = [
        ("smk_cuda_properties", "clusters", "struct cudaDeviceProp", "clusterLaunch"),
        ("smk_cuda_properties", "shared_optin", "struct cudaDeviceProp", "sharedMemPerBlockOptin"),
        ("smk_cuda_properties", "multiprocessors", "struct cudaDeviceProp", "multiProcessorCount"),
        ("smk_cuda_copy3d", "extent", "struct cudaMemcpy3DParms", "extent"),
        ("smk_driver_launch", "attribute_count", "CUlaunchConfig", "numAttrs"),
        ("smk_driver_rows", "target.array", "CUDA_MEMCPY2D", "dstArray"),
        ("smk_cuda_launch_attribute", "value", "cudaLaunchAttribute", "val"),
        ("smk_cuda_resource", "flags", "struct cudaResourceDesc", "flags"),
        ("smk_cuda_sampling", "normalized", "struct cudaTextureDesc", "normalizedCoords"),
        ("smk_cuda_sampling", "seamless_cube", "struct cudaTextureDesc", "seamlessCubemap"),
        ("smk_cuda_view", "last_layer", "struct cudaResourceViewDesc", "lastLayer"),
    ]
    lines = ['#include "runtime/abi.h"', '#include "runtime/properties.h"']
    lines += ['#include "runtime/driver.h"', "#include <cuda.h>", "#include <cuda_runtime_api.h>"]
    lines += [f'_Static_assert(sizeof({a}) == sizeof({b}), "{a}");' for a, b in pairs.items()]
    lines += [
        f'_Static_assert(offsetof({a}, {x}) == offsetof({b}, {y}), "{x}");' for a, x, b, y in fields
    ]
    source = tmp_path / "layouts.c"
    source.write_text("\n".join(lines) + "\n")
    command = ["cc", "-fsyntax-only", "-std=gnu11", "-iquote", str(CSRC), "-isystem", str(include)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_programs_of_other_runtimes_are_refused(tmp_path):
    program = tmp_path / "own"
    program.write_bytes(b"\x7fELF" + b"\0.nv_fatbin\0")
    program.chmod(0o755)
    done = run(program, status=2)
    assert "build it with nvcc -cudart shared" in done.stderr
    own = b"\0__cudaRegisterFatBinary\0cudaThreadExit\0"
    program.write_bytes(b"\x7fELF" + b"\0.nv_fatbin\0.symtab" + own)
    assert "was built with CUDA 11; smemkit stands in" in run(program, status=2).stderr
    program.write_bytes(b"\x7fELF" + b"\0.nv_fatbin\0.symtab\0cuInit\0")
    check_program(program)  # by nvcc too, and calls the driver alone
    program.write_bytes(b"\x7fELF" + b"\0libcudart.so.9\0")
    assert "was built with CUDA 9" in run(program, status=2).stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_program_of_cuda_12(tmp_path):
    program = tmp_path / "host"
    source = whole_programs.FOLDER.parent / "cuda12_host.c"
    command = ["cc", "-std=gnu11", "-iquote", str(CSRC), str(source), "-o", str(program)]
    command += [str(CUDART / "libcudart.so.12"), str(CUDART / "libcudart.so.13")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert run("--card", "A100", program).stdout == "right\n"


LINKED = "int count_wrong(void); int main(void) { return count_wrong(); }"
LOADED = """#include <dlfcn.h>
int main(void)
{
    void *library = dlopen("./libown.so", RTLD_NOW);
    int (*count_wrong)(void) = (int (*)(void))dlsym(library, "count_wrong");
    return count_wrong();
}
"""


STRIPPED = """__asm__(".section .nv_fatbin, \\"a\\"\\n.quad 0\\n.text\\n");
REGISTERS
int count_wrong(void) { return CODE; }
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("code", "registers", "named"),
    [
        (3, "", True),
        (0, "", False),
        (3, "extern int __cudaRegisterFatBinary(void); int r(void) { return REG(); }", False),
    ],
)
def test_libraries_without_symbols_are_named(tmp_path, code, registers, named):
    """Where the program fails, and the runtime is their own."""
    text = STRIPPED.replace("CODE", str(code)).replace("REGISTERS", registers)
    (tmp_path / "own.c").write_text(text.replace("REG()", "__cudaRegisterFatBinary()"))
    (tmp_path / "linked.c").write_text(LINKED)
    for command in (
        ["cc", "-s", "-shared", "-fPIC", "own.c", "-o", "libown.so"],
        ["cc", "linked.c", "-L.", "-lown", "-Wl,-rpath,$ORIGIN", "-o", "linked"],
    ):
        flags = ["-Wl,--allow-shlib-undefined"] if command[-1] == "linked" else []
        subprocess.run([*command, *flags], cwd=tmp_path, check=True, timeout=100)
    done = run("./linked", folder=tmp_path, status=code)
    assert ("libown.so has a CUDA runtime and no symbols" in done.stderr) == named


@needs_nvcc
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("flags", [(), ("-rdc=true",)])
def test_libraries_with_a_runtime_of_their_own(tmp_path, request, flags):
    """Linked to a program, and loaded when it runs, by a path that is relative."""
    if not request.config.getoption("--programs"):
        pytest.skip("takes seconds to compile: --programs runs it")
    source = whole_programs.FOLDER / "own_runtime.inc.cu"
    folder = NVCC.resolve().parent.parent / "lib"
    commands = [
        [NVCC, "-shared", "-Xcompiler", "-fPIC", f"-L{folder}", source, "-o", "libown.so"],
        ["cc", "linked.c", "-L.", "-lown", "-Wl,-rpath,$ORIGIN", "-o", "linked"],
        ["cc", "loaded.c", "-ldl", "-o", "loaded"],
    ]
    commands[0][1:1] = ["-gencode", "arch=compute_75,code=compute_75", *flags]
    (tmp_path / "linked.c").write_text(LINKED)
    (tmp_path / "loaded.c").write_text(LOADED)
    for command in commands:
        subprocess.run(list(map(str, command)), cwd=tmp_path, check=True, timeout=100)
    for name in ("linked", "loaded"):
        done = run("--check", f"./{name}", folder=tmp_path)
        assert "no findings in 1 launch" in done.stderr, done.stderr


def test_findings_of_the_same_lines_are_one():
    """Several of one launch among them, as where the compiler has unrolled a loop."""
    side = {"file": "a.cu", "line": 3, "ptx_line": 9, "variable": ""}
    event = {"event": "finding", "kind": "race", "kernel": "k", "first": side, "count": 2}
    event |= {"message": "", "action": ""}
    events = [event | {"launch": launch} for launch in (1, 1, 4)]
    (finding,) = merge_findings([*events, {"event": "end"}])
    assert finding["launches"] == 2 and finding["count"] == 6


def test_what_is_no_program_is_refused(tmp_path):
    (tmp_path / "text").write_text("no program")
    assert "cannot be executed" in run(tmp_path / "text", status=2).stderr
    assert "is no program" in run(tmp_path / "missing", status=2).stderr


def test_unknown_cards_are_refused(tmp_path):
    """Before the program begins."""
    report = tmp_path / "report.json"
    words = ("--check", "--card", "RTX 9999", "--json", report, sys.executable, "-c", "print(1)")
    done = run(*words, status=2)
    assert done.stdout == "" and not report.exists() and "no findings" not in done.stderr
    assert "RTX 9999 is no card that is known here; known are H200, H100" in done.stderr
    assert run("--card", "rtx3060", *words[-3:]).stdout == "1\n"


def test_other_programs_run_as_they_are(tmp_path):
    script = tmp_path / "script"
    script.write_text('#!/bin/sh\necho "$1" $SMEMKIT_RUN_MODE\nexit 3\n')
    script.chmod(0o755)
    report = tmp_path / "report.json"
    done = run("--check", "--json", report, script, "--its-own", status=3)
    assert done.stdout == "--its-own check\n"
    facts = json.loads(report.read_text())
    assert facts["arguments"] == ["--its-own"] and facts["status"] == 3 and not facts["findings"]


def test_a_program_of_the_present_folder(tmp_path):
    """By ./name and by its name alone."""
    script = tmp_path / "own-program"
    script.write_text("#!/bin/sh\necho here\n")
    script.chmod(0o755)
    for name in ("./own-program", "own-program"):
        assert run(name, folder=tmp_path).stdout == "here\n"


def test_only_the_runtime_is_exported():
    library = CUDART / "libcudart.so.13"
    names = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()[2::3]
    assert len(names) > 400
    others = [name for name in names if not name.lstrip("_").startswith(("cu", "libcudart"))]
    others.remove("dlsym")  # which sees what libraries the program loads
    assert not others
