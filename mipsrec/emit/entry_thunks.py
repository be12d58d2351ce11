"""Entry thunks: they go to the start of a function where that is one of several entries that are written together.

The entries find t9 in the state, so the thunk stores it there.
"""

from __future__ import annotations

from ..analysis import Function
from ..lift.convention import Callee
from ..lift.options import LiftOptions
from ..state import T9, slot_offset
from .calls import POINTERS, Calls, parameter
from .function import LiftedFunction
from .writer import STATE_TAG, Writer, location


def write_start_thunk(
    function: Function, callee: Callee, entries: LiftedFunction, options: LiftOptions, scope: int
) -> LiftedFunction:
    """Return the LLVM function that goes to a function's start in the LLVM function of all its entries."""
    writer = Writer(options.relocatable)
    calls = Calls(writer, options)
    writer.lines += (calls.head(callee.symbol, scope), POINTERS)
    writer.debug = location(function.start, scope)
    if callee.takes_t9 and options.calls == "direct":
        place = writer.value(f"getelementptr i8, ptr %s, i64 {slot_offset('gpr', T9)}")
        writer.void(f"store i32 {parameter(T9)}, ptr {place}, {STATE_TAG}")
    calls.tail_call_entries(entries.symbol, function.start, parameter)
    lines = [*writer.lines, "}", ""]
    called = frozenset({entries.symbol})
    pcs = frozenset(writer.pcs)
    return LiftedFunction(
        callee.symbol, function.name, "\n".join(lines), (function.start,), called, 0, function.start, pcs
    )
