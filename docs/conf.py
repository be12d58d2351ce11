"""How Sphinx makes the site: `make docs` copies docs/ to build/docs-source, adds pages for the modules, and builds it.

Pages are plain Markdown, so that they read on their own. Sphinx wants tables of contents, which `toctrees` derives from
the links of a page, and docstrings in reStructuredText, which `rst_of` makes of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sphinx.application import Sphinx

project = "mipsrec"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "mipsrec"
html_show_copyright = False
root_doc = "index"
highlight_language = "text"
myst_heading_anchors = 4
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
suppress_warnings = ["ref.python"]  # names that several classes have, such as `start`, in hints that are strings

_CONTENTS = ("index", "decisions/README")
"""Pages that are tables of contents."""

_CODE = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")


def rst_of(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a docstring: indented blocks as literal blocks, code as literals, no other markup."""
    after_blank, literal = True, False
    for line in lines:
        indented = line.startswith("    ")
        if indented and after_blank and not literal:
            literal = True
            yield from ("::", "")
        elif line.strip() and not indented:
            literal = False
        if literal:
            yield line
        else:
            parts = _CODE.split(line)
            parts[::2] = [_SPECIAL.sub(r"\\\1", part) for part in parts[::2]]
            parts[1::2] = [f"`{part}`\\ " for part in parts[1::2]]
            yield "".join(parts)
        after_blank = not line.strip()


def toctrees(page: str) -> str:
    """Return a hidden table of contents for each section of a page: the pages that it links to."""
    found = []
    for section in re.split(r"^#+ ", page, flags=re.MULTILINE)[1:]:
        names = re.findall(r"\]\(([^):#]+)\.md\)", section)
        if names:
            caption = section.partition("\n")[0]
            found.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```"]))
    return "\n\n".join(found)


def _add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    if name in _CONTENTS:
        source[0] += "\n" + toctrees(source[0])
    if name == _CONTENTS[0]:
        source[0] += "\n\n```{toctree}\n:hidden:\n:caption: Modules\n\napi/mipsrec\n```\n"


def _process_docstring(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = list(rst_of(lines))


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_contents)
    app.connect("autodoc-process-docstring", _process_docstring)
