"""The store of recompiled code: one library for each ELF file, found by the file's contents, for all programs.

Enters: files to recompile. Leaves: libraries in the cache, where the host finds them (runtime/lifted/store.c). A
library appears whole or not at all, so an interrupted build goes on where it was, and several may go on at once.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

from . import profiles, trust
from .cache import cache_folder, cannot_write, code_path
from .cache_entries import describe
from .cache_limit import Room, size_text
from .cache_notes import forget_wrong, note_use
from .elf import Image, load_elf
from .errors import BuildError, LiftError, MipsrecError, WriteError
from .interrupts import held, let_in
from .layers import check_trust, code_paths
from .library_file import Damaged, read_library
from .options import LIGHT, Options


@dataclass
class StoreReport:
    """What became of each file."""

    built: list[Path] = field(default_factory=list)
    present: list[Path] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """One line for each file that could not be recompiled: the slower tiers will run it."""
    needed: set[Path] = field(default_factory=set)
    """Libraries in the store that were there already."""


class StoreProgress:
    """What a build tells as it goes; the default says nothing. Sizes are bytes of code in the files."""

    def begin(self, file_count: int, code_bytes: int) -> None:
        """There are so many files to build."""

    def file(self, path: Path) -> None:
        """This one is next."""

    def part(self, path: Path, functions: int, instructions: int) -> None:
        """Part of one is done."""

    def end(self, path: Path, code_bytes: int) -> None:
        """It is done, or skipped."""


def code_bytes(image: Image) -> int:
    """Return how many bytes of a file are code."""
    return sum(end - start for start, end in image.executable_ranges)


def stored_path(identity: str, options: Options) -> Path | None:
    """Return the undamaged library of a file in the cache or in a layer; None when there is none."""
    for path in code_paths(identity, options):
        if trust.is_file(path) and is_sound(path, identity):
            return path
    return None


def is_sound(path: Path, identity: str) -> bool:
    """Return whether a library is as it was made, of the guest's file with this identity; all of it is read."""
    try:
        return read_library(path, whole=True).identity == identity
    except Damaged:
        return False


def store(image: Image, options: Options, progress: Callable[[int, int], None] | None = None) -> Path:
    """Return the library of one file in the store; build it if need be, or if it is damaged. Raises MipsrecError."""
    found = stored_path(image.identity, options)
    if found is None:
        found = code_path(image.identity, options)
        _build(image, found, options, progress)
        Room(()).add(found)
    note_use(found)
    return found


def _build(image: Image, path: Path, options: Options, progress: Callable[[int, int], None] | None) -> None:
    from . import pipeline

    root = root_of(options)
    check_trust(root)
    with locked(path, root):
        if not is_sound(path, image.identity):
            pipeline.build(pipeline.Guest(image), path, _options_for(image, options), progress)
            describe(path, image.path, image.soname)


def root_of(options: Options) -> Path:
    """Return the folder that the options fill: the cache, or the one of --into."""
    return Path(options.into) if options.into is not None else cache_folder()


@dataclass(frozen=True)
class Wanted:
    """A file that the store has no library of."""

    path: Path
    identity: str
    size: int
    """Bytes of code."""


def missing_of(images: Iterable[tuple[Path, Image]], options: Options, report: StoreReport) -> list[Wanted]:
    """Return what the store lacks of some files, the largest first, each contents once; note what is present."""
    wanted: dict[str, Wanted] = {}
    for path, image in images:
        forget_wrong(path, image.identity)
        if image.identity in wanted:
            continue
        found = stored_path(image.identity, options)
        if found is not None:
            report.present.append(path)
            report.needed.add(found)
        else:
            wanted[image.identity] = Wanted(path, image.identity, code_bytes(image))
    return sorted(wanted.values(), key=lambda one: -one.size)


def _options_for(image: Image, options: Options) -> Options:
    """Return the options for one file: one that the profiled program did not load has no part in the profile."""
    if options.profile is None or profiles.read(options.profile).names(image.identity):
        return options
    return replace(options, profile=None, opt=LIGHT)


def store_all(
    images: Iterable[tuple[Path, Image]], options: Options, progress: StoreProgress | None = None
) -> StoreReport:
    """Build what the store lacks of some files, the largest first; a file that fails is skipped with its reason."""
    progress = progress or StoreProgress()
    report = StoreReport()
    wanted = missing_of(images, options, report)
    room = Room(report.needed, bounded=options.into is None)
    progress.begin(len(wanted), sum(one.size for one in wanted))
    for one in wanted:
        progress.file(one.path)
        try:
            check_room(one.path, room)
            image = load_elf(one.path)  # not all are held in memory; another file may have come in its place
            path = code_path(image.identity, options)
            _build(image, path, options, partial(progress.part, one.path))
            room.add(path)
            report.built.append(one.path)
        except BuildError:
            raise  # the cache or the compiler: the next file would fail as well
        except MipsrecError as error:
            report.skipped.append(str(error))
        progress.end(one.path, one.size)
    return report


def check_room(path: Path, room: Room) -> None:
    """Raise LiftError where what a build needs has reached the limit of the cache."""
    if room.is_full():
        raise LiftError(
            f"{path}: this build alone fills the cache ({size_text(room.limit or 0)}); set MIPSREC_CACHE_LIMIT higher"
        )


def readable_images(paths: Iterable[Path], report: list[str]) -> Iterator[tuple[Path, Image]]:
    """Yield the files that can be recompiled; say in `report` why others cannot."""
    for path in paths:
        try:
            image = load_elf(path)
        except MipsrecError as error:
            report.append(str(error))
            continue
        if code_bytes(image) == 0:
            report.append(f"{path}: has no code")
        else:
            yield path, image


@contextmanager
def locked(path: Path, root: Path) -> Iterator[None]:
    """Let one process at a time build `path`, below a trusted root; the lock's file goes when it is needed no longer.

    What is in the way of the file or the folders above it goes. Raises WriteError.
    """
    with held():
        try:
            lock = _lock(path.with_suffix(".lock"), root)
        except OSError as error:
            raise WriteError(f"{path.parent}: {cannot_write(error)}") from error
        with lock:
            try:
                with suppress(OSError):
                    trust.clear(path, path.parent)
                with let_in():
                    yield
            finally:
                with suppress(OSError):
                    path.with_suffix(".lock").unlink()


def _lock(path: Path, root: Path) -> IO[bytes]:
    """Return the open file whose lock this process has. What another removed meanwhile is no lock any more."""
    for attempt in range(1000):
        try:
            trust.make_folder(path.parent, root)
            stream = trust.open_lock(path)
        except FileNotFoundError:  # `mipsrec cache prune` has removed the empty folder
            if attempt == 999:
                raise
            continue
        try:
            _wait_for(stream)
            if os.path.samestat(os.fstat(stream.fileno()), os.lstat(path)):
                return stream
        except FileNotFoundError:
            pass
        except BaseException:
            stream.close()
            raise
        stream.close()
    raise OSError(f"{path.name} is removed all the time")


def _wait_for(stream: IO[bytes]) -> None:
    """Take a file's lock. Who is interrupted does not have it."""
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            with let_in():
                time.sleep(0.05)
