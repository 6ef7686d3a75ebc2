"""Makes the notebooks: each NN_name.ipynb is its NN_name.py, executed without a GPU.

    python notebooks/build.py            all of them
    python notebooks/build.py 03 08      those whose names begin so
    python notebooks/build.py --run      executes them only, and writes nothing

The .py file (jupytext's percent format) is what people edit and compare. The .ipynb holds the same
cells and what they print, and nothing else that changes from run to run: no times of execution, no
random names of cells. It needs smemkit[notebook].
"""

import argparse
import os
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


def list_sources():
    """The .py files that are notebooks, in order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


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
    return notebook


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


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Makes the notebooks from their .py files.")
    parser.add_argument("names", nargs="*", help="how their names begin (default: all)")
    parser.add_argument("--run", action="store_true", help="execute only, and write nothing")
    options = parser.parse_args(arguments)
    names = tuple(options.names)
    chosen = [path for path in list_sources() if not names or path.name.startswith(names)]
    if not chosen:
        print(f"no notebook begins with {' or '.join(names)}", file=sys.stderr)
        return 1
    for path in chosen:
        target = path.with_suffix(".ipynb")
        made = run(read_source(path))
        if not options.run:
            nbformat.write(made, target)
        print(target.name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
