"""How Sphinx makes the site. docs/build.py runs it, and says what the pages are."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "csrc")]

import smemkit  # noqa: E402

project = "smemkit"
release = version = smemkit.__version__
author = "smemkit contributors"
copyright = author
language = "en-GB"
smartquotes = False  # texts are shown as Python and the command line take them

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_nb",
    "sphinx_design",
    "sphinxarg.ext",
    "links",
]
root_doc = "index"
nitpicky = True

# Notebooks are shown with their stored outputs.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# links.py reads the docstrings.
autodoc_typehints = "none"  # the docstrings say what is taken
autodoc_member_order = "bysource"
autosummary_generate = False
add_module_names = False
default_role = "literal"
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"smemkit {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
templates_path = []

# External links; build.py --links asks them.
linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_workers = 4
