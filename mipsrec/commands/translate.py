"""dump-llvm and build."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

from .. import pipeline
from ..dumped import read
from ..elf import Image
from ..errors import BuildError, LiftError
from ..layers import check_trust
from ..options import Options
from ..store import StoreProgress, StoreReport, readable_images, store_all
from ..sysroot import Sysroot, closure_of, mips_files
from .guest_files import guest_file, guest_files
from .options import options_of
from .progress import progress_bar
from .run import is_dynamic


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


class _StoreBar(StoreProgress):
    """A bar of the bytes of code that are done, with the time left; the functions of open files move it."""

    def __init__(self, bar: tqdm) -> None:
        self._bar = bar
        self._files = self._number = self._done = 0
        self._inside: dict[Path, int] = {}

    def begin(self, file_count: int, code_bytes: int) -> None:
        self._files = file_count
        self._bar.reset(total=code_bytes)

    def file(self, path: Path) -> None:
        self._number += 1
        self._inside[path] = 0
        self._bar.set_description(f"{self._number}/{self._files} {path.name}"[:40])

    def part(self, path: Path, functions: int, instructions: int) -> None:
        self._inside[path] += 4 * instructions
        self._show()

    def end(self, path: Path, code_bytes: int) -> None:
        self._done += code_bytes
        del self._inside[path]
        self._show()

    def _show(self) -> None:
        self._bar.n = self._done + sum(self._inside.values())
        self._bar.refresh()


@contextmanager
def _store_bar() -> Iterator[_StoreBar]:
    silent = not sys.stderr.isatty()
    with tqdm(unit="B", unit_scale=True, file=sys.stderr, disable=silent, leave=False) as bar:
        yield _StoreBar(bar)


def sysroot_of(arguments: argparse.Namespace) -> Sysroot:
    """Return the sysroot that the command line or MIPSREC_SYSROOT names; raises BuildError where it is no folder."""
    named = arguments.sysroot or os.environ.get("MIPSREC_SYSROOT")
    if not named:
        return Sysroot()
    if not Path(named).is_dir():
        raise BuildError(f"{named}: is no folder; --sysroot names the one that holds the guest's /lib and /usr")
    return Sysroot(Path(os.path.abspath(named)))


def _store(
    images: Iterable[tuple[Path, Image]], arguments: argparse.Namespace, options: Options, progress: StoreProgress
) -> StoreReport:
    """Build into the store, here or on the farm."""
    address = getattr(arguments, "dask", None)
    if address is None:
        return store_all(images, options, progress)
    from ..farm import store_on_farm

    return store_on_farm(images, options, address, progress)


def build_closure(programs: list[Path], arguments: argparse.Namespace, options: Options) -> StoreReport:
    """Build programs and all that they load at the start into the store; names what is missing on standard error."""
    closure = closure_of(programs, sysroot_of(arguments))
    with _store_bar() as progress:
        report = _store(closure.images.items(), arguments, options, progress)
    report.skipped += closure.missing
    for line in report.skipped:
        print(f"mipsrec: {line}: it will be interpreted", file=sys.stderr)
    return report


def _print_report(report: StoreReport) -> None:
    print(f"{len(report.built)} files recompiled, {len(report.present)} were there, {len(report.skipped)} left out")


def _prepare_layer(folder: Path) -> None:
    """Make the folder that --into names; what a build makes in it all may read, whatever the umask."""
    os.umask(0o022)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(f"{folder}: cannot be made ({error.strerror or error})") from error
    check_trust(folder)


def _build_store(arguments: argparse.Namespace) -> int:
    """Build a program's closure, or with no program all files of the sysroot, into the store."""
    options = options_of(arguments)
    if options.into is not None:
        _prepare_layer(Path(options.into))
    if arguments.source is not None:
        programs = guest_files(arguments.source, arguments)
        _print_report(build_closure(programs, arguments, options))
        return 0
    sysroot, unfit = sysroot_of(arguments), list[str]()
    with _store_bar() as progress:
        report = _store(readable_images(mips_files(sysroot.root), unfit), arguments, options, progress)
    report.skipped += unfit
    for line in report.skipped:
        print(f"mipsrec: left out: {line}", file=sys.stderr)
    _print_report(report)
    return 0


def _default_output(source: Path) -> Path:
    """Return the name of the source with .so appended; raises BuildError for `.` and the like, which have none."""
    if source.name in ("", ".."):
        raise BuildError(f"{source}: has no name to make that of the library from; name a file with -o")
    return source.with_name(source.name + ".so")


def build(arguments: argparse.Namespace) -> int:
    """Make a library from a program or from a dump, or fill the store with what programs load."""
    if arguments.source is None and arguments.sysroot is None:
        raise BuildError("name a program, a folder of dump-llvm, or a sysroot with --sysroot DIR")
    for option, given in (("--dask", arguments.dask), ("--into", arguments.into)):
        if given is None:
            continue
        if arguments.output is not None or arguments.only or (arguments.source and Path(arguments.source).is_dir()):
            raise BuildError(f"{option} stores what programs load: neither -o nor --only goes with it, nor a dump")
    if arguments.dask is not None or arguments.into is not None:
        return _build_store(arguments)
    if arguments.source is None:
        return _build_store(arguments)
    source = guest_file(arguments.source, arguments)
    if arguments.output is None and not arguments.only and (arguments.with_files or is_dynamic(source)):
        return _build_store(arguments)
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
