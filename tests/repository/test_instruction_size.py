"""The size of an instruction has a name: no module adds 4 to a pc, or tests its two lowest bits, in figures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.paths import ROOT

MODULES = sorted((ROOT / "mipsrec").rglob("*.py"))
C_FILES = sorted((ROOT / "runtime").rglob("*.[ch]"))
FIGURES = {ast.Add: (4, 8), ast.Sub: (4, 8), ast.BitAnd: (3,), ast.RShift: (2,), ast.Mod: (4,), ast.FloorDiv: (4,)}
"""By operation: the figures that stand for one instruction or two, for its alignment, or for an index."""
_PC = re.compile(r"(?:.*_)?pc$")
_C_PC = r"\b(?:\w+(?:->|\.))*(?:\w+_)?pc\)?"
_IN_C = re.compile(rf"{_C_PC} (?:[+-] [48]u?|& ~?3u?|>> 2|% 4u?)\b")


def is_pc(node: ast.expr) -> bool:
    """Return whether an expression is a variable or an attribute that is named as a pc, or begins with one."""
    if isinstance(node, ast.BinOp):
        return is_pc(node.left)
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return _PC.match(name) is not None


def in_python(source: str) -> Iterator[int]:
    """Yield the lines that compute with a pc and the size of an instruction in figures."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp):
            operation, pc, figure = type(node.op), node.left, node.right
        elif isinstance(node, ast.AugAssign):
            operation, pc, figure = type(node.op), node.target, node.value
        else:
            continue
        if is_pc(pc) and isinstance(figure, ast.Constant) and figure.value in FIGURES.get(operation, ()):
            yield node.lineno


def in_c(source: str) -> Iterator[int]:
    """Yield the lines of C that do the same."""
    yield from (number for number, line in enumerate(source.splitlines(), 1) if _IN_C.search(line))


def test_the_size_of_an_instruction_has_a_name() -> None:
    places = []
    for path in (*MODULES, *C_FILES):
        found = in_python if path.suffix == ".py" else in_c
        places += [f"{path.relative_to(ROOT)}:{line}" for line in found(path.read_text())]
    assert places == [], "name the size: mipsrec/architecture.py, runtime/base/instructions.h"


def test_the_search_finds_figures() -> None:
    lines = "pc + 4\nblock.next_pc & 3\npc += 4\n(pc - start) >> 2\nslot_pc + 8\npc + size\nplace + 4\n"
    assert sorted(in_python(lines)) == [1, 2, 3, 4, 5]
    assert list(in_c("x = pc + 4;\ny = (s->pc & 3) != 0;\nz = d[low_pc >> 2];\npc + n;\nplace + 4;\n")) == [1, 2, 3]
