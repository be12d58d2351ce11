"""Short ways: functions that look at their arguments, and return at once.

Enters: a recursive function. Leaves: its short way, of the block at the start and a return block, if nothing but the
branch between them decides. Where the function calls itself the short way is written in place (call_ends.py), with
all registers in SSA: the very instructions that the call would have executed, in their order. What the branch depends
on is computed first, of registers alone, so that nothing has happened yet where the call is made after all.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis import Block, End, Function
from ...isa import Instruction
from ...isa.uses import FPR_BIT, masks, reads_memory, writes_memory
from .no_wrap import may_leave

MAX_INSTRUCTIONS = 24
"""Of each of the two blocks; o32 functions save and restore at most ten registers."""


@dataclass(frozen=True)
class ShortWay:
    """`test` are the instructions that the branch at the end of `first` depends on, with their pcs; it leads to `last`
    when it is `taken`, or when it is not. `reads` and `writes` are register bits."""

    first: Block
    last: Block
    taken: bool
    test: tuple[tuple[int, Instruction], ...]
    reads: int
    writes: int


def find_short_way(function: Function) -> ShortWay | None:
    """Return the short way of a function, if it has one."""
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
            if may_leave(instruction.row) or (read | written) >> FPR_BIT:
                return None
            reads |= read & ~writes
            writes |= written
    return ShortWay(first, last, returns[0], test, reads, writes)


def _test(block: Block) -> tuple[tuple[int, Instruction], ...] | None:
    """Return what the branch of a block depends on in it; None if that takes accesses."""
    assert block.terminator is not None
    found: list[tuple[int, Instruction]] = []
    needed = masks(block.terminator, 0)[0]
    for index in range(len(block.body) - 1, -1, -1):
        instruction = block.body[index]
        read, written = masks(instruction, 0)
        if written & needed:
            if reads_memory(instruction.row) or writes_memory(instruction.row) or written >> 29 & 1:
                return None
            found.append((block.start + 4 * index, instruction))
            needed = needed & ~written | read
    return tuple(reversed(found))
