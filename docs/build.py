"""Builds the documentation site: build/docs/index.html.

    python docs/build.py            the site; a warning is an error
    python docs/build.py --links    asks whether the links to other sites lead somewhere
    python docs/build.py --words    looks for misspelt words in all that the site shows

The pages are those of docs/, and files of the clone that the site shows as they are: READMEs,
notebooks with their stored outputs, pictures. All are laid out in build/docs.source as they lie in
the clone, so that a relative link means the same in both. Lists are put in on the way (lists.py).
It needs smemkit[docs], and smemkit itself built.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BUILD = ROOT / "build"
sys.path[:0] = [str(DOCS), str(ROOT / "csrc")]

import gallery  # noqa: E402
import lists  # noqa: E402

# What the site shows of the clone beside docs/.
CARRIED = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "csrc/README.md",
    "csrc/kernels/README.md",
    "notebooks/[0-9][0-9]_*.ipynb",
)
PICTURES = "<!-- pictures -->"
LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
TO_DOCS = re.compile(
    r"\]\(((?:\.\./)*)docs/(?=[^)\s]+\.md)"
)  # whose pages lie at the top of the site


# The pages ---------------------------------------------------------------------------------------


def list_pages():
    """{path below the source folder: the bytes of the file} of all that Sphinx reads."""
    pages = {}
    for path in sorted(DOCS.rglob("*")):
        name = path.relative_to(DOCS).as_posix()
        if path.suffix in (".md", ".rst"):
            pages[name] = lists.fill(path.read_text(encoding="utf-8")).encode()
    for pattern in CARRIED:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            pages[name] = path.read_bytes()
            if name == "README.md":  # its opening stands on the first page
                pages[name] = f"# At a glance\n\n{lists.split_readme()[1]}".encode()
            if path.suffix == ".md":
                pages |= list_linked(path)
            else:
                pages[name] = prepare_notebook(pages[name])
            pages[name] = TO_DOCS.sub(r"](\1", pages[name].decode()).encode()
    files, cards = gallery.write(ROOT.glob(CARRIED[-1]))
    pages |= files
    pages["gallery.md"] = pages["gallery.md"].replace(PICTURES.encode(), cards.encode())
    return pages


def list_linked(path):
    """The files, other than pages, that a README links to or shows."""
    found = {}
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        linked = (path.parent / target).resolve()
        if linked.is_file() and linked.suffix not in (".md", ".ipynb"):
            found[linked.relative_to(ROOT).as_posix()] = linked.read_bytes()
    return found


def prepare_notebook(text):
    """A notebook for the site: cells with a hidden source are folded, pictures have a description.

    A hidden source is that of the setup or of a solution. The description is the heading under
    which the picture stands.
    """
    notebook = json.loads(text)
    heading = ""
    for cell in notebook["cells"]:
        facts = cell["metadata"]
        if cell["cell_type"] == "markdown":
            found = re.findall(r"^#+ (.+)$", "".join(cell["source"]), re.MULTILINE)
            heading = found[-1] if found else heading
        else:
            facts["mystnb"] = {"image": {"alt": f"Picture: {heading}"}}
        if facts.get("jupyter", {}).get("source_hidden"):
            facts["tags"] = [*facts.get("tags", ()), "hide-input"]
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode()


def lay_out(folder):
    """Writes the pages into a folder; equal files keep their time, others are removed."""
    pages = list_pages()
    for name, content in pages.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != content:
            target.write_bytes(content)
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in pages:
            path.unlink()
    return pages


# The tools ---------------------------------------------------------------------------------------


def run_sphinx(builder, target, source):
    """Runs a builder of Sphinx; its exit status, not 0 where there is a warning."""
    from sphinx.cmd.build import build_main

    lay_out(source)
    if (target / "objects.inv").exists() or (target / "output.txt").exists():  # an older build
        shutil.rmtree(target)
    options = ["-q", "-E", "-W", "--keep-going", "-j", "2", "-b", builder, "-c", str(DOCS)]
    trees = source.with_suffix(".trees")
    return build_main([*options, "-d", str(trees), str(source), str(target)])


def check_words(source):
    """Runs codespell over the pages, the docstrings and the kernels; its exit status."""
    lay_out(source)
    paths = [source, *(ROOT / name for name in ("docs", "smemkit", "csrc", "notebooks"))]
    command = [sys.executable, "-m", "codespell_lib", *map(str, paths)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # pyproject.toml says what not


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="smemkit dev site", description="Builds the documentation site into build/docs."
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--links", action="store_true", help="ask the links to other sites")
    what.add_argument("--words", action="store_true", help="look for misspelt words")
    parser.add_argument("--folder", type=Path, default=BUILD / "docs", help="where the site goes")
    chosen = parser.parse_args(arguments)
    folder = chosen.folder.resolve()
    source = folder.with_suffix(".source")
    if chosen.words:
        return check_words(source)
    if chosen.links:
        return run_sphinx("linkcheck", folder.with_suffix(".links"), source)
    start = time.monotonic()
    status = run_sphinx("html", folder, source)
    if status == 0:
        print(f"{folder / 'index.html'} ({time.monotonic() - start:.0f} s)")
    return status


if __name__ == "__main__":
    sys.exit(main())
