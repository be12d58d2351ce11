"""What functions overwrite, and what they ignore: registers that they never read as their caller has them.

Enters: a program. Leaves: their bits, by function. A function overwrites a register that it writes on every way from
its start, before anything reads it. It ignores one that it may also leave as it is. Nothing needs what a caller has in
a register that is overwritten, so it does not store that for a direct call; nor one that is ignored, if the caller does
not need it after the call (facts/needed.py).

All that may look elsewhere counts as a read: jumps out of the function, calls of what is not known, system calls, and
instructions that may trap. Faults of accesses and safepoints do not: handlers see the registers of recompiled code only
as docs/design/faults.md says. A return hands on what is not overwritten; for what is ignored it counts as a read if the
function writes ra, since it may then lead elsewhere than to the caller. A function that never returns overwrites all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache, partial

from ..analysis import Block, End, Function, Program
from ..flow.solve import reads_and_writes
from ..isa import Instruction
from ..isa.effects import ALL_BITS, FPR_BIT, LAST_BIT, effects, masks, may_leave
from .convention import CARRIED_BITS, RA_BIT, calls_for_certain, links_to_next

KEPT = CARRIED_BITS | 1 << LAST_BIT
"""Never counted: what calls pass in host registers, and the record of the last instruction that computed."""


def overwritten(program: Program, lifted: Collection[int], fr: int) -> dict[int, int]:
    """Return the bits that each of the `lifted` functions overwrites, under Status.FR = `fr`."""
    return _never_read(program, lifted, fr, None)


def ignored(program: Program, overwrites: Mapping[int, int], fr: int) -> dict[int, int]:
    """Return the bits that each lifted function ignores, among them those that it `overwrites`."""
    return _never_read(program, overwrites, fr, overwrites)


def returns_to_caller(function: Function) -> bool:
    """Return whether the returns of a function lead to its caller: it never writes ra.

    What loads ra may find anything in its place: a function may change its own return address there.
    """
    blocks = function.blocks.values()
    return not any(masks(one, 0)[1] & RA_BIT for block in blocks for one in block.instructions())


def _never_read(
    program: Program, lifted: Collection[int], fr: int, overwrites: Mapping[int, int] | None
) -> dict[int, int]:
    """Return the bits of the registers that nobody reads as the callers of each of the `lifted` functions have them.

    Returns count as reads of all where it is not known yet what functions overwrite.
    What is read is the least solution: functions that call one another in a circle read nothing for it alone.
    """
    reads, handed = dict[int, int](), dict[int, dict[int, int]]()
    callers: dict[int, list[int]] = defaultdict(list)
    for start in lifted:
        reads[start], handed[start] = _read_and_handed(program.functions[start], lifted, fr, overwrites)
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


def _read_and_handed(
    function: Function, lifted: Collection[int], fr: int, overwrites: Mapping[int, int] | None
) -> tuple[int, dict[int, int]]:
    """Return what a function reads as its caller has it, and what it hands to others so, by their starts.

    It follows what is not written yet from the start on. It sees no block behind a call if returns count as reads: then
    so does a callee that may leave a register as it is.
    """
    counts_returns = overwrites is None or not returns_to_caller(function)
    found, handed, masks_of = 0, dict[int, int](), partial(_looks_and_writes, fr)
    unwritten = {function.start: ALL_BITS & ~KEPT}
    work = [function.start]
    while work:
        block = function.blocks[work.pop()]
        before = unwritten[block.start]
        read, written = reads_and_writes(block, masks_of)
        after = before & ~written
        read_at_end, called, targets = _end(block, lifted, counts_returns)
        found |= before & read | after & read_at_end
        if called is not None:
            handed[called] = handed.get(called, 0) | after
            after &= ~overwrites[called] if overwrites is not None else 0  # what it leaves as it is
            found |= after if not links_to_next(block) else 0
        for target in targets if after else ():
            if target in function.blocks:
                if after & ~unwritten.get(target, 0):
                    unwritten[target] = unwritten.get(target, 0) | after
                    work.append(target)
            elif target in lifted:
                handed[target] = handed.get(target, 0) | after
                found |= after & ~overwrites[target] if overwrites is not None and counts_returns else 0
            else:
                found |= after
    return found, handed


@cache  # the same words stand in many places, and have one Instruction (isa.decode)
def _looks_and_writes(fr: int, instruction: Instruction) -> tuple[int, int]:
    """Return the bits that an instruction reads, or other code where it may leave, and those that it writes."""
    reads, writes = whole_masks(instruction, fr)
    return ALL_BITS if may_leave(instruction) else reads, writes


def whole_masks(instruction: Instruction, fr: int) -> tuple[int, int]:
    """Return the bits that an instruction reads, and those of the registers that it writes as a whole.

    Under Status.FR = 1, a single or one half of a double is a part of its register.
    """
    reads, writes = masks(instruction, fr)
    if fr and writes >> FPR_BIT:
        for use in effects(instruction.row).writes:
            if use.kind in ("single", "high"):
                number = use.field if isinstance(use.field, int) else getattr(instruction, use.field)
                writes &= ~(1 << FPR_BIT + number)
    return reads, writes


def _end(block: Block, lifted: Collection[int], counts_returns: bool) -> tuple[int, int | None, list[int]]:
    """Return what the end of a block reads itself, what it calls, and the pcs at one of which control goes on then."""
    if block.end is End.CALL and block.target in lifted:
        return 0 if calls_for_certain(block) else ALL_BITS, block.target, [block.next_pc]
    if block.end is End.FALL:
        return 0, None, [block.next_pc]
    if block.end in (End.BRANCH, End.JUMP) and block.target is not None:
        return 0, None, [block.target, block.next_pc] if block.end is End.BRANCH else [block.target]
    return ALL_BITS if counts_returns or block.end is not End.RETURN else 0, None, []
