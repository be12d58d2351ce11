"""Needed registers: those that some way reads before it writes them.

Needs: the graph, the units, and what calls pass. `build.py` finds them before the passes run.
Sets: for each block, the registers that are needed at its start and at its end.
Keeps: a register that is not needed may have any value in the state, since no code looks there before it is written.
All that may look elsewhere counts as a read: calls, but for what the callee overwrites, returns, jumps out of the
function, system calls, and instructions that may trap. Faults of accesses and safepoints do not: handlers see the
registers of recompiled code only as docs/design/faults.md says. What they see of an access or a call that a landing pad
guards, or of an access that the host performs, is exact, so these read.
Off when: calls are `instrumented`. Then all registers are needed everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis import Block, End
from ...flow.graph import Graph
from ...flow.solve import Direction, Meet, reads_and_writes, solve
from ...isa import Instruction
from ...isa.effects import ALL_BITS, effects, may_leave
from ..convention import CARRIED_BITS, SAVED_BITS, SP_BIT, Convention, calls_for_certain
from ..units import Units


@dataclass(frozen=True)
class Needed:
    """Register bits by block. Nothing is known of other pcs: there, all are needed."""

    at_start: dict[int, int]
    at_end: dict[int, int]

    def at(self, pc: int) -> int:
        """Return what is needed at the start of a block."""
        return self.at_start.get(pc, ALL_BITS)

    def after(self, pc: int) -> int:
        """Return what is needed after the instructions of a block."""
        return self.at_end.get(pc, ALL_BITS)


ALL_NEEDED = Needed({}, {})


def find_needed(graph: Graph, units: Units, convention: Convention) -> Needed:
    """Return what the blocks of a function need."""
    options = convention.options
    if options.calls == "instrumented":
        return ALL_NEEDED
    looked_at = SAVED_BITS if graph.function.guarded else 0
    if options.memory != "flat":
        looked_at |= CARRIED_BITS

    def masks_of(instruction: Instruction) -> tuple[int, int]:
        does = effects(instruction.row)
        reads, writes = units.masks(instruction)
        if may_leave(instruction):
            return ALL_BITS, writes
        return reads | (looked_at if does.loads or does.stores else 0), writes

    inside = frozenset(graph.order)
    ends = {pc: _end(graph.blocks[pc], graph, convention, inside) for pc in graph.order}
    transfers = {}
    for pc, (read_at_end, kept_at_end) in ends.items():
        read, written = reads_and_writes(graph.blocks[pc], masks_of)
        transfers[pc] = read | read_at_end & ~written | SP_BIT, kept_at_end & ~written
    at_start = solve(graph, Direction.BACKWARD, Meet.ANY, transfers, {})
    at_end = {}
    for pc, (read_at_end, kept_at_end) in ends.items():
        at_end[pc] = read_at_end | SP_BIT
        for successor in graph.successors[pc]:
            at_end[pc] |= at_start[successor] & kept_at_end
    return Needed(at_start, at_end)


def _end(block: Block, graph: Graph, convention: Convention, inside: frozenset[int]) -> tuple[int, int]:
    """Return what other code reads where control leaves the function at the end of a block, and what of that which the
    next blocks need has been there before it."""
    if block.end is End.CALL:
        to = convention.destination(block.target, graph.function.guesses.get(block.terminator_pc))
        if not calls_for_certain(block) or to.guess is not None:
            return ALL_BITS, ALL_BITS
        needless = convention.needless(to)
        read = ALL_BITS & ~(convention.ignored(to, block) if block.next_pc in inside else needless)
        return read | (SAVED_BITS if graph.function.guarded else 0), ~needless
    if block.end not in (End.FALL, End.JUMP, End.BRANCH):
        return ALL_BITS, ALL_BITS
    read = 0
    for pc in _targets(block):
        if pc not in inside:
            read |= ALL_BITS & ~(convention.needless(convention.destination(pc)) if pc is not None else 0)
    return read, ALL_BITS


def _targets(block: Block) -> Iterator[int | None]:
    """Yield where control goes on at the end of a block."""
    if block.end in (End.FALL, End.BRANCH):
        yield block.next_pc
    if block.end in (End.JUMP, End.BRANCH):
        yield block.target
