"""Reads .eh_frame and .gcc_except_table: where functions start, and where the C++ runtime enters them at a catch.

Enters: a `RawFile` and the place of .eh_frame. Leaves: one `EhFunction` per frame description entry, sorted. Not done
here: the unwind instructions themselves, which only the guest's own unwinder runs.

Sources: Linux Standard Base, "Exception Frames" (.eh_frame) and "DWARF Extensions" (pointer encodings); GCC's
unwind-pe.h and unwind-c.c for the language-specific data area (LSDA). C code of MIPS has almost no .eh_frame.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import NamedTuple

from ..architecture import may_be_code
from .tables import Malformed, RawFile

MAX_ENTRIES = 200_000
MAX_CALL_SITES = 200_000
_MAX_AUGMENTATION_BYTES = 16
_OMIT, _INDIRECT, _ALIGNED, _PCREL = 0xFF, 0x80, 0x50, 0x10
_FIXED = {0x00: "I", 0x02: "H", 0x03: "I", 0x04: "Q", 0x08: "i", 0x0A: "h", 0x0B: "i", 0x0C: "q"}
_ULEB, _SLEB = 0x01, 0x09
_RECORDS = {order + layout: struct.Struct(order + layout) for order in "<>" for layout in "BHIQhiq"}


class EhFunction(NamedTuple):
    """Code with an unwind entry: guest addresses [start, end) and its landing pads, which are entry points too.

    `guarded`: the parts [start, end) of it of which what they throw goes to a landing pad.
    """

    start: int
    end: int
    landing_pads: tuple[int, ...]
    guarded: tuple[tuple[int, int], ...] = ()


_Addresses = tuple[int, ...]
_Ranges = tuple[tuple[int, int], ...]


class _Cie(NamedTuple):
    pointer_encoding: int
    lsda_encoding: int
    has_augmentation_data: bool


class _Cursor:
    """Reads `content[offset:end]`, whose first byte stands at a link-time address; raises Malformed at its end."""

    def __init__(self, raw: RawFile, offset: int, end: int, address: int) -> None:
        self.raw, self.offset, self.end = raw, offset, end
        self._address_of_file = address - offset

    @property
    def address(self) -> int:
        """The link-time address of the next byte."""
        return self.offset + self._address_of_file

    def take(self, layout: str) -> int:
        record = _RECORDS[self.raw.order + layout]
        offset = self.offset
        self.offset += record.size
        if self.offset > self.end:
            raise Malformed(f"it ends in the middle of an entry at 0x{self.address:08x}")
        value: int = record.unpack_from(self.raw.content, offset)[0]
        return value

    def uleb(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.take("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 63:
                return value

    def sleb(self) -> int:
        start = self.offset
        value = self.uleb()
        bits = 7 * (self.offset - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def pointer(self, encoding: int) -> int | None:
        """Return an encoded pointer as a link-time address; None when omitted, null or relative to another base."""
        if encoding == _OMIT:
            return None
        if encoding & 0x7F == _ALIGNED:
            self.offset += -self.address % 4
            return self.take("I") or None
        place = self.address
        value = self.scalar(encoding)
        if value == 0 or encoding & 0x70 not in (0, _PCREL):
            return None
        value = (value + (place if encoding & 0x70 else 0)) & 0xFFFFFFFF
        return self.raw.loaded_word(value) if encoding & _INDIRECT else value

    def scalar(self, encoding: int) -> int:
        """Return the number stored in the format of a pointer encoding, without what it is relative to."""
        form = encoding & 0x0F
        if form in (_ULEB, _SLEB):
            return self.uleb() if form == _ULEB else self.sleb()
        if form not in _FIXED:
            raise Malformed(f"unknown pointer encoding 0x{encoding:02x} at 0x{self.address:08x}")
        return self.take(_FIXED[form])


def read_eh_functions(
    raw: RawFile,
    place: tuple[int, int] | None,
    bias: int,
    code: tuple[tuple[int, int], ...],
    warnings: list[str],
) -> tuple[EhFunction, ...]:
    """Return the functions of .eh_frame at link-time addresses `place`, those outside `code` (with bias) left out.

    What comes before a malformed entry is kept; the rest is lost with a warning.
    """
    if place is None:
        return ()
    start, end = place
    reader = _EhFrame(raw, start, end, bias, code)
    if reader.last - reader.first < end - start:
        warnings.append(".eh_frame is not all in the loaded part of the file")
    try:
        reader.read()
    except Malformed as error:
        warnings.append(f".eh_frame read in part only: {error}")
    if reader.broken_lsdas:
        warnings.append(f".gcc_except_table: {reader.broken_lsdas} entries cannot be read, their landing pads are lost")
    return tuple(sorted(set(reader.found)))


class _EhFrame:
    """One walk over .eh_frame; `found` grows entry by entry. Offsets are into the file."""

    def __init__(self, raw: RawFile, start: int, end: int, bias: int, code: tuple[tuple[int, int], ...]) -> None:
        self.raw, self.bias, self.code = raw, bias, code
        self.first, available = raw.loaded_place(start)
        self.last = self.first + min(available, end - start)
        self.start = start
        self.found: list[EhFunction] = []
        self.broken_lsdas = 0
        self._code_starts = [low for low, _ in code]
        self._cies: dict[int, _Cie] = {}
        self._call_sites_left = MAX_CALL_SITES

    def read(self) -> None:
        """Walk the entries; a zero length ends one input file's part, more may follow."""
        cursor = self._cursor(self.first, self.last)
        entries = 0
        while cursor.offset + 4 <= self.last:
            length = cursor.take("I")
            if length == 0:
                continue
            body = cursor.offset
            if length > self.last - body:
                raise Malformed(f"the entry at 0x{cursor.address - 4:08x} is longer than the section")
            entries += 1
            if entries > MAX_ENTRIES:
                raise Malformed(f"it has more than {MAX_ENTRIES} entries")
            cie_distance = cursor.take("I")
            if cie_distance:
                self._fde(self._cursor(body + 4, body + length), body - cie_distance)
            cursor.offset = body + length

    def _cursor(self, offset: int, end: int) -> _Cursor:
        return _Cursor(self.raw, offset, end, self.start + offset - self.first)

    def _cie(self, offset: int) -> _Cie:
        if offset not in self._cies:
            if not self.first <= offset <= self.last - 8:
                raise Malformed("an entry refers to a common entry outside of the section")
            length = self._cursor(offset, self.last).take("I")
            self._cies[offset] = self._parse_cie(self._cursor(offset + 8, min(offset + 4 + length, self.last)))
        return self._cies[offset]

    def _parse_cie(self, cursor: _Cursor) -> _Cie:
        version = cursor.take("B")
        augmentation = bytearray()
        while byte := cursor.take("B"):
            augmentation.append(byte)
            if len(augmentation) > _MAX_AUGMENTATION_BYTES:
                raise Malformed("a common entry has no end to its augmentation")
        if version not in (1, 3) or (augmentation and not augmentation.startswith(b"z")):
            raise Malformed(f"common entry of version {version}, augmentation {bytes(augmentation)!r}")
        cursor.uleb()
        cursor.sleb()
        cursor.uleb() if version == 3 else cursor.take("B")
        pointer, lsda = 0, _OMIT
        if augmentation:
            cursor.uleb()
        for letter in augmentation[1:].decode("latin-1"):
            if letter == "R":
                pointer = cursor.take("B")
            elif letter == "L":
                lsda = cursor.take("B")
            elif letter == "P":
                cursor.pointer(cursor.take("B"))
            elif letter not in "SB":
                break
        return _Cie(pointer, lsda, bool(augmentation))

    def _fde(self, cursor: _Cursor, cie_offset: int) -> None:
        cie = self._cie(cie_offset)
        start = cursor.pointer(cie.pointer_encoding)
        size = cursor.scalar(cie.pointer_encoding & 0x0F)
        if start is None or not self._is_code(start):
            return
        lsda = None
        if cie.has_augmentation_data:
            cursor.uleb()
            lsda = cursor.pointer(cie.lsda_encoding)
        end = min(start + max(size, 0), 0xFFFFFFFF)
        self.found.append(EhFunction(start + self.bias, end + self.bias, *self._landing_pads(lsda, start)))

    def _is_code(self, address: int) -> bool:
        """Tell whether an instruction can stand at a link-time address."""
        index = bisect_right(self._code_starts, address + self.bias) - 1
        return may_be_code(address) and index >= 0 and address + self.bias < self.code[index][1]

    def _landing_pads(self, lsda: int | None, function_start: int) -> tuple[_Addresses, _Ranges]:
        """Return the landing pads of a function, and what they guard."""
        if lsda is None:
            return (), ()
        try:
            return self._parse_lsda(lsda, function_start)
        except Malformed:
            self.broken_lsdas += 1
            return (), ()

    def _parse_lsda(self, lsda: int, function_start: int) -> tuple[_Addresses, _Ranges]:
        """Return the landing pads of the call-site table, and what they guard (GCC unwind-c.c, parse_lsda_header)."""
        offset, available = self.raw.loaded_place(lsda)
        cursor = _Cursor(self.raw, offset, offset + available, lsda)
        pad_base = cursor.pointer(cursor.take("B")) or function_start
        if cursor.take("B") != _OMIT:
            cursor.uleb()
        encoding = cursor.take("B")
        table_bytes = cursor.uleb()
        end = cursor.offset + table_bytes
        pads, guarded = set(), []
        while cursor.offset < end:
            self._call_sites_left -= 1
            if self._call_sites_left < 0:
                raise Malformed("too many call sites")
            first = function_start + cursor.scalar(encoding) + self.bias
            after = first + cursor.scalar(encoding)
            pad = cursor.scalar(encoding)
            cursor.uleb()
            target = (pad_base + pad) & 0xFFFFFFFF
            if pad and self._is_code(target):
                pads.add(target + self.bias)
                guarded.append((first, after))
        return tuple(sorted(pads)), tuple(guarded)
