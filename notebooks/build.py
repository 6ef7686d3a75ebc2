"""Makes the notebooks: each NN_name.ipynb is its NN_name.py, executed without a GPU.

    python notebooks/build.py            all of them
    python notebooks/build.py 03 08      those whose names begin so
    python notebooks/build.py --run      executes them only, and writes nothing
    python notebooks/build.py --anew     writes them in any case, with pictures as drawn today

The .py file (jupytext's percent format) is what people edit and compare. What stands below its
heading "Exercises" is written of smemkit.exercises, and not edited. The .ipynb holds the same
cells and what they print, and nothing else that changes from run to run: no times of execution, no
random names of cells. A notebook whose cells and printed texts are what they were is not written:
its pictures would change with the version of matplotlib. It needs smemkit[notebook].
"""

import argparse
import base64
import importlib.metadata
import os
import re
import sys
from pathlib import Path

import jupytext
import nbclient
import nbformat

FOLDER = Path(__file__).resolve().parent
SECONDS = 60  # that a notebook may take
METADATA = {
    "jupytext": {"formats": "ipynb,py:percent"},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Packages that a notebook needs beside smemkit's own, and the versions whose outputs lie here.
NEEDS = {"11": {"triton": "3.9.0", "numba-cuda": "0.30.4"}}
# What another version of a compiler may number otherwise, and Pygments colour otherwise or not.
CHANGING = (
    (re.compile(r"PTX line \d+(, column \d+)?"), "PTX line N"),
    (re.compile(r"0x[0-9a-f]{9,}"), "ADDRESS"),
    (re.compile(r'<span class="\w">(.*?)</span>'), r"\1"),
)


def list_sources():
    """The .py files that are notebooks, in order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def list_missing(path, exactly=False):
    """What a notebook needs and Python has not; exactly: in the version of the stored outputs."""
    missing = []
    for name, wanted in NEEDS.get(path.name[:2], {}).items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
            continue
        if exactly and found != wanted:
            missing.append(f"{name} {wanted} (this is {found})")
    return missing


EXERCISES = "# %% [markdown]\n# ## Exercises\n"
ABOUT_EXERCISES = """\
Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
names are lines of the cell. What `--` stands before is judged when all above it is right.
`exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.
"""


def comment(text):
    """A text as the comment that jupytext makes of a cell of Markdown."""
    return "".join(f"# {line}".rstrip() + "\n" for line in text.strip().splitlines())


def write_exercises(number):
    """The cells of a notebook's exercises, in jupytext's percent format."""
    import smemkit

    parts = [f"{EXERCISES}#\n{comment(ABOUT_EXERCISES)}"]
    for count, exercise in enumerate(smemkit.exercises(number), 1):
        words = comment(f"### Exercise {count}: {exercise.title}\n\n{exercise.text}")
        parts.append(f"# %% [markdown]\n{words}")
        parts.append(
            f'# %%\nsource = r"""{exercise.start}"""\n'
            f'exercise = smemkit.exercise("{exercise.name}")\nexercise.judge(source)\n'
        )
    return "\n".join(parts)


def fill(path):
    """Writes the exercises into a notebook's .py file, where it has a heading for them."""
    text = path.read_text(encoding="utf-8")
    above, found, _ = text.partition(EXERCISES)
    filled = above + write_exercises(path.name[:2]) if found else text
    if filled != text:
        path.write_text(filled, encoding="utf-8")


def read_source(path):
    """The notebook that a .py file describes, without outputs."""
    notebook = jupytext.reads(Path(path).read_text(encoding="utf-8"), fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02}"
    return notebook


def run(notebook, seconds=SECONDS):
    """Executes it as on a machine without a GPU, with the smemkit that this Python finds."""
    import smemkit

    package = Path(smemkit.__file__).resolve().parents[1]
    path = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "PYTHONPATH": path}
    environment["SMEMKIT_PROGRESS"] = "0"  # a bar would be an output
    environment.pop("SMEMKIT_BACKEND", None)
    environment.pop("MPLBACKEND", None)
    client = nbclient.NotebookClient(
        notebook,
        timeout=seconds,
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute(env=environment)
    notebook.metadata = nbformat.from_dict(METADATA)  # without the version of this Python
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = join_streams(cell.outputs)
            for output in cell.outputs:
                shrink_picture(output)
    return notebook


def shrink_picture(output):
    """Gives the picture of an output, where it has one, a palette: a third of the bytes."""
    from smemkit.plot import style

    data = output.get("data", {})
    if "image/png" in data:
        small = style.shrink(base64.b64decode(data["image/png"]))
        data["image/png"] = base64.b64encode(small).decode()


def join_streams(outputs):
    """Pieces of one stream as one: how they are cut is chance."""
    joined = []
    for output in outputs:
        last = joined[-1] if joined else None
        if output.output_type == "stream" and last and last.get("name") == output.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def show(text):
    """A text without what another version of a compiler or of Pygments may change."""
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return text


def read_words(page):
    """The words of HTML without its marks and styles."""
    return re.sub(r"<style>.*?</style>|<[^>]*>", "\n", page, flags=re.DOTALL)


def list_texts(notebook):
    """What each cell printed: texts as they are, HTML's words, of pictures that they are there."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for output in cell.outputs:
            if output.output_type == "stream":
                yield cell.id, output.name, show(output.text)
            else:
                data = dict(output.data)
                if "image/png" in data:
                    assert len(data["image/png"]) > 1000
                    data = {"image/png": "", "text/plain": ""}
                if "text/html" in data:
                    data["text/html"] = read_words(data["text/html"])
                yield cell.id, output.output_type, {k: show(v) for k, v in data.items()}


def list_cells(notebook):
    """What a reader sees of each cell but its outputs."""
    return [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells]


def is_same(one, other):
    """Whether two notebooks have equal cells, and print equal texts."""
    return list_cells(one) == list_cells(other) and list(list_texts(one)) == list(list_texts(other))


def write(notebook, target, anew=False):
    """Writes a notebook unless the file holds the same already; whether it was written."""
    if not anew and target.exists() and is_same(nbformat.read(target, as_version=4), notebook):
        return False
    nbformat.write(notebook, target)
    return True


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Makes the notebooks from their .py files.")
    parser.add_argument("names", nargs="*", help="how their names begin (default: all)")
    parser.add_argument("--run", action="store_true", help="execute only, and write nothing")
    parser.add_argument("--anew", action="store_true", help="write also what prints the same")
    options = parser.parse_args(arguments)
    names = tuple(options.names)
    chosen = [path for path in list_sources() if not names or path.name.startswith(names)]
    if not chosen:
        print(f"no notebook begins with {' or '.join(names)}", file=sys.stderr)
        return 1
    for path in chosen:
        target = path.with_suffix(".ipynb")
        missing = list_missing(path, exactly=not options.run)
        if missing:
            print(f"{target.name} (left out: it needs {' and '.join(missing)})", flush=True)
            continue
        if not options.run:
            fill(path)
        made = run(read_source(path))
        written = not options.run and write(made, target, options.anew)
        print(f"{target.name}{' (written)' if written else ''}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
