"""Fills the store of recompiled code (cache/store.py): with one file's library, or with those of many files.

Enters: files to recompile. Leaves: libraries in the store, one for each file's contents. An interrupted build goes on
where it was, and several may go on at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import profiles, recompile
from .cache.entries import describe
from .cache.folders import code_path
from .cache.layers import check_trust
from .cache.limit import Room, size_text
from .cache.notes import forget_wrong, note_use
from .cache.store import is_sound, locked, root_of, stored_path
from .elf import Image, load_elf
from .errors import BuildError, LiftError, MipsrecError
from .guest import Guest
from .options import LIGHT, Options

if TYPE_CHECKING:
    from .native.library import BuildReport


@dataclass
class StoreReport:
    """What became of each file."""

    built: list[Path] = field(default_factory=list)
    present: list[Path] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """One line for each file that could not be recompiled: the slower tiers will run it."""
    needed: set[Path] = field(default_factory=set)
    """Libraries in the store that were there already."""
    reports: list[BuildReport] = field(default_factory=list)
    """Of those that were built here."""

    def add(self, other: StoreReport) -> None:
        """Take over what became of other files."""
        self.built += other.built
        self.present += other.present
        self.skipped += other.skipped
        self.needed |= other.needed
        self.reports += other.reports


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


def store(image: Image, options: Options, progress: Callable[[int, int], None] | None = None) -> Path:
    """Return the library of one file in the store; build it if need be, or if it is damaged. Raises MipsrecError."""
    found = stored_path(image.identity, options)
    if found is None:
        found = code_path(image.identity, options)
        _build(image, found, options, progress)
        Room(()).add(found)
    note_use(found)
    return found


def _build(
    image: Image, path: Path, options: Options, progress: Callable[[int, int], None] | None
) -> BuildReport | None:
    """Build a library, and return how that went; None where another process has built it."""
    root = root_of(options)
    check_trust(root)
    with locked(path, root):
        if is_sound(path, image.identity):
            return None
        report = recompile.build(Guest(image), path, _options_for(image, options), progress)
        describe(path, image.path, image.soname)
        return report


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
            built = _build(image, path, options, partial(progress.part, one.path))
            if built is not None:
                report.reports.append(built)
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
