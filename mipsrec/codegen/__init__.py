"""LLVM IR for guest functions, as text.

Enters: a `Program` and `CodegenOptions`. Leaves: `LiftedFunction`s, and modules of any selection of them. Whatever is
not lifted here runs in the host's interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..analysis import End, Function, Program
from .calls import Callee, argument_registers
from .function import FunctionWriter, LiftedFunction, symbol_of
from .module import module_text, subprogram_number
from .options import CodegenOptions

__all__ = [
    "Callee",
    "CodegenOptions",
    "LiftedFunction",
    "lift_function",
    "lifted_starts",
    "module_text",
    "symbol_of",
]


def lifted_starts(program: Program) -> Mapping[int, Callee]:
    """Return, by start, the functions that are worth lifting: those whose first instruction is understood."""
    found = {}
    for start, function in program.functions.items():
        first = function.blocks[start]
        if first.body or first.end is not End.HAND_OVER:
            found[start] = Callee(symbol_of(start), argument_registers(function))
    return found


def lift_function(
    function: Function, callees: Mapping[int, Callee], options: CodegenOptions, index: int = 0
) -> list[LiftedFunction]:
    """Return one or two LLVM functions for a guest function, written as number `index` (and next) of their module."""
    parts = [[function.start]]
    if function.entries:
        parts.append(sorted(function.entries))
    return [
        FunctionWriter(function, entries, options, callees.get, subprogram_number(index + offset)).write()
        for offset, entries in enumerate(parts)
    ]
