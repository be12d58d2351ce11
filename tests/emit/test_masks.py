"""emit/ writes what nodes say: it makes no sets of registers, and knows nothing of what the state lacks.

register_file.py alone looks at sets: which of its units are in the one that a node gives.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.paths import ROOT

SETS = ("stores", "loads", "saves", "keeps", "takes", "gives", "returned", "on_exit", "on_view", "polls",
        "bits", "in_ssa", "memory_resident")  # fmt: skip
"""Names of sets of registers, in plans, nodes and units."""
_COMBINING = (ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_set(node: ast.expr) -> bool:
    name = _name(node)
    return name.endswith(("_BIT", "_BITS")) or (isinstance(node, ast.Attribute) and name in SETS)


def findings(text: str) -> Iterator[str]:
    """Yield each place where a set of registers is made, or where something is called dirty."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.lineno} imports {name.name}" for name in node.names if _is_set(ast.Name(name.name)))
        elif isinstance(node, (ast.Name, ast.Attribute, ast.arg)):
            name = node.arg if isinstance(node, ast.arg) else _name(node)
            if "dirty" in name:
                yield f"{node.lineno} asks what is dirty"
        elif isinstance(node, ast.BinOp) and (_is_set(node.left) or _is_set(node.right)):
            selects = isinstance(node.op, ast.BitAnd) and "bits" in (_name(node.left), _name(node.right))
            if isinstance(node.op, (*_COMBINING, ast.BitAnd)) and not selects:
                yield f"{node.lineno} combines sets"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert) and _is_set(node.operand):
            yield f"{node.lineno} combines sets"


def test_emit_makes_no_sets_of_registers() -> None:
    modules = sorted(set((ROOT / "mipsrec" / "emit").glob("*.py")) - {ROOT / "mipsrec" / "emit" / "register_file.py"})
    assert [f"{path.name}:{found}" for path in modules for found in findings(path.read_text())] == []


def test_the_search_finds_them() -> None:
    wrong = (
        "from x import SP_BIT", "a = end.stores | end.loads", "a = end.stores & ~entry.takes", "a = unit.bits >> 3",
        "a = block.dirty_out", "a = end.keeps & end.stores",
    )  # fmt: skip
    assert all(list(findings(line)) for line in wrong)
    assert list(findings("a = unit.bits & end.stores\nb = bits >> 3\nc = value & 0xFF")) == []
