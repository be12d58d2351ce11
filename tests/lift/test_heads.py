"""The head of each pass is a contract: what it needs, sets and keeps, and when it is off."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mipsrec.lift.passes

FOLDER = Path(mipsrec.lift.passes.__file__).parent
LABELS = ["Needs", "Sets", "Keeps", "Off when"]


@pytest.mark.parametrize(
    "path", sorted(set(FOLDER.rglob("*.py")) - {FOLDER / "__init__.py"}), ids=lambda path: str(path.relative_to(FOLDER))
)
def test_head(path: Path) -> None:
    lines = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
    assert [label for line in lines for label in LABELS if line.startswith(f"{label}: ")] == LABELS
    assert lines[1] == "" and lines[2].startswith("Needs: ")
