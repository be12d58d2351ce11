"""A fault in recompiled code whose debug information is damaged or hostile ends as the guest's own signal.

The registers may be wrong then, but the host neither crashes nor works for long (runtime/lifted/places_table.c).
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.files.checksum import FOOTER_BYTES, append_footer, footer
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
READ_SECTIONS = (".debug_info", ".debug_abbrev", ".debug_loc", ".debug_ranges")
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
    assert all(name in found for name in READ_SECTIONS)


@pytest.mark.parametrize("section", READ_SECTIONS)
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


# ---- tables that refer to one another so that reading them would take hours ----

COMPILE_UNIT, SUBPROGRAM, VARIABLE = 0x11, 0x2E, 0x34  # DW_TAG_...
LOCATION, NAME, LOW_PC, HIGH_PC, PRODUCER, ORIGIN, EXTERNAL, RANGES = 0x02, 0x03, 0x11, 0x12, 0x25, 0x31, 0x3F, 0x55
ADDRESS, STRING, STRP, REF4, EXPRLOC, ONE = 0x01, 0x08, 0x0E, 0x13, 0x18, 0x19  # DW_FORM_...; ONE: flag_present
UNIT_HEADER_BYTES = 11
ANYWHERE = struct.pack("<QQ", 0, 0x7FFFFFFF)


def unit(entries: bytes) -> bytes:
    """Return a unit of .debug_info of version 4."""
    return struct.pack("<IHIB", len(entries) + UNIT_HEADER_BYTES - 4, 4, 0, 8) + entries


def function_with(entries: bytes) -> bytes:
    """Return a unit with a function that has all code, and the entries in it; those begin at FUNCTION_BYTES."""
    return unit(b"\1\2" + ANYWHERE + entries)


FUNCTION_BYTES = len(function_with(b""))


def abbreviations(
    *tags: tuple[int, list[int]], function: tuple[int, ...] = (LOW_PC, ADDRESS, HIGH_PC, ADDRESS)
) -> bytes:
    """Return .debug_abbrev: 1 a unit, 2 a function, and from 3 on what has a tag and attributes, but no children."""
    text = bytes([1, COMPILE_UNIT, 1, 0, 0, 2, SUBPROGRAM, 1, *function, 0, 0])
    for code, (tag, attributes) in enumerate(tags, start=3):
        text += bytes([code, tag, 0, *attributes, 0, 0])
    return text + b"\0"


def shared_list() -> dict[str, bytes]:
    """Many variables have one long list, which is at 1 and says nothing."""
    return {
        ".debug_info": function_with(b"\3r1\0" * (MEBIBYTE // 4)),
        ".debug_abbrev": abbreviations((VARIABLE, [NAME, STRING, LOCATION, ONE])),
        ".debug_loc": b"x" + struct.pack("<QQH", 5, 5, 0) * (MEBIBYTE // 18),
    }


def shared_list_of_many_expressions() -> dict[str, bytes]:
    """The same of a list whose expressions are all others."""
    list_ = b"".join(struct.pack("<QQHBI", 5, 5, 5, 0x0C, number) for number in range(MEBIBYTE // 23))
    return shared_list() | {".debug_loc": b"x" + list_}


def shared_entry() -> dict[str, bytes]:
    """Many variables have one origin, which is long."""
    count = MEBIBYTE // 10
    origin = struct.pack("<I", FUNCTION_BYTES + 5 * count)
    return {
        ".debug_info": function_with((b"\3" + origin) * count + b"\4" + b"x" * (MEBIBYTE // 2)),
        ".debug_abbrev": abbreviations((VARIABLE, [ORIGIN, REF4]), (VARIABLE, [PRODUCER, STRING])),
    }


def shared_name() -> dict[str, bytes]:
    """Many variables have one name, which is long."""
    return {
        ".debug_info": function_with(b"\3\0\0\0\0" * (MEBIBYTE // 5)),
        ".debug_abbrev": abbreviations((VARIABLE, [NAME, STRP])),
        ".debug_str": b"r" + b"0" * MEBIBYTE,
    }


def many_attributes() -> dict[str, bytes]:
    """Many entries have many attributes, which have no bytes."""
    return {
        ".debug_info": function_with(b"\3" * MEBIBYTE),
        ".debug_abbrev": abbreviations((VARIABLE, [EXTERNAL, ONE] * (MEBIBYTE // 2))),
    }


def many_units() -> dict[str, bytes]:
    """Many units have one table of abbreviations, which is long."""
    return many_attributes() | {".debug_info": unit(b"") * (MEBIBYTE // UNIT_HEADER_BYTES)}


def many_rows() -> dict[str, bytes]:
    """A function has its code many times, and many variables, whose expressions are long and fail."""
    variable = b"\3r1\0" + bytes([101]) + b"\x31" + b"\x1f" * 100
    return {
        ".debug_info": unit(b"\1\2" + variable * (MEBIBYTE // len(variable))),
        ".debug_abbrev": abbreviations((VARIABLE, [NAME, STRING, LOCATION, EXPRLOC]), function=(RANGES, ONE)),
        ".debug_ranges": b"x" + ANYWHERE * (MEBIBYTE // 16),
    }


def deep_tree() -> dict[str, bytes]:
    """A function is in a function, and so on."""
    function = b"\2" + ANYWHERE
    return {".debug_info": unit(b"\1" + function * (MEBIBYTE // len(function))), ".debug_abbrev": abbreviations()}


HOSTILE = (
    shared_list, shared_list_of_many_expressions, shared_entry, shared_name, many_attributes, many_units, many_rows,
    deep_tree,
)  # fmt: skip


@pytest.mark.parametrize("library", [False], indirect=True)
def test_hostile(host: Path, library: Library, tmp_path: Path) -> None:
    for made in HOSTILE:
        words = []
        for name, contents in made().items():
            (tmp_path / name).write_bytes(contents)
            words += ["--update-section", f"{name}={tmp_path / name}"]
        hostile = tmp_path / "hostile.so"
        subprocess.run([need("objcopy", "binutils"), *words, library.path, hostile], check=True)
        append_footer(hostile)
        with subprocess.Popen([host, *library.words(hostile)], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            said = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert (process.returncode, said) == (-signal.SIGSEGV, library.end), made
        assert usage.ru_utime < 5 and usage.ru_maxrss < 500 << 10, made
