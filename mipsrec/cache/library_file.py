"""Reads what a recompiled library says of itself, and whether it is as it was made.

Enters: the path of a library. Leaves: `LibraryFacts`, or the reason why it is damaged. The layout is that of struct
mr_library (abi.py), which native/linking.py writes. The host does the same checks, and more, before it uses one.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from .. import abi
from ..architecture import may_be_code
from ..files import trust
from ..files.checksum import FOOTER_BYTES, tells_length

MOST_BYTES = 1 << 31
"""Of a library: all modules of a process have to fit into so many (runtime/lifted/object.c)."""
_SHT_DYNSYM = 11
_PT_LOAD, _PF_X = 1, 1


class Damaged(Exception):
    """A library is not as it was made; `str()` says how."""


@dataclass(frozen=True)
class LibraryFacts:
    """What a library says: of which guest's file it is, who made it with which options, and how many entries it has."""

    identity: str
    producer: str
    options: str
    entry_count: int


@contextmanager
def _mapped(path: Path) -> Iterator[memoryview]:
    """Yield the bytes of a file; raises Damaged."""
    try:
        with open(trust.open_file(trust.resolve(path), MOST_BYTES), "rb") as stream:
            if os.fstat(stream.fileno()).st_size == 0:
                raise Damaged("it is empty")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
                yield view
    except (OSError, ValueError) as error:
        raise Damaged(f"it cannot be read ({error})") from error


def _check_footer(data: memoryview, whole: bool) -> None:
    length = len(data) - FOOTER_BYTES
    end = bytes(data[max(length, 0) :])
    if length < 0 or not tells_length(end, length):
        raise Damaged("it is truncated or was never finished")
    if whole and end[8:12] != struct.pack("<I", zlib.crc32(data[:length])):
        raise Damaged("its checksum is wrong")


def code_bytes(path: Path) -> int:
    """Return the size of a library's code, that is of its executable segments; raises Damaged."""
    with _mapped(path) as data:
        (phoff,) = struct.unpack_from("<Q", data, 32)
        (phnum,) = struct.unpack_from("<H", data, 56)
        segments = [struct.unpack_from("<II24xQ", data, phoff + 56 * number) for number in range(phnum)]
    return sum(size for kind, flags, size in segments if kind == _PT_LOAD and flags & _PF_X)


def _place_of_table(data: memoryview) -> int:
    """Return where `mr_library` is in the file: its symbol's address, by the segment that has it."""
    phoff, shoff = struct.unpack_from("<QQ", data, 32)
    phnum, _, shnum = struct.unpack_from("<HHH", data, 56)
    for number in range(shnum):
        kind, _, _, offset, size, link = struct.unpack_from("<IQQQQI", data, shoff + 64 * number + 4)
        if kind != _SHT_DYNSYM:
            continue
        (names,) = struct.unpack_from("<Q", data, shoff + 64 * link + 24)
        for at in range(offset, offset + size - 23, 24):
            name, section, address = struct.unpack_from("<I2xHQ", data, at)
            if section and bytes(data[names + name : names + name + 11]) == b"mr_library\0":
                return _file_offset(data, phoff, phnum, address)
    raise Damaged("it has no symbol mr_library")


def _file_offset(data: memoryview, phoff: int, phnum: int, address: int) -> int:
    for number in range(phnum):
        kind, offset, start, size = struct.unpack_from("<I4xQQ8xQ", data, phoff + 56 * number)
        if kind == 1 and start <= address < start + size:
            return int(offset + address - start)
    raise Damaged("its symbol mr_library lies outside of it")


def _facts(data: memoryview) -> LibraryFacts:
    place = _place_of_table(data)
    words = struct.unpack_from(f"<{len(abi.LIBRARY_WORDS)}I", data, place)
    if words[0] != abi.LIBRARY_MAGIC:
        raise Damaged("its header does not begin as one of mipsrec")
    if words[1] != abi.LIBRARY_VERSION:
        raise Damaged(f"it has format version {words[1]}, not {abi.LIBRARY_VERSION}")
    header = bytes(data[place + abi.LIBRARY_IDENTITY_AT : place + abi.LIBRARY_HEADER_BYTES])
    identity, texts = header[: abi.LIBRARY_IDENTITY_BYTES], header[abi.LIBRARY_IDENTITY_BYTES :]
    size = abi.LIBRARY_TEXT_BYTES
    producer, options = (texts[at : at + size].rstrip(b"\0").decode("ascii", "replace") for at in (0, size))
    return LibraryFacts(identity.hex(), producer, options, words[abi.library_word("entry_count")])


def _check_entries(data: memoryview, count: int) -> None:
    place = _place_of_table(data) + abi.LIBRARY_HEADER_BYTES
    pcs = [pc for pc, _ in struct.iter_unpack("<Ii", data[place : place + 8 * count])]
    if len(pcs) != count or any(a >= b for a, b in pairwise(pcs)) or not all(map(may_be_code, pcs)):
        raise Damaged("its entries are out of order")


def read_library(path: Path, whole: bool = False) -> LibraryFacts:
    """Return what a library says of itself; raises Damaged. `whole` reads all of it, for its checksum."""
    try:
        with _mapped(path) as data:
            _check_footer(data, whole)
            facts = _facts(data)
            if whole:
                _check_entries(data, facts.entry_count)
            return facts
    except (struct.error, OverflowError, IndexError) as error:
        raise Damaged("its headers lead beyond its end") from error


def is_undamaged(path: Path) -> bool:
    """Return whether a file is a library as it was made; all of it is read."""
    try:
        check_footer(path)
    except Damaged:
        return False
    return True


def check_footer(path: Path) -> None:
    """Raise Damaged when a file is not as it was made, of whatever version of the format it is."""
    with _mapped(path) as data:
        _check_footer(data, True)
