"""No-wrap inference: additions of constants that cannot wrap around, as their operand or result is a base.

Needs: the graph.
Sets: `Op.no_wrap` of `addiu`.
Keeps: the results, and what a handler can see. Guest memory lies between MR_LOWEST_GUEST and MR_USER_END (mr_abi.h):
0x10000 and 0x7fff0000. The base of an access that did not fault, with a displacement of 16 bits, is therefore from
0x8001 to 0x7fff7fff. Its sum with an immediate of 16 bits is positive as an i32, so it wraps neither signed nor
unsigned. An addition is marked if its operand has been such a base, or if its operand or result surely is one later in
its block. If that later access faults, no handler can make it good, and the frame is abandoned. So up to the access no
instruction may store what comes of the sum, nor leave the block: a handler would see it.
Off when: the memory model is not `flat`.

LLVM learns from it how often loops go around that step through memory, and that addresses do not wrap at 32 bits.
"""

from __future__ import annotations

from ...analysis import Block, End
from ...flow.graph import Graph
from ...flow.solve import Direction, Meet, solve
from ...isa.effects import added_constant, effects, masks, may_leave
from ..ir import FunctionPlan

_GPRS = (1 << 32) - 2


def _bases_and_writes(block: Block, fr: int) -> list[tuple[int, int]]:
    """Return, for each instruction, the bit of the base that it surely accesses memory by, and what it writes."""
    found = []
    for instruction in block.instructions():
        access = effects(instruction.row).access
        has_base = access is not None and access.is_based
        found.append((1 << instruction.rs if has_base else 0, masks(instruction, fr)[1]))
    return found


class KnownAddresses:
    """The general-purpose registers that are known to be bases of accesses, at the starts of the blocks of a graph."""

    def __init__(self, graph: Graph, fr: int) -> None:
        self._uses = {pc: _bases_and_writes(graph.blocks[pc], fr) for pc in graph.order}
        transfers = {pc: self._transfer(graph.blocks[pc]) for pc in graph.order}
        boundary = dict.fromkeys(graph.entries, 0)
        self._at_start = solve(graph, Direction.FORWARD, Meet.ALL, transfers, boundary)

    def _transfer(self, block: Block) -> tuple[int, int]:
        """Return the bits known at the end of a block whatever was known before, and those that stay known."""
        gained, kept = 0, _GPRS
        if block.end in (End.CALL, End.SYSCALL):
            return gained, 0
        for base, written in self._uses[block.start]:
            gained = (gained | base) & ~written
            kept &= ~written
        return gained, kept

    def no_wrap_additions(self, block: Block) -> set[int]:
        """Return the indices in body and slot of the `addiu` that do not wrap."""
        instructions = block.instructions()
        sums = {index for index, instruction in enumerate(instructions) if added_constant(instruction) is not None}
        found: set[int] = set()
        if not sums:
            return found
        known, uses = self._at_start[block.start], self._uses[block.start]
        for index, (base, written) in enumerate(uses):
            if index in sums and known >> instructions[index].rs & 1:
                found.add(index)
            known = (known | base) & ~written
        known = 0  # what is sure to be the base of an access later in the block
        for index in range(len(instructions) - 1, -1, -1):
            instruction, (base, written) = instructions[index], uses[index]
            does, above = effects(instruction.row), known & ~written
            if index in sums and (known >> instruction.rt | above >> instruction.rs) & 1:
                found.add(index)
            known = base if may_leave(instruction) or does.stores else above | base
        return {min(index, len(block.body)) for index in found}


def run(plan: FunctionPlan) -> None:
    """Mark the additions that do not wrap."""
    if plan.options.memory != "flat":
        return
    known = KnownAddresses(plan.graph, plan.options.fr)
    for block in plan.blocks.values():
        for index in known.no_wrap_additions(block.block):
            block.ops[index].no_wrap = True
