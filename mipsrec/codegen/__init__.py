"""LLVM IR for guest functions, as text.

Enters: a `Program` and `CodegenOptions`. Leaves: `LiftedFunction`s, and modules of any selection of them. Whatever is
not lifted here runs in the host's interpreter.
"""

from __future__ import annotations

from ..analysis import End, Function, Program
from .function import FunctionWriter, LiftedFunction, symbol_of
from .module import module_text, subprogram_number
from .options import CALL_MODELS, MEMORY_MODELS, CodegenOptions

__all__ = [
    "CALL_MODELS",
    "MEMORY_MODELS",
    "CodegenOptions",
    "LiftedFunction",
    "lift_function",
    "lifted_starts",
    "module_text",
    "symbol_of",
]


def lifted_starts(program: Program) -> frozenset[int]:
    """Return the starts of the functions that are worth lifting: those whose first instruction is understood."""
    found = []
    for start, function in program.functions.items():
        first = function.blocks[start]
        if first.body or first.end is not End.HAND_OVER:
            found.append(start)
    return frozenset(found)


def lift_function(
    function: Function, starts: frozenset[int], options: CodegenOptions, index: int = 0
) -> list[LiftedFunction]:
    """Return one or two LLVM functions for a guest function, written as number `index` (and next) of their module."""

    def symbol(pc: int) -> str | None:
        return symbol_of(pc) if pc in starts else None

    parts = [[function.start]]
    if function.entries:
        parts.append(sorted(function.entries))
    return [
        FunctionWriter(function, entries, options, symbol, subprogram_number(index + offset)).write()
        for offset, entries in enumerate(parts)
    ]
