"""Each barrier taken out of a kernel is a race.

The kernels are those of the package (all of them, later ones too), of tests/programs and of
tests/hardware/counts. What is not found because it is no fault stands in a table by name, with
the reason; the test then proves that it stays clean.
"""

import dataclasses
import functools
import importlib
import itertools

import numpy as np
import pytest
from sim.check import check_cases, check_ptx, mutate
from sim.check.altered import (
    OF_PART,
    all_in_parts,
    altered,
    check_call,
    in_parts,
    keywords_of,
    list_launched,
    multiprocessors,
    ragged,
    regular,
    sizes_for,
    small_machine,
)
from sim.check.redundant import CLEAN_WITHOUT_BARRIER, MORE_SHAPES, NOT_CLEAN
from support.paths import TESTS

import smemkit
from smemkit.bench import workloads

COUNTS = TESTS / "hardware" / "counts"
ORDER = {"race", "warp_hazard", "global_race", "uninitialized", "async_read"}
STEPS = 400_000  # ends mutants that would never end
MANY = 3  # choices of a family

# The package -------------------------------------------------------------------------------------

KERNELS = [
    (family, name) for family in workloads.list_families() for name in smemkit.variants(family)
]
IDS = ["/".join(kernel) for kernel in KERNELS]


def kinds_of(findings):
    return {finding.kind for finding in findings}


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_package_originals_are_clean(kernel):
    family, variant = kernel
    for dtype in smemkit.variants(family)[variant]["dtypes"]:
        for is_ragged in (False, True):
            shapes = ragged(family) if is_ragged else regular(family)
            own = OF_PART.get(f"{family}/{variant}", {}) if is_ragged else {}
            shapes = [*shapes, *itertools.chain.from_iterable(own.values())]
            calls = itertools.product(shapes, workloads.list_choices(family, not is_ragged))
            for sizes, keywords in calls:
                with small_machine(family, variant):
                    found = check_call(smemkit._core, family, variant, dtype, sizes, keywords)
                assert not found, f"{dtype} {sizes} {keywords}\n" + "\n".join(map(str, found))
        cut = all_in_parts(family, variant).values()
        for count, sizes in itertools.chain.from_iterable(cut):
            with multiprocessors(count):
                found = check_call(smemkit._core, family, variant, dtype, sizes)
            assert not found, f"{dtype} {sizes}\n" + "\n".join(map(str, found))


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_package_barriers(kernel):
    family, variant = kernel
    first = smemkit.variants(family)[variant]["dtypes"][0]
    choices = workloads.list_choices(family)
    text = smemkit.ptx(*kernel)
    spans = mutate.entries_of(text)
    for mutant in mutate.remove_barriers(text):
        dtype, keywords = keywords_of(family, variant, mutant.entry)
        if len(choices) > MANY and dtype != first and keywords != choices[0]:
            continue  # each type and each choice is enough, not each of both
        found = set()
        shapes = sizes_for(family, variant, mutant.entry)
        calls = [(small_machine(family, variant), sizes) for sizes in shapes]
        for count, sizes in in_parts(family, variant, mutant.entry):
            calls.append((multiprocessors(count), sizes))
        for machine, sizes in calls:
            if found & ORDER:
                break
            with machine:
                launched = list_launched(family, variant, dtype, [sizes], keywords)
                faulty = mutate.keep_entries(mutant.text, spans, launched)
                with altered(family, variant, faulty) as core:
                    found |= kinds_of(check_call(core, family, variant, dtype, sizes, keywords))
        judge(mutant, found, CLEAN_WITHOUT_BARRIER, ORDER)


ENDS = {"bounds_guarded": 100, "bounds_first_guarded": 128, "initial_ragged_zeros": 50}


@pytest.mark.parametrize("entry", ENDS)
def test_guards_of_the_pairs(entry):
    case = next(case for case in check_cases.CASES if case.entry == entry)
    text = check_ptx.load_ptx(case.file, "O3")
    mutants = [mutant for mutant in mutate.remove_guards(text) if mutant.entry == entry]
    assert mutants
    for mutant in mutants:
        args = (np.arange(ENDS[entry], dtype=np.int32), *case.args()[1:])
        kernel = smemkit.RawModule(mutant.text, backend="sim").get_function(entry)
        report = smemkit.check(kernel, case.grid, case.block, args, backend="sim")
        judge(mutant, kinds_of(report.findings), {}, {"out_of_bounds"})


def judge(mutant, found, table, expected):
    """A mutant is found out, or stands in the table and is clean."""
    if mutant.names & table.keys():
        assert not found, f"{mutant.label} is in the table of harmless ones, but has {found}"
    else:
        assert found & expected, f"nothing found of {expected}: {mutant.label}, {mutant.what}"


# The kernels of other tests ----------------------------------------------------------------------


@functools.cache
def programs():
    """{name: case} of tests/programs."""
    for name in ("cases_arithmetic", "cases_control", "cases_memory"):
        importlib.import_module(f"programs.{name}")
    return importlib.import_module("programs.program_cases").CASES


@functools.cache
def counts():
    """{name: [case]} of tests/hardware/counts."""
    for path in sorted(COUNTS.glob("count_cases_*.py")):
        importlib.import_module(f"hardware.counts.{path.stem}")
    cases = {}
    for case in importlib.import_module("hardware.counts.count_launches").CASES:
        cases.setdefault(case.name, []).append(case)
    return cases


def with_barriers():
    """(folder, name) of all kernels there that have barriers."""
    load = importlib.import_module("programs.regenerate").load_ptx
    texts = {("programs", name): load(name, "O3") for name in sorted(programs())}
    texts |= {("counts", name): cases[0].ptx for name, cases in sorted(counts().items())}
    return {name: text for name, text in texts.items() if mutate.remove_barriers(text)}


OTHERS = with_barriers()


def check_program(name, text, rng):
    """Kinds found in all launches of a case; what its outputs are is not asked."""
    module, found = smemkit.RawModule(text, backend="sim"), []

    def run(entry, grid, block, *args, shared=0):
        kernel = module.get_function(entry)
        words = {"shared_mem": shared, "max_steps": STEPS, "backend": "sim"}
        found.extend(smemkit.check(kernel, grid, block, args, **words).findings)
        if found:
            raise Found  # enough is known

    try:
        programs()[name](run, rng, "sim")
    except (Found, AssertionError, IndexError, ValueError):
        pass
    return found


class Found(Exception):
    """Ends a case whose verdict is known."""


def check_counts(name, text):
    found, cases = [], counts()[name]
    more = [dataclasses.replace(cases[0], shape=MORE_SHAPES[name])] if name in MORE_SHAPES else []
    for case in (*cases, *more):
        made = case.make()
        kernel = smemkit.RawModule(text, backend="sim").get_function(case.entry)
        words = {"shared_mem": made.shared, "max_steps": STEPS, "backend": "sim"}
        found += smemkit.check(kernel, made.grid, made.block, made.args, **words).findings
    return found


def check_other(kernel, text):
    folder, name = kernel
    if folder == "counts":
        return check_counts(name, text)
    return check_program(name, text, np.random.default_rng(3))


OTHER_IDS = ["/".join(kernel) for kernel in OTHERS]


@pytest.mark.parametrize("kernel", OTHERS, ids=OTHER_IDS)
def test_other_originals(kernel):
    found = check_other(kernel, OTHERS[kernel])
    told = "\n".join(map(str, found))
    assert {finding.kind for finding in found} == NOT_CLEAN.get("/".join(kernel), set()), told


@pytest.mark.parametrize(
    "kernel", [name for name in OTHERS if "/".join(name) not in NOT_CLEAN], ids="/".join
)
def test_other_barriers(kernel):
    for mutant in mutate.remove_barriers(OTHERS[kernel]):
        kinds = {finding.kind for finding in check_other(kernel, mutant.text)}
        judge(mutant, kinds, CLEAN_WITHOUT_BARRIER, ORDER | {"barrier", "out_of_bounds"})


def test_tables_name_what_is_there():
    """An entry of a table that fits no mutant any more is out of date."""
    texts = [smemkit.ptx(*kernel) for kernel in KERNELS]
    barriers = itertools.chain(*map(mutate.remove_barriers, [*texts, *OTHERS.values()]))
    assert set(CLEAN_WITHOUT_BARRIER) <= set().union(*(mutant.names for mutant in barriers))
    assert all(CLEAN_WITHOUT_BARRIER.values()), "why?"
    assert set(NOT_CLEAN) <= set(OTHER_IDS)
    assert {f"counts/{name}" for name in MORE_SHAPES} <= set(OTHER_IDS)


# The mutator itself ------------------------------------------------------------------------------

TEXT = """
.visible .entry one(
)
{
\t.loc\t1 5 2
\t@%p1 bra \t$L_end;
\tbar.sync \t0;
$L_loop:
\t.loc\t1 7 2
\tld.global.f32 \t%f1, [%rd1];
\t@%p2 bra \t$L_loop;
\t@!%p3 st.global.f32 \t[%rd1], %f1;
\tbarrier.sync 1, 64;
\t@%p4 bra \t$L_other;
\tbra.uni \t$L_end;
$L_other:
\t.loc\t2 9 2, function_name $L_f, inlined_at 1 8 2
\tred.global.add.f32 \t[%rd1], %f1;
$L_end:
\tret;
}
"""


def test_mutants_of_a_small_text():
    barriers = mutate.remove_barriers(TEXT)
    assert [(m.line, m.source_line, m.what) for m in barriers] == [
        (7, 5, "bar.sync \t0;"),
        (13, 7, "barrier.sync 1, 64;"),
    ]
    guards = mutate.remove_guards(TEXT)
    assert [(m.line, m.text.splitlines()[m.line - 1].strip()) for m in guards] == [
        (6, ""),
        (12, "st.global.f32 \t[%rd1], %f1;"),
        (14, "bra $L_other;"),
    ]
    for mutant in (*barriers, *guards):
        old, new = TEXT.splitlines(), mutant.text.splitlines()
        assert [i for i in range(len(old)) if old[i] != new[i]] == [mutant.line - 1]
