"""What functions overwrite: the registers that they write before they read them, on every way from their start.

Enters: a program. Leaves: their bits, by function. Nothing needs what a caller has in these registers, so it does not
store them for a direct call. All that may look elsewhere counts as a read: returns, jumps out of the function, calls of
what is not known, system calls, and instructions that may trap. Faults of accesses and safepoints do not: handlers see
the registers of recompiled code only as docs/design/faults.md says. A function that never returns overwrites all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from ..analysis import Block, End, Function, Program
from ..analysis.symbolic import constant_condition
from ..isa import Flow
from ..isa.effects import ALL_BITS, LAST_BIT, effects, masks
from .convention import CARRIED_BITS

KEPT = CARRIED_BITS | 1 << LAST_BIT
"""Never counted: what calls pass in host registers, and the record of the last instruction that computed."""


def overwritten(program: Program, lifted: Collection[int], fr: int) -> dict[int, int]:
    """Return the bits that each of the `lifted` functions overwrites, under Status.FR = `fr`.

    What is read is the least solution: functions that call one another in a circle read nothing for it alone.
    """
    reads, handed = dict[int, int](), dict[int, dict[int, int]]()
    callers: dict[int, list[int]] = defaultdict(list)
    for start in lifted:
        reads[start], handed[start] = _read_and_handed(program.functions[start], lifted, fr)
        for callee in handed[start]:
            callers[callee].append(start)
    work = list(lifted)
    while work:
        callee = work.pop()
        for caller in callers[callee]:
            more = reads[callee] & handed[caller][callee] & ~reads[caller]
            if more:
                reads[caller] |= more
                work.append(caller)
    return {start: ALL_BITS & ~(bits | KEPT) for start, bits in reads.items()}


def _read_and_handed(function: Function, lifted: Collection[int], fr: int) -> tuple[int, dict[int, int]]:
    """Return what a function reads as its caller has it, and what it hands to others so, by their starts.

    It follows what is not written yet from the start on, and so sees no block behind a call.
    """
    found, handed = 0, dict[int, int]()
    unwritten = {function.start: ALL_BITS & ~KEPT}
    work = [function.start]
    while work:
        block = function.blocks[work.pop()]
        before = unwritten[block.start]
        read, written = _reads_and_writes(block, fr)
        after = before & ~written
        read_at_end, targets = _end(block, lifted)
        found |= before & read | after & read_at_end
        for target in targets if after else ():
            if block.end is not End.CALL and target in function.blocks:
                if after & ~unwritten.get(target, 0):
                    unwritten[target] = unwritten.get(target, 0) | after
                    work.append(target)
            elif target in lifted:
                handed[target] = handed.get(target, 0) | after
            else:
                found |= after
    return found, handed


def _reads_and_writes(block: Block, fr: int) -> tuple[int, int]:
    """Return the bits that the instructions of a block read before they write them, and those that they write."""
    read = written = 0
    for instruction in block.instructions():
        reads, writes = masks(instruction, fr)
        if effects(instruction.row).may_leave:
            reads = ALL_BITS
        read |= reads & ~written
        written |= writes
    return read, written


def _end(block: Block, lifted: Collection[int]) -> tuple[int, list[int]]:
    """Return what the end of a block reads itself, and where control surely goes on: at one of some pcs."""
    if block.end is End.CALL and block.target in lifted:
        assert block.terminator is not None and block.target is not None
        may_skip = block.terminator.row.flow is Flow.BRANCH and constant_condition(block.terminator) is None
        return ALL_BITS if may_skip else 0, [block.target]
    if block.end is End.FALL:
        return 0, [block.next_pc]
    if block.end in (End.BRANCH, End.JUMP) and block.target is not None:
        return 0, [block.target, block.next_pc] if block.end is End.BRANCH else [block.target]
    return ALL_BITS, []
