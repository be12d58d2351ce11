"""No file, function, class or constructor of mipsrec grows beyond what a reader can hold in the head."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

MODULES = sorted(path.relative_to(ROOT) for path in (ROOT / "mipsrec").rglob("*.py"))

FILE_LINES = 400
FUNCTION_LINES = 50
CLASS_ATTRIBUTES = 25
PUBLIC_METHODS = 30
CONSTRUCTOR_PARAMETERS = 7
"""Of an `__init__` that is written out. Fields of a dataclass are attributes."""


def attributes_of(node: ast.ClassDef) -> set[str]:
    """Return what a class body declares, and what its methods assign to `self`."""
    found: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found.add(statement.target.id)
        elif isinstance(statement, ast.Assign):
            found |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and isinstance(part.value, ast.Name):
            found |= {part.attr} if part.value.id == "self" else set()
    return found


def findings_in_class(node: ast.ClassDef) -> Iterator[str]:
    """Yield what of a class is too large."""
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    if len(attributes_of(node)) > CLASS_ATTRIBUTES:
        yield f"{node.name}: attributes"
    if sum(not method.name.startswith("_") for method in methods) > PUBLIC_METHODS:
        yield f"{node.name}: methods"
    for method in methods:
        arguments = method.args
        count = len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]) - 1
        if method.name == "__init__" and count > CONSTRUCTOR_PARAMETERS:
            yield f"{node.name}: parameters"


def findings(name: str, source: str) -> set[str]:
    """Return what of a file is too large."""
    found = {f"{name}: lines"} if source.count("\n") > FILE_LINES else set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            found |= set(findings_in_class(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno + 1 > FUNCTION_LINES:
                found.add(f"{node.name}: lines")
    return found


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_sizes(path: Path) -> None:
    assert findings(path.name, (ROOT / path).read_text()) == set()


def test_every_kind_of_size_is_measured() -> None:
    long_function = "def f():\n" + "    pass\n" * FUNCTION_LINES
    attributes = "".join(f"    a{number}: int\n" for number in range(CLASS_ATTRIBUTES))
    methods = "".join(f"    def m{number}(self): pass\n" for number in range(PUBLIC_METHODS + 1))
    parameters = ", ".join(f"p{number}" for number in range(CONSTRUCTOR_PARAMETERS + 1))
    large = f"class A:\n{attributes}    def __init__(self, {parameters}):\n        self.b = self.a1 = 0\n{methods}"
    assert findings("f.py", long_function) == {"f: lines"}
    assert findings("a.py", large) == {"A: attributes", "A: methods", "A: parameters"}
    assert findings("b.py", "#\n" * FILE_LINES) == set()
    assert findings("b.py", "#\n" * (FILE_LINES + 1)) == {"b.py: lines"}
