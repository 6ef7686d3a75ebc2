"""A Sphinx extension: docstrings as the site shows them, links to names, downloads of notebooks.

Docstrings are read by help() too, so they name things plainly: smemkit.variants, DeviceArray. Where
the name is a public one, the site links it; so it does with code in running text.
"""

import importlib
import inspect
import re

from docutils import nodes
from lists import list_packages
from sphinx import addnodes
from sphinx.ext.napoleon import Config, NumpyDocstring
from sphinx.transforms import SphinxTransform

import smemkit

PACKAGES = list_packages()
WORD = re.compile(r"\bsmemkit(?:\.[A-Za-z_]\w*)+|\b[A-Z]\w*[a-z]\w*\b")
CODE = re.compile(r"(smemkit(?:\.[A-Za-z_]\w*)+)(?:\(.*\))?")


# Docstrings have NumPy's form; the text of these sections is running text, not a list of fields.
STYLE = Config(
    napoleon_google_docstring=False,
    napoleon_use_param=False,
    napoleon_custom_sections=[
        *("Shapes", "Units", "Returns", "Raises", "Source"),
        ("Attributes", "params_style"),
    ],
)


def convert_docstring(app, what, name, thing, options, lines):
    """Makes reStructuredText of a docstring, in which no character of the text is markup."""
    within_example = False
    for at, line in enumerate(lines):
        within_example = bool(line.strip()) and (within_example or line.lstrip().startswith(">>>"))
        if not within_example and not line.startswith("*"):  # a parameter: *args, **kwargs
            line = re.sub(r"(?<=\w):(?=\w)", r"\:", line)  # file:line is no address
            # float *x is no emphasis, and |a| no substitution
            lines[at] = line.replace("*", r"\*").replace("|", r"\|")
    if what not in ("attribute", "data", "property"):  # those have no sections
        made = NumpyDocstring(lines, STYLE, app, what, name, thing, options).lines()
        lines[:] = [re.sub(r"(?<=[)*]) -- ", " \N{EN DASH} ", line, count=1) for line in made]


def choose_signature(app, what, name, thing, options, signature, result):
    """Leaves out the signature of a class that people get and do not call."""
    if signature is None:
        return None
    if what == "class" and "\nParameters\n" not in (inspect.getdoc(thing) or ""):
        return "", None
    return signature, result


def list_names():
    """{dotted name: the documented one}, {package: {name of a class: the documented one}}."""
    found, classes = {}, {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            same = getattr(smemkit, name, None) is thing
            found[f"{package}.{name}"] = path = f"smemkit.{name}" if same else f"{package}.{name}"
            if inspect.isclass(thing):
                classes.setdefault(package, {})[name] = path
    return found | {package: package for package in PACKAGES[1:]}, classes


NAMES, CLASSES = list_names()


def find_name(found, text, package):
    """The documented name that a match of WORD stands for in a docstring of a package, or None.

    A class may stand without its package: one of smemkit, of reports and lessons, or of the
    docstring's own package. At the beginning of a sentence Line is mostly just a word.
    """
    word = found[0]
    if word in NAMES:
        return NAMES[word]
    begins = re.search(r"(\A|[.:;]\s+)\Z", text[: found.start()])
    if begins and not re.search(r"[a-z][A-Z]", word) and not re.match(r"[,.]", text[found.end() :]):
        return None
    places = (package, "smemkit", "smemkit.report", "smemkit.lessons")
    return next((CLASSES[one][word] for one in places if word in CLASSES.get(one, ())), None)


def make_reference(shown, name):
    """A node that Sphinx resolves to the place where a name is documented."""
    kind = "mod" if name in PACKAGES else "obj"
    reference = addnodes.pending_xref(
        "", refdomain="py", reftype=kind, reftarget=name, refexplicit=True, refwarn=True
    )
    reference += shown
    return reference


class LinkNames(SphinxTransform):
    default_priority = 500

    def apply(self, **kwargs):
        for node in list(self.document.findall(nodes.literal)):
            found = CODE.fullmatch(node.astext())
            linked = is_within(node, nodes.reference, nodes.title, addnodes.pending_xref)
            if found and found[1] in NAMES and not linked:
                node.replace_self(make_reference(node.deepcopy(), NAMES[found[1]]))
        for described in list(self.document.findall(addnodes.desc)):
            package = described[0].get("module") or ""
            for content in described.findall(addnodes.desc_content):
                for node in list(content.findall(nodes.Text)):
                    self.link(node, package)
        if self.env.docname.startswith("reference/"):
            for node in list(self.document.findall(nodes.Text)):
                self.link(node, "smemkit")

    def link(self, node, package):
        closed = (
            nodes.literal,
            nodes.literal_block,
            nodes.doctest_block,
            nodes.reference,
            nodes.strong,
            nodes.rubric,
            nodes.title,
            addnodes.pending_xref,
            addnodes.desc_signature,
        )
        if is_within(node, *closed):
            return
        text, parts, end = node.astext(), [], 0
        for found in WORD.finditer(text):
            name = find_name(found, text, package)
            if name:
                parts += [nodes.Text(text[end : found.start()])]
                parts += [make_reference(nodes.Text(found[0]), name)]
                end = found.end()
        if parts:
            node.parent.replace(node, [*parts, nodes.Text(text[end:])])


def is_within(node, *kinds):
    """Whether a node or one that holds it is of one of the kinds."""
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


class OfferNotebook(SphinxTransform):
    """A line below the title of a notebook: download it, run it."""

    default_priority = 400

    def apply(self, **kwargs):
        folder, _, name = self.env.docname.rpartition("/")
        title = next(iter(self.document.findall(nodes.title)), None)
        if folder != "notebooks" or title is None:
            return
        offer = nodes.paragraph("", "", classes=["offer"])
        offer += addnodes.download_reference(
            "", "Download this notebook", reftarget=f"{name}.ipynb", refdoc=self.env.docname
        )
        offer += nodes.Text(" to run it: it needs no GPU.")
        title.parent.insert(title.parent.index(title) + 1, offer)


def setup(app):
    app.connect("autodoc-process-docstring", convert_docstring)
    app.connect("autodoc-process-signature", choose_signature)
    app.add_transform(LinkNames)
    app.add_transform(OfferNotebook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
