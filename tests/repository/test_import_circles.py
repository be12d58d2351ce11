"""No modules import each other in a circle, through whatever others, when they are loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGE = ROOT / "mipsrec"


def modules(package: Path) -> dict[str, Path]:
    """Return the files of a package by their dotted names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _loaded(body: list[ast.stmt]) -> Iterator[ast.ImportFrom]:
    """Yield the imports that are executed with a module: not those in functions, or for types alone."""
    for node in body:
        if isinstance(node, ast.ImportFrom):
            yield node
        elif isinstance(node, (ast.If, ast.Try, ast.With)) and "TYPE_CHECKING" not in ast.unparse(node)[:40]:
            yield from _loaded(node.body)


def imports(name: str, names: Mapping[str, Path]) -> set[str]:
    """Return the modules among `names` that one of them imports."""
    path, found = names[name], set()
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in _loaded(ast.parse(path.read_text()).body):
        base = package[: len(package) - node.level + 1] if node.level else []
        origin = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            inner = f"{origin}.{alias.name}"
            found |= {inner if inner in names else origin} & names.keys()
    return found - {name}


def test_no_circle() -> None:
    names = modules(PACKAGE)
    assert len(names) > 200
    tuple(TopologicalSorter({name: imports(name, names) for name in names}).static_order())  # raises CycleError


def test_circles_are_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    (package / "q").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "q" / "__init__.py").write_text("from .a import x\n")
    (package / "q" / "a.py").write_text("from ..b import y\n")
    (package / "b.py").write_text("from .q import z\n")
    names = modules(package)
    graph = {name: imports(name, names) for name in names}
    assert graph["p.b"] == {"p.q"} and graph["p.q.a"] == {"p.b"}
    with pytest.raises(CycleError):
        tuple(TopologicalSorter(graph).static_order())
