"""The store of recompiled code: one library for each ELF file, found by the file's contents, for all programs.

Enters: files to recompile. Leaves: libraries in the cache, where the host finds them (runtime/lifted/store.c). A
library appears whole or not at all, so an interrupted build goes on where it was, and several may go on at once.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import profiles
from .cache import cannot_write, code_path
from .checksum import ends_whole
from .elf import Image, load_elf
from .errors import BuildError, MipsrecError
from .options import LIGHT, Options


@dataclass
class StoreReport:
    """What became of each file."""

    built: list[Path] = field(default_factory=list)
    present: list[Path] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """One line for each file that could not be recompiled: it will be interpreted."""


class StoreProgress:
    """What a build tells as it goes; the default says nothing. Sizes are bytes of code in the files."""

    def begin(self, file_count: int, code_bytes: int) -> None:
        """There are so many files to build."""

    def file(self, path: Path) -> None:
        """This one is next."""

    def part(self, functions: int, instructions: int) -> None:
        """Part of it is done."""

    def end(self, path: Path, code_bytes: int) -> None:
        """It is done, or skipped."""


def code_bytes(image: Image) -> int:
    """Return how many bytes of a file are code."""
    return sum(end - start for start, end in image.executable_ranges)


def is_stored(image: Image, options: Options) -> bool:
    """Return whether the store has the library of a file."""
    return ends_whole(code_path(image.identity, options))


def store(image: Image, options: Options, progress: Callable[[int, int], None] | None = None) -> Path:
    """Return the library of one file in the store; build it if need be. Raises MipsrecError."""
    from . import pipeline

    path = code_path(image.identity, options)
    if not ends_whole(path):
        with locked(path):
            if not ends_whole(path):
                pipeline.build(pipeline.Guest(image), path, _options_for(image, options), progress)
    return path


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
    wanted: dict[str, tuple[Path, int]] = {}
    for path, image in images:
        if is_stored(image, options):
            report.present.append(path)
        elif image.identity not in wanted:
            wanted[image.identity] = path, code_bytes(image)
    progress.begin(len(wanted), sum(size for _, size in wanted.values()))
    for path, size in sorted(wanted.values(), key=lambda item: -item[1]):
        progress.file(path)
        try:
            store(load_elf(path), options, progress.part)  # read anew: not all of them are held in memory
            report.built.append(path)
        except BuildError:
            raise  # the cache or the compiler: the next file would fail as well
        except MipsrecError as error:
            report.skipped.append(str(error))
        progress.end(path, size)
    return report


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
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time build `path`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = open(path.with_suffix(".lock"), "w")  # noqa: SIM115
    except OSError as error:
        raise BuildError(f"{path.parent}: {cannot_write(error)}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
