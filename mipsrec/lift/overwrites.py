"""What functions overwrite: the registers that they write before they read them, on every way from their start.

Enters: a program. Leaves: their bits, by function. Nothing needs what a caller has in these registers, so it does not
store them for a direct call. All that may look elsewhere counts as a read: returns, jumps out of the function, calls of
what is not known, system calls, and instructions that may trap. Faults of accesses and safepoints do not: handlers see
the registers of recompiled code only as docs/design/faults.md says. A function that never returns overwrites all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import partial

from ..analysis import Block, End, Function, Program
from ..flow.solve import reads_and_writes
from ..isa import Instruction
from ..isa.effects import ALL_BITS, LAST_BIT, effects, masks
from .convention import CARRIED_BITS, calls_for_certain

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
    found, handed, masks_of = 0, dict[int, int](), partial(_looks_and_writes, fr=fr)
    unwritten = {function.start: ALL_BITS & ~KEPT}
    work = [function.start]
    while work:
        block = function.blocks[work.pop()]
        before = unwritten[block.start]
        read, written = reads_and_writes(block, masks_of)
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


def _looks_and_writes(instruction: Instruction, fr: int) -> tuple[int, int]:
    """Return the bits that an instruction reads, or other code where it may leave, and those that it writes."""
    reads, writes = masks(instruction, fr)
    return ALL_BITS if effects(instruction.row).may_leave else reads, writes


def _end(block: Block, lifted: Collection[int]) -> tuple[int, list[int]]:
    """Return what the end of a block reads itself, and where control surely goes on: at one of some pcs."""
    if block.end is End.CALL and block.target in lifted:
        assert block.target is not None
        return 0 if calls_for_certain(block) else ALL_BITS, [block.target]
    if block.end is End.FALL:
        return 0, [block.next_pc]
    if block.end in (End.BRANCH, End.JUMP) and block.target is not None:
        return 0, [block.target, block.next_pc] if block.end is End.BRANCH else [block.target]
    return ALL_BITS, []
