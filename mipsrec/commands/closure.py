"""Builds programs and all that they load into the store, with a progress bar."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..counters import counts
from ..dynamic_linker import closure_of
from ..elf import Image
from ..errors import BuildError, one_line
from ..fill_store import StoreProgress, StoreReport, readable_images, store_all
from ..long_work import bar_for_people
from ..options import Options
from ..sysroot import mips_files
from .guest_files import sysroot_of

if TYPE_CHECKING:
    from tqdm import tqdm


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
        self._bar.set_description(f"{self._number}/{self._files} {one_line(path.name)}"[:40])

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


def _store(images: Iterable[tuple[Path, Image]], arguments: argparse.Namespace, options: Options) -> StoreReport:
    """Build into the store, here or on the farm."""
    address = getattr(arguments, "dask", None)
    with bar_for_people(unit="B", unit_scale=True) as bar:
        if address is None:
            return store_all(images, options, _StoreBar(bar))
        from ..farm import store_on_farm

        return store_on_farm(images, options, address, _StoreBar(bar))


def _by_counting(
    images: Mapping[Path, Image], program: Path, arguments: argparse.Namespace, options: Options
) -> Iterator[tuple[list[tuple[Path, Image]], Options]]:
    """Yield the files that are built with the same options: of --cover, those that count and the others."""
    if not options.cover:
        yield list(images.items()), options
        return
    words = arguments.covered or ("program",)
    counting = {path for path in images if counts(words, path.resolve().name, path == program)}
    for cover in (True, False):
        some = [(path, image) for path, image in images.items() if (path in counting) is cover]
        if some:
            yield some, replace(options, cover=cover)


def build_closure(programs: list[Path], arguments: argparse.Namespace, options: Options) -> StoreReport:
    """Build programs and all that they load at the start into the store; names what is missing on standard error."""
    closure = closure_of(programs, sysroot_of(arguments))
    report = StoreReport()
    for some, how in _by_counting(closure.images, programs[0], arguments, options):
        report.add(_store(some, arguments, how))
    report.skipped += closure.missing
    for line in report.skipped:
        print(f"mipsrec: {one_line(line)}: the slower tiers will run it", file=sys.stderr)
    return report


def build_all_below(arguments: argparse.Namespace, options: Options) -> StoreReport:
    """Build all programs and libraries of the sysroot into the store; names what is left out on standard error.

    Raises BuildError where there are none.
    """
    sysroot, unfit = sysroot_of(arguments), list[str]()
    report = _store(readable_images(mips_files(sysroot.root), unfit), arguments, options)
    report.skipped += unfit
    if not (report.built or report.present or report.skipped):
        raise BuildError(f"{sysroot.root}: no MIPS programs or libraries are below it")
    for line in report.skipped:
        print(f"mipsrec: left out: {one_line(line)}", file=sys.stderr)
    return report
