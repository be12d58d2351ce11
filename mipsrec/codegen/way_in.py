"""The way into a body (frames.py) for callers that have a complete state and want one back."""

from __future__ import annotations

from ..analysis import Function
from ..state import OFFSETS, SLOT_BYTES
from .call_ends import complete_state
from .calls import ARGUMENTS, BACK, RESULTS, Callee, Calls
from .frames import Frame
from .function import LiftedFunction
from .memory_models import MODELS, Value, text
from .options import CodegenOptions
from .writer import LIKELY, STATE_TAG, Writer


def write_way_in(
    function: Function, callee: Callee, frame: Frame, options: CodegenOptions, scope: int
) -> LiftedFunction:
    """Return the LLVM function that saves what the frame saves, calls the body, and completes the state."""
    writer = Writer()
    memory = MODELS[options.memory](writer, options.big_endian)
    calls = Calls(writer, options, lambda pc: None)
    stack = "%r29.in"

    def register(number: int) -> Value:
        if number == 31:
            return "%r31.in"
        pointer = writer.value(f"getelementptr i8, ptr %s, i64 {OFFSETS['gpr'] + SLOT_BYTES * number}")
        return writer.value(f"load i32, ptr {pointer}, {STATE_TAG}")

    def at(pc: int) -> None:
        writer.debug = f", !dbg !DILocation(line: {pc}, scope: !{scope})"

    writer.lines += [calls.head(callee.symbol, scope), "entry:"]
    for slot in frame.slots:
        at(slot.pc)
        memory.store(stack, slot.displacement, 32, text(register(slot.register)))
    at(function.start)
    returned = calls.call_body(callee, [f"%r{number}.in" for number in ARGUMENTS])
    flag = writer.value(f"icmp eq i32 {returned.pc}, {text(BACK)}")
    writer.void(f"br i1 {flag}, label %back, label %other, {LIKELY}")
    writer.label("other")
    results: list[Value] = [returned.results[number] for number in RESULTS]
    calls.give_back(returned.pc, results)
    writer.label("back")
    memory.start_block()
    found = complete_state(writer, memory, frame, stack, returned.results)
    calls.give_back(found.get(31, "%r31.in"), results)
    lines = [*writer.lines, "}", ""]
    return LiftedFunction(
        callee.symbol, function.name, "\n".join(lines), (function.start,), frozenset({callee.body}), 0, function.start
    )
