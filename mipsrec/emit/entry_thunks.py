"""Ways in that a function has besides its code: into its body (saved_registers.py), for callers that have a complete
state and want one back; and to its start, where that is one of several entries that are written together.
"""

from __future__ import annotations

from ..analysis import Function
from ..lift.convention import ARGUMENTS, RESULTS, Callee
from ..lift.ir import Frame
from ..lift.options import LiftOptions
from ..state import RA, SP
from .call_ends import complete_state
from .calls import BACK, Calls, parameter
from .function import LiftedFunction
from .memory import MODELS
from .state_words import StateWords
from .writer import LIKELY, Value, Writer, location, text


def write_body_thunk(
    function: Function, callee: Callee, frame: Frame, options: LiftOptions, scope: int
) -> LiftedFunction:
    """Return the LLVM function that saves what the frame saves, calls the body, and completes the state."""
    writer = Writer()
    memory, state = MODELS[options.memory](writer, options.big_endian), StateWords(writer)
    calls = Calls(writer, options)
    stack = parameter(SP)

    def register(number: int) -> Value:
        if number in ARGUMENTS:
            return parameter(number)
        return state.gpr(number)

    writer.lines.append(calls.head(callee.symbol, scope))
    for saved in frame.saved:
        writer.debug = location(saved.pc, scope)
        memory.store(stack, saved.displacement, 32, text(register(saved.register)))
    writer.debug = location(function.start, scope)
    returned = calls.call_body(callee, [parameter(number) for number in ARGUMENTS])
    flag = writer.value(f"icmp eq i32 {returned.pc}, {text(BACK)}")
    writer.void(f"br i1 {flag}, label %back, label %other, {LIKELY}")
    writer.label("other")
    results: list[Value] = [returned.results[number] for number in RESULTS]
    calls.give_back(returned.pc, results)
    writer.label("back")
    memory.start_block()
    found = complete_state(memory, state, frame, stack, returned.results)
    calls.give_back(found.get(RA, parameter(RA)), results)
    lines = [*writer.lines, "}", ""]
    return LiftedFunction(
        callee.symbol, function.name, "\n".join(lines), (function.start,), frozenset({callee.body}), 0, function.start
    )


def write_start_thunk(
    function: Function, callee: Callee, entries: LiftedFunction, options: LiftOptions, scope: int
) -> LiftedFunction:
    """Return the LLVM function that goes to a function's start in the LLVM function of all its entries."""
    writer = Writer(options.relocatable)
    calls = Calls(writer, options)
    writer.lines.append(calls.head(callee.symbol, scope))
    writer.debug = location(function.start, scope)
    calls.tail_call_entries(entries.symbol, function.start, parameter)
    lines = [*writer.lines, "}", ""]
    called = frozenset({entries.symbol})
    pcs = frozenset(writer.pcs)
    return LiftedFunction(
        callee.symbol, function.name, "\n".join(lines), (function.start,), called, 0, function.start, pcs
    )
