"""What a prediction costs: the seconds that it takes, beside a profile of the same call.

    python tests/run.py predict.cost [--rows TEXT] [--rounds 3] [--page]

Each call of a table of all families and variants is profiled and predicted, both by six blocks of
each launch, in processes of their own: "first" is the first time that the process meets the kernel
(its modules are imported, another kernel has run), "again" the shortest of some repetitions. The
seconds are those of processors, with the tools that a prediction starts, so that other work on the
computer does not count; NumPy's linear algebra has one thread, as the others would spin while they
wait. --page: writes the table of docs/predict.md.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import numpy
from predict.limits import CASES
from predict.table import PAGE, fill

import smemkit
from smemkit.bench import timing
from smemkit.bench.workloads import make_workload
from smemkit.predict import forecast  # noqa: F401 so that no measurement imports it
from smemkit.predict.predict_call import BLOCKS

AGAIN = 3  # repetitions in a process
GOAL = 1.3


def profile(call):
    """A profile, as a user without a GPU would make it quickly."""
    smemkit.profile(call, blocks=BLOCKS)


def predict(call):
    """A prediction of the same call."""
    smemkit.predict(call, device="h200")


def read_seconds():
    """Seconds of processors that this process and its children have used."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def time_once(work, call):
    """Seconds of processors."""
    start = read_seconds()
    work(call)
    return read_seconds() - start


def time_alone(work, call):
    """Seconds of the first call in a process of its own, and the shortest of those after it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(reading)
            small = numpy.ones((32, 32), numpy.float32)
            work(lambda: smemkit.transpose(small, variant="naive", backend="sim"))
            first = time_once(work, call)
            again = min(time_once(work, call) for _ in range(AGAIN))
            os.write(writing, json.dumps([first, again]).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def compare(call, rounds):
    """(seconds of a profile, ratio of a prediction) of the first call, and of a repeated one."""
    found = {work: [time_alone(work, call) for _ in range(rounds)] for work in (profile, predict)}
    if None in found[profile] or None in found[predict]:
        return None
    parts = {
        work: [min(times) for times in zip(*rows, strict=True)] for work, rows in found.items()
    }
    return [(a, b / a) for a, b in zip(parts[profile], parts[predict], strict=True)]


def list_calls(rows):
    """(name, call) of each variant of the table's cases."""
    for words in CASES:
        case = make_workload(*words)
        if not case.name.startswith(rows):
            continue
        inputs = tuple(case.make_inputs(numpy.random.default_rng(timing.SEED)))
        out = numpy.empty(case.result_shape, case.result_dtype)
        for variant in timing.list_ours(case, whole=True):
            yield (case, variant), lambda v=variant, c=case, i=inputs, o=out: c.call(i, o, v)


def write_table(rows):
    """The rows as a table, and what is said of all of them."""
    ratios = [[row[1][place][1] for row in rows] for place in (0, 1)]
    said = " and ".join(
        f"{statistics.median(part):.2f} times {name} (at most {max(part):.2f}; "
        f"{sum(ratio <= GOAL for ratio in part)} at most {GOAL} times)"
        for part, name in zip(ratios, ("the first profile", "a repeated one"), strict=True)
    )
    lines = [
        f"Of {len(rows)} calls, the median costs {said}.",
        "",
        "| call | shape | first profile, ms | prediction | profile again, ms | prediction |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for (case, variant), ((first, a), (again, b)) in rows:
        shape = " x ".join(f"{length:,}" for length in case.shape)
        lines.append(
            f"| {case.family} {variant} {case.dtype} | {shape} | {first * 1e3:.1f} | {a:.2f} x | "
            f"{again * 1e3:.1f} | {b:.2f} x |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="", help="only of families that begin so")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each number")
    parser.add_argument("--page", action="store_true", help="write the table of docs/predict.md")
    chosen = parser.parse_args()
    rows = []
    for name, call in list_calls(chosen.rows):
        found = compare(call, chosen.rounds)
        if found is None:
            print(f"{name[0].name} {name[1]}: failed", file=sys.stderr)
            continue
        rows.append((name, found))
        (first, a), (again, b) = found
        words = f"{first * 1e3:.1f} ms x {a:.2f}, {again * 1e3:.1f} ms x {b:.2f}"
        print(f"{name[0].name} {name[1]}: {words}", flush=True)
    table = write_table(rows)
    print(table.partition("\n")[0])
    if chosen.page:
        PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), "cost", table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
