"""Exercises: starts and mistakes are judged wrong with a helpful sentence, solutions pass."""

import sys

import pytest

import smemkit
from smemkit import compile
from smemkit.lessons import Exercise, Verdict, catalog
from smemkit.lessons._catalog import list_tasks

TASKS = list_tasks()
MISTAKES = [
    pytest.param(name, mistake, id=f"{name}-{number}")
    for name, task in TASKS.items()
    for number, mistake in enumerate(task.mistakes, 1)
]
GUARD = smemkit.exercise("tour.guard")
compiled = pytest.mark.skipif(
    not (compile.find_nvrtc() or compile.find_nvcc()), reason="no compiler of CUDA C: [nvrtc]"
)


def read(verdict):
    """A verdict's text on one line."""
    return " ".join(repr(verdict).split())


# The catalogue -----------------------------------------------------------------------------------


def test_each_notebook_has_two_or_three():
    numbers = {}
    for task in TASKS.values():
        numbers.setdefault(task.notebook, []).append(task.number)
    assert list(numbers) == list(range(10))
    for found in numbers.values():
        assert found in ([1, 2], [1, 2, 3])
    assert len(TASKS) >= 22


@pytest.mark.parametrize("name", TASKS)
def test_task_is_whole(name):
    task = TASKS[name]
    assert task.title and len(task.text.split()) > 20 and 2 <= len(task.hints) <= 4
    assert f" {task.kernel}(" in task.start and f" {task.kernel}(" in task.solution
    assert task.start.startswith("\n") and task.start != task.solution
    assert len(task.mistakes) >= 2 and len(task.sizes) >= 2
    assert max(map(len, task.text.splitlines())) <= 96  # a comment in a notebook's .py
    assert max(map(len, [*task.start.splitlines(), *task.solution.splitlines()])) <= 100
    for limit in task.limits:
        limit.read()
        assert limit.words.format(value=3)[0].islower()
    labels = [task.make_case(sizes).label for sizes in task.sizes]
    assert len(set(labels)) == len(labels)


@compiled
@pytest.mark.parametrize("name", TASKS)
def test_solution_passes(name):
    exercise = smemkit.exercise(name)
    verdict = exercise.judge(exercise.solution())
    assert verdict, verdict
    assert verdict.sentence == "" and verdict.title == f"{name}: solved"


@compiled
@pytest.mark.parametrize("name", TASKS)
def test_start_is_not_yet_right(name):
    exercise = smemkit.exercise(name)
    verdict = exercise.judge(exercise.start)
    assert not verdict
    assert TASKS[name].start_says.lower() in read(verdict).lower(), verdict
    assert "This is the start as it was given." in verdict.next
    assert verdict.steps[0].passed, "a start compiles"


@compiled
@pytest.mark.parametrize(("name", "mistake"), MISTAKES)
def test_mistake_is_named(name, mistake):
    solution = TASKS[name].solution
    assert solution.count(mistake.old) >= 1
    verdict = smemkit.exercise(name).judge(solution.replace(mistake.old, mistake.new))
    assert not verdict and verdict.sentence
    assert mistake.says.lower() in read(verdict).lower(), verdict


# The judge ---------------------------------------------------------------------------------------


@compiled
@pytest.mark.parametrize(
    ("old", "new", "step", "says"),
    [
        ("2 * x[i]", "2 x[i]", "compiles", "line 6: error: expected a"),
        ("twice(", "double_it(", "compiles", "Keep the kernel's name, twice"),
        (", int n)", ")", "compiles", "line 5: error: identifier"),
        ("const float *x, float *y, int n", "float *y, int n", "compiles", 'identifier "x"'),
        ("int n)", "int n, int m)", "result", "keep the start's parameters"),
        ("y[i] = 2 * x[i]", "y[i] = x[i]", "result", "y[0] is 0.3"),
        ("y[i] = 2 * x[i]", "if (i != 7) y[i] = 2 * x[i]", "result", "y[7] has not been changed"),
        ("y[i] =", "y[i] = y[i] > 0 ? 1 :", "result", "is right for"),
        ("y[i] = 2 * x[i]", "((float *)x)[i] = 3, y[i] = 6", "result", "has changed x, which"),
        ("y[i] =", "while (n) { ((volatile float *)y)[i] = 2 * x[i]; } y[i] =", "result",
         "does a loop never end?"),
        ("y[i] =", "asm(\"trap;\"); y[i] =", "result", "It was stopped (n = 1000): the kernel"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(old, new, step, says):
    source = GUARD.solution().replace(old, new)
    assert source != GUARD.solution()
    verdict = GUARD.judge(source)
    if says == "is right for":  # right all the same: NaN is not above 0
        assert verdict
        return
    failed = [row for row in verdict.steps if row.passed is False]
    assert failed[0].name in (step, "check"), verdict
    assert says in read(verdict), verdict
    assert "kernel.cu" not in repr(verdict) and "0x" not in repr(verdict)


@compiled
def test_lines_are_those_of_the_attempt():
    exercise = smemkit.exercise("transpose.padding")
    verdict = exercise.judge("\n\n" + exercise.start)
    line = next(
        n
        for n, text in enumerate(exercise.start.splitlines(), 3)
        if " tile[thr" in text and "b[(" in text
    )
    assert f"line {line}: b[(to_row + r) * rows + to_col] =" in repr(verdict)
    assert verdict.report.counters["shared.load.conflicts"] == 3968
    assert "still" not in verdict.sentence and "3,968 bank conflicts (64 x 64). Needed: 0." in read(
        verdict
    )


@compiled
def test_ragged_sizes_are_told_from_full_ones():
    exercise = smemkit.exercise("transpose.tile")
    source = exercise.solution().replace(
        "to_row + r < cols && to_col < rows", "row + r < rows && col < cols"
    )
    assert "It is right for 64 x 64, but not for 70 x 33: " in read(exercise.judge(source))


@compiled
def test_verdict_is_a_list_of_steps():
    verdict = GUARD.judge(GUARD.start)
    assert isinstance(verdict, Verdict) and verdict.exercise == "tour.guard"
    assert [(step.name, step.passed) for step in verdict.steps] == [
        ("compiles", True),
        ("result", True),
        ("check", False),
    ]
    assert verdict.report is None and not verdict.checked
    html = verdict._repr_html_()
    assert html.startswith("<pre") and "&lt;" not in verdict.title and "tour.guard: not yet" in html
    broken = GUARD.judge('extern "C" __global__ void twice(int *x) { x[0] = <b>; }')
    assert "&lt;b&gt;" in broken._repr_html_() and "<b>;" not in broken._repr_html_()
    assert [step.passed for step in broken.steps] == [False, None, None]


@pytest.mark.parametrize("missing", ["find_nvrtc", "find_nvcc"])
def test_errors_of_both_compilers_read_alike(missing, monkeypatch):
    monkeypatch.setattr(compile, missing, lambda: None)
    if not (compile.find_nvrtc() or compile.find_nvcc()):
        pytest.skip("the other compiler is not here")
    source = GUARD.start.replace("2 * x[i]", "2 x[i]").replace("}", "a b;\n" * 20 + "}")
    lines = GUARD.judge(source).sentence.splitlines()
    assert lines[:2] == ["It does not compile.", '  line 5: error: expected a ";"']
    assert lines[-1] == "  ..." and len(lines) == 17


@compiled
def test_files_are_judged(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(GUARD.solution())
    assert GUARD.judge(path)
    with pytest.raises(smemkit.ArgumentTypeError, match="not int"):
        GUARD.judge(3)
    with pytest.raises(smemkit.ArgumentError, match=r"judge\(pathlib.Path\('mine.cu'\)\)"):
        GUARD.judge("mine.cu")


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(compile, "find_nvrtc", lambda: None)
    monkeypatch.setattr(compile, "find_nvcc", lambda: None)
    with pytest.raises(smemkit.CompileError, match="pip install"):
        GUARD.judge(GUARD.start)


PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 x, .param .u64 y, .param .s32 n)
{
    ret;
}
"""


def test_ptx_needs_no_compiler(monkeypatch):
    monkeypatch.setattr(compile, "find_nvrtc", lambda: None)
    monkeypatch.setattr(compile, "find_nvcc", lambda: None)
    assert "the kernel has not changed y; y[0] should be" in read(GUARD.judge(PTX))


# Hints, solutions, names -------------------------------------------------------------------------


def test_hints_come_one_by_one():
    exercise = smemkit.exercise("gemm.tile")
    hints = [exercise.hint() for _ in range(5)]
    assert [hint.split(":")[0] for hint in hints] == [
        "Hint 1 of 3",
        "Hint 2 of 3",
        "Hint 3 of 3",
        "Hint 3 of 3",
        "Hint 3 of 3",
    ]
    assert repr(hints[0]) == str(hints[0]) and len(set(hints)) == 3
    assert smemkit.exercise("gemm.tile").hint() == hints[0]


@compiled
def test_the_verdict_counts_the_hints_left():
    exercise = smemkit.exercise("tour.guard")
    assert "2 hints: exercise.hint()" in exercise.judge(exercise.start).next
    exercise.hint(), exercise.hint()
    assert "exercise.solution() shows one way" in exercise.judge(exercise.start).next
    solved = exercise.judge(exercise.solution())
    assert 'smemkit.exercise("tour.blame")' in solved.next
    last = smemkit.exercise("own.stencil")
    assert "smemkit.exercise(" not in last.judge(last.solution()).next


@pytest.mark.parametrize("name", TASKS)
def test_nothing_shows_the_solution_by_accident(name):
    exercise = smemkit.exercise(name)
    shown = repr(exercise) + str(vars(exercise).keys()) + exercise.text + exercise.start
    assert exercise.title in shown and exercise.start in shown
    new = set(TASKS[name].solution.splitlines()) - set(exercise.start.splitlines())
    assert new and not new & set(shown.splitlines())


def test_list():
    listed = smemkit.exercises()
    assert [exercise.name for exercise in listed] == list(TASKS)
    assert all(isinstance(exercise, Exercise) for exercise in listed)
    lines = repr(listed).splitlines()
    assert len(lines) == len(TASKS) and lines[0].split() == [
        "00",
        *"tour.guard a guard for the last block".split(),
    ]
    assert smemkit.exercises(4) == smemkit.exercises("04") or [
        exercise.name for exercise in smemkit.exercises(4)
    ] == [exercise.name for exercise in smemkit.exercises("04")]
    with pytest.raises(smemkit.ArgumentError, match="no exercises of notebook 12"):
        smemkit.exercises(12)


NEW = """
from dataclasses import replace
from smemkit.lessons.catalog.tour_guard import TASK as OTHER

TASK = {task}
"""


@pytest.fixture
def catalogue(monkeypatch, tmp_path):
    """A function that adds a file to the exercises, and returns the names that there are then."""
    monkeypatch.setattr(catalog, "__path__", [*catalog.__path__, str(tmp_path)])

    def add(name, task):
        (tmp_path / f"{name}.py").write_text(NEW.format(task=task))
        list_tasks.cache_clear()
        return [exercise.name for exercise in smemkit.exercises()]

    yield add
    monkeypatch.undo()
    list_tasks.cache_clear()
    for name in [name for name in sys.modules if name.startswith(f"{catalog.__name__}.new_")]:
        del sys.modules[name]


def test_an_exercise_is_one_file(catalogue):
    names = catalogue("new_one_more", "replace(OTHER, number=4)")
    assert names[2:5] == ["tour.reverse", "new.one_more", "banks.double"]
    assert smemkit.exercise("new.one_more").title == TASKS["tour.guard"].title


@pytest.mark.parametrize(
    ("task", "says"),
    [
        ("None", "catalog.new_faulty defines no TASK"),
        ("OTHER", "are both exercise 1 of notebook 0"),
    ],
)
def test_a_faulty_file_is_named(catalogue, task, says):
    with pytest.raises(smemkit.InternalError, match=says):
        catalogue("new_faulty", task)


def test_names_that_are_none():
    with pytest.raises(smemkit.ArgumentError, match="did you mean tour.guard"):
        smemkit.exercise("tour.gard")
    with pytest.raises(smemkit.ArgumentError, match="lists them"):
        smemkit.exercise("xyz")
    with pytest.raises(smemkit.ArgumentError, match="no exercise 3"):
        smemkit.exercise(3)


@compiled
@pytest.mark.parametrize("name", ["judge", "hint", "solution"])
def test_examples_of_the_methods(name):
    import doctest

    method = getattr(Exercise, name)
    (test,) = doctest.DocTestFinder().find(method, name, module=False, globs={})
    log = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=log.append)
    assert result.attempted and not result.failed, "".join(log)
