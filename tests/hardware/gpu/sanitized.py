"""What compute-sanitizer watches: `python sanitized.py package [sim]`, or `... TOOL` for a fault.

`package` launches every kernel of the package, in each element type and choice, at two small sizes,
and says which call is under way. The name of a tool launches a kernel with a fault that this tool
must see: who finds nothing in the package is not blind.
"""

import sys

import numpy

import smemkit
from smemkit.bench import workloads

THREADS, ROUNDS, STEPS = 256, 3, 5

# The package -------------------------------------------------------------------------------------


def list_calls(capability):
    """(words, function of the backend) of every call of a family that the machine can run."""
    random = numpy.random.default_rng(1)
    for family in workloads.list_families():
        for variant, facts in smemkit.variants(family).items():
            if read_capability(facts["compute_capability"]) > capability:
                continue
            for dtype in facts["dtypes"]:
                for regular, sizes in zip(
                    (True, False), workloads.list_sizes(family), strict=False
                ):
                    for keywords in workloads.list_choices(family, regular):
                        sample = workloads.make_sample(family, sizes, dtype, random, keywords)
                        words = f"{family} {variant}: {sample.label}"
                        yield words, lambda where, s=sample, v=variant: call(s, v, where)


def read_capability(text):
    return tuple(map(int, text.split(".")))


def call(sample, variant, backend):
    sample.check(sample.call(variant, backend), variant)


def make_ring(places, dtype):
    ring = (numpy.arange(places) + 1) % places
    return ring.astype(dtype)


def list_arguments(variant, dtype, n):
    """(grid, block, args, dynamic shared bytes) of a probe; a probe that is not here fails."""
    x, y = numpy.arange(n).astype(dtype), numpy.zeros(n, dtype)
    tiles, fours = -(-n // THREADS), -(-n // (4 * THREADS))
    if variant == "strided":
        return fours, THREADS, (numpy.zeros(3 * n + 5, dtype), y, n, 3, 5), 0
    if variant == "random":
        return fours, THREADS, (x, y, n, 7), 0
    if variant in ("banks", "banks_wide"):
        return 2, THREADS, (numpy.zeros(2 * THREADS, dtype), 33, ROUNDS), 0
    if variant.removesuffix("_padded") in ("row", "column"):
        return 2, THREADS, (numpy.zeros(2 * THREADS, dtype), ROUNDS), 0
    if variant in ("chase", "chase_shared"):
        return 1, 1, (make_ring(1024, dtype), numpy.zeros(1, dtype), n), 0
    if variant.startswith("branch_") or variant.endswith(("_grouped", "_selected")):
        return tiles, THREADS, ((x - n // 2).astype(dtype), y, n, STEPS), 0
    if variant == "static_shared":
        return 1, THREADS, (x, y, n), 0
    if variant == "dynamic_shared":
        return 1, THREADS, (x, y, n), x.nbytes
    if variant == "mixed_shared":  # it declares 1024 elements itself
        return 1, THREADS, (x, y, n), max(0, n - 1024) * x.itemsize
    raise NotImplementedError(f"{__file__} has no arguments for probe/{variant}")


def probe(variant, dtype, n, backend):
    grid, block, args, shared_bytes = list_arguments(variant, dtype, n)
    kernel = smemkit.kernel("probe", variant, dtype)
    kernel(grid, block, args, shared_mem=shared_bytes, backend=backend)


def list_probes():
    for variant, facts in smemkit.variants("probe").items():
        for word in facts["dtypes"]:
            dtype = workloads.numpy_type(word)
            for n in (4096, 3001):
                words = f"probe {variant}: n={n}, {word}"
                yield words, lambda where, v=variant, t=dtype, n=n: probe(v, t, n, where)


def run_package(backend):
    """The number of calls whose result is wrong."""
    smemkit.set_backend(backend)
    limits = smemkit.device_info(backend=backend)
    capability = read_capability(limits.get("compute_capability", "9.0"))
    wrong = 0
    for words, function in (*list_calls(capability), *list_probes()):
        print(words, flush=True)
        try:
            function(backend)
        except AssertionError as error:
            print(f"WRONG {words}: {error}", flush=True)
            wrong += 1
    return wrong


# Faults ------------------------------------------------------------------------------------------

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
FAULTS = {
    "memcheck": """
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1+4], %r1;""",
    "racecheck": """
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.u32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    xor.b32 %r2, %r2, 128;
    add.u32 %r4, %r3, %r2;
    ld.shared.u32 %r5, [%r4];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r5;""",
    "initcheck": """
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd1], %r2;""",
    "synccheck": """
    mov.u32 %r1, %tid.x;
    and.b32 %r1, %r1, 16;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra other;
    bar.sync 0;
    bra past;
other:
    bar.sync 1;
past:""",
}
FAULTY_THREADS = 64  # racecheck: two warps, each of which reads what the other one writes


def run_fault(tool):
    """Launches fault_<tool>: reads nothing that was written, writes one element too far, ..."""
    text = (
        f"{HEAD}.visible .entry fault_{tool}(.param .u64 x)\n{{\n"
        "    .reg .pred %p<2>;\n    .reg .b32 %r<6>;\n    .reg .b64 %rd<3>;\n"
        f"    .shared .align 4 .b8 tile[{4 * FAULTY_THREADS}];\n{FAULTS[tool]}\n    ret;\n}}\n"
    )
    x = smemkit.empty(FAULTY_THREADS, "uint32", backend="cuda")
    smemkit.RawKernel(text, f"fault_{tool}")(1, FAULTY_THREADS, (x,), backend="cuda")
    try:
        smemkit.asnumpy(x)
    except smemkit.CudaError as error:  # a tool may end a kernel at its fault
        print(error)
    return 0


if __name__ == "__main__":
    what, where = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cuda"
    sys.exit(bool(run_package(where) if what == "package" else run_fault(what)))
