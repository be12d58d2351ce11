"""Spin loads: loads that must not leave the loop that they are in.

Those are loads in a loop without calls, from an address that is the same in each iteration, be it made anew from what
does not change. LLVM may take such a load out of the loop, and a spin-wait on memory that a signal handler, or another
mapping, writes would never end. They are emitted as monotonic atomics, or volatile where they are floats of this byte
order: both stay.
"""

from __future__ import annotations

from ...analysis import Block, End, Function
from ...flow.loops import cycles
from ...isa import Instruction
from ...isa.uses import masks, reads_memory

_CALCULATIONS = frozenset(
    "lui addiu addu subu and andi or ori xor xori nor sll srl sra sllv srlv srav seb seh ext ins".split()
)
"""Give the same in each round if their operands are the same."""


def changing_masks(function: Function, order: list[int], fr: int) -> dict[int, int]:
    """Return, for each block inside a call-free loop, the bits of registers that change from round to round.

    A register that has other constants on other ways counts as one that does not.
    """
    result: dict[int, int] = {}
    successors: dict[int, list[int]] = {}
    for pc in order:
        block = function.blocks[pc]
        successors[pc] = [] if block.end in (End.CALL, End.SYSCALL) else function.successors(block)
    for component in cycles(order, successors):
        instructions = [instruction for pc in component for instruction in function.blocks[pc].instructions()]
        result.update(dict.fromkeys(component, _changing(instructions, fr)))
    return result


def _changing(instructions: list[Instruction], fr: int) -> int:
    """Return the bits of registers that a loop of these instructions changes."""
    written = others = 0  # by all instructions; by those that do not calculate
    operands: dict[int, int] = {}  # of the calculations of each register
    for instruction in instructions:
        read, bits = masks(instruction, fr)
        written |= bits
        if instruction.row.name in _CALCULATIONS:
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


def unmoved_loads(block: Block, changing: int, fr: int) -> set[int]:
    """Return the indices in body and slot of the loads from an address that is the same in each round.

    `changing` are registers that change, as at the block's start.
    """
    found = set()
    for index, instruction in enumerate(block.body_and_slot()):
        read, written = masks(instruction, fr)
        if reads_memory(instruction.row) and not changing >> instruction.rs & 1:
            found.add(index)
        if instruction.row.name in _CALCULATIONS and not read & changing:
            changing &= ~written
        else:
            changing |= written
    return found
