"""build: makes a library from a program or from a dump, or fills the store with what programs load."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from .. import pipeline
from ..cache.folders import own_folder
from ..cache.layers import refusal
from ..counters import is_range
from ..elf.marks import lack_of
from ..errors import BuildError, UsageError, one_line
from ..files import trust
from ..ir_dump import read_dump
from .arguments import (
    add_build,
    add_cover,
    add_function,
    add_models,
    add_old_name,
    add_sysroot,
    add_with,
    named_functions,
    options_of,
)
from .build_report import print_timings
from .closure import build_all_below, build_closure
from .guest_files import guest_file, guest_files, place_beside
from .progress import progress_bar
from .run import is_dynamic

DESCRIPTION = """\
Recompiles ahead of time. Of a static program it makes one library, which the host loads; of a dynamic one, a library
for it and for each file that it loads, in the cache, where `mipsrec run` finds them by the contents of these files.

  mipsrec build prog.elf -o lib.so         a library of this one file
  mipsrec build dynamic-prog               it and all that it loads, into the cache
  mipsrec build --sysroot DIR              all programs and libraries below a folder, into the cache
  mipsrec build DIR -o lib.so              a library of the (perhaps edited) IR that `mipsrec dump-llvm` wrote
"""


def _address(text: str) -> str:
    """Return the address of a scheduler: of a host and its port as dask writes it, or of another of dask's kinds."""
    kind, _, place = text.rpartition("://")
    if not place or (kind in ("", "tcp", "tls", "ws", "wss", "ucx") and not re.fullmatch(r".+:[0-9]+", place)):
        raise argparse.ArgumentTypeError(f"{text!r} is no address of a scheduler, such as tcp://host:8786")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="prog.elf|DIR", nargs="?",
                        help="a program, or a folder of dump-llvm; without one, all programs and libraries of "
                        "--sysroot")  # fmt: skip
    parser.add_argument("-o", dest="output", metavar="lib.so",
                        help="a library of this one file; default: the program's name with .so appended, or for a "
                        "dynamic program, it and all that it loads in the cache, where `run` finds them")  # fmt: skip
    parser.add_argument("--into", metavar="FOLDER",
                        help="fill this folder, not the cache, to be a layer that others only read; see mipsrec cache "
                        "--help")  # fmt: skip
    add_with(parser)
    parser.add_argument("--dask", metavar="ADDRESS", type=_address,
                        help="compile on the workers of this dask.distributed scheduler (tcp://host:8786); what is "
                        "made goes to the cache here")  # fmt: skip
    add_sysroot(parser)
    add_function(
        parser,
        "recompile only these, by name, pattern or address (repeatable); the slower tiers run the others",
        "--only",
    )
    add_old_name(parser, "--profile", add_build(parser))
    add_models(parser)
    add_cover(
        parser,
        "have the code of these count decisions, for fuzzers and `run --counters`: program, all, or names of libraries",
    )
    parser.add_argument("--timings", action="store_true",
                        help="print on standard error where the time went, and which parts took longest")  # fmt: skip


def _prepare_layer(folder: Path) -> None:
    """Make the folder that --into names; what a build makes in it all may read, whatever the umask."""
    os.umask(0o022)
    try:
        trust.resolve(folder, make=True, mode=0o755)
    except trust.Distrusted as reason:
        raise refusal(folder, str(reason), "no code is taken from it") from reason
    except OSError as error:
        raise BuildError(f"{folder}: cannot be made ({error.strerror or error})") from error


def _build_store(arguments: argparse.Namespace) -> int:
    """Build a program's closure, or with no program all files of the sysroot, into the store."""
    options = options_of(arguments)
    if options.into is not None:
        _prepare_layer(Path(options.into))
    else:
        own_folder()  # what is built elsewhere nobody would find
    if arguments.source is not None:
        report = build_closure(guest_files(arguments.source, arguments), arguments, options)
    else:
        report = build_all_below(arguments, options)
    if arguments.timings:
        print_timings(report.reports)
    print(f"{len(report.built)} files recompiled, {len(report.present)} were there, {len(report.skipped)} left out")
    return 0


def _default_output(source: Path, arguments: argparse.Namespace) -> Path:
    """Return the name of the source with .so appended.

    Raises BuildError for `.` and the like, which have none, and where another user's link would choose the folder.
    """
    if source.name in ("", ".."):
        raise BuildError(f"{source}: has no name to make that of the library from; name a file with -o")
    try:
        place = place_beside(arguments.source, source, arguments)
    except OSError as error:
        raise BuildError(f"{source}: no library goes beside it ({error}); name a file with -o") from None
    return place.with_name(place.name + ".so")


def _check(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that exclude each other."""
    if arguments.source is None and arguments.sysroot is None:
        raise UsageError("name a program, a folder of dump-llvm, or a sysroot with --sysroot DIR")
    dump = arguments.source is not None and Path(arguments.source).is_dir()
    ways = (("--dask", arguments.dask), ("--into", arguments.into), ("--with", arguments.with_files or None),
            ("--sysroot without a program", arguments.sysroot if arguments.source is None else None))  # fmt: skip
    for option, given in ways:
        if given is not None and (arguments.output is not None or arguments.function or dump):
            raise UsageError(f"{option} stores what programs load: neither -o nor --function goes with it, nor a dump")
    if arguments.timings and arguments.dask is not None:
        raise UsageError("--timings does not go with --dask: the workers of a scheduler do not tell their times")
    if arguments.covered is not None and dump:
        raise UsageError(f"{arguments.source}: is a dump; --cover is for a program")
    if any(map(is_range, arguments.covered or ())):
        raise UsageError("recompiled code counts in all of its file: ranges of addresses are for `run --cover`")
    if dump and arguments.function:
        raise UsageError(f"{arguments.source}: is a dump; --function chooses among the functions of a program")


def main(arguments: argparse.Namespace) -> int:
    _check(arguments)
    if arguments.source is None or arguments.dask is not None or arguments.into is not None:
        return _build_store(arguments)
    source = guest_file(arguments.source, arguments)
    if arguments.output is None and not arguments.function and (
        arguments.with_files or arguments.covered is not None or is_dynamic(source)
    ):
        return _build_store(arguments)
    output = Path(arguments.output) if arguments.output else _default_output(source, arguments)
    if output.is_dir():
        raise BuildError(f"{output}: is a folder; name a file with -o")
    if source.suffix in (".ll", ".bc"):
        raise BuildError(f"{source}: is LLVM IR; build takes the folder of `mipsrec dump-llvm prog.elf -o DIR`")
    options = options_of(arguments)
    if source.is_dir():
        with progress_bar("build", len(read_dump(source).files)) as progress:
            report = pipeline.build(source, output, options, progress)
    else:
        guest = pipeline.open_guest(source)
        if lack := lack_of(guest.image.modules):
            print(f"mipsrec: {one_line(str(source))}: {lack}", file=sys.stderr)
        names = named_functions(arguments)
        chosen = guest.functions_like(names) if names else None
        with progress_bar("build", (lambda: len(guest.starts)) if chosen is None else len(chosen)) as progress:
            report = pipeline.build(guest, output, options, progress, chosen)
    if arguments.timings:
        print_timings([report])
    reused = f", {report.reused} of {report.shards} parts as kept from earlier builds" if report.reused else ""
    print(f"{one_line(str(output))}: {output.stat().st_size} bytes{reused}")
    return 0
