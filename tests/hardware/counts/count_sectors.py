"""Count, on a GPU, the sectors of copies past the L1 cache in two ways, several times each.

    python tests/run.py hardware.counts.count_sectors [FILE]

writes sectors_h200.json, or another file, of the kernels in whose launches Nsight Compute's metric
of these sectors is wrong: what the hardware counts on the way from L2, and what the metric says.
Needs an H200 and ncu; some 30 s.
"""

import json
import re
import sys
from pathlib import Path

from hardware.counts.explained import EXPLAINED, FILLED, GUARDED, LOST

import smemkit
from smemkit.bench import ncu

FILE = Path(__file__).with_name("sectors_h200.json")
MODULE = "hardware.counts.count_sectors"
MADE_BY = f"on an H200, python tests/run.py {MODULE} makes it anew"
RUNS = 3
WAYS = {
    "from_l2": "l1tex__m_xbar2l1tex_read_sectors.sum",
    "metric": "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
}


def list_kernels():
    """Those of gemm whose copies past the L1 cache are counted wrongly, for whatever reason.

    gemm_warp_tiled also copies through that cache, where a sector need not come from L2.
    """
    wrong = {kernel for (kernel, _), why in EXPLAINED.items() if why in (FILLED, GUARDED, LOST)}
    return sorted(name for name in wrong if re.match("gemm_(?!warp_tiled_)", name))


def list_calls(kernels):
    """Calls of gemm that may launch them: gemm_tensor_int8 launches gemm_tensor_small_int8."""
    calls = []
    for row in ncu.list_rows(["gemm"], []):
        name, dtype = row.kernel.rsplit("_", 1)
        if any(re.fullmatch(rf"{name}(_\w+)?_{dtype}", kernel) for kernel in kernels):
            calls.append(row)
    return calls


def find_launches(call, kernels):
    """(case, counters of the simulator, kernel) of a call's launches of these kernels."""
    return [
        (launch.case, launch.counters, launch.kernel)
        for launch in ncu.count_on_simulator(call)
        if launch.kernel in kernels
    ]


def measure(calls, kernels):
    """A row for each launch, as the file has it."""
    text, _ = ncu.run_ncu(
        WAYS.values(), MODULE, ["--made"], ["-k", f"regex:^({'|'.join(kernels)})$"]
    )
    rows, left = [], iter(ncu.parse_csv(text))
    for call in calls:
        launches = find_launches(call, kernels)
        runs = [[next(left, None) for _ in launches] for _ in range(RUNS)]
        for (case, _, kernel), seen in zip(launches, zip(*runs, strict=True), strict=True):
            for launch in seen:
                name = launch and launch["Kernel Name"].split("(")[0]
                if name != kernel:
                    raise smemkit.BackendError(f"ncu saw {name} where {kernel} was launched")
            counts = {
                way: [ncu.read_number(launch[metric]) for launch in seen]
                for way, metric in WAYS.items()
            }
            rows.append({"kernel": kernel, "case": case, **counts})
    more = sum(1 for _ in left)
    if more:
        raise smemkit.BackendError(f"ncu saw {more} launches more than were made")
    return rows


def make_launches(calls, made):
    """What ncu watches: every call, as often as it is counted."""
    for call in calls:
        for _ in range(RUNS):
            call.make().run("cuda")
    Path(made).write_text(json.dumps(RUNS * len(calls)))


def main(arguments):
    kernels = list_kernels()
    calls = list_calls(kernels)
    if arguments[1:] == ["--made"]:
        make_launches(calls, arguments[0])
        return
    table = ncu.make_table() | {"ncu": ncu.read_version(), **WAYS}
    table["rows"] = measure(calls, kernels)
    ncu.write_table(arguments[0] if arguments else FILE, table)
    print(f"{len(table['rows'])} launches, {RUNS} times each")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except smemkit.Error as error:
        sys.exit(f"{MODULE}: {error}")
