"""Trapping loads: loads that LLVM might drop together with the fault they may raise.

Needs: the graph.
Sets: `Op.volatile` of loads.
Keeps: a load stays, with its fault, if on some path from it its register is written before an instruction reads it, or
the function calls or returns first (docs/limits.md, Faults). That calls and returns store the register to the state
keeps no load: where LLVM inlines the caller or the callee, it sees whether anything reads that. In a copy all accesses
stay but those by sp, to a frame that has just been stored to.
Off when: never. A load by sp or fp does not count, since a function has stored what it loads from its own frame. Nor
does a load whose value only computes what nobody reads: code does not depend on such a load.
"""

from __future__ import annotations

from ...analysis import Block, End
from ...flow.graph import Graph
from ...flow.solve import Direction, Meet, solve
from ...isa import Instruction
from ...isa.effects import ALL_BITS, effects, masks
from ...state import FP, SP
from ..ir import FunctionPlan

_LEAVING = (End.CALL, End.RETURN)
_BRANCHING = (End.FALL, End.BRANCH, End.JUMP, End.INDIRECT)
_FRAME = (SP, FP)


def _may_fault(instruction: Instruction) -> bool:
    """Return whether an instruction loads by another register than sp and fp."""
    return effects(instruction.row).loads and instruction.rs not in _FRAME


class NeededRegisters:
    """For places in the blocks of a graph, the register bits that every way from there reads before it writes them."""

    def __init__(self, graph: Graph, fr: int) -> None:
        self._graph = graph
        self._fr = fr
        transfers = {pc: self._transfer(graph.blocks[pc]) for pc in graph.order}
        self._at_start = solve(graph, Direction.BACKWARD, Meet.ALL, transfers, {})

    def _transfer(self, block: Block) -> tuple[int, int]:
        """Return the bits needed before a block whatever is needed after it, and those needed if they are after it.

        Where the host is called at its end, that needs all.
        """
        read = written = 0
        for instruction in block.instructions():
            reads, writes = masks(instruction, self._fr)
            read |= reads & ~written
            written |= writes
        known = self._known_after(block)
        return (read, ~written) if known is None else (read | known & ~written, 0)

    def _known_after(self, block: Block) -> int | None:
        """Return the bits needed at the end of a block, where that does not depend on those that follow."""
        if block.end in _BRANCHING:
            return None
        return 0 if block.end in _LEAVING else ALL_BITS

    def _above(self, instruction: Instruction, needed: int) -> int:
        read, written = masks(instruction, self._fr)
        return needed & ~written | read

    def _after(self, block: Block) -> int:
        """Return the bits needed at the end of a block."""
        known, successors = self._known_after(block), self._graph.successors[block.start]
        if known is not None:
            return known
        needed = ALL_BITS if successors else 0
        for successor in successors:
            needed &= self._at_start[successor]
        return needed

    def _before_end(self, block: Block) -> int:
        """Return the bits needed before the terminator and its delay slot."""
        needed = self._after(block)
        if block.delay_slot is not None:
            needed = self._above(block.delay_slot, needed)
        return needed if block.terminator is None else self._above(block.terminator, needed)

    def loads_to_keep(self, block: Block) -> set[int]:
        """Return the indices in body and slot of the loads to keep."""
        found: set[int] = set()
        body, slot = block.body, block.delay_slot
        if slot is not None and _may_fault(slot) and not masks(slot, self._fr)[1] & self._after(block):
            found.add(len(body))
        if any(effects(instruction.row).loads for instruction in body):
            needed = self._before_end(block)
            for index in range(len(body) - 1, -1, -1):
                read, written = masks(body[index], self._fr)
                if not written & needed and _may_fault(body[index]):
                    found.add(index)
                needed = needed & ~written | read
        return found


def run(plan: FunctionPlan) -> None:
    """Mark the loads to keep."""
    needed = NeededRegisters(plan.graph, plan.options.fr)
    for block in plan.blocks.values():
        for index in needed.loads_to_keep(block.block):
            block.ops[index].volatile = True
