"""Each guard of an access taken out of a kernel, and what becomes of it.

The kernel as it is, with a trap where the guard would close, tells whether it ever does. Without
the guard a plain run says the truth, for it stops at an access that is out of bounds: check must
find just those. What is not out of bounds is told apart by a look at the results.

    open       the guard never closes for these shapes: without it nothing is different
    found      out of bounds, by the plain run and by check
    another    no access is out of bounds, and check finds the race or the unwritten memory
    ending     it ends a loop: without it there is no end
    value      it asks for a value, not for a place: the results are wrong
    spare      it closes, and nothing is wrong without it: in SPARE_GUARDS, with the reason

The kernels are those of tests/hardware/counts and those of the package, later ones too.
"""

import collections
import contextlib
import os

import numpy as np
import pytest
from hardware.counts.count_launches import FOLDER
from sim.check import mutate
from sim.check.altered import (
    OF_PART,
    altered,
    find_sample,
    in_parts,
    keywords_of,
    list_launched,
    multiprocessors,
    part_of,
    ragged,
    sample_words,
    small_machine,
)
from sim.check.redundant import SPARE_GUARDS, SPARE_IN_FAMILY
from sim.check.test_mutants import counts

import smemkit
from smemkit.bench import workloads

STEPS, MORE = 15_000, 4  # a mutant may take MORE times what ends the kernel, which is STEPS * 2**i
BUDGETS = {}  # by call
COPIES = 3  # of one guard that are removed in turn
CASES = counts()
PACKAGE = [
    (family, name) for family in workloads.list_families() for name in smemkit.variants(family)
]
SORTED = collections.Counter()
SPARE = collections.defaultdict(set)  # lines by kernel


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Blocks one after the other: so a plain run and check come to the same place first.

    The step budget is that of the launch: of several threads one may spend it, in a loop without
    end, before or after another's block is out of bounds.
    """
    monkeypatch.setenv("SMEMKIT_THREADS", "1")


def find_budget(key, run):
    """Steps that end a mutant without end, and no other. run(steps) is the call with the kernel."""
    steps = STEPS
    while key not in BUDGETS:
        try:
            run(steps)
        except smemkit.StepBudgetError:
            steps *= 2
        else:
            BUDGETS[key] = MORE * steps
    return BUDGETS[key]


def trap_in_place_of(mutant, text):
    """The original text, with a trap for the lanes that the guard keeps away."""
    lines, index = text.splitlines(), mutant.line - 1
    if branch := mutate.BRANCH.match(lines[index]):
        inverse, predicate, label = branch.groups()
        falls = not mutant.text.splitlines()[index].strip()  # what is guarded stands behind it
        sign = inverse if falls else {"": "!", "!": ""}[inverse]
        lines[index] = f"@{sign}{predicate} trap;" + ("" if falls else f" bra {label};")
    else:
        guard = mutate.GUARDED.match(lines[index])[2]
        inverse = guard.replace("@!", "@") if "!" in guard else guard.replace("@", "@!")
        lines[index] = f"{inverse} trap; {lines[index]}"
    return "\n".join(lines) + "\n"


def attempt(work, verify):
    """(kinds found, name of the error raised or "", are the results right?) of a call."""
    try:
        outcome = work()
        kinds = {finding.kind for finding in getattr(outcome, "findings", ())}
        verify(getattr(outcome, "result", outcome))
    except AssertionError:
        return kinds, "", False
    except Exception as raised:
        assert type(raised).__module__.startswith("smemkit"), raised
        return set(), type(raised).__name__, True
    return kinds, "", True


def judge(mutant, text, machine, shapes):
    """What sort of guard it was. machine(text) gives run(shape, checked=...) -> attempt's tuple."""
    kinds, plain = set(), []
    with machine(trap_in_place_of(mutant, text)) as run:
        if not any(run(shape, checked=False)[1] == "TrapError" for shape in shapes):
            return "open"
    with machine(mutant.text) as run:
        for shape in shapes:
            found = run(shape, checked=True)[0]
            plain.append(run(shape, checked=False))
            strays, error = "out_of_bounds" in found, plain[-1][1]
            told = f"{mutant.label}, {shape}: {plain[-1]}, but found {found}"
            if error == "MisalignedError":  # it ends a plain run, and what would stray comes later
                assert "misaligned" in found, told
            else:
                assert strays == (error == "OutOfBoundsError"), told
            if strays:
                return "found"
            kinds |= found
    if kinds:
        return "another"
    if any(error == "StepBudgetError" for _, error, _ in plain):
        return "ending"
    return "spare" if all(right for _, _, right in plain) else "value"


def sort(kernel, mutant, source, sorted_as):
    """Holds the table of spare guards, whose lines may have other guards too."""
    SORTED[sorted_as] += 1
    line = source.splitlines()[mutant.source_line - 1].strip()
    if sorted_as == "spare":
        SPARE[kernel].add(line)
        assert line in list_spare(kernel), (
            f"{mutant.label}, {mutant.what}: {line}\nwithout this guard the results are right: "
            "leave it out, or say in tests/sim/check/redundant.py why it stands there"
        )


def list_spare(kernel):
    """{line: reason} of the guards without which nothing is wrong."""
    return SPARE_GUARDS.get(kernel, {}) | SPARE_IN_FAMILY.get(kernel.split("/")[0], {})


def find_outdated(kernel):
    return set(SPARE_GUARDS.get(kernel, {})) - SPARE[kernel]


@contextlib.contextmanager
def counted(text):
    """Runs a text of tests/hardware/counts; a shape is a case."""

    def work(case, made, text, steps, checked=False):
        kernel = smemkit.RawModule(text, backend="sim").get_function(case.entry)
        words = {"shared_mem": made.shared, "max_steps": steps, "backend": "sim"}
        return (kernel.check if checked else kernel)(made.grid, made.block, made.args, **words)

    def run(case, checked):
        budget = find_budget(
            (case.name, case.entry, case.label),
            lambda steps: work(case, case.make(), case.ptx, steps),
        )
        made = case.make()
        return attempt(lambda: work(case, made, text, budget, checked), lambda _: made.check())

    yield run


@pytest.mark.parametrize("name", CASES)
def test_guards_of_counts(name):
    text = CASES[name][0].ptx
    source = (FOLDER / f"{name}.cu").read_text()
    for mutant in mutate.remove_guards(text):
        cases = [case for case in CASES[name] if case.entry == mutant.entry]
        sort(f"counts/{name}", mutant, source, judge(mutant, text, counted, cases))
    assert not find_outdated(f"counts/{name}")


def package_machine(family, variant, dtype, keywords, spans, shapes):
    """Runs whole calls of the package with a text; a shape is its sizes.

    spans: the lines of each entry of the original text, of which those that the calls launch stay.
    """
    entries = list_launched(family, variant, dtype, shapes, keywords)

    @contextlib.contextmanager
    def machine(text):
        with altered(family, variant, mutate.keep_entries(text, spans, entries)) as core:

            def spend(steps, of, sample):
                os.environ["SMEMKIT_MAX_STEPS"] = str(steps)
                return getattr(of, family)(*sample.arrays, **sample_words(sample, variant))

            def run(sizes, checked):
                sample = find_sample(family, dtype, sizes, keywords)
                key = (family, variant, dtype, str(sizes), str(keywords))
                budget = find_budget(key, lambda steps: spend(steps, smemkit._core, sample))
                os.environ["SMEMKIT_MAX_STEPS"] = str(budget)
                call, words = getattr(core, family), sample_words(sample, variant)
                args = (call, *sample.arrays) if checked else sample.arrays
                work = smemkit.check if checked else call
                return attempt(lambda: work(*args, **words), lambda r: sample.check(r, variant))

            yield run

    return machine


def pick(family, variant, text):
    """(mutant, type, keywords) of the first and last type, and the first choice of several.

    Unrolling copies a guard hundreds of times: of the copies a few are taken, first to last. The
    last type has the same guards: of those that are not spare one copy is taken, each time another.
    """
    types, lines = smemkit.variants(family)[variant]["dtypes"], collections.defaultdict(list)
    source, spare = smemkit.source(family, variant).splitlines(), list_spare(f"{family}/{variant}")
    for mutant in mutate.remove_guards(text):
        dtype, keywords = keywords_of(family, variant, mutant.entry)
        if dtype in (types[0], types[-1]) and keywords == workloads.list_choices(family)[0]:
            lines[mutant.entry, mutant.source_line].append((mutant, dtype, keywords))
    for number, ((_, line), copies) in enumerate(lines.items()):
        few = min(COPIES, len(copies))
        places = [round(place) for place in np.linspace(0, len(copies) - 1, few)]
        if copies[0][1] != types[0] and source[line - 1].strip() not in spare:
            places = [places[number % few]]
        yield from (copies[place] for place in places)


@pytest.mark.parametrize("kernel", PACKAGE, ids="/".join)
def test_guards_of_the_package(kernel):
    family, variant = kernel
    text, source = smemkit.ptx(*kernel), smemkit.source(*kernel)
    picked = list(pick(family, variant, text))
    assert picked, "a kernel that takes every shape has guards"
    spans = mutate.entries_of(text)
    for mutant, dtype, keywords in picked:
        own = OF_PART.get(f"{family}/{variant}", {}).get(part_of(family, variant, mutant.entry))
        calls = [(small_machine(family, variant), own or ragged(family)[:5])]
        for count, sizes in in_parts(family, variant, mutant.entry):
            calls.append((multiprocessors(count), [sizes]))
        for machine, shapes in calls:
            with machine:
                runs = package_machine(family, variant, dtype, keywords, spans, shapes)
                found = judge(mutant, text, runs, shapes)
            if found != "open":
                break
        sort("/".join(kernel), mutant, source, found)
    assert not find_outdated("/".join(kernel))


def test_most_guards_are_bounds():
    """Of all, as far as the tests above have run."""
    if sum(SORTED.values()) < 300:
        pytest.skip("not all of them were asked for")
    assert SORTED["found"] > sum(SORTED.values()) / 3
    assert all(SORTED[word] > 0 for word in ("another", "open", "ending", "value", "spare"))


def test_spare_guards_have_reasons():
    known = {f"counts/{name}" for name in CASES} | {"/".join(kernel) for kernel in PACKAGE}
    assert set(SPARE_GUARDS) <= known
    for family, lines in SPARE_IN_FAMILY.items():
        texts = [smemkit.source(*kernel) for kernel in PACKAGE if kernel[0] == family]
        assert all(sum(line in text for text in texts) > 1 for line in lines), family
    assert all(reason for lines in SPARE_GUARDS.values() for reason in lines.values()), "why?"


PROBED = """
.visible .entry one(
)
{
\t@!%p1 bra \t$L_end;
\tst.global.u32 \t[%rd1], %r1;
\t@%p3 st.global.u32 \t[%rd1], %r1;
\t@%p2 bra \t$L_other;
\tbra.uni \t$L_end;
$L_other:
\tred.global.add.f32 \t[%rd1], %f1;
$L_end:
\tret;
}
"""


def test_traps_stand_where_guards_close():
    mutants = mutate.remove_guards(PROBED)
    found = [trap_in_place_of(m, PROBED).splitlines()[m.line - 1].split() for m in mutants]
    assert found == [
        ["@!%p1", "trap;"],
        ["@!%p3", "trap;", "@%p3", "st.global.u32", "[%rd1],", "%r1;"],
        ["@!%p2", "trap;", "bra", "$L_other;"],
    ]
