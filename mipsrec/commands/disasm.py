"""disasm: the functions of a program, block by block."""

from __future__ import annotations

import argparse

from ..analysis import Block, Function
from ..isa.disassembly import encoding_text
from .arguments import add_function, add_inspected, named_functions
from .guest_files import open_program

DESCRIPTION = """\
Prints the functions that analysis found, with their basic blocks. Each block says how it ends and which blocks may
follow; calls and jumps have the names of their targets.

  mipsrec disasm prog.elf                    all functions
  mipsrec disasm --function main prog.elf    one of them
  mipsrec disasm --function 'str*' prog.elf  those of a shell pattern
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_inspected(parser)
    add_function(parser, "only these, by name, pattern or address (repeatable)")


def main(arguments: argparse.Namespace) -> int:
    guest = open_program(arguments)
    names = named_functions(arguments)
    functions = guest.functions_named(names) if names else list(guest.program.functions.values())
    for function in functions:
        print(f"\n{function.start:08x} <{function.name}>:")
        for pc in sorted(function.blocks):
            block = function.blocks[pc]
            slot = f"slot of {block.slot_of:08x}, " if block.slot_of is not None else ""
            print(f"  block {pc:08x}  # {slot}{_ends(function, block)}{', entry' if pc in function.entries else ''}")
            for at, instruction, text in guest.block_lines(function, block):
                print(f"    {at:08x}: {encoding_text(instruction)}  {text}")
    return 0


def _ends(function: Function, block: Block) -> str:
    successors = ", ".join(f"{pc:08x}" for pc in function.successors(block))
    return f"{block.end.value}{' -> ' + successors if successors else ''}"
