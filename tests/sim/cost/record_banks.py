"""What a GPU counts for single accesses, by Nsight Compute, as a table that tests read.

    python tests/run.py sim.cost.record_banks --out tests/sim/cost/banks_h200.json
    python tests/run.py sim.cost.record_banks --out FILE --keep --groups shared_ldsm

Needs a GPU, smemkit, ncu on PATH and the right to read performance counters. Each pattern of
bank_patterns.py is one launch of one warp. At the end it says where smemkit's rules differ.
"""

import argparse
import csv
import datetime
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
from sim.cost import bank_patterns

import smemkit

BANKS = {
    "wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum",
    "requests": "smsp__sass_inst_executed_op_shared_{}.sum",
    "wavefronts_l1tex": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum",
}
SECTORS = {
    "sectors": "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{}.sum",
    "requests": "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum",
    "instructions": "smsp__sass_inst_executed_op_global_{}.sum",
    "sectors_l1tex": "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum",
}
# Beside an atomic of shared memory: the loads of those that are loops.
LOOPS = {
    "load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
}
# ldmatrix (LDSM): what counts it apart, and what of the loads' metrics has it too.
MATRICES = {
    "wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "requests": "smsp__inst_executed_op_ldsm.sum",
    "wavefronts_l1tex": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "conflicts_sass": "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",
    "requests_sass": "smsp__sass_inst_executed_op_ldsm.sum",
    "requests_ld": "smsp__sass_inst_executed_op_shared_ld.sum",
}
LDGSTS_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts"
COPIES = {
    "wavefronts": f"{LDGSTS_WAVEFRONTS}.sum",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    "conflicts_sass": "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    "sectors": "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
    "requests": "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
    "instructions": "smsp__inst_executed_op_ldgsts_pred_on_any.sum",
    "wavefronts_access": f"{LDGSTS_WAVEFRONTS}_cache_access.sum",
    "wavefronts_bypass": f"{LDGSTS_WAVEFRONTS}_cache_bypass.sum",
}


class RecordError(Exception):
    """ncu did not do what was asked."""


def fill(metrics, op):
    return {name: metric.format(op) for name, metric in metrics.items()}


# One run of ncu each, with few metrics, so that it needs few passes.
GROUPS = {
    "shared_ld": fill(BANKS, "ld"),
    "shared_st": fill(BANKS, "st"),
    "shared_atom": fill(BANKS, "atom") | LOOPS,
    "shared_ldsm": MATRICES,
    "shared_ldgsts": COPIES,
    "global_ld": fill(SECTORS, "ld"),
    "global_st": fill(SECTORS, "st"),
    "global_atom": fill(SECTORS, "atom"),
    "global_red": fill(SECTORS, "red"),
    "global_ldgsts": COPIES,
}


def list_launches(group, share):
    """(kernel, layout, addresses, mask) in the order of launching."""
    for kernel in bank_patterns.KERNELS.values():
        if f"{kernel.space}_{kernel.metric}" == group:
            patterns = list(bank_patterns.list_patterns(kernel))
            for layout, addresses, mask in patterns[: max(1, round(share * len(patterns)))]:
                yield kernel, layout, addresses, mask


# Under ncu ---------------------------------------------------------------------------------------


def launch_all(group, share, backend):
    launches = list(list_launches(group, share))
    kernels = {kernel.name: kernel for kernel, *_ in launches}
    module = smemkit.RawModule(bank_patterns.write_ptx(kernels.values()), backend=backend)
    functions = {name: module.get_function(name) for name in kernels}
    room = numpy.zeros(bank_patterns.GLOBAL_BYTES, numpy.uint8)
    memory = smemkit.asarray(room, backend=backend)
    for kernel, _, addresses, mask in launches:
        pattern = numpy.array([*addresses, mask], numpy.uint32).tobytes()
        functions[kernel.name]((1,), (bank_patterns.LANES,), (pattern, memory))
    smemkit.asnumpy(memory)  # waits, and tells of a failure
    return len(launches)


# Beside ncu --------------------------------------------------------------------------------------


def read_number(text):
    number = float(text.replace(",", ""))
    return int(number) if number == int(number) else number


def read_report(path, metrics):
    """(kernel name, values) of every launch in ncu's table."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line for line in file if not line.startswith("==")]
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise RecordError(f"ncu gave no table:\n{''.join(lines[:40])}")
    head, _units, *rows = list(csv.reader(lines[start:]))
    name = head.index("Kernel Name")
    columns = [head.index(metric) for metric in metrics.values()]
    for row in rows:
        if row:
            yield row[name], [read_number(row[column]) for column in columns]


def measure(group, options):
    """Rows (kernel, layout, mask, counts) of one group."""
    metrics = GROUPS[group]
    launches = list(list_launches(group, options.share))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        command = [options.ncu, "--clock-control", "none", "--cache-control", "none", "--csv"]
        command += ["--page", "raw", "--print-units", "base", "--log-file", str(log)]
        command += ["--metrics", ",".join(dict.fromkeys(metrics.values()))]
        command += [sys.executable, __file__, "--child", group, "--share", str(options.share)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.timeout, check=False
        )
        if done.returncode != 0 or not log.exists():
            said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
            raise RecordError(
                f"ncu ended with {done.returncode}:\n{done.stdout}{done.stderr}{said}"
            )
        found = list(read_report(log, metrics))
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        passes = [line for line in lines if line.rstrip().endswith(("pass", "passes"))]
    names = [kernel.name for kernel, *_ in launches]
    if [name for name, _ in found] != names:
        raise RecordError(f"ncu saw {len(found)} launches, not the {len(names)} that were made")
    rows = [
        (kernel.name, layout, mask, values)
        for (kernel, layout, _, mask), (_, values) in zip(launches, found, strict=True)
    ]
    return rows, passes[0].split("-")[-1].strip() if passes else "passes not told"


def describe_machine(options):
    ncu = subprocess.run(
        [options.ncu, "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return {
        "device": smemkit.device_info(backend="cuda")["name"],
        "driver": driver.stdout.split("\n")[0].strip(),
        "ncu": ncu.stdout.strip().splitlines()[-1],
        "date": datetime.date.today().isoformat(),
        "smemkit": smemkit.__version__,
    }


def write_table(path, machine, tables):
    """One row a line, so that two recordings can be compared by eye."""
    layouts = {}
    for group, rows in tables.items():
        used = {(kernel, layout) for kernel, layout, *_ in rows}
        for kernel, layout, addresses, _ in list_launches(group, 1):
            if (kernel.name, layout) in used:
                assert layouts.setdefault(layout, addresses) == addresses
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in machine.items()]
    parts.append(f'"metrics": {json.dumps({group: GROUPS[group] for group in tables}, indent=1)}')
    lines = [f"{json.dumps(name)}: {json.dumps(layouts[name])}" for name in sorted(layouts)]
    parts.append('"layouts": {\n' + ",\n".join(lines) + "\n}")
    groups = [
        f'"{group}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for group, rows in tables.items()
    ]
    parts.append('"rows": {\n' + ",\n".join(groups) + "\n}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def summarise(table):
    """Where the rules and the hardware disagree."""
    wrong, compared, loops, other = [], 0, [], {}
    for kernel, layout, addresses, mask, counts in bank_patterns.list_rows(table):
        if kernel.loop:
            loops.append(f"{kernel.name} {layout} {mask:#x} {counts}")
        for name, wanted in bank_patterns.expect(kernel, addresses, mask).items():
            compared += 1
            if counts[name] != wanted:
                text = f"{kernel.name} {layout} mask {mask:#010x} {name}"
                wrong.append((kernel.name, f"{text}: hardware {counts[name]}, smemkit {wanted}"))
        for name, value in counts.items():
            base = name.split("_")[0] if name != "instructions" else "requests"
            if base != name and base in counts:
                seen = other.setdefault((kernel.name, name, base), [0, 0])
                seen[value != counts[base]] += 1
    for (kernel, name, base), (same, different) in other.items():
        if different:
            print(f"{kernel}: {name} differs from {base} in {different} of {same + different}")
    print(f"{len(loops)} launches of loops, not compared:")
    print("\n".join(loops[::4]))
    by_kernel = {}
    for name, text in wrong:
        by_kernel.setdefault(name, []).append(text)
    for name, texts in by_kernel.items():
        print(f"{name}: {len(texts)} numbers differ")
    share = max(4, 40 // max(1, len(by_kernel)))
    for texts in by_kernel.values():
        print("\n".join(texts[:share]))
    print(f"{compared} numbers compared, {len(wrong)} differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("banks_h200.json"))
    parser.add_argument("--ncu", default=shutil.which("ncu"))
    parser.add_argument("--groups", nargs="*", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--keep", action="store_true", help="other groups as they are in --out")
    parser.add_argument("--share", type=float, default=1.0, help="of the patterns of each kernel")
    parser.add_argument("--timeout", type=float, default=150, help="seconds for one group")
    parser.add_argument("--child", choices=GROUPS, help="only launch; what ncu runs")
    parser.add_argument("--backend", default="cuda", help="of --child")
    options = parser.parse_args()
    if options.child:
        print(launch_all(options.child, options.share, options.backend), "launches")
        return 0
    if options.ncu is None:
        parser.error("there is no ncu on PATH; name it with --ncu")
    machine, tables, failed = describe_machine(options), {}, []
    if options.keep:
        tables = json.loads(options.out.read_text(encoding="utf-8"))["rows"]
    for group in options.groups:
        began = time.monotonic()
        try:
            tables[group], passes = measure(group, options)
        except (RecordError, subprocess.TimeoutExpired) as error:
            failed.append(group)
            print(f"{group}: FAILED: {error}", flush=True)
            continue
        seconds = time.monotonic() - began
        print(f"{group}: {len(tables[group])} launches, {passes}, {seconds:.1f} s", flush=True)
        write_table(options.out, machine, tables)  # after each: what is there is not lost
    if tables:
        summarise(json.loads(options.out.read_text(encoding="utf-8")))
    print(f"groups that failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
