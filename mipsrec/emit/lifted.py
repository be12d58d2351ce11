"""The LLVM functions that are written for a guest function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..analysis import Function
from ..lift.convention import Callee
from ..lift.ir import Frame
from ..lift.options import LiftOptions
from .entry_thunks import write_way_in, write_way_to_start
from .function import FunctionWriter, LiftedFunction
from .module import subprogram_number


def lift_function(
    function: Function, callees: Mapping[int, Callee], options: LiftOptions, index: int = 0
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
