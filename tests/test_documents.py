"""The READMEs and the comments of csrc name what exists: folders, paths, terms."""

import re

import pytest
from support.paths import ROOT

CSRC = ROOT / "csrc"
MAP = CSRC / "README.md"
READMES = ("README.md", "csrc/README.md", "csrc/kernels/README.md")
# Files of other projects, and a name that stands for any file.
FOREIGN = {"Python.h", "cuda_occupancy.h", "file.cu"}
PATH = re.compile(r"(?<![\w.$<])((?:[\w-]+/)*[\w-]+\.(?:c|h|def|cu|py|json|md|sh))\b(?!\()")


def list_sources():
    """Every file of csrc that people write."""
    for path in sorted(CSRC.rglob("*")):
        if path.suffix in (".c", ".h", ".def", ".cu"):
            yield path


def read_comments(path):
    return "\n".join(re.findall(r"/\*.*?\*/|//[^\n]*", path.read_text(encoding="utf-8"), re.DOTALL))


def list_names():
    """The names of all files of csrc, without their folders."""
    return {path.name for path in CSRC.rglob("*.*")}


def exists(path, named, names):
    """Whether a path that a file names is there: from the root, from csrc, or beside the file."""
    if "/" not in named:
        return named in names or (ROOT / named).exists()
    return any((base / named).exists() for base in (ROOT, CSRC, CSRC / "kernels", path.parent))


def test_map_has_every_folder():
    text = MAP.read_text(encoding="utf-8").partition("\n## The layers")[0]
    rows = set(re.findall(r"^\| `([\w/]+)/` \| ", text, re.MULTILINE))
    folders = {path.relative_to(CSRC).as_posix() for path in CSRC.rglob("*") if path.is_dir()}
    folders = {name for name in folders if "__pycache__" not in name}
    beside = {name for name in rows - folders if (ROOT / name).is_dir()}
    assert rows - beside == {name for name in folders if not name.startswith("kernels/")}
    assert {"smemkit", "tests", "notebooks"} <= beside
    packages = {path.parent.name for path in (ROOT / "smemkit").glob("*/__init__.py")}
    assert packages <= set(re.findall(r"`(\w+)/`", text))


@pytest.mark.parametrize("readme", READMES)
def test_readme_names_paths_that_exist(readme):
    path, names = ROOT / readme, list_names()
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    named = set(PATH.findall(text)) | set(re.findall(r"`([\w.-]+(?:/[\w.-]+)*)/`", text))
    missing = {one for one in named if "/" in one and not exists(path, one, names)}
    assert not missing
    assert named


def test_map_names_functions_that_exist():
    text = re.sub(r"```.*?```", "", MAP.read_text(encoding="utf-8"), flags=re.DOTALL)
    named = set(re.findall(r"`(SMK_\w+|[a-z]+_\w+)[`(]", text))
    sources = [*list_sources(), *(ROOT / "smemkit").rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    assert {"fill_line", "smk_finding_add", "SMK_COUNTER"} <= named
    assert not {word for word in named if not re.search(rf"\b{word}\b", code)}


def test_comments_name_files_that_exist():
    names, seen = list_names(), 0
    for path in list_sources():
        for named in PATH.findall(read_comments(path)):
            where = f"{path.relative_to(ROOT)} names {named}, which is not there"
            assert named in FOREIGN or exists(path, named, names), where
            seen += 1
    assert seen > 50


def test_a_path_that_is_not_there_is_seen():
    assert PATH.findall("see sim/exec/gone.c and warp.h.") == ["sim/exec/gone.c", "warp.h"]
    assert not exists(MAP, "sim/exec/gone.c", list_names())
    assert not exists(MAP, "gone.h", list_names())
    assert exists(MAP, "warp.h", list_names())


def read_terms():
    """The terms of each line of the glossary."""
    text = MAP.read_text(encoding="utf-8")
    glossary = text[text.index("\n## Glossary") : text.index("\n## Recipes")]
    lines = re.findall(r"^- (.*?):", glossary, re.MULTILINE)
    return [re.findall(r"\*\*(.*?)\*\*", line) for line in lines]


def test_terms_of_the_glossary_are_those_of_the_code():
    def plain(text):
        return re.sub(r"[\s_*/-]+", " ", text).lower()

    code = plain("\n".join(path.read_text(encoding="utf-8") for path in list_sources()))
    terms = read_terms()
    heads = [line[0].lower() for line in terms]
    assert heads == sorted(heads)
    assert len(terms) > 25
    assert not [term for line in terms for term in line if plain(term) not in code]
