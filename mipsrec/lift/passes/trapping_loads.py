"""Loads that LLVM might drop together with the fault they may raise: those whose value no instruction reads.

The rule: a load stays when on some way from it its register is written before an instruction of the function reads it,
or the function calls or returns first. Such a load is emitted volatile. That calls and returns store the register to
the state does not keep it: where LLVM copies the caller or the callee, it sees whether anything reads that. Loads by sp
and fp go without: what a function loads of its own frame it has stored there. A load whose readers all compute what
nobody reads may still vanish: code that reads a value for nothing does not depend on it.
"""

from __future__ import annotations

from ...analysis import Block, End, Function
from ...flow.loops import predecessors_of
from ...isa import Instruction
from ...isa.uses import ALL_BITS, masks, reads_memory

_LEAVING = (End.CALL, End.RETURN)
_BRANCHING = (End.FALL, End.BRANCH, End.JUMP, End.INDIRECT)
_FRAME = (29, 30)


def _may_fault(instruction: Instruction) -> bool:
    """Return whether an instruction loads by another register than sp and fp."""
    return reads_memory(instruction.row) and instruction.rs not in _FRAME


class NeededRegisters:
    """For places in the blocks of `order`, the register bits that every way from there reads before it writes them."""

    def __init__(self, function: Function, fr: int, order: list[int]) -> None:
        self._fr = fr
        self._at_start = dict.fromkeys(order, ALL_BITS)
        self._successors = {pc: function.successors(function.blocks[pc]) for pc in order}
        predecessors = predecessors_of(self._successors)
        summaries = {pc: self._summary(function.blocks[pc]) for pc in order}
        work = list(order)
        while work:
            pc = work.pop()
            block, (read, kept) = function.blocks[pc], summaries[pc]
            needed = (self._before_end(block) if block.is_likely else self.after_slot(block)) & kept | read
            if needed != self._at_start[pc]:
                self._at_start[pc] = needed
                work += predecessors[pc]

    def _summary(self, block: Block) -> tuple[int, int]:
        """Return the bits read before they are written, and those not written; without a slot that may not run."""
        read = written = 0
        for instruction in block.body if block.is_likely else block.instructions():
            reads, writes = masks(instruction, self._fr)
            read |= reads & ~written
            written |= writes
        return read, ~written

    def _above(self, instruction: Instruction, needed: int) -> int:
        read, written = masks(instruction, self._fr)
        return needed & ~written | read

    def after_slot(self, block: Block) -> int:
        """Return the bits needed after the delay slot; all where the host is called."""
        if block.end not in _BRANCHING:
            return 0 if block.end in _LEAVING else ALL_BITS
        if block.is_likely:
            return self._at_start.get(block.target or 0, 0)
        needed = ALL_BITS if self._successors[block.start] else 0
        for successor in self._successors[block.start]:
            needed &= self._at_start[successor]
        return needed

    def _before_end(self, block: Block) -> int:
        """Return the bits needed before the terminator and its delay slot."""
        needed = self.after_slot(block)
        if block.delay_slot is not None:
            needed = self._above(block.delay_slot, needed)
        if block.terminator is None:
            return needed
        if block.is_likely:
            needed &= self._at_start.get(block.next_pc, 0)
        return self._above(block.terminator, needed)

    def dead_loads(self, block: Block) -> set[int]:
        """Return the indices in body and slot of the loads to keep."""
        found: set[int] = set()
        body, slot = block.body, block.delay_slot
        if slot is not None and _may_fault(slot) and not masks(slot, self._fr)[1] & self.after_slot(block):
            found.add(len(body))
        if any(reads_memory(instruction.row) for instruction in body):
            needed = self._before_end(block)
            for index in range(len(body) - 1, -1, -1):
                read, written = masks(body[index], self._fr)
                if not written & needed and _may_fault(body[index]):
                    found.add(index)
                needed = needed & ~written | read
        return found
