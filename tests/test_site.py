"""The documentation site: its lists come from the tables, its pages and links are whole."""

import argparse
import doctest
import html
import html.parser
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest
from read_tables import read_rows
from support.paths import ROOT

import smemkit
from smemkit import __main__ as main
from smemkit import compile

DOCS = ROOT / "docs"
NEEDS = "needs what pip install '.[docs]' brings"


# Lists -------------------------------------------------------------------------------------------


def load(name):
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def lists():
    return load("lists")


def read_page(lists, name):
    """A page of docs/ with its lists."""
    return lists.fill((DOCS / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("page", "table", "macros", "column"),
    [
        ("reference/counters.md", "sim/profile/counters.def", "SMK_COUNTER SMK_RATIO", "name"),
        ("reference/findings.md", "sim/check/finding.def", "SMK_FINDING", "name"),
        ("reference/capabilities.md", "registry/cards.def", "SMK_CARD", "name"),
        ("reference/errors.md", "base/status.def", "SMK_STATUS", "class"),
        ("reference/ptx.md", "ptx/opcode.def", "SMK_PTX_OPCODE", "spelling"),
        ("reference/ptx.md", "ptx/special.def", "SMK_PTX_SPECIAL", "spelling"),
        ("reference/ptx.md", "ptx/unsupported.def", "SMK_PTX_UNSUPPORTED_OPCODE", "spelling"),
    ],
)
def test_page_has_every_row_of_its_table(lists, page, table, macros, column):
    text = read_page(lists, page)
    rows = read_rows(table, *macros.split())
    shown = set(re.findall(r"`(?:~smemkit\.)?([^`]+)`", text)) | set(
        re.split(r"\s*[,|\n]\s*", text)
    )
    assert {row[column] for row in rows} <= shown


def test_pages_have_every_section_of_the_manual(lists):
    """But for marks of Markdown, word for word; variables as a table."""
    pages = ("machines.md", "errors.md", "environment.md")
    shown = " ".join(read_page(lists, f"reference/{page}") for page in pages)
    shown = re.sub(r"\\(.)", r"\1", shown)
    sections = re.split(r"^(\S.*)\n-{3,}\n", smemkit.__doc__, flags=re.MULTILINE)[1:]
    assert len(sections) >= 10
    plain = " ".join(re.sub(r"[|`]", " ", shown).split())
    for title, text in zip(sections[::2], sections[1::2], strict=True):
        for paragraph in re.split(r"\n\n|\n(?=- )|\n(?=SMEMKIT_)", text.strip()):
            assert " ".join(paragraph.replace("`", " ").split()) in plain, title


def test_capabilities_are_those_of_limits(lists):
    text = read_page(lists, "reference/capabilities.md")
    rows = re.findall(r"^\| (\d+\.\d) \| ([\d, |]+) \|$", text, re.MULTILINE)
    assert len(rows) == len(read_rows("registry/limits.def", "SMK_LIMITS"))
    for name, cells in rows:
        values = {f"{value:,}" for value in smemkit.limits(name).values() if type(value) is int}
        assert set(cells.split(" | ")) <= values


def test_every_public_name_has_a_page(lists):
    """A new name belongs on a page of docs/api: a word of its list."""
    text = "".join(lists.fill(path.read_text(encoding="utf-8")) for path in DOCS.glob("api/*.rst"))
    shown = re.findall(r"^\.\. auto(?:function|class|exception):: (\S+)$", text, re.MULTILINE)
    shown += re.findall(r"currentmodule:: (\S+)\n\.\. py:data:: (\S+)$", text, re.MULTILINE)
    shown = [".".join(one) if isinstance(one, tuple) else one for one in shown]
    assert not set(list_names(lists)) - set(shown), "put these names on a page of docs/api"
    assert sorted(shown) == sorted(list_names(lists))


def list_names(lists):
    """The public names, each once: smemkit's own, and what only a package below it has."""
    packages = lists.list_packages()
    assert packages[0] == "smemkit" and {"smemkit.bench", "smemkit.report"} <= set(packages)
    names = [f"{package}.{name}" for package in packages[1:] for name in lists.list_own(package)]
    return [*names, *(f"smemkit.{name}" for name in smemkit.__all__ if name != "__version__")]


def list_things(lists):
    """(dotted name, thing) of all that has a docstring to show, but errors."""
    for name in list_names(lists):
        package, _, word = name.rpartition(".")
        thing = getattr(importlib.import_module(package), word)
        if callable(thing) and not lists.is_error(thing):
            yield name, thing


def test_docstrings_have_the_parts_that_the_site_shows(lists):
    """Of functions all of them; of classes an example; each public member has a docstring."""
    seen = 0
    for name, thing in list_things(lists):
        heads = re.findall(r"^(\w+)\n-+$", inspect.getdoc(thing) or "", re.MULTILINE)
        if inspect.isclass(thing):
            assert "Example" in heads, name
            for word, member in vars(thing).items():
                described = callable(member) or isinstance(member, property | classmethod)
                if described and not word.startswith("_"):
                    assert inspect.getdoc(member), f"{name}.{word}"
                    seen += 1
        else:
            assert {"Shapes", "Returns", "Raises", "Example"} <= set(heads), name
            assert "Parameters" in heads or not inspect.signature(thing).parameters, name
    assert seen > 60


def test_examples_of_classes_run(lists, monkeypatch):
    """Those of functions, and of their methods, run in the tests of their packages."""
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    for name, thing in list_things(lists):
        if not inspect.isclass(thing) and not name.startswith("smemkit.compile."):
            continue
        needs_compiler = re.search("__global__|smemkit.exercise", thing.__doc__)
        if needs_compiler and not (compile.find_nvrtc() or compile.find_nvcc()):
            continue
        (test,) = doctest.DocTestFinder(recurse=False).find(thing, name, module=False, globs={})
        log = []
        assert doctest.DocTestRunner(verbose=False).run(test, out=log.append).failed == 0, log
        assert test.examples, name


def test_findings_say_what_to_do(lists):
    text = read_page(lists, "reference/findings.md")
    cures = [row["text"] for row in read_rows("sim/check/finding.def", "SMK_ACTION")]
    assert not re.search(r"\{\w+\}", text)
    for cure in cures:
        (longest,) = sorted(re.split(r"\{\w+\}", cure), key=len)[-1:]
        assert lists.escape(longest) in text


def test_a_mark_without_a_list_is_an_error(lists):
    with pytest.raises(KeyError):
        lists.fill("<!-- list: nothing -->")
    assert lists.escape("a_b*c|<d>") == r"a\_b\*c\|\<d\>"


def test_gallery_has_every_picture_of_the_notebooks():
    pytest.importorskip("nbformat", reason="needs what pip install '.[docs]' brings")
    notebooks = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    files, cards = load("gallery").write(notebooks)
    stored = sum(path.read_text(encoding="utf-8").count('"image/png"') for path in notebooks)
    assert len(files) == stored > 20
    assert all(name in cards and data.startswith(b"\x89PNG") for name, data in files.items())


# The built site ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built from nothing; a warning fails."""
    for name in ("sphinx", "furo", "myst_nb", "sphinx_design", "sphinxarg"):
        pytest.importorskip(name, reason=NEEDS)
    folder = tmp_path_factory.mktemp("site") / "docs"
    build("--folder", str(folder))
    return folder


def build(*arguments):
    package = Path(smemkit.__file__).resolve().parents[1]  # the smemkit that is tested
    done = subprocess.run(
        [sys.executable, "docs/build.py", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0 and not re.search("WARNING|ERROR", done.stderr), done.stderr
    return done.stdout


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and the names of its places."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.places = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        self.places |= {facts[key] for key in ("id", "name") if facts.get(key)}
        if tag == "a" and facts.get("href"):
            self.links.append(facts["href"])
        elif tag == "link" and facts.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(facts["href"])
        elif tag in ("script", "img", "iframe", "source") and facts.get("src"):
            self.loads.append(facts["src"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_every_link_within_the_site_leads_somewhere(site, pages):
    followed = 0
    for path, page in pages.items():
        for link in page.links:
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc:
                continue
            file = (path.parent / urllib.parse.unquote(target.path)).resolve()
            file = file if target.path else path
            assert file.is_file(), f"{path.relative_to(site)} links to {link}"
            place = urllib.parse.unquote(target.fragment)
            if place and file in pages:
                assert place in pages[file].places, f"{path.relative_to(site)} links to {link}"
            followed += 1
    assert followed > 1000


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site, pages):
    for path, page in pages.items():
        for link in page.loads:
            target = urllib.parse.urlsplit(link)
            assert target.scheme in ("", "data") and not target.netloc, f"{path} loads {link}"
            if not target.scheme:
                assert (path.parent / target.path).is_file(), f"{path} loads {link}"
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@import|url\([\"']?(https?:)?//", text), path


@pytest.mark.slow
def test_every_public_name_is_documented_once(lists, pages):
    places = [place for page in pages.values() for place in page.places]
    for name in list_names(lists):
        assert places.count(name) == 1, name


@pytest.mark.slow
def test_every_command_and_option_is_shown(site):
    shown = (site / "reference/command_line.html").read_text(encoding="utf-8")
    shown = re.sub(r"<.*?>", "", shown)
    parsers = list(list_parsers(main.make_parser()))
    assert len(parsers) > 8
    for parser in parsers:
        usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
        assert usage in html.unescape(" ".join(shown.split()))
        for option in re.findall(r"--[a-z][a-z-]+", usage):
            assert option in shown


def list_parsers(parser):
    """The parsers of all commands below one."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for other in dict.fromkeys(action.choices.values()):
                yield other
                yield from list_parsers(other)


@pytest.mark.slow
def test_the_search_knows_counters_errors_and_opcodes(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in ("wavefront", "outofboundserror", "ldmatrix", "smemkit_thread"):
        assert word in index


@pytest.mark.slow
def test_no_word_is_misspelt():
    for name in ("codespell_lib", "nbformat"):
        pytest.importorskip(name, reason=NEEDS)
    assert build("--words") == ""
