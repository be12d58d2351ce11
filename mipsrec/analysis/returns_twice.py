"""Finds calls that may return more than once: setjmp, getcontext and whatever works like them.

A function that stores all of $s0-$s7 through one register other than sp or fp saves its caller's context; so does one
that tail-calls such a function. Control may come back to a call of it at any later time, through a jump that unwinds,
so the pc after the call becomes an entry of the caller. Missing one costs speed only: the interpreter takes over.
"""

from __future__ import annotations

from collections.abc import Callable

from ..state import FP, S0, S7, SP
from .model import End, Function

_SAVED = frozenset(range(S0, S7 + 1))


def _saves_context(function: Function) -> bool:
    stored: dict[int, set[int]] = {}
    for block in function.blocks.values():
        for instruction in block.body:
            if instruction.row.name == "sw" and instruction.rt in _SAVED and instruction.rs not in (SP, FP):
                stored.setdefault(instruction.rs, set()).add(instruction.rt)
    return any(registers >= _SAVED for registers in stored.values())


def _tail_targets(function: Function) -> set[int]:
    jumps = {block.terminator_pc for block in function.blocks.values() if block.end is End.INDIRECT}
    return function.outside | {target for pc, target in function.guesses.items() if pc in jumps}


def mark_returns_twice(functions: dict[int, Function], add_entries: Callable[..., list[int]]) -> None:
    """Make the return points of all such calls resume points of their functions."""
    jumping_to: dict[int, list[int]] = {}
    for start, function in functions.items():
        for target in _tail_targets(function):
            jumping_to.setdefault(target, []).append(start)
    savers: set[int] = set()
    waiting = [start for start, function in functions.items() if _saves_context(function)]
    while waiting:
        start = waiting.pop()
        if start not in savers:
            savers.add(start)
            waiting += jumping_to.get(start, ())
    points = {
        block.next_pc
        for function in functions.values()
        for block in function.blocks.values()
        if block.end is End.CALL and function.likely_target(block) in savers
    }
    add_entries(points, resume=True)
