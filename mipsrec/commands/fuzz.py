"""fuzz: a campaign of AFL++ on a program, and its crashes, sorted."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from .. import pipeline
from ..cache.folders import has_folder
from ..errors import MipsrecError, UsageError, WriteError, one_line
from ..files.temporary_folder import temporary_folder
from ..fuzzing import afl
from ..fuzzing.afl import INPUT, Target
from ..fuzzing.campaign import Plan, line_of, run_campaign
from ..fuzzing.findings import SORTED, opened
from ..fuzzing.triage import Index, sort_crashes
from ..options import Options
from .arguments import add_program, add_sysroot, number_from
from .closure import build_closure
from .guest_files import guest_file, sysroot_of
from .qemu_names import write_names

DESCRIPTION = """\
Finds inputs that crash a program. AFL++ (Debian: apt-get install afl++) makes the inputs, mipsrec runs the program.
First the program is recompiled with counters, so that AFL++ sees which inputs take new ways through it.

  mipsrec fuzz prog.elf                         the input is standard input
  mipsrec fuzz prog.elf -- -v @@                the input is a file, whose name stands where @@ is
  mipsrec fuzz prog.elf --seeds DIR -- @@       begins with the inputs in DIR: small and valid ones find more
  mipsrec fuzz prog.elf --seconds 600 --until-crash -- @@
  mipsrec fuzz prog.elf --entry main -- @@      what comes before main is done once, not for each input
  mipsrec fuzz httpd --desock 80 -- -f          the input is what a client of the service sends
  mipsrec fuzz prog.elf --triage -o DIR -- @@   only sorts the crashes that are in DIR, also those of afl-fuzz

It goes on until Ctrl-C, or as --seconds and --until-crash say. The same command goes on with what is in FINDINGS.
Crashes of one fault then share a folder, FINDINGS/crashes/SIGNAL-FUNCTION-NUMBER:
  input        the smallest input that was found, made smaller
  report.txt   how to see it, backtrace (if gdb-multiarch is installed), registers, instruction
  run.sh       runs the program with it
  inputs.txt   all inputs of the group

Exit status: 0 where FINDINGS has no crash, 3 where it has some; 1 and 2 for errors, as with all commands.
"""

CRASHES = 3
"""The exit status where there are crashes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", metavar="DIR",
                        help="inputs to begin with (default: one of a single byte)")  # fmt: skip
    parser.add_argument("-o", dest="findings", metavar="FINDINGS", default="findings",
                        help="the folder for what is found (default: findings); where it has a campaign of this "
                        "program, that goes on")  # fmt: skip
    parser.add_argument("--seconds", type=number_from(1), metavar="N", help="end after so long (default: at Ctrl-C)")
    parser.add_argument("--until-crash", action="store_true", help="end when an input crashes the program")
    parser.add_argument("--jobs", type=number_from(0), default=0, metavar="N",
                        help="fuzzers at a time, which share what they find (default, and 0: one per processor); the "
                        "last one looks at what the program compares (CMPLOG)")  # fmt: skip
    parser.add_argument("--entry", metavar="SYMBOL|ADDRESS",
                        help="the function at which each input begins: the program runs up to it once (default: the "
                        "program's entry); input that was read before does not change")  # fmt: skip
    parser.add_argument("--timeout", type=number_from(1), metavar="MS",
                        help="milliseconds that an input may take (default: AFL++ measures it)")  # fmt: skip
    parser.add_argument("--no-build", dest="build", action="store_false",
                        help="do not recompile first: the slower tiers run what is not in the cache")  # fmt: skip
    parser.add_argument("--check-memory", action="store_true",
                        help="a wrong access to the heap is a crash, as with `mipsrec run --check-memory`; runs no "
                        "recompiled code")  # fmt: skip
    parser.add_argument("--desock", metavar="PORT|any",
                        help="the input is the one connection of a service: of the TCP port that it listens at, or the "
                        "first, as with `mipsrec run --desock`")  # fmt: skip
    parser.add_argument("--triage", action="store_true", help="find nothing; sort the crashes that FINDINGS has")
    add_sysroot(parser)
    add_program(parser)
    parser.add_argument("words", metavar="ARG", nargs="*",
                        help=f"arguments of the program, {INPUT} for the input's file; options of it stand behind "
                        "`--`")  # fmt: skip
    parser.set_defaults(arguments=[])


def _entry_of(guest: pipeline.Guest, text: str) -> int:
    """Return the address, as it is in the file, of a function by its name, or of any instruction by its address."""
    if re.fullmatch("0x[0-9a-fA-F]{1,8}", text):
        return int(text, 16)
    return guest.function(text).start - guest.image.bias


def _target(arguments: argparse.Namespace) -> Target:
    """Return what is fuzzed; raises MipsrecError for what is no program."""
    program = guest_file(arguments.program, arguments)
    guest = pipeline.open_guest(program)
    entry = _entry_of(guest, arguments.entry) if arguments.entry is not None else None
    root = arguments.sysroot or os.environ.get("MIPSREC_SYSROOT") or None
    sysroot = str(sysroot_of(arguments).root) if root is not None else None
    words, checks = (*arguments.words, *arguments.arguments), arguments.check_memory or "AFL_USE_QASAN" in os.environ
    desock = arguments.desock or os.environ.get("MIPSREC_DESOCK") or None
    if desock is not None and not (desock == "any" or (desock.isdecimal() and 0 < int(desock) < 1 << 16)):
        raise UsageError(f"--desock {desock}: give the port that the service listens at (1 to 65535), or any")
    target = Target(Path(os.path.abspath(program)), words, sysroot, entry, checks, desock)
    if desock is not None and target.reads_file:
        raise UsageError(f"--desock gives the input to a connection, so {INPUT} stands for nothing; leave one out")
    return target


def _recompile(target: Target, arguments: argparse.Namespace) -> None:
    """Make code with counters, in the cache; without a cache the slower tiers run the program."""
    if not has_folder():
        return
    print(f"mipsrec: recompiling {one_line(str(target.program))} with counters (--no-build: without)", file=sys.stderr)
    arguments.covered = None  # the program alone counts
    try:
        build_closure([target.program], arguments, Options(cover=True))
    except WriteError as error:
        print(f"mipsrec: {one_line(str(error))}; going on without recompiled code", file=sys.stderr)


def _print_sorted(index: Index, folder: Path) -> int:
    """Print a line for each group; return the exit status."""
    for group in sorted(index.groups.values(), key=lambda one: -len(one.inputs)):
        print(one_line(f"{folder / SORTED / group.name}: {group.line()}"))
    if index.unseen:
        print(f"mipsrec: {len(index.unseen)} of the inputs that crashed did not crash again", file=sys.stderr)
    return CRASHES if index.groups or index.unseen else 0


def _check(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that exclude each other, MipsrecError where AFL++ is missing."""
    idle = (("--seeds", arguments.seeds), ("--seconds", arguments.seconds), ("--until-crash", arguments.until_crash))
    for option, given in idle:
        if arguments.triage and given:
            raise UsageError(f"--triage finds nothing, so {option} has nothing to do; give one of them")
    for tool in ("afl-fuzz", "afl-tmin"):
        afl.find(tool)


def main(arguments: argparse.Namespace) -> int:
    _check(arguments)
    target, folder = _target(arguments), Path(arguments.findings)
    with temporary_folder("mipsrec-fuzz-") as work:
        write_names(work / "names")
        variables = afl.environment(target, work / "names")
        if arguments.triage:
            return _print_sorted(sort_crashes(folder, target, variables, work), folder)
        seeds = Path(arguments.seeds) if arguments.seeds is not None else None
        with opened(folder, target, seeds) as findings:
            if findings.is_old:
                print(f"mipsrec: {one_line(str(folder))}: going on with the campaign there", file=sys.stderr)
            if arguments.build and not target.checks_memory:
                _recompile(target, arguments)
            jobs = arguments.jobs or len(os.sched_getaffinity(0))
            plan = Plan(jobs, arguments.seconds, arguments.timeout, arguments.until_crash)
            figures, seconds = run_campaign(findings, target, plan, variables)
            print(line_of(figures, seconds))
            if not findings.executed():
                raise MipsrecError(f"{folder}: no input was run before the end; give it more time")
            return _print_sorted(sort_crashes(folder, target, variables, work), folder)
