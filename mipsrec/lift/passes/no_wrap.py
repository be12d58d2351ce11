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
from ...isa import Instruction
from ...isa.effects import added_constant, effects, masks
from ..ir import FunctionPlan

_GPRS = (1 << 32) - 2


def _has_base(instruction: Instruction) -> bool:
    """Return whether an instruction accesses memory at imm(rs)."""
    access = effects(instruction.row).access
    return access is not None and access.is_based


class KnownAddresses:
    """The general-purpose registers that are known to be bases of accesses, at the starts of the blocks of a graph."""

    def __init__(self, graph: Graph, fr: int) -> None:
        self._fr = fr
        effects_of = {pc: self._effect(graph.blocks[pc]) for pc in graph.order}
        boundary = dict.fromkeys(graph.entries, 0)
        self._at_start = solve(graph, Direction.FORWARD, Meet.ALL, effects_of, boundary)

    def _after(self, instruction: Instruction, known: int) -> int:
        if _has_base(instruction):
            known |= 1 << instruction.rs
        return known & ~masks(instruction, self._fr)[1]

    def _effect(self, block: Block) -> tuple[int, int]:
        """Return the bits known at the end of a block whatever was known before, and those that stay known."""
        gained, kept = 0, _GPRS
        if block.end in (End.CALL, End.SYSCALL):
            return gained, 0
        annulled = block.annulled
        for instruction in block.instructions():
            if instruction is annulled:
                gained &= ~masks(instruction, self._fr)[1]
            else:
                gained = self._after(instruction, gained)
            kept &= ~masks(instruction, self._fr)[1]
        return gained, kept

    def no_wrap_additions(self, block: Block) -> set[int]:
        """Return the indices in body and slot of the `addiu` that do not wrap."""
        instructions = block.instructions()
        sums = {index for index, instruction in enumerate(instructions) if added_constant(instruction) is not None}
        found: set[int] = set()
        if not sums:
            return found
        known = self._at_start[block.start]
        for index, instruction in enumerate(instructions):
            if index in sums and known >> instruction.rs & 1:
                found.add(index)
            known = self._after(instruction, known)
        known = 0  # what is sure to be the base of an access later in the block
        instructions = block.always_run()
        for index in range(len(instructions) - 1, -1, -1):
            instruction = instructions[index]
            does, above = effects(instruction.row), known & ~masks(instruction, self._fr)[1]
            if index in sums and (known >> instruction.rt | above >> instruction.rs) & 1:
                found.add(index)
            known = 0 if does.may_leave or does.stores else above
            if _has_base(instruction):
                known |= 1 << instruction.rs
        return {min(index, len(block.body)) for index in found}


def run(plan: FunctionPlan) -> None:
    """Mark the additions that do not wrap."""
    if plan.options.memory != "flat":
        return
    known = KnownAddresses(plan.graph, plan.options.fr)
    for _, block in plan.all_blocks():
        for index in known.no_wrap_additions(block.block):
            block.ops[index].no_wrap = True
