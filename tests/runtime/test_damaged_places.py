"""A fault in recompiled code whose debug information is damaged or hostile ends as the guest's own signal.

The registers may be wrong then, but the host neither crashes nor works for long (runtime/lifted/places_table.c).
"""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.files.checksum import FOOTER_BYTES, append_footer, footer
from mipsrec.native.dwarf import uleb128
from mipsrec.native.place_table import (
    AGAIN,
    ALL_END,
    CHANGES,
    COME_HOME,
    ELSEWHERE,
    EXPRESSIONS,
    HOME,
    HOMES,
    LAST,
    MANY,
    MOST_REGISTERS,
    SECTIONS,
    STEPS,
    UNITS,
)  # fmt: skip
from tests.runtime.host_guest import run
from tests.support.compiled import BARE, compile_guest, library_at, readelf_symbols
from tests.support.library_sections import sections_of
from tests.support.sampling import ALL
from tests.support.tools import need

SOURCE = """
__attribute__((noinline)) int quotient(const volatile int *at, int by)
{
    return at[0] / by;
}
__attribute__((noinline)) int both(const volatile int *at, int first, int by)
{
    int total = quotient(at, by);
    return total + first * 5;
}
void __start(void) { both((void *)0, 1, 2); for (;;); }
"""
"""LLVM has the code of `quotient` within that of `both`, but for what raises the trap of a division by 0."""
MOST_PLACES = 300
"""Of a section: so many of its bytes are damaged."""
VALUES = (0, 0x7F, 0xFF)
ARGUMENTS = (0x120, 5, 7)
MEBIBYTE = 1 << 20


class Library:
    """A recompiled guest, whose debug information is compressed or not, and the call that faults."""

    def __init__(self, folder: Path, compressed: bool) -> None:
        self.guest = compile_guest(folder, "little", SOURCE, *BARE)
        self.at = {name: value for name, value, *_ in readelf_symbols("little", self.guest)}
        made = library_at(pipeline.open_guest(self.guest), folder, 2, "both", "quotient")
        self.path = folder / "library.so"
        change = "--compress-debug-sections=zlib" if compressed else "--decompress-debug-sections"
        subprocess.run([need("objcopy", "binutils"), change, made, self.path], check=True)
        append_footer(self.path)

    def words(self, path: Path) -> list[str]:
        """Return the host's arguments, with another file in this one's place."""
        return ["--library", str(path), "--call", hex(self.at["both"]), *map(str, ARGUMENTS), str(self.guest)]

    @property
    def end(self) -> str:
        """What the host says of the fault."""
        pc = self.at["quotient"]
        return f"mipsrec-host: the function dies of signal 11 (SIGSEGV) at pc 0x{pc:08x}, address 0x00000120\n"


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "compressed"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("places"), request.param)


def test_whole(host: Path, library: Library) -> None:
    report = run(host, "--report", *library.words(library.path)).stderr
    returns_at = library.at["both"] + 0x14
    assert f"ra {returns_at:08x}" in report and "a1 00000007" in report
    found = sections_of(library.path)
    assert all(name in found for name in SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_damaged(host: Path, library: Library, tmp_path: Path, section: str) -> None:
    """Each byte has one of three other values, with MIPSREC_TIERS=all each of them; of many bytes a part."""
    data = library.path.read_bytes()[:-FOOTER_BYTES]
    places = sections_of(library.path)[section].places
    for number, at in enumerate(places if ALL else places[:: len(places) // MOST_PLACES + 1]):
        for value in VALUES if ALL else VALUES[number % 3 :][:1]:
            damaged = data[:at] + bytes([value]) + data[at + 1 :]
            (tmp_path / "damaged.so").write_bytes(damaged + footer(damaged))
            result = run(host, *library.words(tmp_path / "damaged.so"))
            assert (result.returncode, result.stderr) == (-signal.SIGSEGV, library.end), (at - places.start, value)


# ---- tables that would take hours, or all memory, if a byte stood for more than a few rows ----

ANYWHERE = uleb128(0) + uleb128(0x7FFFFFFF)
"""A range."""
LONG_EXPRESSION = bytes((101, 0x31)) + b"\x1f" * 100
"""It fails in the end."""
HUGE = uleb128((1 << 64) - 1)


def scope(*ranges: bytes, count: bytes | None = None) -> bytes:
    """Return a scope without a base of its frame, whose call returns nobody knows where."""
    return bytes(2) + (count or uleb128(len(ranges))) + b"".join(ranges)


def unit(*parts: bytes, sizes: tuple[int, int, int, int] = (0, 0, 0, 0), count: bytes | None = None) -> bytes:
    """Return a unit at 0 whose registers are 1 to 16, at home in the long expression, and with these scopes."""
    registers = b"".join(bytes((number, 32)) for number in range(1, MOST_REGISTERS + 1))
    head = b"".join(map(uleb128, sizes)) + uleb128(MOST_REGISTERS) + registers + bytes((1, 0)) + LONG_EXPRESSION
    unit = bytes(8) + head + (count or uleb128(len(parts))) + b"".join(parts)
    return struct.pack("<I", len(unit)) + unit


def whole(*scopes: bytes, steps: bytes = b"", changes: bytes = b"", homes: bytes = b"", numbers: bytes = b"",
          count: bytes | None = None) -> dict[str, bytes]:  # fmt: skip
    """Return the sections of one unit."""
    parts = (steps, changes, homes, numbers)
    sizes = (len(steps), len(changes), len(homes), len(numbers))
    sections = {UNITS: unit(*scopes, sizes=sizes, count=count)}
    return sections | {name: part or b"x" for name, part in zip((STEPS, CHANGES, HOMES, EXPRESSIONS), parts)}


def many_ranges() -> dict[str, bytes]:
    """A function has its code many times."""
    return whole(scope(*[ANYWHERE] * (MEBIBYTE // 6)))


def many_scopes() -> dict[str, bytes]:
    """Functions are in functions, and all have all registers where no expression finds them."""
    count = MEBIBYTE // 9
    return whole(*[scope(ANYWHERE)] * count, steps=bytes((1, 0)) * count, changes=bytes((MANY | COME_HOME,)) * count,
                 homes=b"\xff\xff" * count)  # fmt: skip


def many_changes() -> dict[str, bytes]:
    """All registers come home and go, once for each address."""
    count = MEBIBYTE // 4
    return whole(scope(ANYWHERE), steps=uleb128(2 * count) + b"\1" * 2 * count,
                 changes=bytes((MANY | COME_HOME, MANY | ALL_END)) * count, homes=b"\xff\xff" * count)  # fmt: skip


def many_single_changes() -> dict[str, bytes]:
    """A register changes many times, to a place that there is not, and back."""
    changes = bytes((LAST | ELSEWHERE, LAST | AGAIN, LAST | HOME)) * (MEBIBYTE // 3)
    numbers = (HUGE + uleb128(1 << 32)) * (MEBIBYTE // 16)
    return whole(scope(ANYWHERE), steps=HUGE + b"\1" * MEBIBYTE, changes=changes, numbers=numbers)


def changes_without_end() -> dict[str, bytes]:
    """None of many changes at an address is the last one."""
    return whole(scope(ANYWHERE), steps=b"\1\1", changes=bytes((HOME, ELSEWHERE)) * MEBIBYTE)


def many_units() -> dict[str, bytes]:
    """Most have nothing but their length, and what is too short."""
    return {UNITS: bytes(4) * (MEBIBYTE // 8) + struct.pack("<IQ", 8, 0) * (MEBIBYTE // 24)}


def huge_counts() -> dict[str, bytes]:
    """More scopes, ranges and steps than there are bytes for."""
    return whole(scope(ANYWHERE, count=HUGE), steps=HUGE, changes=b"\0", count=HUGE)


def huge_ranges() -> dict[str, bytes]:
    """Ranges that end beyond the addresses of a file."""
    return whole(scope(uleb128(0) + HUGE), scope(HUGE + HUGE), steps=b"\1" + HUGE, changes=bytes((LAST | HOME,)))


HOSTILE = (
    many_ranges, many_scopes, many_changes, many_single_changes, changes_without_end, many_units, huge_counts,
    huge_ranges,
)  # fmt: skip


MEASURES = """
import os, subprocess, sys
_, status, usage = os.wait4(subprocess.Popen(sys.argv[1:]).pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime, usage.ru_maxrss)
"""
"""A small process that measures another: Linux counts what a process was before execve, as large as who forked it."""


@pytest.mark.parametrize("library", [False], indirect=True)
@pytest.mark.parametrize("made", HOSTILE)
def test_hostile(host: Path, library: Library, tmp_path: Path, made: Callable[[], dict[str, bytes]]) -> None:
    words = []
    for name, contents in made().items():
        (tmp_path / name).write_bytes(contents)
        words += ["--update-section", f"{name}={tmp_path / name}"]
    hostile = tmp_path / "hostile.so"
    subprocess.run([need("objcopy", "binutils"), *words, library.path, hostile], check=True)
    append_footer(hostile)
    process = subprocess.run([sys.executable, "-IS", "-c", MEASURES, host, *library.words(hostile)],
                             capture_output=True, text=True, timeout=600)  # fmt: skip
    status, seconds, most_kib = map(float, process.stdout.split())
    assert (status, process.stderr) == (-signal.SIGSEGV, library.end)
    assert seconds < 5 and most_kib < 500 << 10
