"""dump-llvm and build."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import pipeline
from ..dumped import read
from ..errors import BuildError, LiftError
from .options import options_of
from .progress import progress_bar


def dump(arguments: argparse.Namespace) -> int:
    """Write IR to a folder, or one function's to standard output."""
    guest = pipeline.open_guest(arguments.program)
    options = options_of(arguments)
    chosen = [guest.function(name) for name in arguments.function] if arguments.function else None
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


def _default_output(source: Path) -> Path:
    """Return the name of the source with .so appended; raises BuildError for `.` and the like, which have none."""
    if source.name in ("", ".."):
        raise BuildError(f"{source}: has no name to make that of the library from; name a file with -o")
    return source.with_name(source.name + ".so")


def build(arguments: argparse.Namespace) -> int:
    """Make a library from a program or from a dump."""
    source = Path(arguments.source)
    output = Path(arguments.output) if arguments.output else _default_output(source)
    if output.is_dir():
        raise BuildError(f"{output}: is a folder; name a file with -o")
    options = options_of(arguments)
    if source.is_dir():
        if arguments.only:
            raise BuildError(f"{source}: is a dump; --only chooses among the functions of a program")
        with progress_bar("build", len(read(source).files)) as progress:
            report = pipeline.build(source, output, options, progress)
    else:
        guest = pipeline.open_guest(source)
        chosen = guest.functions_like(arguments.only) if arguments.only else None
        with progress_bar("build", len(guest.starts) if chosen is None else len(chosen)) as progress:
            report = pipeline.build(guest, output, options, progress, chosen)
    reused = f", {report.reused} of {report.shards} parts as kept from earlier builds" if report.reused else ""
    print(f"{output}: {output.stat().st_size} bytes{reused}")
    return 0
