"""Imports go one way down the pipeline, and each third-party package is known to the modules that own it only."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGE = ROOT / "mipsrec"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("__init__", "errors", "target", "options", "checked_arguments"),
    ("state", "architecture", "counters", "interrupts", "standard_output"),
    ("files",),
    ("abi", "profiles"),
    ("elf",),
    ("coverage",),
    ("memory",),
    ("isa",),
    ("analysis",),
    ("flow",),
    ("lift",),
    ("emit",),
    ("cache",),
    ("native",),
    ("long_work", "timing"),
    ("stencils",),
    ("host_build", "guest", "sysroot"),
    ("dynamic_linker",),
    ("ir_dump",),
    ("recompile",),
    ("fill_store",),
    ("pipeline", "farm"),
    ("server",),
    ("mix", "fuzzing"),
    ("commands", "profile_report", "cli", "demo", "packaging", "__main__"),
)
"""A module (or package) may import from its own layer and from those above it in this list."""

OWNERS = {
    "elftools": {"elf", "stencils", "packaging", "native"},
    "llvmlite": {"native", "packaging"},
    "capstone": {"cli", "commands", "target", "packaging"},
    "dask": {"farm"},
    "distributed": {"farm"},
    "pytest": set(),
    "unicorn": set(),
    "hypothesis": set(),
}

FACE = {"errors", "pipeline"}
"""What the package itself shows to users of `import mipsrec`; it imports them when they are asked for."""

LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def top_name(path: Path) -> str:
    """Return the module of mipsrec, or the package of it, that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def top_and_name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def imported_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, absolute dotted name) of everything a file imports, also inside functions."""
    package = ["mipsrec", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names if origin == "mipsrec" else node.names[:1]:
                yield node.lineno, f"{origin}.{alias.name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    importer = top_name(path)
    if path == PACKAGE / "__init__.py":
        assert {name.split(".")[1] for _, name in imported_names(path) if name.startswith("mipsrec.")} == FACE
        return
    assert importer in LAYER_OF, f"mipsrec/{importer} has no layer: add it to LAYERS in {Path(__file__).name}"
    for line, name in imported_names(path):
        parts = name.split(".")
        where = f"{path.relative_to(PACKAGE.parent)}:{line} imports {name}"
        if parts[0] == "mipsrec":
            imported = parts[1] if len(parts) > 1 and parts[1] in LAYER_OF else "__init__"
            assert LAYER_OF[imported] <= LAYER_OF[importer], f"{where}, which is further down the pipeline"
        elif parts[0] in OWNERS:
            assert importer in OWNERS[parts[0]], f"{where}; only {sorted(OWNERS[parts[0]])} may"


def test_the_walk_sees_every_kind_of_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path)
    (tmp_path / "isa").mkdir()
    module = tmp_path / "isa" / "rows.py"
    module.write_text(
        "import os.path, mipsrec.cli\nfrom mipsrec import elf, memory\nfrom mipsrec.state import Field\n"
        "from . import table\nfrom .. import cache\nfrom ..native import build\ndef f():\n    import llvmlite.binding\n"
    )
    assert sorted(name for _, name in imported_names(module)) == [
        "llvmlite.binding",
        "mipsrec.cache",
        "mipsrec.cli",
        "mipsrec.elf",
        "mipsrec.isa.table",
        "mipsrec.memory",
        "mipsrec.native.build",
        "mipsrec.state.Field",
        "os.path",
    ]


# ---- LLVM text ----

LLVM_TEXT = re.compile(r"\b(i1|i8|i16|i32|i64|ptr|float)\b|%[\w.]+ = ")


def llvm_text(source: str) -> list[str]:
    """Return the strings of a module, other than docstrings, that look like LLVM IR."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return [node.value for node in strings if isinstance(node.value, str) and LLVM_TEXT.search(node.value)]


DECIDES = ("isa", "analysis", "flow", "lift")


@pytest.mark.parametrize("path", [path for path in MODULES if top_name(path) in DECIDES], ids=top_and_name)
def test_what_decides_writes_no_llvm_text(path: Path) -> None:
    assert llvm_text(path.read_text()) == []


@pytest.mark.parametrize(
    "path", [path for path in MODULES if top_name(path) in ("flow", "lift", "emit")], ids=top_and_name
)
def test_slots_that_may_not_run_are_the_business_of_analysis(path: Path) -> None:
    assert not re.search(r"BRANCH_LIKELY|is_likely|annul", path.read_text())


def test_the_search_sees_llvm_text() -> None:
    assert llvm_text('"""An i32."""\nwriter.value(f"add i32 {a}, 1")\n') == ["add i32 "]


HOLDS_IR = ("emit", "native", "server", "ir_dump", "pipeline")
EDITS_TEXT = {
    ("emit/writer.py", "re.compile", 1): "finds the operands that were loaded just before; it changes none",
    ("ir_dump.py", "re.compile", 1): "names of files in a dump",
    ("native/linking.py", "replace", 2): "quotes the path of an object for the linker",
}
"""What looks for patterns in text, or replaces parts of it, how often, and why that is no edit of IR."""


def text_edits(source: str) -> list[str]:
    """Return the functions of `re` that a module uses, and its calls of `str.replace`; `os.replace` moves a file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re":
            found.append(f"re.{node.attr}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "replace":
            if not (isinstance(node.func.value, ast.Name) and node.func.value.id in ("os", "dataclasses")):
                found.append("replace")
        elif isinstance(node, ast.ImportFrom) and node.module == "re":
            found.append("from re")
    return found


def test_ir_is_printed_once_and_not_edited() -> None:
    paths = (path for path in MODULES if top_name(path) in HOLDS_IR)
    found = Counter((top_and_name(path), edit) for path in paths for edit in text_edits(path.read_text()))
    assert {(*place, count) for place, count in found.items()} == EDITS_TEXT.keys()


def test_the_search_sees_edits_of_text() -> None:
    source = 'from re import sub\ntext = re.sub("a", "b", ir).replace("x", "y")\nos.replace(a, b)\nreplace(c)\n'
    assert Counter(text_edits(source)) == Counter(("from re", "re.sub", "replace"))
