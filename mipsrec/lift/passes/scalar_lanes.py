"""Scalar lanes: instructions of the DSP module as scalars, in loops that LLVM may vectorize.

Needs: the graph.
Sets: `Op.scalar_lanes` of instructions that compute with several numbers of a register.
Keeps: everything. Both forms give the same bits; rows say what each number becomes (isa/meaning.py, LaneOperations).
Off when: never.

LLVM's loop vectorizer takes scalars only: it performs several iterations at once, with many numbers in a register. It
can do so in a loop of one block that accesses memory where a register is that steps by a constant, or stays. Elsewhere
a vector of two or four numbers is faster.
"""

from __future__ import annotations

from ...analysis import Block
from ...architecture import DSP, DSP2
from ...flow.graph import Graph
from ...isa import Instruction
from ...isa.effects import added_constant, effects, masks, may_leave
from ..ir import FunctionPlan


def _steps(instructions: list[Instruction], fr: int) -> int:
    """Return the bits of the registers that nothing writes but one addition of a constant to themselves."""
    written = stepped = 0
    for instruction in instructions:
        bits = masks(instruction, fr)[1]
        is_step = added_constant(instruction) is not None and instruction.rs == instruction.rt
        stepped = (stepped | bits if is_step else stepped & ~bits) & ~(written & bits)
        written |= bits
    return ~written | stepped


def may_be_vectorized(graph: Graph, block: Block, fr: int) -> bool:
    """Return whether a block is a loop of its own whose accesses walk through memory by constant steps."""
    if block.start not in graph.successors[block.start]:
        return False
    instructions = block.instructions()
    walking = _steps(instructions, fr)
    for instruction in instructions:
        does = effects(instruction.row)
        if may_leave(instruction):
            return False
        if does.loads or does.stores:
            is_based = does.access is not None and does.access.is_based and not does.access.part
            if not is_based or not walking >> instruction.rs & 1:
                return False
    return True


def run(plan: FunctionPlan) -> None:
    """Mark the instructions of the DSP module in such loops."""
    for block in plan.blocks.values():
        found = [op for op in block.ops if op.instruction.row.module in (DSP, DSP2)]
        if found and may_be_vectorized(plan.graph, block.block, plan.options.fr):
            for op in found:
                op.scalar_lanes = True
