"""dump-llvm: the LLVM IR of a program, one file per function."""

from __future__ import annotations

import argparse
import sys

from .. import pipeline
from ..errors import LiftError
from .arguments import add_function, add_level, add_models, add_program, named_functions, options_of
from .progress import progress_bar

DESCRIPTION = """\
Writes the LLVM IR of a program's functions, one file each, with the guest's instructions in comments. `mipsrec build`
makes a library of the folder; in between, the files may be read, edited or passed through other tools of LLVM.

  mipsrec dump-llvm prog.elf -o DIR                   all functions, and an index of them
  mipsrec dump-llvm --function main prog.elf          one function, printed
  mipsrec dump-llvm --optimize prog.elf -o DIR        as LLVM's passes leave them
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument("-o", dest="output", metavar="DIR", help="write one .ll file per function and an index there")
    add_function(parser, "only these, by name, pattern or address (repeatable)")
    parser.add_argument("--optimize", action="store_true", help="as LLVM's pipeline leaves it, at --opt and --cpu")
    add_level(parser)
    add_models(parser)


def main(arguments: argparse.Namespace) -> int:
    guest = pipeline.open_guest(arguments.program)
    options = options_of(arguments)
    names = named_functions(arguments)
    chosen = guest.functions_named(names) if names else None
    if arguments.output is None:
        if chosen is None or len(chosen) != 1:
            raise LiftError(f"{arguments.program}: say where to with -o DIR, or name one function with --function")
        modules = pipeline.optimized_modules if arguments.optimize else pipeline.lifted_modules
        for _, text, _ in modules(guest, options, chosen):
            sys.stdout.write(text)
        return 0
    count = len(chosen) if chosen is not None else len(guest.starts)
    with progress_bar("dump-llvm", count) as progress:
        written = pipeline.dump_llvm(guest, arguments.output, options, chosen, arguments.optimize, progress)
    print(f"{arguments.output}: {written} functions")
    return 0
