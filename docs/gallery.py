"""The gallery of the site: every picture that the stored notebooks show."""

import base64
import re
from pathlib import Path

import nbformat

CARD = """\
:::{{grid-item-card}} {title}
:img-top: {picture}
:img-alt: {alt}
:link: {page}
:link-type: doc
:::
"""


def list_pictures(path):
    """(heading, PNG) of each picture in a stored notebook."""
    heading = ""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            found = re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE)
            heading = found[-1] if found else heading
        for output in cell.get("outputs", ()):
            picture = output.get("data", {}).get("image/png")
            if picture:
                yield heading, base64.b64decode(picture)


def read_title(path):
    """The title of a notebook."""
    first = nbformat.read(path, as_version=4).cells[0].source
    return re.search(r"^# (.+)$", first, re.MULTILINE)[1]


def write(notebooks):
    """({file beside the page: its bytes}, the Markdown of all cards) for the stored notebooks."""
    files, parts = {}, []
    for path in sorted(map(Path, notebooks)):
        cards = []
        for number, (heading, picture) in enumerate(list_pictures(path), 1):
            name = f"pictures/{path.stem}_{number}.png"
            files[name] = picture
            cards.append(
                CARD.format(
                    title=heading,
                    picture=name,
                    alt=f"Picture {number} of the notebook {read_title(path)}: {heading}",
                    page=f"notebooks/{path.stem}",
                )
            )
        if cards:
            grid = "".join(cards)
            parts.append(
                f"## {read_title(path)}\n\n::::{{grid}} 1 1 2 2\n:gutter: 3\n\n{grid}::::\n"
            )
    return files, "\n".join(parts)
