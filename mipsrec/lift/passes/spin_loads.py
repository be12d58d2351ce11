"""Spin loads: loads that must not leave the loop that they are in.

Needs: the graph.
Sets: `Op.spin` of loads, and `changing`: the registers that the iterations of a loop without calls change.
Keeps: a load in a loop without calls, from an address that is the same in each iteration, is performed in each. LLVM
might else take it out of the loop (its reference allows that for what is neither atomic nor volatile), and a wait for
another thread, a handler or another mapping would never end. An address is the same if all that makes it is: a register
that is computed anew from registers that do not change counts as one that does not.
Off when: never. A load in a loop with calls needs nothing: LLVM takes a call to change all memory.

`emit/` writes these loads as monotonic atomics, or volatile if they are floats of this byte order.
"""

from __future__ import annotations

from ...analysis import Block, End
from ...flow.graph import Graph, cycles
from ...isa import Instruction
from ...isa.effects import effects, masks
from ..ir import FunctionPlan


def changing_masks(graph: Graph, fr: int) -> dict[int, int]:
    """Return, for each block inside a call-free loop, the bits of registers that change from iteration to iteration.

    A register that has other constants on other ways counts as one that does not.
    """
    result: dict[int, int] = {}
    if not graph.cycles:
        return result
    calls = (End.CALL, End.SYSCALL)
    successors = {pc: [] if graph.blocks[pc].end in calls else graph.successors[pc] for pc in graph.order}
    for component in cycles(graph.order, successors):
        instructions = [instruction for pc in component for instruction in graph.blocks[pc].instructions()]
        result.update(dict.fromkeys(component, _changing(instructions, fr)))
    return result


def _changing(instructions: list[Instruction], fr: int) -> int:
    """Return the bits of registers that a loop of these instructions changes."""
    written = others = 0  # by all instructions; by those that do not calculate
    operands: dict[int, int] = {}  # of the calculations of each register
    for instruction in instructions:
        read, bits = masks(instruction, fr)
        written |= bits
        if effects(instruction.row).is_pure:
            operands[bits] = operands.get(bits, 0) | read
        else:
            others |= bits
    changing, before = written, 0
    while changing != before:
        before = changing
        for bits, read in operands.items():
            if not bits & others and not read & changing:
                changing &= ~bits
    return changing


def spin_loads(block: Block, changing: int, fr: int) -> set[int]:
    """Return the indices in body and delay slot of the loads from an address that is the same in each iteration.

    `changing` are registers that change, as at the block's start.
    """
    found = set()
    for index, instruction in enumerate(block.body_and_slot()):
        read, written = masks(instruction, fr)
        if effects(instruction.row).loads and not changing >> instruction.rs & 1:
            found.add(index)
        if effects(instruction.row).is_pure and not read & changing:
            changing &= ~written
        else:
            changing |= written
    return found


def run(plan: FunctionPlan) -> None:
    """Mark the loads that stay in their loop."""
    plan.changing = changing = changing_masks(plan.graph, plan.options.fr)
    for pc, block in plan.blocks.items():
        if pc in changing:
            for index in spin_loads(block.block, changing[pc], plan.options.fr):
                block.ops[index].spin = True
