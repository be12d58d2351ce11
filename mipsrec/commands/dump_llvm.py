"""dump-llvm: the LLVM IR of a program, as one module or one file per function."""

from __future__ import annotations

import argparse
import sys

from .. import pipeline
from ..analysis import Function
from ..errors import one_line
from ..options import Options
from .arguments import add_function, add_inspected, add_jobs, add_level, add_models, named_functions, options_of
from .guest_files import open_program
from .progress import printing, progress_bar

DESCRIPTION = """\
Prints the LLVM IR of a program as one module, with the guest's instructions in comments, for you and for LLVM's tools.
With -o it writes one file for each function: `mipsrec build DIR` makes a library of these, and in between they may be
edited. The text is for LLVM 16 and newer: Debian 12's llvm-as is of LLVM 14 and rejects it; llvm-as-16 reads it. With
--optimize, it is for the LLVM of llvmlite and newer.

  mipsrec dump-llvm prog.elf                          the whole program, on standard output
  mipsrec dump-llvm --function main prog.elf          one function of it
  mipsrec dump-llvm --optimize prog.elf | less        as LLVM's passes leave it
  mipsrec dump-llvm prog.elf -o DIR                   one file per function and an index, for mipsrec build
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_inspected(parser)
    parser.add_argument("-o", dest="output", metavar="DIR",
                        help="write one .ll file per function and an index there, for mipsrec build DIR (default: one "
                        "module on standard output)")  # fmt: skip
    add_function(parser, "only these, by name, pattern or address (repeatable)")
    parser.add_argument("--optimize", action="store_true", help="as LLVM's pipeline leaves it, at --opt and --cpu")
    add_level(parser)
    add_jobs(parser)
    add_models(parser)


def main(arguments: argparse.Namespace) -> int:
    guest = open_program(arguments)
    options = options_of(arguments)
    names = named_functions(arguments)
    chosen = guest.functions_named(names) if names else None
    if arguments.output is None:
        _print(guest, options, chosen, arguments.optimize)
        return 0
    with progress_bar("dump-llvm", _count(guest, chosen)) as progress:
        written = pipeline.dump_llvm(guest, arguments.output, options, chosen, arguments.optimize, progress)
    print(f"{one_line(arguments.output)}: {written} functions")
    return 0


def _count(guest: pipeline.Guest, chosen: list[Function] | None) -> int:
    return len(chosen) if chosen is not None else len(guest.starts)


def _print(guest: pipeline.Guest, options: Options, chosen: list[Function] | None, optimize: bool) -> None:
    """Print one module, each function as soon as it is there."""
    with progress_bar("dump-llvm", _count(guest, chosen)) as progress:
        for part in pipeline.llvm_module(guest, options, chosen, optimize, progress):
            with printing():
                sys.stdout.write(part)
