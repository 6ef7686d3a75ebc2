"""Measures again the copies of copies_h200.json, on a GPU by Nsight Compute.

    python tests/run.py sim.cost.record_copies --out tests/sim/cost/copies_h200.json

Needs a GPU, smemkit, ncu on PATH and the right to read performance counters. Each row is one
launch of one warp. Rows to be measured for the first time may be written into the table with 0 for
their counts.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sim.cost import copy_rows, record_banks

import smemkit


def launch_all(backend):
    rows = list(copy_rows.list_rows(copy_rows.load_table()))
    functions, memory = copy_rows.load_kernels(backend)
    for row in rows:
        functions[row.kernel]((1,), (32,), (copy_rows.pack(row), memory))
    smemkit.asnumpy(memory)  # waits, and tells of a failure
    return len(rows)


def measure(options, table):
    """The counts of each row."""
    metrics = table["metrics"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        command = [options.ncu, "--clock-control", "none", "--cache-control", "none", "--csv"]
        command += ["--page", "raw", "--print-units", "base", "--log-file", str(log)]
        command += ["--metrics", ",".join(metrics.values()), sys.executable, __file__, "--child"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0 or not log.exists():
            raise record_banks.RecordError(f"ncu ended with {done.returncode}: {done.stderr}")
        found = list(record_banks.read_report(log, metrics))
    names = [row.kernel for row in copy_rows.list_rows(table)]
    if [name for name, _ in found] != names:
        raise record_banks.RecordError(f"ncu saw {len(found)} launches, not {len(names)}")
    return [counts for _, counts in found]


def write_table(path, table):
    """One row a line, so that two recordings can be compared by eye."""
    parts = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in table.items() if k != "rows"]
    rows = (json.dumps(row, separators=(",", ":")) for row in table["rows"])
    parts.append('"rows": [\n' + ",\n".join(rows) + "\n]")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=copy_rows.TABLE)
    parser.add_argument("--ncu", default=shutil.which("ncu"))
    parser.add_argument("--child", action="store_true", help="only launch; what ncu runs")
    parser.add_argument("--backend", default="cuda", help="of --child")
    options = parser.parse_args()
    if options.child:
        print(launch_all(options.backend), "launches")
        return 0
    if options.ncu is None:
        parser.error("there is no ncu on PATH; name it with --ncu")
    table = copy_rows.load_table()
    counts = measure(options, table)
    changed = sum(row[-1] != new for row, new in zip(table["rows"], counts, strict=True))
    rows = [[*row[:-1], new] for row, new in zip(table["rows"], counts, strict=True)]
    machine = record_banks.describe_machine(options)
    write_table(options.out, {**machine, "metrics": table["metrics"], "rows": rows})
    print(f"{len(rows)} rows, {changed} of them not as before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
