"""The notebooks run from top to bottom without a GPU, and the outputs that lie here are theirs."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from support.paths import ROOT

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("jupytext")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

FOLDER = ROOT / "notebooks"
SECONDS = 60  # of processors, of one notebook: other tests may run beside it
PATIENCE_S = 600  # of a cell
NUMBERS = [f"{number:02}" for number in range(12)]
WITHOUT_EXERCISES = ("10", "11")  # of questions alone; of Python, where exercises are CUDA C
pytestmark = pytest.mark.filterwarnings("default")  # what Jupyter's packages say of each other


def load_build():
    """The command notebooks/build.py, as a module."""
    spec = importlib.util.spec_from_file_location("notebooks_build", FOLDER / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load_build()
list_texts = build.list_texts
SOURCES = build.list_sources()
STALE = "python -m smemkit dev docs makes it anew"


@pytest.fixture(params=SOURCES, ids=lambda path: path.stem)
def source(request):
    return request.param


@pytest.fixture
def lesson(source):
    """A notebook that ends with exercises."""
    if source.name.startswith(WITHOUT_EXERCISES):
        pytest.skip("has no exercises: they are CUDA C, and of one kernel each")
    return source


def read_committed(source):
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def test_all_are_there():
    assert [path.name[:2] for path in SOURCES] == NUMBERS
    assert [path.stem for path in sorted(FOLDER.glob("*.ipynb"))] == [p.stem for p in SOURCES]


@pytest.mark.generated
def test_same_cells_as_the_source(source):
    """Made by notebooks/build.py from the text beside it, and not edited since."""
    fresh, committed = build.read_source(source), read_committed(source)
    nbformat.validate(committed)
    assert committed.metadata == fresh.metadata, STALE
    assert build.list_cells(committed) == build.list_cells(fresh), STALE


def read_processor_time():
    """Seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


@pytest.mark.generated
def test_runs_and_prints_what_is_committed(source):
    missing = build.list_missing(source, exactly=True)
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}: pip install 'smemkit[triton,numba]'")
    before = read_processor_time()
    fresh = build.run(build.read_source(source), seconds=PATIENCE_S)
    assert 0.1 < read_processor_time() - before < SECONDS
    committed = read_committed(source)
    assert list(list_texts(fresh)) == list(list_texts(committed)), STALE
    counts = [c.execution_count for c in committed.cells if c.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_committed_outputs_are_clean(source):
    for cell, kind, text in list_texts(read_committed(source)):
        assert kind in ("stdout", "display_data", "execute_result"), f"{cell}: {kind}: {text}"
        for word in ("/tmp/", "/home/", "/root/", "Traceback"):
            assert word not in str(text), f"{cell}: {word}"


def test_shape_of_a_lesson(lesson):
    """A question first; at the end two or three exercises; what is asked before has a solution."""
    notebook = build.read_source(lesson)
    words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert re.match(rf"# {lesson.stem[:2]} .+\n\n\*\*Question\.\*\* ", words[0])
    assert "**Predict**" in "".join(words)
    heads = re.findall(r"^#+ (Question|Exercise)\b", "\n".join(words), re.MULTILINE)
    assert heads == sorted(heads, reverse=True) and heads.count("Exercise") in (2, 3)
    solutions = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", [])
    ]
    assert len(solutions) == heads.count("Question")
    for cell in solutions:
        assert cell.metadata["jupyter"]["source_hidden"]
        assert re.search(r"^check_\w+\(", cell.source, re.MULTILINE)


@pytest.mark.generated
def test_exercises_are_those_of_the_package(lesson):
    """Below their heading stands what build.py writes: the text, the start, the judge."""
    text = lesson.read_text(encoding="utf-8")
    above, found, below = text.partition(build.EXERCISES)
    assert found and found + below == build.write_exercises(lesson.name[:2]), STALE
    assert "smemkit.exercise(" not in above


def test_exercises_are_judged_unsolved(lesson):
    """Each verdict that lies here is of the start, and line 1 of its cell is line 1 of it."""
    verdicts = 0
    for cell in read_committed(lesson).cells:
        if "exercise.judge(source)" in cell.source and cell.cell_type == "code":
            (output,) = cell.outputs
            text = output.data["text/plain"]
            assert ": not yet (" in text and "This is the start as it was given." in text
            assert cell.source.startswith('source = r"""\n')
            rows = cell.source.splitlines()
            for number, quoted in re.findall(r"^ +line (\d+): (.+)$", text, re.MULTILINE):
                assert rows[int(number) - 1].strip() == quoted
            verdicts += 1
    assert verdicts in (2, 3)


@pytest.mark.parametrize("name", ["03_any.py", "10_none.py"])
def test_exercises_are_written_below_their_heading(name, tmp_path):
    path = tmp_path / name
    path.write_text("# %% [markdown]\n# Text.\n")
    build.fill(path)
    assert path.read_text() == "# %% [markdown]\n# Text.\n"  # no heading, nothing to write
    path.write_text(f"above\n\n{build.EXERCISES}old\n")
    if name.startswith("10"):
        with pytest.raises(ValueError, match="no exercises of notebook"):
            build.fill(path)
        return
    build.fill(path)
    text = path.read_text()
    assert text.startswith(f"above\n\n{build.EXERCISES}#\n# Change the kernel")
    assert "old" not in text and text.count("exercise.judge(source)") == 3
    build.fill(path)
    assert path.read_text() == text


def test_first_cell_installs_where_nothing_is_installed(source):
    """The first code is the same in all: what is not installed needs an address."""
    first, model = (
        next(c for c in build.read_source(path).cells if c.cell_type == "code")
        for path in (source, SOURCES[0])
    )
    assert first.source == model.source
    assert first.metadata["tags"] == ["setup"]


def test_readme_links_every_notebook(source):
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    assert f"(notebooks/{source.stem}.ipynb)" in readme


@pytest.mark.parametrize("address", ["", "there/is.none"])
def test_first_cell_needs_an_address(address, tmp_path):
    first = next(c for c in build.read_source(SOURCES[0]).cells if c.cell_type == "code")
    text = first.source.replace('REPOSITORY = ""', f"REPOSITORY = {address!r}")
    done = subprocess.run(  # without packages: smemkit is not there
        [sys.executable, "-I", "-S", "-c", text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert ("write into REPOSITORY" in done.stderr) == (address == "")
    assert not list(tmp_path.iterdir())


def test_uses_public_names_only(source):
    text = source.read_text(encoding="utf-8")
    assert "_core" not in text
    assert not re.search(r"\b(smemkit|plot|probe|bench|report|reports\[\w+\])\._\w", text)
    assert not re.search(r"\bMEASURED\b|TODO|FIXME", text)
    assert max(map(len, text.splitlines())) <= 110


def test_build_says_what_it_does_not_find(capsys):
    assert build.main(["no such notebook"]) == 1
    assert "no notebook begins with" in capsys.readouterr().err


@pytest.mark.parametrize("only_run", [False, True])
def test_build_writes_unless_it_only_runs(only_run, monkeypatch, tmp_path, capsys):
    source = tmp_path / "01_short.py"
    source.write_text("# %%\nprint(6 * 7)\n")
    monkeypatch.setattr(build, "list_sources", lambda: [source])
    assert build.main(["01", *["--run"] * only_run]) == 0
    written = "" if only_run else " (written)"
    assert capsys.readouterr().out == f"01_short.ipynb{written}\n"
    assert source.with_suffix(".ipynb").exists() != only_run
    assert build.main(["01"]) == 0  # the same once more is not written
    assert (capsys.readouterr().out == "01_short.ipynb\n") != only_run
    source.write_text("# %%\nraise LookupError\n")
    with pytest.raises(build.nbclient.exceptions.CellExecutionError):
        build.main(["01", *["--run"] * only_run])


def test_comparison_would_see_a_change(source):
    """The comparison above is no formality: another output is another list."""
    committed = read_committed(source)
    before = list(list_texts(committed))
    for cell in committed.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                output.text += "0"
                assert list(list_texts(committed)) != before
                return
    pytest.fail("no cell prints anything")


def test_comparison_reads_words_of_pages():
    """Styles and marks of a report may change; a notebook is stale where its words do."""
    page = "<style>\n.a{color:red}\n</style><td class='a'>7,936</td>"
    assert build.read_words(page).split() == ["7,936"]


def test_build_needs_no_gpu(monkeypatch):
    """The outputs come from a machine without a GPU, whatever machine this is."""
    cell = nbformat.v4.new_code_cell("import smemkit; print(smemkit.get_backend())", id="cell-00")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    monkeypatch.setenv("SMEMKIT_BACKEND", "cuda")
    assert build.run(notebook).cells[0].outputs[0].text == "sim\n"
