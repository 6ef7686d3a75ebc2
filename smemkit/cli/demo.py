"""The command demo: a product by every gemm kernel on every machine, checked against NumPy."""

import secrets
import time

import numpy

import smemkit

# (m, k, n): ragged, so that every tile has an edge inside; the last one is timed.
SHAPES = ((1, 1, 1), (33, 65, 31), (200, 130, 170), (301, 257, 289))


def find_machines():
    """The backends that work here, and {backend: reason} of those that do not."""
    machines, missing = [], {}
    for backend in ("cuda", "sim"):
        try:
            smemkit.device_info(backend=backend)
        except smemkit.BackendError as error:
            missing[backend] = str(error)
        else:
            machines.append(backend)
    return machines, missing


def measure_error(c, a, b):
    """The largest error of c divided by its bound, 4 sqrt(k) eps |a| |b|; at most 1 is right."""
    a64, b64 = a.astype(numpy.float64), b.astype(numpy.float64)
    bound = 4 * numpy.sqrt(a.shape[1]) * numpy.finfo(c.dtype).eps * (abs(a64) @ abs(b64))
    return float((abs(c - a64 @ b64) / bound).max())  # NaN in c gives NaN, which is not at most 1


def run_variant(variant, backend, rng):
    """(worst error in units of its bound, milliseconds of the timed call)."""
    errors = []
    for dtype in (numpy.float64, numpy.float32):
        for m, k, n in SHAPES:
            a = rng.standard_normal((m, k)).astype(dtype)
            b = rng.standard_normal((k, n)).astype(dtype)
            start = time.perf_counter()
            c = smemkit.gemm(a, b, variant=variant, backend=backend)
            time_ms = (time.perf_counter() - start) * 1e3
            errors.append(measure_error(c, a, b))
    return float(numpy.max(errors)), time_ms


def run(seed=None):
    """Prints the table and returns the exit status: 0 where every result is right.

    Args:
        seed: of the random matrices; None for a fresh one, which is printed.

    Example:
        >>> smemkit.cli.demo.run(seed=1)
    """
    seed = secrets.randbits(32) if seed is None else seed
    machines, missing = find_machines()
    m, k, n = SHAPES[-1]
    print(f"smemkit {smemkit.__version__}: a @ b by CUDA kernels, ({m}, {k}) @ ({k}, {n})")
    for backend in machines:
        print(f"  {backend:4}  {smemkit.device_info(backend=backend)['name']}")
    for backend, reason in missing.items():
        print(f"  {backend:4}  not here: {reason}")
    print(f"\n{'variant':17}  {'machine':7}  {'time [ms]':>9}  {'error':>5}  what it shows")
    good = True
    for variant, facts in smemkit.variants("gemm").items():
        for backend in machines:
            worst, time_ms = run_variant(variant, backend, numpy.random.default_rng(seed))
            right = worst <= 1
            good = good and right
            error = f"{worst:5.2f}" if right else "WRONG"
            shows = facts["shows"] if backend == machines[0] else '  "'
            print(f"{variant:17}  {backend:7}  {time_ms:9.2f}  {error}  {shows}", flush=True)
    print("\ntime   of one call in float32 on NumPy arrays, with its copies")
    print("       (on sim: of the simulator, which has no clock; it says nothing about a GPU)")
    print("error  against NumPy in float64, as a part of the bound 4 sqrt(k) eps |a| @ |b|:")
    print(f"       the worst of {len(SHAPES)} shapes in float32 and float64 (seed {seed})")
    print("all results are right" if good else "SOME RESULTS ARE WRONG")
    return 0 if good else 1


def add_command(commands):
    """Adds the command to the subparsers of the main parser."""
    parser = commands.add_parser("demo", help="multiply random matrices by every gemm kernel")
    parser.add_argument("--seed", type=int, help="of the random matrices (default: a fresh one)")
    parser.set_defaults(run=lambda chosen: run(seed=chosen.seed))
