"""profile: runs a program with samples taken, or reads a profile, and shows where the time went."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TextIO

from .. import pipeline, profiles
from ..errors import ProfileError, UsageError, one_line
from ..files.temporary_folder import temporary_folder
from ..guest import guest_in
from ..host_build import host_executable
from ..profile_report import chosen_functions, make_report, report_data, report_text
from . import profile_mix
from .arguments import add_function, add_library, add_profile_rate, add_run, add_tier, named_functions, number_from
from .guest_files import open_program, sysroot_of
from .host_process import run_to_end
from .run import guest_words, host_words

DESCRIPTION = """\
Runs a program, taking samples of where it spends its processor time, and shows the functions with most of them, and
the instructions of the hottest, block by block. Threads and forked children count; programs that it executes do not.
What it shows goes to standard error, since standard output is the program's; with --from, to standard output.

  mipsrec profile prog.elf ARG...                  run it and show where the time went
  mipsrec profile -o out.prof prog.elf ARG...      and keep the samples, for build --use-profile
  mipsrec profile --from out.prof                  show samples that were kept
  mipsrec profile --from out.prof prog.elf         the same, where the program is another place now
  mipsrec profile --from out.prof --function f --json

A program that runs until it is interrupted may be: Ctrl-C ends it, and the samples are shown. A sample is of the guest
instruction that the host's came from, or, where none is, of one beside it. Exit status: the program's own.

""" + profile_mix.DESCRIPTION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="source", metavar="FILE", help="show this profile; the program is not run")
    parser.add_argument("-o", dest="output", metavar="FILE", help="keep the profile")
    add_function(
        parser,
        "show the blocks of these, by name, pattern or address, not of the hottest (repeatable); FILE:F is of a "
        "library",
    )
    parser.add_argument("--build", action="store_true",
                        help="first recompile a dynamic program and all that it loads; else the slower tiers run what "
                        "is not there yet")  # fmt: skip
    parser.add_argument("--top", type=number_from(1), default=20, metavar="N",
                        help="list the first N functions (default 20)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="machine-readable")
    add_profile_rate(parser)
    profile_mix.add_arguments(parser)
    add_library(parser)
    add_tier(parser)
    add_run(parser, program_optional=True)


def _check_functions(arguments: argparse.Namespace) -> None:
    """Raise LiftError for a function that the program has not; which libraries it loads is known after the run."""
    own = [name for name in named_functions(arguments) if ":" not in name]
    if own:
        open_program(arguments).functions_named(own)


def _show(arguments: argparse.Namespace, profile: profiles.Profile, output: TextIO) -> None:
    guest = _program_of(arguments, profile)
    if profile.total == 0:
        print(f"mipsrec profile: {one_line(str(guest.image.path))} ended before a sample was taken: give it more to "
              "do, as samples are some milliseconds apart", file=sys.stderr)  # fmt: skip
        return
    report = make_report(guest, profile, sysroot_of(arguments))
    chosen = chosen_functions(report, named_functions(arguments))
    if arguments.json:
        print(json.dumps(report_data(report, chosen, arguments.top), indent=2), file=output)
    else:
        print(report_text(report, chosen, arguments.top), file=output)


def _program_of(arguments: argparse.Namespace, profile: profiles.Profile) -> pipeline.Guest:
    """Return the program of a profile: the one that is named, else the one that the profile names."""
    if arguments.program is not None:
        guest = open_program(arguments)
        profile.check_program(guest.image.identity, guest.image.path)
        return guest
    path = next(file.path for file in profile.files if file.identity == profile.identity)
    places = (Path(path), sysroot_of(arguments).host_path(path)) if path else ()
    for place in places:
        found = guest_in(place, profile.identity) if place is not None else None
        if found is not None:
            return found
    raise ProfileError(f"{profile.path}: its program {path} is gone or has changed since; name the program: mipsrec "
                       f"profile --from {profile.path} prog.elf")  # fmt: skip


def main(arguments: argparse.Namespace) -> int:
    """Show where a program's time goes: on standard output that of a file, on standard error that of a run."""
    profile_mix.check(arguments)
    if arguments.mix:
        return profile_mix.main(arguments)
    if arguments.source is not None:
        if arguments.arguments or arguments.output is not None:
            raise UsageError("--from shows a profile that is there; it takes neither -o nor the program's arguments")
        _show(arguments, profiles.read(arguments.source), sys.stdout)
        return 0
    if arguments.program is None:
        raise UsageError("name a program, or a profile with --from FILE")
    if arguments.output is not None and os.path.isdir(arguments.output):
        raise ProfileError(f"{arguments.output}: is a folder; name a file with -o")
    _check_functions(arguments)
    with temporary_folder("mipsrec-profile-") as folder:
        arguments.profile = arguments.output or str(folder / "out.prof")
        before = _stamp(arguments.profile)
        status = run_to_end([str(host_executable()), *host_words(arguments), *guest_words(arguments)])
        if _stamp(arguments.profile) == before:
            if status > 128:
                raise ProfileError(f"{arguments.program}: was killed, so there is no profile")
            return status or 1  # the host has said why
        _show(arguments, profiles.read(arguments.profile), sys.stderr)
    return status


def _stamp(path: str) -> tuple[int, int] | None:
    """Return what tells a file from the one that takes its place."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
