"""Short ways: functions that look at their arguments, and return at once.

Enters: a recursive function. Leaves: its short way, of the block at the start and a return block, if nothing but the
branch between them decides. Where the function calls itself the short way is written in place (call_ends.py), with
all registers in SSA: the very instructions that the call would have executed, in their order. What the branch depends
on is computed first, of registers alone, so that nothing has happened yet where the call is made after all.
"""

from __future__ import annotations

from ...analysis import Block, End, Function
from ...isa import Instruction
from ...isa.effects import FPR_BIT, effects, masks
from ..ir import PartialInline

MAX_INSTRUCTIONS = 24
"""Of each of the two blocks; o32 functions save and restore at most ten registers."""


def find_partial_inline(function: Function) -> PartialInline | None:
    """Return the inlined path of a function, if it has one."""
    first = function.blocks[function.start]
    if first.end is not End.BRANCH or first.is_likely or first.target is None:
        return None
    ends = [function.blocks.get(pc) for pc in (first.target, first.next_pc)]
    returns = [block is not None and block.end is End.RETURN for block in ends]
    test = _test(first)
    if returns[0] == returns[1] or test is None:
        return None
    last = ends[0] if returns[0] else ends[1]
    assert last is not None
    reads = writes = 0
    for block in (first, last):
        if block.instruction_count() > MAX_INSTRUCTIONS:
            return None
        for instruction in block.instructions():
            read, written = masks(instruction, 0)
            if effects(instruction.row).may_leave or (read | written) >> FPR_BIT:
                return None
            reads |= read & ~writes
            writes |= written
    return PartialInline(first, last, returns[0], test, reads, writes)


def _test(block: Block) -> tuple[tuple[int, Instruction], ...] | None:
    """Return what the branch of a block depends on in it; None if that takes accesses."""
    assert block.terminator is not None
    found: list[tuple[int, Instruction]] = []
    needed = masks(block.terminator, 0)[0]
    for index in range(len(block.body) - 1, -1, -1):
        instruction = block.body[index]
        read, written = masks(instruction, 0)
        if written & needed:
            if effects(instruction.row).loads or effects(instruction.row).stores or written >> 29 & 1:
                return None
            found.append((block.start + 4 * index, instruction))
            needed = needed & ~written | read
    return tuple(reversed(found))
