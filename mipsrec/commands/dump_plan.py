"""dump-plan: what was decided about functions before any IR is written."""

from __future__ import annotations

import argparse
import sys

from .. import pipeline
from ..lift.text import plan_text
from .arguments import add_function, add_inspected, add_level, add_models, named_functions, options_of
from .guest_files import open_program

DESCRIPTION = """\
Prints the plan of functions: what the passes of mipsrec/lift decided about each block and instruction, before LLVM IR
is written. What is the same in two plans is the same in the IR. docs/design/plan.md explains the lines; in short:

  00400724  27bdfff0  addiu sp, sp, -16   ; no-wrap; then-stores sp
      an instruction with its word; behind ` ; ` what is decided about it
  branch: saves v0 s1 sp; repeats
      how the block ends; `saves` are the registers that later blocks look for
  -> 0040078c: dirty s1 gp; stores s1; loads v0; safepoint
      a way on: what the state lacks, what goes there, what comes from there, and whether it looks for signals

  mipsrec dump-plan --function main prog.elf          of one function
  mipsrec dump-plan prog.elf                          of all
  mipsrec dump-plan --calls instrumented prog.elf     as mipsrec verify has it
  mipsrec dump-plan --after spin-loads prog.elf       as the passes up to this one leave it
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_inspected(parser)
    add_function(parser, "only these, by name, pattern or address (repeatable)")
    add_level(parser)
    add_models(parser)
    parser.add_argument("--after", metavar="PASS",
                        help='stop after this pass; "build": before the first (default: after the last)')  # fmt: skip


def main(arguments: argparse.Namespace) -> int:
    guest = open_program(arguments)
    names = named_functions(arguments)
    chosen = guest.functions_named(names) if names else None
    for symbol, plan in pipeline.plans(guest, options_of(arguments), chosen, arguments.after):
        sys.stdout.write(plan_text(plan, symbol))
    return 0
