"""Which tests know a C file: those that are run first when it is changed.

RULES: (expression that a path under csrc matches, tests). Every rule that matches adds its tests; a
layer's come last.
"""

import re

RULES = [
    (
        r"sim/.*\b(race|shadow|wide|former|blocks|order|happens_before|stray|finding|check|bounds)",
        "tests/sim/check/test_ranges.py tests/sim/check/test_check_core.py "
        "tests/sim/check/test_check_cases.py tests/sim/check/test_lines.py "
        "tests/sim/check/test_host_threads.py tests/sim/check/test_happens_before.py",
    ),
    (r"sim/.*\bprovenance", "tests/sim/check/test_provenance.py"),
    (r"sim/.*\bpark", "tests/sim/exec/test_park.py"),
    (
        r"sim/.*\b(bank|sector|cost)",
        "tests/sim/cost/test_bank.py tests/sim/cost/test_sector.py "
        "tests/sim/profile/test_count_access.py",
    ),
    (
        r"sim/.*\b(count|tally|report|copy|async_cost|spin|atomic_loop|observer|access_cost|profile)",
        "tests/sim/profile/test_count.py tests/sim/profile/test_count_access.py "
        "tests/sim/profile/test_count_atomics.py tests/sim/cost/test_async_cost.py "
        "tests/sim/code/test_observer.py tests/sim/exec/test_ldmatrix.py",
    ),
    (
        r"sim/.*\b(align|fuse|cfg|value_numbering|fusion|memory_flow|ptxas)",
        "tests/sim/ptxas/test_cfg.py tests/hardware/counts/test_counts.py "
        "tests/sim/profile/test_count_access.py tests/hardware/sass/test_sass.py",
    ),
    (
        r"sim/.*\b(alu|convert)",
        "tests/sim/exec/test_opcodes.py tests/sim/exec/test_opcodes_float.py "
        "tests/sim/exec/test_opcodes_isa.py tests/sim/exec/test_opcodes_approx.py "
        "tests/sim/exec/test_opcodes_convert.py tests/sim/exec/test_general.py",
    ),
    (r"sim/.*(commute|link)", "tests/sim/lower/test_commute.py"),
    (r"sim/.*(ptxas|fusion)", "tests/sim/ptxas/test_fusion.py"),
    (r"sim/.*(alu|convert)", "tests/sim/exec/test_nans.py"),
    (r"sim/.*(memory|lower)", "tests/py/test_symbol.py"),
    (r"sim/code/memory", "tests/sim/code/test_memory.py"),
    (
        r"sim/.*(check|park|block|instrument|memory)",
        "tests/sim/check/test_bad_accesses.py tests/py/test_leaks.py",
    ),
    (r"sim/.*grid", "tests/py/test_fork.py"),
    (r"sim/.*(printf|memory|program)", "tests/py/test_oom.py"),
    (r"sim/check/(happens|race|clock)", "tests/sim/check/test_memory_model.py"),
    (r"sim/check/undefined", "tests/sim/check/test_undefined.py"),
    (
        r"sim/exec/atomic",
        "tests/sim/exec/test_synchronization.py tests/sim/lower/test_every_form.py",
    ),
    (r"sim/check/(check|finding)", "tests/sim/exec/test_park.py"),
    (r"py/arrays/list", "tests/py/test_list.py"),
    (r"base/pages", "tests/base/test_pages.py tests/py/test_array.py"),
    (r"py/.*internals", "tests/ptx/test_parse.py"),
    (r"sim/.*\b(matrix|mma)", "tests/sim/exec/test_mma.py tests/sim/exec/test_ldmatrix.py"),
    (
        r"sim/.*\b(access|memory|atomic|rows|register_layout|image|fixed|constant_rows)",
        "tests/sim/check/test_bounds.py tests/sim/exec/test_opcodes_memory.py "
        "tests/sim/check/test_ranges.py tests/py/test_array.py",
    ),
    (
        r"sim/.*\b(warp|control|barrier|exchange|block|async|cp_async|stuck|livelock|grid|print|launch)",
        "tests/sim/exec/test_synchronization.py tests/sim/exec/test_livelock.py "
        "tests/py/test_errors_run.py tests/py/test_errors_launch.py "
        "tests/sim/check/test_ranges.py tests/py/test_threads.py",
    ),
    (
        r"sim/.*\b(lower|program)",
        "tests/py/test_errors_ptx.py tests/sim/exec/test_opcodes_memory.py "
        "tests/sim/code/test_module_parts.py",
    ),
    (r"sim/.*\blower_memory", "tests/sim/exec/test_ldmatrix.py"),
    (r"sim/.*program", "tests/py/test_raw.py"),
    (
        r"sim/",
        "tests/fuzz/test_differential.py tests/sim/exec/test_opcodes_memory.py tests/programs",
    ),
    (
        r"ptx/",
        "tests/ptx/test_equal.py tests/ptx tests/py/test_errors_ptx.py "
        "tests/sim/exec/test_opcodes.py tests/py/test_oom.py",
    ),
    (r"registry/", "tests/registry tests/kernels/test_access.py tests/py/test_family.py"),
    (r"registry/plan_(\w+)", "tests/kernels/test_{1}.py"),
    (
        r"base/",
        "tests/base tests/py/test_oom.py tests/py/test_capture.py tests/ptx",
    ),
    (
        r"py/.*(argument|keywords|scalar|raw)",
        "tests/py/test_argument.py tests/py/test_raw.py tests/py/test_symbol.py",
    ),
    (
        r"py/.*(arrays|occupancy)",
        "tests/py/test_array.py tests/py/test_occupancy_query.py tests/bench/test_bad_arguments.py",
    ),
    (
        r"py/.*(capture|access|catalog)",
        "tests/py/test_capture.py tests/report/test_report.py tests/sim/cost/test_bank.py",
    ),
    (r"py/.*internals_fusion", "tests/hardware/sass/test_sass.py"),
    (r"py/", "tests/py tests/registry"),
]
# All that says something about the C code, in the order of its price.
WIDER = [
    "tests/sim",
    "tests/ptx",
    "tests/registry",
    "tests/fuzz",
    "tests/py",
    "tests/programs",
    "tests/hardware/counts",
    "tests/kernels/test_gemm.py",
    "tests/kernels/test_gemm_tuned.py",
    "tests/kernels/test_reduce.py",
    "tests/kernels/test_transpose.py",
    "tests/kernels/test_conv2d.py",
    "tests/kernels/test_histogram.py",
    "tests/kernels/test_histogram_weighted.py",
    "tests/kernels/test_scan.py",
    "tests/kernels/test_sort.py",
    "tests/kernels/test_dot.py",
    "tests/kernels/test_smooth.py",
    "tests/kernels/test_access.py",
    "tests/kernels/test_claims.py",
    "tests/cli/test_command.py",
]


def find_tests(path, root):
    """Tests that know a file, each once, best first."""
    found = []
    for expression, tests in RULES:
        if match := re.search(expression, path):
            for name in tests.split():
                name = name.replace("{1}", match[1] if match.groups() else "")
                if name not in found and (root / name).exists():
                    found.append(name)
    return found
