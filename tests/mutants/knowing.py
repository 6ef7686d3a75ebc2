"""Which tests know a C file: those that are run first when it is changed.

RULES: (expression that a path under csrc matches, tests). Every rule that matches adds its tests; a
layer's come last.
"""

import re

RULES = [
    (
        r"sim/.*\b(race|shadow|wide|former|blocks|order|happens_before|stray|finding|check|bounds)",
        "tests/check/test_ranges.py tests/sim/test_check_core.py tests/check/test_check_cases.py "
        "tests/check/test_lines.py tests/check/test_host_threads.py tests/check/test_order.py",
    ),
    (r"sim/.*\bprovenance", "tests/sim/test_provenance.py"),
    (r"sim/.*\bpark", "tests/sim/test_park.py"),
    (
        r"sim/.*\b(bank|sector|cost)",
        "tests/sim/test_bank.py tests/sim/test_sector.py tests/sim/test_count_access.py",
    ),
    (
        r"sim/.*\b(count|tally|report|copy|async_cost|spin|atomic_loop|observer|access_cost|profile)",
        "tests/sim/test_count.py tests/sim/test_count_access.py tests/sim/test_count_atomics.py "
        "tests/sim/test_copies.py tests/sim/test_observer.py tests/sim/test_ldmatrix.py",
    ),
    (
        r"sim/.*\b(align|fuse|cfg|value_numbering|fusion|memory_flow|ptxas)",
        "tests/sim/test_cfg.py tests/counts/test_counts.py tests/sim/test_count_access.py "
        "tests/sass/test_sass.py",
    ),
    (
        r"sim/.*\b(alu|convert)",
        "tests/sim/test_opcodes.py tests/sim/test_opcodes_float.py tests/sim/test_opcodes_isa.py "
        "tests/sim/test_opcodes_approx.py tests/sim/test_opcodes_convert.py "
        "tests/sim/test_general.py",
    ),
    (r"sim/.*commute", "tests/sim/test_commute.py"),
    (r"sim/.*\b(matrix|mma)", "tests/sim/test_mma.py tests/sim/test_ldmatrix.py"),
    (
        r"sim/.*\b(access|memory|atomic|rows|register_layout|image|fixed|constant_rows)",
        "tests/sim/test_bounds.py tests/sim/test_opcodes_memory.py tests/check/test_ranges.py "
        "tests/py/test_array.py",
    ),
    (
        r"sim/.*\b(warp|control|barrier|exchange|block|async|cp_async|stuck|livelock|grid|print|launch)",
        "tests/sim/test_meeting.py tests/sim/test_stuck.py tests/test_errors.py "
        "tests/test_errors_launch.py tests/check/test_ranges.py tests/py/test_threads.py",
    ),
    (
        r"sim/.*\b(lower|program)",
        "tests/test_errors_ptx.py tests/sim/test_opcodes_memory.py tests/sim/test_module_parts.py",
    ),
    (r"sim/.*\blower_memory", "tests/sim/test_ldmatrix.py"),
    (r"sim/.*program", "tests/py/test_raw.py"),
    (r"sim/", "tests/fuzz/test_differential.py tests/sim/test_opcodes_memory.py tests/world"),
    (
        r"ptx/",
        "tests/ptx/test_equal.py tests/ptx tests/test_errors_ptx.py tests/sim/test_opcodes.py "
        "tests/test_oom.py",
    ),
    (r"registry/", "tests/registry tests/test_access.py tests/py/test_family.py"),
    (r"registry/plan_(\w+)", "tests/test_{1}.py"),
    (
        r"base/",
        "tests/base tests/test_oom.py tests/py/test_watch.py tests/ptx tests/test_robust.py",
    ),
    (
        r"py/.*(argument|keywords|scalar|raw)",
        "tests/py/test_argument.py tests/py/test_raw.py tests/py/test_symbol.py",
    ),
    (
        r"py/.*(arrays|occupancy)",
        "tests/py/test_array.py tests/py/test_resident.py tests/py/test_nonsense.py",
    ),
    (
        r"py/.*(capture|access|catalog)",
        "tests/py/test_watch.py tests/py/test_report.py tests/sim/test_bank.py",
    ),
    (r"py/.*internals_fusion", "tests/sass/test_sass.py"),
    (r"py/", "tests/py tests/registry tests/test_oom.py"),
]
# All that says something about the C code, in the order of its price.
WIDER = [
    "tests/sim",
    "tests/check",
    "tests/ptx",
    "tests/registry",
    "tests/fuzz",
    "tests/test_errors.py",
    "tests/test_errors_launch.py",
    "tests/test_errors_ptx.py",
    "tests/test_robust.py",
    "tests/test_oom.py",
    "tests/py",
    "tests/world",
    "tests/counts",
    "tests/test_gemm.py",
    "tests/test_gemm_tuned.py",
    "tests/test_reduce.py",
    "tests/test_transpose.py",
    "tests/test_conv2d.py",
    "tests/test_histogram.py",
    "tests/test_dot.py",
    "tests/test_smooth.py",
    "tests/test_access.py",
    "tests/test_claims.py",
    "tests/test_command.py",
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
