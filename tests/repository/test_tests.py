"""The tests keep their own rules: where files lie, how long they are, how they import, and that README.md says it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.conftest import LONGEST_FIRST
from tests.support.paths import TESTS

DATA = ("guests", "vectors")
"""Folders without Python modules."""
FOLDERS = sorted(path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__")
MOST_LINES, MOST_LINES_OF_FUNCTION, MOST_LINES_OF_README = 400, 60, 120


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The text of each module by its path below tests/."""
    paths = [path.relative_to(TESTS) for path in sorted(TESTS.rglob("*.py"))]
    return {str(path): (TESTS / path).read_text() for path in paths if path.parts[0] not in DATA}


def imports_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the dotted name of everything that a module imports, and how many folders up it begins."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", node.level) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)


def test_modules_are_short(texts: dict[str, str]) -> None:
    assert [path for path, text in texts.items() if len(text.splitlines()) > MOST_LINES] == []
    assert [
        (path, node.name) for path, text in texts.items() for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MOST_LINES_OF_FUNCTION
    ] == []  # fmt: skip


def test_modules_say_what_they_are(texts: dict[str, str]) -> None:
    assert [path for path, text in texts.items() if not ast.get_docstring(ast.parse(text))] == []


def test_imports_are_by_the_path_from_the_top(texts: dict[str, str]) -> None:
    """And of no test module: what it shares belongs into a module of its own."""
    for path, text in texts.items():
        for name, level in imports_of(ast.parse(text)):
            assert level == 0 and not re.match(r"tests\.(.*\.)?test_", name), f"{path} imports {name}"


def test_modules_lie_where_pytest_looks(texts: dict[str, str]) -> None:
    """None at the top; in folders that are packages; functions named test_... in modules named so, and in no others."""
    assert [path for path in texts if "/" not in path] == ["__init__.py", "conftest.py"]
    assert [name for name in FOLDERS if name not in DATA and not (TESTS / name / "__init__.py").exists()] == []
    for path, text in texts.items():
        functions = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        collected = path.rpartition("/")[2].startswith("test_") and not path.startswith("support/")
        assert any(name.startswith("test_") for name in functions) == collected, path


def test_readme_names_every_folder() -> None:
    text = (TESTS / "README.md").read_text()
    assert len(text.splitlines()) <= MOST_LINES_OF_README
    assert [name for name in FOLDERS if f"`{name}/`" not in text] == []
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_.]*)`", text)
    assert named and [name for name in named if not (TESTS / name).exists()] == []


def test_the_longest_modules_exist() -> None:
    assert [name for name in LONGEST_FIRST if not (TESTS / f"{name}.py").exists()] == []
