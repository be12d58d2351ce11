"""A block as lines of assembly, for every command that shows some."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from ..analysis import Block, Function
from ..isa.disassembly import disassemble
from ..pipeline import Guest


def block_lines(guest: Guest, function: Function, block: Block) -> Iterator[tuple[int, int, str]]:
    """Yield (pc, word, assembly) of a block, calls and jumps with the names of their targets."""
    for pc, instruction in zip(count(block.start, 4), block.instructions()):
        text = disassemble(instruction, pc)
        if instruction is block.terminator:
            target = function.likely_target(block)
            name = guest.program.names.get(target) if target is not None else None
            text += f"  # {name}" if name else ""
        yield pc, instruction.word, text
