"""Partial inlining: a recursive function that tests its arguments and returns at once does so in place of the call.

Needs: the function's blocks.
Sets: `partial_inline`, and with it `CallSite.inlined` of calls of the function itself (build.py). The inlined path is
the block at the start and a return block.
Keeps: the instructions are those that the call would have executed, in their order. The branch between both blocks
alone decides, and what it depends on is computed first, from registers: neither accesses nor changes of sp. So nothing
has happened yet where the code makes the call after all. No instruction of the path traps or calls the host, or uses
floating-point registers.
Off when: the plan is not that of a body (saved_registers), the first branch is likely, both its blocks return or none
does, or a block of the path has more than MAX_INSTRUCTIONS.
"""

from __future__ import annotations

from ...analysis import Block, End, Function
from ...isa import Instruction
from ...isa.effects import FPR_BIT, effects, masks
from ...state import SP
from ..ir import PartialInline

MAX_INSTRUCTIONS = 24
"""Of each of the two blocks; o32 functions save and restore at most ten registers."""


def find_partial_inline(function: Function) -> PartialInline | None:
    """Return the inlined path of a function, if it has one."""
    first = function.blocks[function.start]
    if first.end is not End.BRANCH or first.delay_slot is None or first.target is None:
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
    needed, pcs = masks(block.terminator, 0)[0], block.pcs()
    for index in range(len(block.body) - 1, -1, -1):
        instruction = block.body[index]
        read, written = masks(instruction, 0)
        if written & needed:
            if effects(instruction.row).loads or effects(instruction.row).stores or written >> SP & 1:
                return None
            found.append((pcs[index], instruction))
            needed = needed & ~written | read
    return tuple(reversed(found))
