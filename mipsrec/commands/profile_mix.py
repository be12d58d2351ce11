"""profile --mix: runs a program, steps through it now and then, and shows what its host instructions are."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from ..errors import UsageError, one_line
from ..host_build import host_executable
from ..mix.counts import Counts, count, total
from ..mix.guest_code import GuestCode
from ..mix.guest_way import count_guest
from ..mix.ptrace import check_allowed
from ..mix.report import Mix, report_data, report_text
from ..mix.windows import counted_windows
from .arguments import number_from
from .guest_files import guest_file
from .host_process import exit_status, running
from .run import guest_words, host_words

_WINDOWS, _STEPS, _SEED = 80, 3000, 1
_ELF_HEAD_BYTES = 20  # up to e_machine

DESCRIPTION = """\
With --mix it looks at the code itself. The busiest thread is stopped at random times and goes on by single steps for a
while: a window. Shown are shares of all instructions seen: what they do; loads and stores, and what these are to; guest
registers kept in memory; the tiers; and how many host instructions there are for a guest instruction. The program is
slower meanwhile, and else notices nothing. A native program may be looked at, too, for comparison.

  mipsrec profile --mix prog.elf ARG...            what the host instructions of recompiled code are
  mipsrec profile --mix --json ./native ARG...     the same of a native program
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mix", action="store_true",
                        help="show what the host instructions are, by single steps (ptrace) at random times; the "
                        "program may be a native one")  # fmt: skip
    parser.add_argument("--windows", type=number_from(2), metavar="N",
                        help=f"with --mix: step through it at N times at most, and at N/2 at least if it runs for "
                        f"seconds, spread over its whole run (default {_WINDOWS})")  # fmt: skip
    parser.add_argument("--steps", type=number_from(1), metavar="N",
                        help=f"with --mix: instructions in each window (default {_STEPS})")  # fmt: skip
    parser.add_argument("--seed", type=number_from(0), metavar="N",
                        help=f"with --mix: choose other random times (default {_SEED})")  # fmt: skip


def check(arguments: argparse.Namespace) -> None:
    """Raise UsageError where options of the two kinds of profile stand together."""
    of_mix = ("windows", "steps", "seed")
    of_samples = {"--from": arguments.source, "-o": arguments.output, "--function": arguments.function}
    if not arguments.mix:
        given = next((name for name in of_mix if getattr(arguments, name) is not None), None)
        if given is not None:
            raise UsageError(f"--{given} is of --mix; give both, or none")
        return
    wrong = next((option for option, value in of_samples.items() if value), None)
    if wrong is not None:
        raise UsageError(f"{wrong} is of samples, and --mix takes none; give one of them")
    if arguments.program is None:
        raise UsageError("--mix runs a program: name it")


def _head_of(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(_ELF_HEAD_BYTES)
    except OSError:
        return b""


def _is_native(path: Path) -> bool:
    """Return whether a file is a program for this machine: class, byte order and machine are as Python's own."""
    head, own = _head_of(str(path)), _head_of(sys.executable)
    return len(head) == _ELF_HEAD_BYTES and (head[:6], head[18:]) == (own[:6], own[18:])


def _given(arguments: argparse.Namespace, name: str, default: int) -> int:
    value = getattr(arguments, name)
    return default if value is None else int(value)


def _show(arguments: argparse.Namespace, windows: list[Counts], code: GuestCode, is_native: bool) -> None:
    if not windows:
        print(f"mipsrec profile: {one_line(arguments.program)} ended before it was looked at: give it more to do",
              file=sys.stderr)  # fmt: skip
        return
    counts = total(windows)
    code.mapped(counts.guest_paths)
    mix = Mix(arguments.program, counts, None if is_native else count_guest(counts.ways, code))
    print(json.dumps(report_data(mix), indent=2) if arguments.json else report_text(mix), file=sys.stderr)


def main(arguments: argparse.Namespace) -> int:
    """Return the program's exit status; what was seen is on standard error, as that of samples."""
    program = guest_file(arguments.program, arguments)
    is_native = _is_native(program)
    check_allowed()
    if is_native:
        words = [os.path.abspath(program), *arguments.arguments]
    else:
        arguments.profile = None  # no samples
        words = [str(host_executable()), *host_words(arguments), *guest_words(arguments)]
    code = GuestCode(program)
    with running(words, is_ours=not is_native) as process:
        windows = counted_windows(
            process, _given(arguments, "windows", _WINDOWS), _given(arguments, "steps", _STEPS),
            _given(arguments, "seed", _SEED), lambda running_process, window: count(running_process, window, code),
        )  # fmt: skip
        status = exit_status(process)
    _show(arguments, windows, code, is_native)
    return status
