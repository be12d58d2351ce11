"""verify: runs lifted code and the interpreter side by side; the host compares them and sends records of it."""

from __future__ import annotations

import argparse
import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from .. import pipeline
from ..cache.folders import cache_folder, variant_of, with_room
from ..dynamic_linker import closure_of
from ..elf import Image
from ..errors import LiftError, UsageError
from ..host_build import host_executable
from ..long_work import bar_for_people
from ..options import Options
from ..state import GPR_NAMES, REGISTERS
from .arguments import (
    add_function,
    add_library,
    add_run,
    add_with,
    named_functions,
    names_with_commas,
    number_from,
    options_of,
)
from .closure import build_closure
from .divergence import Record, describe
from .guest_files import guest_files, open_program, sysroot_of
from .host_process import exit_status, running
from .progress import progress_bar
from .run import flag_words, guest_words, is_dynamic, library_words, surroundings_words, variant_words

DESCRIPTION = """\
Runs a program twice at once: as lifted code, and in the interpreter. System calls are made once, and both see their
results. Registers and what was stored are compared at every function entry and return, system call and exception; all
writable memory now and then. At the first difference the program is stopped, and the report on standard error names
the function, the block, the registers of both sides and the instruction that wrote what differs.

  mipsrec verify prog.elf ARG...                 is the lifted code of all functions right in this run?
  mipsrec verify --function f,g prog.elf ARG...  only these are lifted, the rest is interpreted: to narrow a fault down
  mipsrec verify --function 'libm.so.6:*' prog   of a dynamic program: those of a file that it loads, here all of it
  mipsrec verify --scan 1 prog.elf ARG...        looks for stray stores at every call and return (slow)
  mipsrec verify --static-lib lib.so prog.elf    a library of `mipsrec build --calls instrumented`, say of IR that was
                                                 edited; with --calls direct, functions are not compared one by one

Exit status: 1 when they differ, else the program's own. Children that it forks are verified, too; programs that it
executes are not. A progress display appears where standard error is a terminal.
"""

COMPARED = [row.names for row in REGISTERS if row.verified]
"""The names of the registers that the host compares, alike ones together."""


def _registers(text: str) -> str:
    """Return an argument that names registers which are compared, with commas between them."""
    for name in names_with_commas(text).split(","):
        if name and not any(name in names for names in COMPARED):
            files = (f"{names[0]}-{names[-1]}" if len(names) > 1 else names[0] for names in COMPARED[1:])
            known = " ".join((*GPR_NAMES, *files))
            raise argparse.ArgumentTypeError(f"no register is named {name!r}; there are {known}")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_function(
        parser,
        "lift and so compare only these, by name, pattern or address (repeatable); of a dynamic program, FILE:F is of "
        "a library, named with or without its folder",
        "--functions",
    )
    add_with(parser)
    parser.add_argument("--scan", type=number_from(0), default=0, metavar="N",
                        help="compare all memory at every Nth point (default: now and then)")  # fmt: skip
    parser.add_argument("--ignore", metavar="R,R,...", action="append", default=[], type=_registers,
                        help="registers not to compare, such as fcsr (repeatable)")  # fmt: skip
    add_library(parser, "verify this one, of `mipsrec build --calls instrumented`")
    add_run(parser)
    parser.set_defaults(calls="instrumented")


def _library(arguments: argparse.Namespace, guest: pipeline.Guest) -> Path:
    if arguments.library is not None:
        if arguments.function:
            raise UsageError("--function chooses what is lifted, and --static-lib is lifted already; give one of them")
        return Path(arguments.library)
    patterns = named_functions(arguments)
    chosen = guest.functions_like(patterns) if patterns else None
    if chosen == []:
        raise LiftError(f"{guest.image.path}: none of {', '.join(patterns)} is lifted, so there is nothing to compare")
    with progress_bar("build", len(guest.starts if chosen is None else chosen)) as progress:
        return with_room(lambda: pipeline.cached_library(guest, options_of(arguments), progress, chosen))


def _chosen_files(images: dict[Path, Image], word: str) -> tuple[list[Path], str]:
    """Return the files that FILE:FUNCTION names, the program where it names none, and the pattern of functions."""
    name, _, pattern = word.rpartition(":")
    if not name:
        return list(images)[:1], pattern
    found = [path for path in images if fnmatchcase(path.name, name) or str(path) == name]
    if not found:
        names = ", ".join(sorted(path.name for path in images))
        raise LiftError(f"{word}: the program loads no file {name} that is known; --with adds one to {names}")
    return found, pattern


def _store_variant(arguments: argparse.Namespace, options: Options) -> str:
    """Return the variant of the store with the code to verify of a dynamic program; build what it lacks."""
    programs = guest_files(arguments.program, arguments)
    patterns = named_functions(arguments)
    if not patterns:
        build_closure(programs, arguments, options)
        return variant_of(options)
    closure = closure_of(programs, sysroot_of(arguments))
    found: dict[Path, list[str]] = {}
    for word in patterns:
        files, pattern = _chosen_files(closure.images, word)
        for path in files:
            found.setdefault(path, []).append(pattern)
    guests = [(pipeline.Guest(closure.images[path]), names) for path, names in found.items()]
    chosen = [(guest, guest.functions_like(names)) for guest, names in guests]
    chosen = [(guest, functions) for guest, functions in chosen if functions]
    if not chosen:
        raise LiftError(f"{arguments.program}: none of {', '.join(patterns)} is lifted: there is nothing to compare")
    with progress_bar("build", sum(len(functions) for _, functions in chosen)) as progress:
        return pipeline.cached_functions(chosen, options, progress)


def _code_words(arguments: argparse.Namespace, guest: pipeline.Guest) -> list[str]:
    """Return the host's options that name the code to verify."""
    if arguments.with_files and (arguments.library is not None or not is_dynamic(guest.image.path)):
        reason = "--static-lib is all that is verified" if arguments.library is not None else "the program is static"
        raise UsageError(f"--with {arguments.with_files[0]}: {reason}, so code of other files has nothing to do")
    if arguments.library is None and is_dynamic(guest.image.path):
        options = options_of(arguments)
        variant = with_room(lambda: _store_variant(arguments, options))
        return ["--cache", str(cache_folder()), *variant_words(variant, options)]
    return library_words(str(_library(arguments, guest)), arguments)


def _lines(records: socket.socket, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Yield the lines that the host writes until it has ended; children that it leaves running keep the socket open."""
    rest = b""
    while True:
        ended = process.poll() is not None
        readable, _, _ = select.select([records], [], [], 0 if ended else 0.2)
        if not readable:
            if ended:
                return
            continue
        data = records.recv(1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def _watch(records: Iterator[Record], main: int) -> tuple[list[Record], Record | None]:
    """Show progress; return the divergences, and the last record of the process `main`."""
    found: list[Record] = []
    last = None
    with bar_for_people(desc="verify", unit=" points", unit_scale=True) as bar:
        for record in records:
            if record["kind"] == "divergence":
                found.append(record)
            if record["process"] == main:
                last = record
                bar.set_postfix_str(f"{record['entries']} lifted entries used", refresh=False)
                bar.update(record["points"] - bar.n)
    return found, last


def _run(words: list[str]) -> tuple[int, list[Record], Record | None]:
    """Run the host; return the guest's status, the divergences and the last record."""
    here, there = socket.socketpair()
    command = [words[0], "--verify", str(there.fileno()), *words[1:]]
    with there, running(command, [there.fileno()]) as process, here:
        there.close()
        records = (json.loads(line) for line in _lines(here, process))
        found, last = _watch(records, process.pid)
        return exit_status(process), found, last


def _summary(last: Record) -> str:
    text = (
        f"mipsrec verify: lifted code and the interpreter agree at {last['points']:,} points over "
        f"{last['instructions']:,} instructions; {last['entries']:,} lifted entries used, "
        f"{last['calls']:,} system calls"
    )
    if last["faults_skipped"]:
        text += f"; at {last['faults_skipped']:,} faults of lifted code registers were not compared"
    if last["kind"] == "exec":
        text += "; the program then became another one, which was not verified"
    elif last["kind"] != "end":
        text += "; the program was killed, so what it did after that is not known"
    return text


def main(arguments: argparse.Namespace) -> int:
    """Verify a run of a program; return 1 when lifted code and the interpreter differ, else the guest's status."""
    guest = open_program(arguments)
    words = [str(host_executable()), *_code_words(arguments, guest), "--verify-scan", str(arguments.scan)]
    for name in (name for word in arguments.ignore for name in word.split(",") if name):
        words += ["--verify-ignore", name]
    words += [*flag_words(arguments), *surroundings_words(arguments)]
    status, found, last = _run([*words, *guest_words(arguments)])
    if found:
        print(describe(guest, found[0], arguments), file=sys.stderr)
        return 1
    if last is not None:
        print(_summary(last), file=sys.stderr)
    elif status == 0:
        print("mipsrec verify: the program ended before anything was compared", file=sys.stderr)
    return status
