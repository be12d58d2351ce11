"""call: runs one function of a program with integer arguments."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from .. import pipeline
from ..analysis import Function
from ..errors import UsageError
from ..host_build import host_executable
from ..options import Options
from ..pipeline import Guest
from .arguments import add_build, add_program, add_sysroot, add_tier, options_of
from .guest_files import guest_file
from .progress import progress_bar
from .run import become_host, has_recompiled_code, if_room, kept_library, tier_of

DESCRIPTION = """\
Runs one function of a program as if it were called, without libc's start-up, and prints the registers that it changed.
Arguments are integers, decimal or hexadecimal with 0x: the first four go to a0 to a3, the others to the stack.

  mipsrec call prog.elf gcd 12 0x12
  mipsrec call --tier interp prog.elf gcd 12 18
  mipsrec call -L DIR dynamic-prog gcd 12 18

The dynamic linker of a dynamic program does not run, so a function that calls a library fails.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)
    add_sysroot(parser)
    add_build(parser)
    add_program(parser)
    parser.add_argument("function", metavar="FUNCTION", help="a name or an address")
    words = parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="INT", help="a0 to a3, then the stack")
    words.required = False  # else Python 3.11 says so


def reached(guest: Guest, function: Function) -> list[Function]:
    """Return a function and those that it reaches by calls that are known, without those that do not get lifted."""
    found, work = {function.start: function}, [function]
    while work:
        one = work.pop()
        for block in one.blocks.values():
            for target in (one.likely_target(block), block.target):
                callee = guest.program.functions.get(target) if target is not None else None
                if callee is not None and callee.start not in found:
                    found[callee.start] = callee
                    work.append(callee)
    return [found[start] for start in sorted(found) if start in guest.starts]


def _library(program: Path, guest: Guest, function: Function, options: Options) -> Path:
    """Return the library of the whole program, if there is one; else one of what the function reaches."""
    kept = kept_library(str(program), options)
    if kept is not None:
        return kept
    chosen = reached(guest, function)
    with progress_bar("build", len(chosen)) as progress:
        return pipeline.cached_library(guest, options, progress, chosen)


def main(arguments: argparse.Namespace) -> int:
    for text in arguments.arguments:
        if not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|[0-9]+)", text):
            raise UsageError(f"{text}: is not an integer; arguments are decimal, or hexadecimal with 0x")
        if not -(1 << 31) <= int(text, 16 if "x" in text.lower() else 10) < 1 << 32:
            raise UsageError(f"{text}: is not an integer of 32 bits")
    program = guest_file(arguments.program, arguments)
    guest = pipeline.open_guest(program)
    function = guest.function(arguments.function)
    words = ["--tier", tier_of(arguments)]
    if has_recompiled_code(arguments):
        library = if_room(lambda: _library(program, guest, function, options_of(arguments)))
        words += ["--library", str(library)] if library is not None else ["--cache", ""]
    if arguments.sysroot is not None:
        words += ["--sysroot", arguments.sysroot]
    words += ["--call", f"{function.start:x}", *arguments.arguments]
    return become_host(host_executable(), [*words, os.path.abspath(program)])  # its name may be a number
