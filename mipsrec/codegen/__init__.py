"""LLVM IR for guest functions, as text.

Enters: a `Program` and `CodegenOptions`. Leaves: `LiftedFunction`s, and modules of any selection of them. Whatever is
not lifted here runs in the host's interpreter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from ..analysis import End, Function, Program
from .calls import Callee, argument_registers
from .frames import Frame, find_frame
from .function import FunctionWriter, LiftedFunction, symbol_of
from .loops import cycles, has_inner_loops
from .module import module_text, subprogram_number
from .options import CodegenOptions
from .unseen import with_unseen
from .way_in import write_way_in, write_way_to_start

__all__ = [
    "Callee",
    "CodegenOptions",
    "LiftedFunction",
    "lift_function",
    "lifted_starts",
    "module_text",
    "symbol_of",
    "with_cold",
]

COPIED_INSTRUCTIONS, COPIES_INSTRUCTIONS = 64, 400
"""Of a function that loops copy wherever they call it; of all the places together that call a larger one."""


def lifted_starts(program: Program) -> Mapping[int, Callee]:
    """Return, by start, the functions that are worth lifting: those whose first instruction is understood."""
    found = {}
    recursive = recursive_functions(program)
    copied = copied_functions(program)
    for start, function in program.functions.items():
        first = function.blocks[start]
        if first.body or first.end is not End.HAND_OVER:
            takes = argument_registers(function)
            frame = find_frame(function) if start in recursive else None
            if frame is not None:
                frame = with_unseen(function, frame, takes)
            found[start] = Callee(symbol_of(function), takes, frame, start in copied)
    return found


def recursive_functions(program: Program) -> set[int]:
    """Return the functions that may call themselves again, as far as calls and guesses tell.

    Those alone have frames: paired runs of the kernels show no gain from the others, which cost a second way in.
    """
    called: dict[int, list[int]] = {}
    for start, function in program.functions.items():
        targets = {block.target for block in function.blocks.values() if block.end is End.CALL}
        targets.update(function.guesses.values())
        called[start] = [target for target in targets if target is not None and target in program.functions]
    return {start for cycle in cycles(list(called), called) for start in cycle}


def copied_functions(program: Program) -> set[int]:
    """Return the functions that call nothing, and are so small, or called in so few places, that loops may copy them.

    A call costs about as much as twenty of their instructions: registers are stored for it, and then loaded again.
    """
    places: Counter[int | None] = Counter()
    for function in program.functions.values():
        ends = (block for block in function.blocks.values() if block.end is End.CALL)
        places.update(function.likely_target(block) for block in ends)
    found: set[int] = set()
    for start, count in places.items():
        callee = program.functions.get(start) if start is not None else None
        if callee is not None and _calls_nothing(callee):
            size = callee.instruction_count()
            if size <= COPIED_INSTRUCTIONS or size * count <= COPIES_INSTRUCTIONS:
                found.add(callee.start)
    return found


def _calls_nothing(function: Function) -> bool:
    ends = (End.CALL, End.SYSCALL)
    return not any(block.end in ends or function.may_go_anywhere(block) for block in function.blocks.values())


def with_cold(
    program: Program, callees: Mapping[int, Callee], starts: Collection[int], in_state: Collection[int] = ()
) -> dict[int, Callee]:
    """Return the callees with those at `starts` made cold, and their registers in the state if no time goes there.

    That is where no loop without calls lies in another: in those, registers are worth more than a small function.
    Those of `in_state` are made so in any case.
    """
    found = dict(callees)
    for start in callees.keys() & {*starts, *in_state}:
        if start not in in_state and has_inner_loops(program.functions[start]):
            found[start] = replace(found[start], cold=True)
        else:
            found[start] = replace(found[start], cold=True, in_state=True, frame=None)
    return found


def lift_function(
    function: Function, callees: Mapping[int, Callee], options: CodegenOptions, index: int = 0
) -> list[LiftedFunction]:
    """Return the LLVM functions for a guest function, written as number `index` and next of their module.

    They are the function itself, or the way into its body and the body; and, if it has entries besides its start, the
    function of these. Of a cold one, one serves all entries.
    """
    found: list[LiftedFunction] = []

    def write(entries: list[int], frame: Frame | None) -> None:
        scope = subprogram_number(index + len(found))
        found.append(FunctionWriter(function, entries, options, callees.get, scope, frame, in_state).write())

    callee = callees.get(function.start)
    in_state = callee is not None and callee.in_state
    if callee is not None and callee.cold and not callee.frame and function.entries and options.calls != "watched":
        write([function.start, *sorted(function.entries)], None)
        scope = subprogram_number(index + 1)
        found.append(write_way_to_start(function, callee, found[0], options, scope))
        found[0] = replace(found[0], entries=found[0].entries[1:])
        return found
    frame = callee.frame if callee is not None and options.has_frames else None
    if frame is not None and frame.unseen:
        write([function.start], None)
    elif callee is not None and frame is not None:
        found.append(write_way_in(function, callee, frame, options, subprogram_number(index)))
    write([function.start], frame)
    if function.entries:
        write(sorted(function.entries), None)
    return found
